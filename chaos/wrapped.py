"""A store around another one, which does what that one does: for stores that change a single thing."""

from __future__ import annotations

from dataclasses import dataclass

from durable_core import Lease, Store
from durable_core.entries import Entry


@dataclass(slots=True)
class WrappedStore:
    """Hands everything on to `inner`."""

    inner: Store

    def acquire(self, run_id: str) -> Lease:
        """As the store inside."""
        return self.inner.acquire(run_id)

    def release(self, lease: Lease) -> None:
        """As the store inside."""
        self.inner.release(lease)

    def entries(self, run_id: str) -> list[Entry]:
        """As the store inside."""
        return self.inner.entries(run_id)

    def append(self, run_id: str, entry: Entry, lease: Lease | None) -> None:
        """As the store inside."""
        self.inner.append(run_id, entry, lease)

    def put_blob(self, run_id: str, data: bytes) -> str:
        """As the store inside."""
        return self.inner.put_blob(run_id, data)

    def get_blob(self, run_id: str, digest: str) -> bytes:
        """As the store inside."""
        return self.inner.get_blob(run_id, digest)

    def runs(self) -> list[str]:
        """As the store inside."""
        return self.inner.runs()

    def close(self) -> None:
        """As the store inside."""
        self.inner.close()
