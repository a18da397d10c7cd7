"""The contract of a store. `durable_core.conformance` holds any implementation against it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from durable_core.entries import Entry


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to advance one run. `token` grows with every owner; a stale one is refused."""

    run_id: str
    token: int


class Store(Protocol):
    """Where checkpoints live.

    Every method may raise `StoreError`, which names the store. Methods may be called from several
    threads. `run_id` is data: it cannot name anything outside the store.
    """

    def acquire(self, run_id: str) -> Lease:
        """Take the lease of a run, with a token higher than any before.

        Raises:
            RunIsHeld: a living owner has it. The lease of a dead owner is taken over at once.
        """

    def release(self, lease: Lease) -> None:
        """Give the lease back. A lease that is already lost is no error."""

    def entries(self, run_id: str) -> list[Entry]:
        """All entries in the order they landed; empty when the run was never admitted.

        Raises:
            CorruptCheckpoint: something acknowledged cannot be read.
        """

    def append(self, run_id: str, entry: Entry, lease: Lease | None) -> None:
        """Add one entry: atomic, durable when this returns, O(1).

        `lease` is None for a delivery, which anybody may make while the run is held.

        Raises:
            LeaseLost: the lease's token is stale, or it was released.
            AlreadyRecorded: the step has a record or failure already.
        """

    def put_blob(self, run_id: str, data: bytes) -> str:
        """Store `data`, durable when this returns, under its sha256, which is returned in hex."""

    def get_blob(self, run_id: str, digest: str) -> bytes:
        """The bytes of that sha256. Raises `CorruptCheckpoint` when missing or changed."""

    def runs(self) -> list[str]:
        """The ids of all admitted runs, sorted."""

    def close(self) -> None:
        """Free what is open. The store is not used afterwards."""
