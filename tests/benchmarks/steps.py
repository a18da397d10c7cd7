"""One recorded step against the least that durability costs: one synced write, one committed row, of equal length.

The step is `run.step` inside `resume`: fingerprint, codec, lease check, append, sync. A step and its bare counterpart
take turns, one by one, on files in the same folder.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import Figure, Sizes

from durable_core import Run, Store, open_store, resume

RATIO = 1.5


@dataclass(frozen=True, slots=True)
class Receipt:
    """What a step of the benchmark returns."""

    id: str
    cents: int
    customer: str


def charge(number: int) -> Receipt:
    """The work of a step: as good as none."""
    return Receipt(f"ch_{number:08}", number, "customer@example.com")


def step_figures(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Both stores against the bare write."""
    for name, url, bare, baseline in (
        ("file store", "file://{}/runs", _bare_line, "os.write + os.fdatasync of an equal line"),
        ("SQLite", "sqlite:///{}/runs.db", _bare_row, "INSERT of an equal row, WAL, synchronous=FULL"),
    ):
        steps, bares = [], []
        for _ in range(sizes.repeats):
            with TemporaryDirectory(dir=folder) as place:
                step, least = _one_turn(url.format(place), bare, Path(place), sizes.steps)
            steps.append(step)
            bares.append(least)
        step, least = statistics.median(steps), statistics.median(bares)
        yield Figure(
            name=f"one recorded step, {name}",
            value=step * 1e6,
            unit="µs",
            baseline=baseline,
            baseline_value=least * 1e6,
            aim=f"≤ {RATIO} x",
            met=step <= RATIO * least,
        )


def _one_turn(
    url: str, bare: Callable[[Path, int, ExitStack], Callable[[], None]], folder: Path, count: int
) -> tuple[float, float]:
    """Median seconds of a step, and of what it is held against."""
    with ExitStack() as open_files:
        store = open_files.enter_context(closing(open_store(url)))
        write = bare(folder, _length(store), open_files)
        return resume(store, "measured", _alternate, write, count)


def _alternate(run: Run, write: Callable[[], None], count: int) -> tuple[float, float]:
    steps, bares = [], []
    for number in range(count + 1):
        began = time.perf_counter()
        run.step(f"charge:{number}", charge, number)
        between = time.perf_counter()
        write()
        steps.append(between - began)
        bares.append(time.perf_counter() - between)
    return statistics.median(steps[1:]), statistics.median(bares[1:])  # the first opens files and fills caches


def _length(store: Store) -> int:
    """Bytes of the entry that a step makes."""
    resume(store, "sample", lambda run: run.step("charge:100", charge, 100))
    return next(len(entry.to_bytes()) for entry in store.entries("sample") if entry.kind == "record")


def _bare_line(folder: Path, length: int, open_files: ExitStack) -> Callable[[], None]:
    fd = os.open(folder / "bare.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    open_files.callback(os.close, fd)
    line = b"x" * (length + len("00000000 ")) + b"\n"
    sync = getattr(os, "fdatasync", os.fsync)

    def write() -> None:
        os.write(fd, line)
        sync(fd)

    return write


def _bare_row(folder: Path, length: int, open_files: ExitStack) -> Callable[[], None]:
    connection = open_files.enter_context(closing(sqlite3.connect(folder / "bare.db", isolation_level=None)))
    connection.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;"
        "CREATE TABLE entries (id INTEGER PRIMARY KEY, body BLOB NOT NULL) STRICT"
    )
    body = b"x" * length

    def write() -> None:
        connection.execute("INSERT INTO entries (body) VALUES (?)", (body,))

    return write
