"""A value comes back from its record as it went in, type for type, or it is refused with the path to it."""

import functools
import math
import re
from collections import OrderedDict, defaultdict, deque
from collections.abc import Hashable
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import Path
from typing import Annotated, Generic, Literal, NamedTuple, NotRequired, TypeVar
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    RootModel,
    computed_field,
    field_validator,
    model_validator,
)
from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict

from durable_core import NotRecordable, RecordUnreadable, Run, Store, resume
from durable_core.codec import PLAIN, codec_for

T = TypeVar("T")


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Size(IntEnum):
    SMALL = 1


class Mood(StrEnum):
    GOOD = "good"


@dataclass
class Box(Generic[T]):
    item: T


@dataclass(frozen=True, slots=True)
class Line:
    text: str
    cost: Decimal
    at: datetime | None = None


@dataclass
class Invoice:
    lines: list[Line]
    paid: bool = False
    tags: frozenset[str] = frozenset()
    data: bytes = b""
    left: float = 0.0


@dataclass
class Cat:
    name: str
    lives: int = 9


@dataclass
class Dog:
    name: str
    good: bool = True


class Pair(NamedTuple):
    left: int
    right: str


class Film(TypedDict):
    name: str
    year: NotRequired[int]


class Model(BaseModel):
    name: str
    when: datetime | None = None
    sizes: tuple[int, ...] = ()


class Shelf(BaseModel):
    models: dict[str, Model]
    best: Cat | Dog | None = None


class Aliased(BaseModel):
    from_: str = Field(alias="from")
    to: str = Field(validation_alias="recipient", serialization_alias="To")


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class Area(BaseModel):
    model_config = ConfigDict(extra="forbid")
    width: int

    @computed_field  # type: ignore[prop-decorator]
    @property
    def square(self) -> int:
        return self.width**2

    @functools.cached_property
    def cube(self) -> int:
        return self.width**3


class Secretive(BaseModel):
    name: str
    _cents: int = PrivateAttr(default=0)


class Numbers(RootModel[list[int]]):
    pass


class Lossy(BaseModel):
    name: str
    hidden: str = Field(default="", exclude=True)


@dataclass(eq=False)
class Total:
    """A field that is made and not given."""

    net: int
    gross: int = field(init=False)

    def __post_init__(self) -> None:
        self.gross = self.net * 2


class Opaque:
    """No data."""


class Incomparable(str):
    """Like the arrays of numpy, whose `==` is no answer."""

    __slots__ = ()

    def __ne__(self, other: object) -> bool:
        raise KeyError("no comparison")

    __eq__ = __ne__
    __hash__ = str.__hash__

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: object) -> CoreSchema:
        return core_schema.no_info_after_validator_function(cls, core_schema.str_schema())


class Doubling(RootModel[list[int]]):
    """Has more in it whenever it is read."""

    @model_validator(mode="after")
    def double(self) -> "Doubling":
        self.root = self.root * 2
        return self


class Halving(RootModel[list[int]]):
    """Has less in it whenever it is read."""

    @model_validator(mode="after")
    def halve(self) -> "Halving":
        self.root = self.root[: len(self.root) // 2]
        return self


class Strict(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def look_up(cls, name: str) -> str:
        return {"a": "a"}[name]


EAST = timezone(timedelta(hours=5, minutes=30))

SURVIVE: list[tuple[Hashable, object]] = [
    (object, None),
    (object, {"a": [1, 2.5, "x", True, None, {"b": []}]}),
    (object, "NUL \0, emoji 🦈, a newline \n, a tab \t"),
    (object, [math.nan, math.inf, -math.inf, -0.0, 0.0, 1e308, 5e-324]),
    (object, [2**63, -(2**63), 2**64 + 1, 10**4000]),
    (list[float], [math.nan, math.inf, -0.0]),
    (Box[float], Box(math.nan)),
    (bytes, b"\x00\xff\xfe"),
    (Box[bytes], Box(b"\xff")),
    (dict[str, bytes], {"a": b"\xff"}),
    (tuple[int, str], (1, "a")),
    (tuple[int, ...], (1, 2, 3)),
    (tuple, (1, "a", None)),
    (tuple[tuple[str, int], ...], (("a", 1), ("b", 2))),
    (set[tuple[str, int]], {("a", 1), ("b", 2)}),
    (set[frozenset[int]], {frozenset({0, 8, 16}), frozenset({8, 1})}),
    (frozenset[str], frozenset({"a", "b"})),
    (dict[int, str], {1: "a", -2: "b"}),
    (dict[Colour, int], {Colour.RED: 1}),
    (dict[UUID, date], {UUID(int=7): date(2024, 2, 29)}),
    (defaultdict[str, list[int]], defaultdict(list, {"a": [1]})),
    (OrderedDict[str, int], OrderedDict(b=1, a=2)),
    (deque[int], deque([1, 2])),
    (Colour, Colour.RED),
    (Size, Size.SMALL),
    (Mood, Mood.GOOD),
    (list[Colour | None], [Colour.BLUE, None]),
    (Literal["a", 1], 1),
    (Decimal, Decimal("1.000")),
    (Decimal, Decimal("-1E+50")),
    (UUID, UUID(int=2**128 - 1)),
    (Path, Path("/a/b")),
    (datetime, datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC)),
    (datetime, datetime(2024, 2, 29, 12, tzinfo=EAST)),
    (datetime, datetime(2024, 2, 29, 12)),  # noqa: DTZ001 - a naive one
    (datetime, datetime(1, 1, 1, tzinfo=UTC)),
    (time, time(23, 59, 59, 999999, tzinfo=EAST)),
    (date, date(1, 1, 1)),
    (timedelta, timedelta(days=-3, microseconds=7)),
    (Line, Line("a", Decimal("0.10"), datetime(2024, 1, 1, tzinfo=EAST))),
    (Invoice, Invoice([Line("a", Decimal(1))], paid=True, tags=frozenset({"x"}), data=b"\xff", left=-0.0)),
    (Cat | Dog, Dog("rex", good=False)),
    (list[Cat | Dog | None], [Cat("tom"), None, Dog("rex")]),
    (Annotated[Cat | Dog, "a pet"], Cat("tom")),
    (Pair, Pair(1, "a")),
    (Film, {"name": "jaws"}),
    (Film, {"year": 1975, "name": "jaws"}),
    (Model, Model(name="m", when=datetime(2024, 1, 1, tzinfo=UTC), sizes=(1, 2))),
    (Shelf, Shelf(models={"a": Model(name="m")}, best=Dog("rex"))),
    (Numbers, Numbers([1, 2])),
    (Aliased, Aliased.model_validate({"from": "a", "recipient": "b"})),
    (Open, Open.model_validate({"name": "n", "more": {"a": [1]}})),
    (Area, Area(width=3)),
    (Secretive, Secretive(name="default state")),
    (Total, Total(2)),
]


@pytest.mark.parametrize(("hint", "value"), SURVIVE, ids=[f"{hint}-{i}" for i, (hint, _) in enumerate(SURVIVE)])
def test_it_comes_back_equal_and_of_the_same_type(hint: Hashable, value: object) -> None:
    codec = codec_for(hint)
    payload, live = codec.encode("step 's'", value)
    assert b"\n" not in payload
    assert spelled(live) == spelled(codec.decode("step 's'", payload)) == spelled(value)


REFUSED: list[tuple[Hashable, object, str]] = [
    (
        object,
        {"a": [0, {1, 2}]},
        r"a dict .*, at \['a'\]\[1\]: a set would come back as a list; give the function a ret",
    ),
    (object, (1, 2), "a tuple would come back as a list"),
    (object, {1: "a"}, r"at \[1\]: a int would not come back as it is"),
    (object, {Mood.GOOD: 1}, r"at \{<Mood.GOOD: 'good'>\}: a Mood would come back as a str"),
    (object, [Colour.RED], r"at \[0\]: a Colour would come back as a str"),
    (object, Size.SMALL, "a Size would come back as a int"),
    (object, {"d": Decimal(1)}, r"at \['d'\]: a Decimal would come back as a str"),
    (object, {"b": b"x"}, r"at \['b'\]: a bytes would come back as a str"),
    (
        object,
        Model(name="m"),
        "returned a Model .* a Model would come back as a dict; give the function a return annot",
    ),
    (object, Line("a", Decimal(1)), "a Line would come back as a dict; give the function a return annotation"),
    (object, {"a": [1, "\ud800"]}, r"at \['a'\]\[1\]: UnicodeEncodeError"),
    (object, {"a": object()}, r"at \['a'\]: Unable to serialize unknown type: <class 'object'>"),
    (object, 10**5000, "at the value itself"),
    (str, 7, "returned a int .* valid string; return a value that fits str, or correct the annotation"),
    (list[int], [1, "x"], r"at \[1\]: Input should be a valid integer"),
    (float, 1, "a int would come back as a float"),
    (int, True, "a bool would come back as a int"),
    (list[bool], [1], r"at \[0\]: a int would come back as a bool"),
    (dict[Mood, int], {"good": 1}, r"at \{'good'\}: a str would come back as a Mood"),
    (dict[tuple[int, int], str], {(1, 2): "a"}, "tuple"),
    (set[float], {math.nan}, r"at \{nan\}: a float would not come back"),
    (Cat, Dog("rex"), "returned a Dog .*; return a value that fits Cat, or correct the annotation"),
    (datetime, datetime(2024, 7, 1, tzinfo=ZoneInfo("Europe/Berlin")), "zone Europe/Berlin would come back as a fixed"),
    (
        time,
        time(7, tzinfo=ZoneInfo("Europe/Berlin")),
        "zone Europe/Berlin would come back as a fixed offset; record UTC",
    ),
    (datetime, datetime(2024, 10, 27, 2, 30, fold=1), "would come back as"),  # noqa: DTZ001 - a naive one
    (Invoice, Invoice([Line("a", "not a number")]), r"at \.lines\[0\]\.cost|Input should be .*decimal"),  # type: ignore[arg-type]
    (
        Open,
        Open.model_validate({"name": "n", "more": {"a": {1}}}),
        r"at \.more\['a'\]: a set would come back as a list",
    ),
    (Lossy, Lossy(name="n", hidden="x"), r"at \.hidden: 'x' would come back as ''"),
    (Incomparable, Incomparable("x"), "KeyError: 'no comparison'"),
    (Doubling, Doubling.model_construct([1]), r"at \.root\[1\]: would appear"),
    (Halving, Halving.model_construct([1, 2]), r"at \.root\[1\]: a int would not come back as it is"),
    (Strict, Strict.model_construct(name="b"), "KeyError: 'b'"),
    (Decimal, Decimal("NaN"), "finite"),
    (Decimal, Decimal("sNaN"), "finite"),
]


@pytest.mark.parametrize(
    ("hint", "value", "why"), REFUSED, ids=[f"{hint}-{i}" for i, (hint, _, _) in enumerate(REFUSED)]
)
def test_it_is_refused_with_step_type_and_path(hint: Hashable, value: object, why: str) -> None:
    with pytest.raises(NotRecordable) as refusal:
        codec_for(hint).encode("step 's'", value)
    message = str(refusal.value)
    assert message.startswith(f"step 's' returned a {type(value).__qualname__} that does not survive recording, at ")
    assert re.search(why, message)


def test_private_attributes_are_part_of_a_model_as_its_equality_says() -> None:
    model = Secretive(name="n")
    model._cents = 42
    with pytest.raises(NotRecordable, match=r"at \._cents: 42 would come back as 0"):
        codec_for(Secretive).encode("step 's'", model)


def test_what_a_model_has_cached_is_no_part_of_it() -> None:
    area = Area(width=3)
    assert area.cube == 27
    assert codec_for(Area).encode("step 's'", area) == (b'{"width":3}', Area(width=3))


def test_a_value_that_holds_itself_is_refused() -> None:
    circle: list[object] = []
    circle.append({"again": circle})
    with pytest.raises(NotRecordable, match=r"at \[0\]\['again'\]\[0\].*[Cc]ircular"):
        PLAIN.encode("step 's'", circle)


def test_a_value_that_is_nested_too_deep_is_refused() -> None:
    deep: list[object] = []
    for _ in range(3000):
        deep = [deep]
    with pytest.raises(NotRecordable, match="does not survive"):
        PLAIN.encode("step 's'", deep)


def test_a_message_shows_the_beginning_of_a_large_value_only() -> None:
    with pytest.raises(NotRecordable) as refusal:
        codec_for(Lossy).encode("step 's'", Lossy(name="x", hidden="y" * 10_000))
    assert len(str(refusal.value)) < 400


def test_a_type_that_pydantic_does_not_know_is_refused() -> None:
    with pytest.raises(
        NotRecordable,
        match=r"^Opaque cannot be recorded: Unable to generate .* schema for <class '\S+Opaque'>\. Return plain data",
    ):
        codec_for(Opaque)


def test_a_record_of_another_shape_is_unreadable_and_not_guessed_at() -> None:
    with pytest.raises(
        RecordUnreadable, match=r"step 's' has a record that Cat cannot read \(at \['name'\]: Field requ"
    ):
        codec_for(Cat).decode("step 's'", b'{"title": "tom"}')
    with pytest.raises(RecordUnreadable, match="step 's' has a record that int cannot read"):
        codec_for(int).decode("step 's'", b"{")


def test_the_bytes_of_a_record_are_the_same_in_every_store(each_store: Store) -> None:
    def agent(run: Run) -> Invoice:
        return run.step("s", Invoice, [Line("a", Decimal(1))], tags=frozenset({"x"}))

    resume(each_store, "run", agent)
    assert each_store.entries("run")[1].payload == (
        b'{"lines":[{"text":"a","cost":"1","at":null}],"paid":false,"tags":["x"],"data":"","left":0.0}'
    )


def spelled(value: object) -> object:
    """A value with all its types written out, to compare by; apart from what the codec compares by."""
    parts: object = repr(value)
    match value:
        case datetime() | time():
            parts = value.replace(tzinfo=None).isoformat(), value.fold, value.utcoffset()
        case dict():
            parts = sorted((repr(spelled(key)), spelled(item)) for key, item in value.items())
        case list() | tuple() | deque():
            parts = [spelled(item) for item in value]
        case set() | frozenset():
            parts = sorted(repr(spelled(item)) for item in value)
        case BaseModel():
            parts = spelled(dict(value)), spelled(value.__pydantic_private__)
        case _ if is_dataclass(value):
            parts = [spelled(getattr(value, part.name)) for part in fields(value)]
    return type(value).__qualname__, parts
