"""Crash images: the durable state as it stands at a crash point, as plain data, and when two of them are equal.

An image is the prefix of what a life has written, on top of the image that the life began from. Lives write their
changes down once, one line each; an image is therefore a list of prefixes, and costs nothing to keep.

Two images are equal when the same steps are recorded, the same intents stand, the same effects were applied (provider,
operation, target, key, step, how often; at a provider that can be asked for them also the body) and the same was billed
that no record accounts for. What a model answered is left out, or an agent that reads a drifting source would never
come back to an image it has seen; `exact` puts it in. The digest is a sum over these parts, so that a change costs the
same however long the run is.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from chaos.faults import Struck, is_wasted, provider_faults
from chaos.life import History
from chaos.points import Point, parse_schedule
from durable_core.entries import OUTCOMES, Entry
from fakes import Fault, Row
from fakes.ledger import row_values
from fakes.world import PROVIDERS

Change = Entry | Row | Struck | tuple[str, bytes]
"""A durable change: an entry landed, a provider noted a call, a fault struck, or a blob (digest, bytes) was stored."""


@dataclass(slots=True)
class Digest:
    """The digest of a durable state, kept while it changes: 64 bits, the same in every process.

    Beside it goes the account of the calls that billed or acted: which of them nothing accounts for yet (`open`), and
    which answers were lost in flight, for who accepts that (`lost`): the last one of each step when its life ended.

    Of planned `faults` it is part of the state how near they are: which have struck, and how many calls are counted.
    """

    exact: bool = False
    accept_in_flight: bool = False
    faults: tuple[str, ...] = ()
    value: int = 0
    open: dict[int, Row] = field(default_factory=dict)
    lost: int = 0
    _own: set[int] = field(default_factory=set)
    _intents: set[str] = field(default_factory=set)
    _wasted: set[int] = field(default_factory=set)
    _numbered: list[Fault] = field(init=False)
    _counts: Counter[Fault] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self._numbered = [fault for fault in provider_faults(self.faults) if fault.nth]

    def next_life(self) -> None:
        """What is noted from here on is the work of another life."""
        if self.accept_in_flight:
            last = {row.step: row for row in self.open.values() if row.id in self._own}
            for row in last.values():
                if row.nature == "bills":
                    self._close(row)
                    self.lost += 1
        self._own.clear()

    def take(self, change: Change) -> bool:
        """Enter a change; whether the state is another one now."""
        before = self.value
        if isinstance(change, Entry):
            self._take_entry(change)
        elif isinstance(change, Row):
            self._count(change)
            self._take_row(change)
        elif isinstance(change, Struck):
            self._add("struck", change.fault)
        return self.value != before

    def repeats(self, row: Row) -> bool:
        """Whether a call does again what an earlier life has done and nothing accounts for."""
        if row.outcome != "applied" or row.nature == "reads":
            return False
        return any(
            other.id not in self._own and (other.step, *_place(other)) == (row.step, *_place(row))
            for other in self.open.values()
        )

    def _take_entry(self, entry: Entry) -> None:
        if entry.kind == "intent":
            self._intents.add(entry.step_id)
            self._add("intent", entry.step_id)
            return
        self._add("settled" if entry.kind in OUTCOMES else entry.kind, entry.step_id)
        if self.exact:
            self._add(entry.kind, entry.step_id, entry.payload, entry.blob)
        if entry.step_id in self._intents:
            self._intents.discard(entry.step_id)
            self._add("intent", entry.step_id, times=-1)
        self._account_for(None if entry.kind == "finish" else entry.step_id)

    def _take_row(self, row: Row) -> None:
        self._own.add(row.id)
        if row.outcome == "deduplicated" and row.original is not None:
            self._own.add(row.original)
        if row.outcome != "applied" or row.nature == "reads":
            return
        self._wasted.update(other.id for other in self.open.values() if other.id in self._own and is_wasted(other, row))
        self.open[row.id] = row
        self._add(*_identity(row))
        if self.exact:
            self._add("answer", row.answer)

    def _account_for(self, step: str | None) -> None:
        """A record accounts for the calls of the life that wrote it, and for those they were deduplicated onto.

        One that came from a look-up accounts for the last call of an earlier life.
        """
        rows = [row for row in self.open.values() if row.step == step]
        own = [row for row in rows if row.id in self._own]
        for row in own or rows[-1:]:
            if row.id not in self._wasted:
                self._close(row)
            elif self.accept_in_flight and row.nature == "bills":
                self._close(row)
                self.lost += 1

    def _close(self, row: Row) -> None:
        """What has acted has acted; what was billed counts only while nothing accounts for it."""
        del self.open[row.id]
        if row.nature == "bills":
            self._add(*_identity(row), times=-1)

    def _count(self, row: Row) -> None:
        """A numbered fault of a provider is as near as the calls before it; once it has struck, they count no more."""
        for fault in self._numbered:
            if fault.provider == row.provider and fault.operation in ("*", row.operation):
                self._counts[fault] += 1
                if self._counts[fault] <= fault.nth:
                    self._add("counted", str(fault))

    def _add(self, *what: object, times: int = 1) -> None:
        part = int.from_bytes(hashlib.blake2b(repr(what).encode(), digest_size=8).digest())
        self.value = (self.value + times * part) % (1 << 64)


def write(change: Change) -> bytes:
    """A change as one line."""
    if isinstance(change, Entry):
        return b"e" + change.to_bytes() + b"\n"
    if isinstance(change, Row):
        return b"r" + json.dumps(row_values(change)).encode() + b"\n"
    if isinstance(change, Struck):
        return b"s" + change.fault.encode() + b"\n"
    digest, data = change
    return b"b" + digest.encode() + b" " + base64.b64encode(data) + b"\n"


def write_point(point: Point) -> bytes:
    """A point that the life passed, between the changes."""
    return b"p" + str(point).encode() + b"\n"


def read(history: History) -> Iterator[tuple[int, Change | Point]]:
    """The changes and points of an image, each with the number of the life they are of."""
    return ((number, _read_line(line)) for number, line in _lines(history))


def read_changes(history: History) -> Iterator[tuple[int, Change]]:
    """The changes of an image alone, each with the number of the life they are of."""
    for number, line in _lines(history):
        if not line.startswith(b"p"):
            change = _read_line(line)
            assert not isinstance(change, Point)  # noqa: S101 - it says so
            yield number, change


def _lines(history: History) -> Iterator[tuple[int, bytes]]:
    for number, segment in enumerate(history, 1):
        if not segment.size:
            continue  # a life that died before it could write has no file
        with Path(segment.path).open("rb") as file:
            for line in file.read(segment.size).split(b"\n")[:-1]:
                yield number, line


def _read_line(line: bytes) -> Change | Point:
    kind, body = line[:1], line[1:]
    if kind == b"e":
        return Entry.from_bytes(body)
    if kind == b"r":
        return Row(*json.loads(body))
    if kind == b"s":
        return Struck(body.decode())
    if kind == b"b":
        digest, _, data = body.partition(b" ")
        return digest.decode(), base64.b64decode(data)
    (point,) = parse_schedule(body.decode())
    return point


def structure(changes: Iterable[Change]) -> tuple[list[str], list[str]]:
    """What two equal images have in common, spelled out: entries and applied calls, in an order of their own."""
    entries, calls = [], []
    for change in changes:
        if isinstance(change, Entry):
            entries.append(f"{change.kind} {change.step_id}")
        elif isinstance(change, Row) and change.outcome == "applied" and change.nature != "reads":
            calls.append(f"{change.provider}.{change.operation} {change.target} {change.key} {change.step}")
    return sorted(entries), sorted(calls)


def _place(row: Row) -> tuple[str, str, str]:
    return row.provider, row.operation, row.target


def _identity(row: Row) -> tuple[object, ...]:
    """What an applied call counts as. What a look-up can find is told apart by its body: its reference, its amount."""
    return (row.nature, *_place(row), row.key, row.step, row.body if row.provider in _LOOKED_UP else "")


_LOOKED_UP = frozenset(
    name for name, provider in PROVIDERS.items() if any(known.startswith("find_") for known in provider.operations)
)
