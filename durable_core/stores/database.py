"""The SQLite file itself: brought into existence at once, opened only when it is ours, its errors made readable."""

from __future__ import annotations

import os
import secrets
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

from durable_core.errors import CorruptCheckpoint, StoreError
from durable_core.stores.disk import naming, sync

SCHEMA_VERSION = 1
"""`PRAGMA user_version`. A newer one is refused."""

_APPLICATION = int.from_bytes(b"DurC")
"""`PRAGMA application_id`: a database without it belongs to another program."""

_SCHEMA = f"""
    PRAGMA journal_mode = WAL;
    BEGIN;
    CREATE TABLE runs (run_id TEXT PRIMARY KEY, token INTEGER NOT NULL, owner TEXT) STRICT;
    CREATE TABLE entries (
        run_id TEXT NOT NULL, seq INTEGER NOT NULL, kind TEXT NOT NULL, step_id TEXT NOT NULL,
        crc INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (run_id, seq)
    ) STRICT;
    CREATE UNIQUE INDEX one_outcome ON entries (run_id, step_id) WHERE kind IN ('record', 'failure');
    CREATE INDEX admitted ON entries (run_id) WHERE seq = 1;
    CREATE TABLE blobs (
        run_id TEXT NOT NULL, digest TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY (run_id, digest)
    ) STRICT;
    PRAGMA application_id = {_APPLICATION};
    PRAGMA user_version = {SCHEMA_VERSION};
    COMMIT;
"""

_RIGHTS = "give this user the right to read and write the file and its folder"
_END_IT = "end the program or transaction that holds it"

_REASONS = {
    sqlite3.SQLITE_FULL: ("the disk is full, or the database has its largest allowed size", "free some space"),
    sqlite3.SQLITE_READONLY: ("it is read-only", _RIGHTS),
    sqlite3.SQLITE_BUSY: ("another connection keeps it locked", _END_IT),
    sqlite3.SQLITE_LOCKED: ("another connection keeps it locked", _END_IT),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", _RIGHTS),
    sqlite3.SQLITE_PERM: ("this user may not", _RIGHTS),
    sqlite3.SQLITE_IOERR: ("the disk failed", "check the disk"),
    sqlite3.SQLITE_NOTADB: ("it is not a SQLite database", "name another file, or restore it from a copy"),
    sqlite3.SQLITE_CORRUPT: ("it is damaged", "restore it from a copy"),
}
_DAMAGE = {sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT}


def explain(path: Path, what: str, error: sqlite3.Error) -> StoreError:
    """The `StoreError` or `CorruptCheckpoint` for an error of SQLite: path, what failed, reason and fix."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the higher bytes tell details
    reason, fix = _REASONS.get(code, ("SQLite refused", "see its reason"))
    kind = CorruptCheckpoint if code in _DAMAGE else StoreError
    return kind(f"{path}: cannot {what}: {reason} ({error}); {fix}, then resume")


def open_database(path: Path, timeout: float) -> sqlite3.Connection:
    """Connect to the file at `path`, which is made when it is not there. `timeout` is for others' locks, in seconds.

    Raises:
        StoreError: it cannot be made or used, is another program's or a newer version's.
        CorruptCheckpoint: it is damaged.
    """
    if sqlite3.sqlite_version_info < (3, 37):
        raise StoreError(
            f"{path}: this Python has SQLite {sqlite3.sqlite_version}, and the store needs 3.37, which has STRICT "
            "tables; use a newer Python, or the file store"
        )
    try:
        with naming("make the database", path):
            if not path.exists():
                _create(path, timeout)
            if path.stat().st_size == 0:
                raise CorruptCheckpoint(
                    f"{path}: the file is empty, so it was cut off or something else made it, for a store makes no "
                    "empty file; restore it from a copy, or remove it if no run was ever in it"
                )
        connection = _connect(path, timeout)
        try:
            _check_ours(path, connection)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise explain(path, "open", error) from error
    return connection


def _connect(path: Path, timeout: float) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)
    # FULL syncs the log at every commit (sqlite.org/pragma.html#pragma_synchronous); fullfsync is for macOS.
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA fullfsync = ON")
    return connection


def _create(path: Path, timeout: float) -> None:
    """Bring the file into existence with its tables, at once; nothing when another process was faster."""
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    os.close(os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        with closing(sqlite3.connect(unfinished, timeout=timeout, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = OFF")  # nobody knows the file yet: one sync at the end is enough
            connection.executescript(_SCHEMA)
        with unfinished.open("r+b") as file:
            sync(file.fileno())
        os.link(unfinished, path)
    except FileExistsError:
        return
    finally:
        unfinished.unlink()
    if sys.platform != "win32":
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def _check_ours(path: Path, connection: sqlite3.Connection) -> None:
    ((application,),) = connection.execute("PRAGMA application_id").fetchall()
    ((version,),) = connection.execute("PRAGMA user_version").fetchall()
    if application != _APPLICATION:
        raise StoreError(f"{path}: the database belongs to another program; name another file")
    if version > SCHEMA_VERSION:
        raise StoreError(
            f"{path}: the database has schema {version} and this durable_core knows up to {SCHEMA_VERSION}: a newer "
            "one wrote it; install that version"
        )
