"""The providers' own account of every call. It lies outside the agent's memory, so no kill can erase it."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from operator import attrgetter
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from fakes.witness import Call, Caller, Nature

Outcome = Literal["in progress", "applied", "deduplicated", "refused", "failed"]
"""Of those that applied nothing: `refused` calls got a no before any work, `failed` ones ended in it or got lost."""

# WAL with synchronous=OFF: a commit is a write() into the log, and what was written belongs to the kernel, so it
# survives a SIGKILL of the process. NORMAL and FULL add fsyncs, which matter for power loss only.
_SCHEMA = """
PRAGMA synchronous = OFF;
PRAGMA journal_mode = WAL;
CREATE TABLE IF NOT EXISTS calls (
    id INTEGER PRIMARY KEY, provider TEXT NOT NULL, operation TEXT NOT NULL, target TEXT NOT NULL, key TEXT,
    body TEXT NOT NULL, nature TEXT NOT NULL, tokens_in INTEGER NOT NULL DEFAULT 0,
    tokens_out INTEGER NOT NULL DEFAULT 0, outcome TEXT NOT NULL, original INTEGER,
    life INTEGER NOT NULL, step TEXT, at REAL NOT NULL,
    fault TEXT NOT NULL, answer TEXT NOT NULL DEFAULT '', session INTEGER NOT NULL, retry INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS calls_by_key ON calls (provider, key) WHERE key IS NOT NULL AND original IS NULL;
"""
_COLUMNS = (
    "id, provider, operation, target, key, body, nature, tokens_in, tokens_out,"
    " outcome, original, life, step, at, fault, answer, retry"
)
_OUTER = ("BEGIN IMMEDIATE", "COMMIT", "ROLLBACK")
_INNER = ("SAVEPOINT inner_one", "RELEASE inner_one", "ROLLBACK TO inner_one")
_BUSY_SECONDS = 30.0


class LedgerUnusable(Exception):
    """The file cannot be opened as a ledger; the message names it and says why."""


@dataclass(frozen=True, slots=True)
class Row:
    """One call. All the ledger knows is in its rows: `Ledger.extend` makes an equal ledger from them.

    `body` is a digest; `original` the id of the row whose answer a deduplicated call got; `at` seconds
    since the epoch; `fault` the faults that the call met, as text, separated by spaces; `answer` the
    provider's answer or saved error as JSON, empty where there is none or nobody can ask for it again;
    `retry` which retry of its client the call is, 0 for one that the program made itself.
    """

    id: int
    provider: str
    operation: str
    target: str
    key: str | None
    body: str
    nature: Nature
    tokens_in: int
    tokens_out: int
    outcome: Outcome
    original: int | None
    life: int
    step: str | None
    at: float
    fault: str = ""
    answer: str = field(default="", repr=False)
    retry: int = 0


row_values = attrgetter(*(column.name for column in fields(Row)))
"""A row as a tuple, in the order of its fields. (`dataclasses.astuple` says the same, and copies deeply.)"""


class Ledger:
    """Rows in SQLite: a file for anything that is to be killed, memory (`path` None) for all else.

    Threads may share a ledger. Processes may share a file, each with a ledger of its own, never one
    carried across a fork. Every opening is a *session*: a call left in progress by an earlier
    session is taken to have died with its process, unapplied, once its key is used again (see `keyed`).
    """

    def __init__(self, path: Path | str | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._lock = threading.RLock()
        self._db = _open(self.path)
        last = self._db.execute("SELECT life, session FROM calls ORDER BY id DESC LIMIT 1").fetchone()
        self.last_life: int
        self.last_life, session = last or (0, 0)
        self._session: int = session + 1

    def close(self) -> None:
        """Close the file; the rows stay. Closing twice is fine."""
        with self._lock:
            self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing, and no other writer in between, in this process or another. One may lie in another."""
        with self._lock:
            begin, commit, roll_back = _INNER if self._db.in_transaction else _OUTER
            self._db.execute(begin)
            try:
                yield
            except BaseException:
                self._db.execute(roll_back)
                raise
            self._db.execute(commit)

    def add(
        self,
        call: Call,
        caller: Caller,
        outcome: Outcome,
        *,
        at: float,
        original: int | None = None,
        fault: str = "",
    ) -> int:
        """Enter a call; the id of its row."""
        values = (
            *(call.provider, call.operation, call.target, call.key, call.body, call.nature),
            *(outcome, original, caller.life, caller.step, at, fault, self._session, caller.retry),
        )
        with self._lock:
            cursor = self._db.execute(
                "INSERT INTO calls (provider, operation, target, key, body, nature, outcome, original, life, step, at,"
                " fault, session, retry) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                values,
            )
            return int(cursor.lastrowid or 0)

    def settle(self, row: int, outcome: Outcome, *, answer: str = "", tokens_in: int = 0, tokens_out: int = 0) -> bool:
        """End a call in progress. False if it is not in progress any more: a later session has taken its key over."""
        # One statement is a transaction of its own.
        with self._lock:
            cursor = self._db.execute(
                "UPDATE calls SET outcome = ?, answer = ?, tokens_in = ?, tokens_out = ?"
                " WHERE id = ? AND outcome = 'in progress'",
                (outcome, answer, tokens_in, tokens_out, row),
            )
            return cursor.rowcount == 1

    def keyed(self, provider: str, key: str) -> list[Row]:
        """The calls that may answer for a key: in progress, applied, or failed; oldest first.

        A call in progress of an earlier session never ends: in process, the provider dies with its
        caller, and what it had not settled it had not applied. It is failed here, so that the retry
        of a killed life is not told for ever to wait. Should that process be alive after all, its
        `settle` returns False and nothing is applied twice.
        """
        where = "provider = ? AND key = ? AND original IS NULL AND outcome IN ('in progress', 'applied', 'failed')"
        rows = self._rows(where, provider, key)
        if any(row.outcome == "in progress" for row in rows):
            with self._lock:
                self._db.execute(
                    "UPDATE calls SET outcome = 'failed'"
                    " WHERE provider = ? AND key = ? AND outcome = 'in progress' AND session < ?",
                    (provider, key, self._session),
                )
            rows = self._rows(where, provider, key)
        return rows

    def count(self, provider: str, operation: str = "*") -> int:
        """How many calls there were, whatever became of them."""
        sql = "SELECT count(*) FROM calls WHERE provider = ? AND ? IN ('*', operation)"
        return int(self._query(sql, provider, operation)[0][0])

    def __len__(self) -> int:
        """How many calls there were, of all providers."""
        return int(self._query("SELECT count(*) FROM calls")[0][0])

    def applied(self, provider: str, operation: str) -> list[Row]:
        """The applied calls of one operation, oldest first."""
        return self._rows("provider = ? AND operation = ? AND outcome = 'applied'", provider, operation)

    @property
    def changes(self) -> int:
        """Grows whenever this opening enters or changes a row; asking costs next to nothing."""
        return self._db.total_changes

    def rows(self, *, after: int = 0) -> list[Row]:
        """Every call with an id above `after`, oldest first."""
        return self._rows("id > ?", after)

    def tokens(self) -> tuple[int, int]:
        """Tokens billed so far: (in, out)."""
        sql = "SELECT total(tokens_in), total(tokens_out) FROM calls WHERE outcome = 'applied'"
        tokens_in, tokens_out = self._query(sql)[0]
        return int(tokens_in), int(tokens_out)

    def effects(self) -> Counter[tuple[str, str, str]]:
        """How often each (provider, operation, target) was acted on."""
        sql = (
            "SELECT provider, operation, target, count(*) FROM calls"
            " WHERE outcome = 'applied' AND nature = 'acts' GROUP BY 1, 2, 3 ORDER BY min(id)"
        )
        return Counter({(provider, operation, target): n for provider, operation, target, n in self._query(sql)})

    def extend(self, rows: Iterable[Row]) -> None:
        """Write rows of another ledger into this one, ids included. Calls in progress there are over here."""
        with self.transaction():
            self._db.executemany(
                f"INSERT INTO calls ({_COLUMNS}, session) VALUES ({', '.join('?' * len(fields(Row)))}, 0)",  # noqa: S608 - no input
                map(row_values, rows),
            )
            last = self._db.execute("SELECT life FROM calls ORDER BY id DESC LIMIT 1").fetchone()
            self.last_life = last[0] if last else 0

    def _rows(self, where: str, *values: object) -> list[Row]:
        return [Row(*row) for row in self._query(f"SELECT {_COLUMNS} FROM calls WHERE {where} ORDER BY id", *values)]  # noqa: S608 - no input

    def _query(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()


def _open(path: Path | None) -> sqlite3.Connection:
    """A connection in autocommit mode: every transaction is spelled out."""
    try:
        if path is not None:
            # Requests may hold personal data; SQLite gives its -wal and -shm files the same mode.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        db = sqlite3.connect(path or ":memory:", timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    except OSError as error:
        raise LedgerUnusable(
            f"ledger {str(path)!r} cannot be opened: {error.strerror}; give a writable file"
        ) from error
    try:
        db.executescript(_SCHEMA)
        if not any(column[1] == "retry" for column in db.execute("PRAGMA table_info(calls)")):
            db.execute("ALTER TABLE calls ADD COLUMN retry INTEGER NOT NULL DEFAULT 0")  # a ledger of version 0.1
    except sqlite3.DatabaseError as error:
        db.close()
        raise LedgerUnusable(
            f"ledger {str(path)!r} is unusable: {error}; give a new path or a file World made"
        ) from error
    return db
