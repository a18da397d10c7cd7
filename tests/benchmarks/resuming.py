"""Resuming a long run: open the store, take the lease, read the checkpoint, answer every step from its record."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from figures import Figure, Sizes, turn_by_turn
from steps import Receipt, charge

from durable_core import Run, open_store, resume

STORES = {"file store": "file://{}/runs", "SQLite": "sqlite:///{}/runs.db"}
SECONDS = 0.3
RATIO = 1.5
"""Records may cost this much more in the largest checkpoint than in the smallest: what is above 1 is the caches'."""


class Died(Exception):
    """The end of a life, in place of a kill: the run is never finished, so that each resume finds the same."""


def resume_figures(sizes: Sizes, folder: Path, fast: str | None) -> Iterator[Figure]:
    """Three lengths on both stores, and how the cost of one record grows with the length.

    `fast` is where checkpoints are written before they are copied to `folder`; syncing each step is not measured here.
    """
    with TemporaryDirectory(dir=folder) as place:
        urls: dict[tuple[str, int], str] = {}
        for count in sizes.records:
            for name, url in STORES.items():
                made = Path(place) / str(len(urls))
                with TemporaryDirectory(dir=fast) as unsynced:
                    _live(url.format(unsynced), count, charge)
                    shutil.copytree(unsynced, made)
                urls[name, count] = url.format(made)
        seconds = turn_by_turn(
            sizes.repeats, {key: partial(_live, url, key[1], recorded_already) for key, url in urls.items()}
        )
    smallest, middle, largest = sizes.records
    for name in STORES:
        for count in sizes.records:
            taken = seconds[name, count]
            yield Figure(
                name=f"resuming {count:,} recorded steps, {name}",
                value=taken,
                unit="s",
                aim=f"< {SECONDS} s" if count == middle else "",
                met=taken < SECONDS if count == middle else None,
            )
        each = {count: seconds[name, count] / count * 1e6 for count in (smallest, largest)}
        yield Figure(
            name=f"one record of {largest:,}, {name}",
            value=each[largest],
            unit="µs",
            baseline=f"one record of {smallest:,}",
            baseline_value=each[smallest],
            aim=f"linear: ≤ {RATIO} x",
            met=each[largest] <= RATIO * each[smallest],
        )


def recorded_already(number: int) -> Receipt:
    """A step that is answered from its record, or nothing was resumed."""
    raise AssertionError(f"step {number} was executed again")


def _live(url: str, count: int, step: Callable[[int], Receipt]) -> float:
    """One life that asks for `count` steps and dies; its seconds."""
    began = time.perf_counter()
    with contextlib.closing(open_store(url)) as store, contextlib.suppress(Died):
        resume(store, "long", partial(_ask, count=count, step=step))
    return time.perf_counter() - began


def _ask(run: Run, count: int, step: Callable[[int], Receipt]) -> None:
    for number in range(count):
        run.step(f"charge:{number}", step, number)
    raise Died
