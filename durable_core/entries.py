"""An entry: one line of a checkpoint, and its one spelling in bytes that all stores share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["start", "intent", "record", "failure", "finish"]
"""`start`: the run is admitted. `intent`: an effect is about to happen at a provider without
deduplication. `record` and `failure`: the durable result of a step. `finish`: the run is over."""

OUTCOMES: frozenset[Kind] = frozenset({"record", "failure"})
"""The kinds that settle a step. A checkpoint holds at most one of them per step id."""


_KINDS = [[kind] for kind in get_args(Kind)]
_write = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One durable fact about a run.

    `position` is the step's place in the main strand, from 0; None where there is no order (other
    threads and tasks, deliveries). `payload` is JSON, or empty when `blob` holds its sha256.
    """

    kind: Kind
    step_id: str = ""
    position: int | None = None
    fingerprint: str = ""
    effect: bool = False
    payload: bytes = b""
    blob: str | None = None
    at: float = 0.0

    def to_bytes(self) -> bytes:
        """One line without its end: a JSON header, a tab, the payload. Neither holds a raw newline."""
        header = [self.kind, self.step_id, self.position, self.fingerprint, self.effect, self.blob, self.at]
        return _write(header).encode() + b"\t" + self.payload

    @classmethod
    def from_bytes(cls, line: bytes) -> Entry:
        """The inverse of `to_bytes`. Raises ValueError on anything else."""
        header, tab, payload = line.partition(b"\t")
        fields = json.loads(header)
        if not tab or not isinstance(fields, list) or fields[:1] not in _KINDS:
            raise ValueError("an entry has a header that begins with its kind, a tab and a payload")
        kind, step_id, position, fingerprint, effect, blob, at = fields
        return cls(
            kind=kind,
            step_id=step_id,
            position=position,
            fingerprint=fingerprint,
            effect=effect,
            payload=payload,
            blob=blob,
            at=at,
        )
