"""A fingerprint stands for a value in every process: the same for equal data, another for other data."""

import functools
import os
import re
import subprocess
import sys
import threading
from collections import OrderedDict, deque
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import Decimal
from enum import Enum, Flag, IntEnum, StrEnum, auto
from fractions import Fraction
from ipaddress import ip_address
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple
from uuid import UUID

import pytest
from freezegun import freeze_time
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from durable_core.fingerprint import changed_arguments, fingerprint, fingerprint_call


class Colour(Enum):
    RED = 1
    BLUE = 2


class Access(Flag):
    READ = auto()
    WRITE = auto()


class Size(IntEnum):
    SMALL = 1


class Mood(StrEnum):
    GOOD = "good"


@dataclass
class Point:
    x: int
    y: int = 0


@dataclass
class Place:
    x: int
    y: int = 0


class Model(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class Pair(NamedTuple):
    a: int
    b: int


class Client:
    """Stands for the client of some SDK: no data, and another object in every process."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.lock = threading.Lock()

    def send(self, text: str) -> str:
        return text

    def close(self) -> None: ...


class Zone(tzinfo):
    """A subclass of plain data that does not say in words what it is."""


def work() -> None: ...


DISTINCT = [
    None, True, False, 0, 1, -1, 1.0, 0.0, 1j, 2**64, 10**5000, float("nan"), float("inf"),
    "", "1", "None", "\0", "\ud800", "\ud801", "?", "🦈", b"", b"1", bytearray(b"2"),
    [], [1], [[1]], [1, 2], [2, 1], ["12"], ["1", "2"], [None],
    {}, {"a": 1}, {"a": 2}, {"b": 1}, {"a": {"b": 1}}, {1: "a"}, set(), {1}, {"1"}, {1, 2}, frozenset({3}),
    range(3), range(4), deque([1]), deque([2]),
    Colour.RED, Colour.BLUE, Access.READ, Access.READ | Access.WRITE, Size.SMALL,
    Point(1), Point(2), Point(1, 1), Place(1), Model(name="a"), Model(name="b"),
    Model.model_validate({"name": "a", "b": 1}),
    datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 2, tzinfo=UTC), date(2024, 1, 1), time(1), timedelta(1),
    Decimal("1.0"), Decimal("1.5"), Fraction(1, 2), UUID(int=1), UUID(int=2), Path("a"), Path("b"),
    ip_address("10.0.0.1"), re.compile("a"), re.compile("b"),
    work, Client, Client("a").send, Client("a").close, Client("a"), threading.Lock(),
    functools.partial(work), functools.partial(work, 1), functools.partial(Client("a").send, "x"),
]  # fmt: skip


def test_other_values_have_other_fingerprints() -> None:
    prints = [fingerprint(value) for value in DISTINCT]
    same = [
        (repr(a)[:50], repr(b)[:50]) for (a, x), (b, y) in combinations(zip(DISTINCT, prints, strict=True), 2) if x == y
    ]
    assert same == []
    assert all(re.fullmatch("[0-9a-f]{12}", digest) for digest in prints)


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(), inner) | st.frozensets(st.text()),
    max_leaves=8,
)


def canonical(value: object) -> object:
    """Plain data, in a form that is equal for the same data only."""
    match value:
        case list():
            return "list", [canonical(item) for item in value]
        case dict():
            return "dict", sorted((repr(canonical(key)), canonical(item)) for key, item in value.items())
        case frozenset():
            return "set", sorted(value)
    return type(value).__name__, repr(value)


@given(plain, plain)
def test_fingerprints_are_equal_for_equal_data_only(one: object, other: object) -> None:
    assert (fingerprint(one) == fingerprint(other)) == (canonical(one) == canonical(other))


@given(st.dictionaries(st.text(), st.integers(), min_size=2), st.randoms(use_true_random=False))
def test_the_order_of_a_dict_does_not_count(value: dict[str, int], chance: "st.Random") -> None:  # type: ignore[name-defined]
    items = list(value.items())
    chance.shuffle(items)
    assert fingerprint(dict(items)) == fingerprint(value)
    assert fingerprint_call((), dict(items)) == fingerprint_call((), value)


@given(st.lists(st.integers() | st.text(), unique=True))
def test_the_order_of_a_set_does_not_count(items: list[object]) -> None:
    assert fingerprint(set(items)) == fingerprint(frozenset(reversed(items)))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([1, 2], (1, 2)),
        ((1, 2), Pair(1, 2)),
        ({"a": 1}, OrderedDict(a=1)),
        ({"a": 1}, MappingProxyType({"a": 1})),
        ({1}, frozenset({1})),
        (b"a", bytearray(b"a")),
        ("good", Mood.GOOD),
        (Model(name="a"), Model.model_construct(name="a")),
    ],
)
def test_what_is_equal_data_in_another_wrapping_has_the_same(one: object, other: object) -> None:
    """So that a value has the same fingerprint before and after it went through a record."""
    assert fingerprint(one) == fingerprint(other)


def test_objects_that_are_no_data_count_by_their_type() -> None:
    assert fingerprint(Client("a")) == fingerprint(Client("b"))
    assert fingerprint(Client("a").send) == fingerprint(Client("b").send)
    assert fingerprint([threading.Lock()]) == fingerprint([threading.Lock()])
    assert fingerprint(Zone()) == fingerprint(Zone())
    assert fingerprint(Client("a")) != fingerprint(threading.Lock())


def test_what_is_cached_in_a_model_does_not_count() -> None:
    class Area(BaseModel):
        width: int

        @functools.cached_property
        def square(self) -> int:
            return self.width**2

    area = Area(width=2)
    before = fingerprint(area)
    assert area.square == 4
    assert fingerprint(area) == before


def test_a_frozen_clock_gives_the_fingerprints_of_the_real_one() -> None:
    moment = datetime(2024, 1, 1, tzinfo=UTC)
    real = fingerprint(moment), fingerprint(moment.date())
    with freeze_time(moment):
        frozen = datetime.now(UTC)
        assert type(frozen) is not type(moment)
        assert (fingerprint(frozen), fingerprint(frozen.date())) == real
        assert fingerprint(datetime(2025, 1, 1, tzinfo=UTC)) != real[0]


SCRIPT = """
import json, sys, threading
from datetime import UTC, datetime
from durable_core.fingerprint import fingerprint_call
args = [{"b", "a", "c", "longer words"}, ("text", None), {"k": {1, "1", None}}, object(), threading.Lock(), print,
        lambda: 0, datetime(2024, 1, 1, tzinfo=UTC), frozenset({("a", frozenset({"x", "y"})), ("b", frozenset())})]
print(fingerprint_call(args, {"z": 1, "a": {"y", "x"}}))
"""


def test_every_process_and_hash_seed_gives_the_same() -> None:
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "12345")
    }
    assert len(outputs) == 1
    assert outputs.pop().startswith("(0=")


def test_a_call_has_one_fingerprint_for_each_argument() -> None:
    text = fingerprint_call((1, "a"), {"to": "x", "body": None})
    assert re.fullmatch(r"\(0=\w{12},1=\w{12},body=\w{12},to=\w{12}\)", text)
    assert fingerprint_call((), {}) == "()"


@pytest.mark.parametrize(
    ("args", "kwargs", "changed"),
    [
        ((1, "a"), {"to": "x"}, []),
        ((2, "a"), {"to": "x"}, ["0"]),
        ((2, "b"), {"to": "y"}, ["0", "1", "to"]),
        ((1,), {"to": "x"}, ["1"]),
        ((1, "a"), {"to": "x", "cc": None}, ["cc"]),
        ((), {}, ["0", "1", "to"]),
    ],
)
def test_changed_arguments_are_told_by_name(
    args: tuple[object, ...], kwargs: dict[str, object], changed: list[str]
) -> None:
    assert changed_arguments(fingerprint_call((1, "a"), {"to": "x"}), fingerprint_call(args, kwargs)) == changed


def test_no_name_of_an_argument_is_too_odd() -> None:
    one, other = (fingerprint_call((), {"=a,b=(c": number, "to": 1}) for number in range(2))
    assert len(changed_arguments(one, other)) == 1
    assert changed_arguments(one, one) == []


def test_the_fingerprints_in_checkpoints_stay_what_they_are() -> None:
    """With others, every run that is under way would diverge."""
    values = [None, True, 1, 1.5, "a", b"a", [1], {"a": 1}, {1}, Point(1), Colour.RED, UUID(int=1)]
    assert [fingerprint(value) for value in values] == PINNED


PINNED = [
    "7d1e51c5f422",
    "77198191b92d",
    "8a6252d553c4",
    "5928b32dbcc5",
    "d189f998c225",
    "54afa70cac23",
    "597645698627",
    "f948942972cc",
    "7cde04e5e0ae",
    "103dd880f301",
    "f20f5418fce5",
    "5ac75813e367",
]
