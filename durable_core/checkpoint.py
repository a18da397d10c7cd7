"""A checkpoint: the records of one run, as one life sees them."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field, replace

from durable_core.codec import PLAIN
from durable_core.entries import OUTCOMES, Entry
from durable_core.stores.protocol import Lease, Store

BLOB_ABOVE = 64 * 1024
"""Bytes of JSON above which a value is stored beside the checkpoint, by its sha256."""


@dataclass(slots=True)
class Checkpoint:
    """The entries of one run in memory, and the way to add to them."""

    store: Store
    run_id: str
    lease: Lease | None
    outcomes: dict[str, Entry] = field(default_factory=dict)
    intents: dict[str, Entry] = field(default_factory=dict)
    positions: dict[int, str] = field(default_factory=dict)
    start: Entry | None = None
    finished: bool = False

    @classmethod
    def load(cls, store: Store, run_id: str, lease: Lease | None) -> Checkpoint:
        """Read what earlier lives recorded. Raises `CorruptCheckpoint` when that is not possible."""
        checkpoint = cls(store, run_id, lease)
        for entry in store.entries(run_id):
            checkpoint.take(entry)
        return checkpoint

    def take(self, entry: Entry) -> None:
        """Enter into memory what the store holds already."""
        if entry.kind in OUTCOMES:
            self.outcomes[entry.step_id] = entry
        elif entry.kind == "intent":
            self.intents[entry.step_id] = entry
        elif entry.kind == "start":
            self.start = entry
        else:
            self.finished = True
        if entry.position is not None:
            self.positions[entry.position] = entry.step_id

    def add(self, entry: Entry) -> None:
        """Make one entry durable. A large payload goes to a blob first."""
        if len(entry.payload) > BLOB_ABOVE:
            digest = self.store.put_blob(self.run_id, entry.payload)
            entry = replace(entry, at=time.time(), blob=digest, payload=b"")
        else:
            entry = replace(entry, at=time.time())
        self.store.append(self.run_id, entry, self.lease)
        self.take(entry)

    def refresh(self) -> None:
        """Read again what others may have delivered since this life began."""
        for entry in self.store.entries(self.run_id):
            self.take(entry)

    def payload(self, entry: Entry) -> bytes:
        """The JSON of an entry, from its blob when it has one."""
        return entry.payload if entry.blob is None else self.store.get_blob(self.run_id, entry.blob)


def encode_failure(error: Exception) -> bytes:
    """A recorded error: its class by name, its arguments, its fields. Raises ValueError unless all is plain data."""
    reduced = _built_in(type(error)).__reduce__(error)  # `error.args` lacks, say, the file name of an OSError
    args, fields = (*reduced[1:], {})[:2]
    state = object.__getstate__(error)
    if isinstance(state, tuple):
        fields = fields | state[1]  # what is kept in slots
    payload, _ = PLAIN.survive({"error": _name(type(error)), "args": list(args), "fields": fields})
    return payload


def decode_failure(payload: bytes, named: tuple[type[Exception], ...]) -> Exception | None:
    """The recorded error as one of the `named` classes or their subclasses; None when none of them is it."""
    record = json.loads(payload)
    for known in _with_subclasses(named):
        if _name(known) == record["error"]:
            return _restore(known, record["args"], record["fields"])
    return None


def _restore(known: type[Exception], args: list[object], fields: dict[str, object]) -> Exception:
    """An error as it was, made without its own `__init__`, which may take other arguments than those it keeps."""
    built_in = _built_in(known)
    error = built_in.__new__(known, *args)
    built_in.__init__(error, *args)
    for name, value in fields.items():
        object.__setattr__(error, name, value)  # frozen or not
    return error


def _built_in(known: type[Exception]) -> type[Exception]:
    return next(base for base in known.__mro__ if base.__module__ == "builtins")


def _name(known: type[Exception]) -> str:
    return f"{known.__module__}.{known.__qualname__}"


def _with_subclasses(classes: tuple[type[Exception], ...]) -> list[type[Exception]]:
    found = list(classes)
    for known in found:
        found.extend(reversed(known.__subclasses__()))  # of two that share a name, the one that was defined last
    return found
