"""Values for JSON schemas: what pydantic asks for in its schema, it accepts."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from enum import Enum
from ipaddress import IPv4Address, IPv6Address
from random import Random
from typing import Annotated, Any, Literal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, TypeAdapter

from fakes.server.samples import sample


class Colour(Enum):
    RED = "red"
    GREEN = "green"


class Tree(BaseModel):
    name: str
    left: Tree | None
    branches: list[Tree]
    by_name: dict[str, Tree] = {}


class Line(BaseModel):
    item: Annotated[str, Field(min_length=80, max_length=100)]
    count: Annotated[int, Field(gt=0, le=3)]
    price: Annotated[float, Field(ge=0, lt=1)]
    colour: Colour
    kind: Literal["new"]


class Order(BaseModel):
    lines: Annotated[list[Line], Field(min_length=2, max_length=3)]
    ordered: datetime
    paid: bool | None
    due: date
    at: time
    within: timedelta
    id: UUID
    hosts: tuple[IPv4Address, IPv6Address]
    even: Annotated[int, Field(multiple_of=2)]
    low: Annotated[int, Field(lt=-5)]
    high: Annotated[float, Field(gt=1e6)]
    small: Annotated[float, Field(lt=-1e6)]
    nothing: None
    anything: Any


@pytest.mark.parametrize(
    "kind", [Order, Tree, list[Tree], dict[str, int], int | str, Colour, Annotated[list[int], Field(max_length=0)]]
)
@given(seed=st.integers())
def test_what_a_type_asks_for_it_accepts(kind: Any, seed: int) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    adapter.validate_python(sample(adapter.json_schema(), Random(seed)))


def test_equal_seeds_give_equal_values() -> None:
    schema = Order.model_json_schema()
    assert sample(schema, Random(1)) == sample(schema, Random(1)) != sample(schema, Random(2))


def test_all_of_several_schemas_is_one_with_the_fields_of_each() -> None:
    parts = {"named": {"type": "object", "properties": {"name": {"const": "Ada"}}}}
    more = {"properties": {"age": {"const": 36}}}
    schema = {"$defs": parts, "allOf": [{"$ref": "#/$defs/named"}, more], "properties": {"born": {"const": 1815}}}
    assert sample(schema, Random(0)) == {"name": "Ada", "age": 36, "born": 1815}


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"type": "object", "properties": {"a": {"$ref": "#"}, "b": {"$ref": "#"}}, "required": ["a", "b"]},
        {"type": "array", "items": {"$ref": "#"}, "minItems": 9},
        {"type": "string", "minLength": 10**9},
        {"type": "integer", "minimum": 10**400, "maximum": "much", "multipleOf": 0.5},
    ],
)
def test_a_schema_that_nothing_fits_gets_something_soon(schema: dict[str, object]) -> None:
    sample(schema, Random(0))


schemas: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["string", "object", "#", "date", "a"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("type", "properties", "items", "enum", "const", "$ref", "anyOf", "allOf", "required", "format"),
                    *("minItems", "maxItems", "minLength", "maxLength", "minimum", "exclusiveMaximum", "prefixItems"),
                ]
            ),
            inner,
        )
    ),
)


@given(schemas)
def test_whatever_is_given_for_a_schema_there_is_a_value(schema: object) -> None:
    sample(schema, Random(0))
