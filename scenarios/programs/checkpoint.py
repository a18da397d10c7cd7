"""Plain checkpoints, written by hand: what each finished step of a run came to, as text.

The folder and the id of the run come from the environment, and are the same in every life of the run.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Protocol


class Checkpoint(Protocol):
    """The finished steps of one run."""

    def done(self, step: str) -> str | None:
        """What a step came to; None if it is not finished."""

    def record(self, step: str, value: str) -> None:
        """Note that a step is finished. Durable when it returns."""


def run_id() -> str:
    """The id of the run that goes on here."""
    return os.environ.get("CRASHWINDOW_RUN_ID", "run-1")


def key(step: str) -> str:
    """An idempotency key for a step: equal in every life of the run, and in no other run."""
    return f"{run_id()}:{step}"


def no_key(step: str) -> None:
    """What `key` is to those who have not heard of keys."""


def once_recorded(checkpoint: Checkpoint, step: str, work: Callable[[], str]) -> str:
    """What the step came to in an earlier life, or comes to now."""
    value = checkpoint.done(step)
    if value is None:
        value = work()
        checkpoint.record(step, value)
    return value


class FileCheckpoint:
    """A JSON file. It is replaced as a whole, so a crash leaves the old one or the new one, never half of it."""

    def __init__(self) -> None:
        self._file = _folder() / f"{run_id()}.json"
        self._done: dict[str, str] = json.loads(self._file.read_text()) if self._file.exists() else {}

    def done(self, step: str) -> str | None:
        """See `Checkpoint`."""
        return self._done.get(step)

    def record(self, step: str, value: str) -> None:
        """See `Checkpoint`."""
        self._done[step] = value
        draft = self._file.with_suffix(".tmp")
        with draft.open("w") as file:
            json.dump(self._done, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, self._file)  # noqa: PTH105 - as it is written everywhere


class SqliteCheckpoint:
    """A table in SQLite, for any number of runs."""

    def __init__(self) -> None:
        self._db = sqlite3.connect(_folder() / "checkpoint.db", isolation_level=None)
        self._db.execute("CREATE TABLE IF NOT EXISTS done (run TEXT, step TEXT, value TEXT, PRIMARY KEY (run, step))")

    def done(self, step: str) -> str | None:
        """See `Checkpoint`."""
        row = self._db.execute("SELECT value FROM done WHERE run = ? AND step = ?", (run_id(), step)).fetchone()
        return None if row is None else str(row[0])

    def record(self, step: str, value: str) -> None:
        """See `Checkpoint`."""
        self._db.execute("INSERT INTO done VALUES (?, ?, ?)", (run_id(), step, value))


def _folder() -> Path:
    return Path(os.environ.get("CRASHWINDOW_STATE", "."))
