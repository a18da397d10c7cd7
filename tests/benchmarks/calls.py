"""What the fakes cost: a keyed call on a ledger in a file, and making a world on one.

A call is admitted in one transaction and settled in another, so that a kill in between finds it in flight. The bare
counterpart is an INSERT and an UPDATE, each committed, in WAL with synchronous=NORMAL, as the ledger is.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import Figure, Sizes, turn_by_turn

from fakes import World

BASELINE = "a bare INSERT and a bare UPDATE, each committed"
PROMPT = "Write a section about sharks from these sources."


def call_figures(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Email and model against two bare commits; worlds on a new and on an existing ledger."""
    with TemporaryDirectory(dir=folder) as place, World(Path(place) / "calls.db") as world, _bare(Path(place)) as bare:

        def send(key: str) -> object:
            return world.email.send(to="reader@example.com", subject="sharks", body=PROMPT, idempotency_key=key)

        def complete(key: str) -> object:
            return world.llm.complete(PROMPT, idempotency_key=key)

        def commit_twice(key: str) -> object:
            row = bare.execute("INSERT INTO calls (key, body) VALUES (?, ?)", (key, PROMPT)).lastrowid
            return bare.execute("UPDATE calls SET body = '' WHERE id = ?", (row,))

        complete("warm")  # the first answer of a process draws the vocabulary
        new, existing = Path(place) / "worlds", Path(place) / "calls.db"
        new.mkdir()
        micros = turn_by_turn(
            sizes.repeats,
            {
                "email": _each(sizes.calls, send),
                "llm": _each(sizes.calls, complete),
                "bare": _each(sizes.calls, commit_twice),
                "new": _each(sizes.worlds, lambda name: World(new / f"{name}.db").close()),
                "existing": _each(sizes.worlds, lambda _: World(existing).close()),
            },
        )
    for name, call in (("email.send", "email"), ("llm.complete", "llm")):
        yield Figure(
            name=f"one keyed {name}, ledger in a file",
            value=micros[call],
            unit="µs",
            baseline=BASELINE,
            baseline_value=micros["bare"],
        )
    yield Figure(name="one World on a new ledger, opened and closed", value=micros["new"], unit="µs")
    yield Figure(name="one World on an existing ledger, opened and closed", value=micros["existing"], unit="µs")


def _each(count: int, work: Callable[[str], object]) -> Callable[[], float]:
    """Microseconds per call, each with a name that no other has."""
    turns = iter(range(1_000_000))

    def measure() -> float:
        turn = next(turns)
        began = time.perf_counter()
        for number in range(count):
            work(f"{turn}-{number}")
        return (time.perf_counter() - began) / count * 1e6

    return measure


def _bare(folder: Path) -> closing[sqlite3.Connection]:
    connection = sqlite3.connect(folder / "bare.db", isolation_level=None)
    connection.executescript(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
        "CREATE TABLE calls (id INTEGER PRIMARY KEY, key TEXT, body TEXT NOT NULL);"
        "CREATE INDEX calls_by_key ON calls (key)"
    )
    return closing(connection)
