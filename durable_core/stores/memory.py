"""A store in the memory of one process, for tests."""

from __future__ import annotations

import hashlib
import threading

from durable_core.entries import OUTCOMES, Entry
from durable_core.errors import AlreadyRecorded, CorruptCheckpoint, LeaseLost, RunIsHeld
from durable_core.stores.protocol import Lease


class MemoryStore:
    """Keeps checkpoints in a dict. It survives nothing: no kill, no restart, not even losing the object."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._entries: dict[str, list[Entry]] = {}
        self._settled: set[tuple[str, str]] = set()
        self._tokens: dict[str, int] = {}
        self._held: set[Lease] = set()
        self._blobs: dict[tuple[str, str], bytes] = {}

    def __repr__(self) -> str:
        return "memory:"

    def acquire(self, run_id: str) -> Lease:
        """Take the lease; `RunIsHeld` until it is released, for nobody can die and leave this store behind."""
        with self._mutex:
            token = self._tokens.get(run_id, 0)
            if Lease(run_id, token) in self._held:
                raise RunIsHeld(
                    f"run {run_id!r} in {self} is held by this very process: two owners would do every step twice; "
                    "release the first lease"
                )
            lease = Lease(run_id, token + 1)
            self._tokens[run_id] = lease.token
            self._held.add(lease)
            return lease

    def release(self, lease: Lease) -> None:
        """Give the lease back."""
        with self._mutex:
            self._held.discard(lease)

    def entries(self, run_id: str) -> list[Entry]:
        """All entries in the order they landed."""
        with self._mutex:
            return list(self._entries.get(run_id, ()))

    def append(self, run_id: str, entry: Entry, lease: Lease | None) -> None:
        """Add one entry; `LeaseLost` or `AlreadyRecorded` when it may not be."""
        with self._mutex:
            if lease is not None and (lease.run_id != run_id or lease not in self._held):
                raise LeaseLost(
                    f"the lease of run {run_id!r} with token {lease.token} is no longer the one in force in {self}: it "
                    "was released, and the run may have another owner; end this life and call resume again"
                )
            if entry.kind in OUTCOMES:
                if (run_id, entry.step_id) in self._settled:
                    raise AlreadyRecorded(
                        f"step {entry.step_id!r} of run {run_id!r} has its record in {self}; "
                        "a record is written once: read it instead"
                    )
                self._settled.add((run_id, entry.step_id))
            self._entries.setdefault(run_id, []).append(entry)

    def put_blob(self, run_id: str, data: bytes) -> str:
        """Store `data` under its sha256, returned in hex."""
        digest = hashlib.sha256(data).hexdigest()
        with self._mutex:
            self._blobs[run_id, digest] = bytes(data)
        return digest

    def get_blob(self, run_id: str, digest: str) -> bytes:
        """The bytes of that sha256; `CorruptCheckpoint` when they are missing."""
        with self._mutex:
            data = self._blobs.get((run_id, digest))
        if data is None:
            raise CorruptCheckpoint(
                f"blob {digest} of run {run_id!r} is not in {self}; it lives as long as the store object: keep that one"
            )
        return data

    def runs(self) -> list[str]:
        """The ids of all runs with an entry, sorted."""
        with self._mutex:
            return sorted(self._entries)

    def close(self) -> None:
        """Nothing is open."""
