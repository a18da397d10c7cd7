"""A store in one SQLite file."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from zlib import crc32

from durable_core.entries import Entry
from durable_core.errors import AlreadyRecorded, CorruptCheckpoint, LeaseLost, RunIsHeld, StoreError
from durable_core.stores.database import explain, open_database
from durable_core.stores.owner import Owner
from durable_core.stores.protocol import Lease

# Each of these is one statement and so one commit: there is no moment between the check and the write.
_APPEND = """
    INSERT INTO entries (run_id, seq, kind, step_id, crc, body)
    SELECT :run, 1 + coalesce((SELECT max(seq) FROM entries WHERE run_id = :run), 0), :kind, :step, :crc, :body
    WHERE :token IS NULL OR EXISTS (SELECT 1 FROM runs WHERE run_id = :run AND token = :token AND owner = :owner)
"""
_TAKE = """
    INSERT INTO runs (run_id, token, owner) VALUES (:run, 1, :owner)
    ON CONFLICT (run_id) DO UPDATE SET token = token + 1, owner = :owner WHERE token = :seen
"""


class SqliteStore:
    """Keeps checkpoints in the SQLite file `path` on a local disk, made for this user alone when it is not there.

    Several processes may use one file. `timeout` is in seconds: how long to wait for another's write.

    Raises:
        StoreError: the file cannot be made or used, or a newer version wrote it.
        CorruptCheckpoint: the file is damaged. An empty file is: the store brings it into existence with its tables.
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 10.0) -> None:
        self._path = Path(path).absolute()
        self._mutex = threading.Lock()
        self._leases: set[Lease] = set()
        self._process = os.getpid()
        self._owner = Owner.new()
        self._connection = open_database(self._path, timeout)

    def __repr__(self) -> str:
        return f"sqlite:///{self._path}"

    def acquire(self, run_id: str) -> Lease:
        """Take the lease; `RunIsHeld` while its owner lives, in whichever process, this one included."""
        with self._using("acquire") as connection:
            while True:
                rows = connection.execute("SELECT token, owner FROM runs WHERE run_id = ?", (run_id,)).fetchall()
                seen, holder = rows[0] if rows else (0, None)
                if holder is not None:
                    self._refuse_if_alive(run_id, holder)
                values = {"run": run_id, "owner": str(self._owner), "seen": seen}
                if connection.execute(_TAKE, values).rowcount:
                    lease = Lease(run_id, seen + 1)
                    self._leases.add(lease)
                    return lease

    def release(self, lease: Lease) -> None:
        """Give the lease back."""
        with self._using("release") as connection:
            self._release(connection, lease)

    def entries(self, run_id: str) -> list[Entry]:
        """All entries in the order they landed, each against its checksum, which SQLite itself does not keep."""
        query = "SELECT seq, crc, body FROM entries WHERE run_id = ? ORDER BY seq"
        with self._using("read") as connection:
            rows = connection.execute(query, (run_id,)).fetchall()
        entries = []
        for expected, (seq, crc, body) in enumerate(rows, 1):
            if seq != expected or crc32(body) != crc:
                raise self._damage(f"entry {expected} of run {run_id!r}")
            try:
                entries.append(Entry.from_bytes(body))
            except (TypeError, ValueError) as error:
                raise self._damage(f"entry {expected} of run {run_id!r}") from error
        return entries

    def append(self, run_id: str, entry: Entry, lease: Lease | None) -> None:
        """Add one entry in one statement, which is also what checks the lease."""
        body = entry.to_bytes()
        values = {
            "run": run_id,
            "kind": entry.kind,
            "step": entry.step_id,
            "crc": crc32(body),
            "body": body,
            "token": lease and lease.token,
            "owner": str(self._owner),
        }
        with self._using(f"append {entry.kind} {entry.step_id!r}") as connection:
            try:
                landed = (lease is None or lease.run_id == run_id) and connection.execute(_APPEND, values).rowcount
            except sqlite3.IntegrityError as error:
                raise AlreadyRecorded(
                    f"step {entry.step_id!r} of run {run_id!r} has its record in {self}; "
                    "a record is written once: read it instead"
                ) from error
        if lease is not None and not landed:
            raise LeaseLost(
                f"the lease of run {run_id!r} with token {lease.token} is no longer the one in force in {self}: it was "
                "released or taken over, and the run may have another owner; end this life and call resume again"
            )

    def put_blob(self, run_id: str, data: bytes) -> str:
        """Store `data` under its sha256. A damaged one of that name is mended."""
        digest = hashlib.sha256(data).hexdigest()
        with self._using(f"store blob {digest}") as connection:
            connection.execute("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?)", (run_id, digest, data))
        return digest

    def get_blob(self, run_id: str, digest: str) -> bytes:
        """The bytes of that sha256, verified."""
        query = "SELECT data FROM blobs WHERE run_id = ? AND digest = ?"
        with self._using(f"read blob {digest}") as connection:
            rows: list[tuple[bytes]] = connection.execute(query, (run_id, digest)).fetchall()
        if not rows or hashlib.sha256(rows[0][0]).hexdigest() != digest:
            raise self._damage(f"blob {digest} of run {run_id!r}")
        return rows[0][0]

    def runs(self) -> list[str]:
        """The ids of all runs with an entry, sorted."""
        with self._using("list runs") as connection:
            rows = connection.execute("SELECT run_id FROM entries WHERE seq = 1").fetchall()
        return sorted(run_id for (run_id,) in rows)

    def close(self) -> None:
        """Release every lease and close the file. In a forked child nothing: the connection is the parent's."""
        if self._process != os.getpid():
            return
        try:
            if self._leases:
                with self._using("release") as connection:
                    for lease in list(self._leases):
                        self._release(connection, lease)
        finally:
            self._connection.close()

    def _release(self, connection: sqlite3.Connection, lease: Lease) -> None:
        connection.execute(
            "UPDATE runs SET owner = NULL WHERE run_id = ? AND token = ? AND owner = ?",
            (lease.run_id, lease.token, str(self._owner)),
        )
        self._leases.discard(lease)

    def _refuse_if_alive(self, run_id: str, holder: str) -> None:
        try:
            owner = Owner.parse(holder)
        except ValueError as error:
            raise self._damage(f"the owner of run {run_id!r}, {holder!r},") from error
        if owner.is_alive():
            who = "this very process" if owner.pid == os.getpid() else f"process {owner.pid}, which is alive"
            raise RunIsHeld(
                f"run {run_id!r} in {self} is held by {who}: two owners would do every step twice; "
                "let it finish or end it, the lease is free at that moment"
            )

    def _damage(self, what: str) -> CorruptCheckpoint:
        return CorruptCheckpoint(
            f"{self}: {what} is missing or changed: something else wrote to the file, or the disk did; "
            "nothing was executed. Restore the file from a copy"
        )

    @contextmanager
    def _using(self, what: str) -> Iterator[sqlite3.Connection]:
        """The connection, for this thread alone; its errors become ours."""
        if self._process != os.getpid():
            raise StoreError(
                f"{self}: the store was opened by process {self._process} and is used in process {os.getpid()}, a fork "
                "of it; open the store again in the new process"
            )
        with self._mutex:
            try:
                yield self._connection
            except sqlite3.Error as error:
                raise explain(self._path, what, error) from error
