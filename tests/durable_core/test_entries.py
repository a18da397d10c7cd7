"""An entry has one spelling in bytes, which all stores share."""

import json
from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from durable_core.entries import Entry

json_bytes = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
).map(lambda value: json.dumps(value).encode())

entries = st.builds(
    Entry,
    kind=st.sampled_from(["start", "intent", "record", "failure", "finish"]),
    step_id=st.text(),
    position=st.none() | st.integers(min_value=0),
    fingerprint=st.text("0123456789abcdef(),=", max_size=40),
    effect=st.booleans(),
    payload=st.just(b"") | json_bytes,
    blob=st.none() | st.text("0123456789abcdef", min_size=64, max_size=64),
    at=st.floats(min_value=0, max_value=1e12),
)


@given(entries)
def test_an_entry_comes_back_from_its_bytes(entry: Entry) -> None:
    line = entry.to_bytes()
    assert Entry.from_bytes(line) == entry
    assert b"\n" not in line


@given(entries, entries)
def test_other_entries_have_other_bytes(one: Entry, other: Entry) -> None:
    assert (one.to_bytes() == other.to_bytes()) == (one == other)


def test_the_spelling_stays_what_it_is() -> None:
    """Checkpoints of earlier versions are read with it."""
    entry = Entry(
        kind="record", step_id="sénd", position=3, fingerprint="(0=ab)", effect=True, payload=b'"\xc3\xbc"', at=1.5
    )
    assert entry.to_bytes() == b'["record","s\\u00e9nd",3,"(0=ab)",true,null,1.5]\t"\xc3\xbc"'
    assert Entry(kind="finish").to_bytes() == b'["finish","",null,"",false,null,0.0]\t'


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\t",
        b"{}\t1",
        b"7\t",
        b'"records"\t',
        b"null\t1",
        b"[]\t",
        b'["record","s",null,"",false,null,0.0]',
        b'["record","s",null,"",false,null]\t1',
        b'["record","s",null,"",false,null,0.0,1]\t1',
        b'["recall","s",null,"",false,null,0.0]\t1',
        b'[["record"],"s",null,"",false,null,0.0]\t1',
        b'["record","s",null,"",false,null,0.0\t1',
        b"\xff\xfe\t1",
    ],
)
def test_anything_else_is_a_value_error(line: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - json's own is one too
        Entry.from_bytes(line)


@given(entries, st.integers(min_value=0, max_value=300))
def test_the_beginning_of_an_entry_is_a_value_error_too(entry: Entry, length: int) -> None:
    header, tab, _ = entry.to_bytes().partition(b"\t")
    with pytest.raises(ValueError):  # noqa: PT011
        Entry.from_bytes((header + tab)[: min(length, len(header))])


def test_an_entry_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Entry(kind="finish").payload = b"1"  # type: ignore[misc]
