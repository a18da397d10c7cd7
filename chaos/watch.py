"""The two seams at which a life is watched and killed: the store, and the provider call.

Neither the core nor the fakes know of it: the store is wrapped, and the fakes take any `Witness`.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NoReturn

from chaos.coverage import save_coverage
from chaos.points import FINISH, START, Point, Window, place_of_call, place_of_step
from chaos.wrapped import WrappedStore
from durable_core import Lease, current_step
from durable_core.entries import OUTCOMES, Entry
from fakes import Call, Caller


@dataclass(slots=True)
class Watch:
    """Sees and names every point that a life passes.

    `passed` is told of each point, `changed` of each entry or blob that is durable; one at a time, under one lock.
    `pause` is called before, without the lock.
    """

    life: int
    passed: Callable[[Point], None]
    changed: Callable[[Entry | tuple[str, bytes]], None] = lambda _: None
    pause: Callable[[], None] = lambda: None
    trace: list[Point] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    _calls: Counter[str] = field(default_factory=Counter)
    _thread: threading.local = field(default_factory=threading.local)

    def caller(self) -> Caller:
        """Who makes a provider call: for the ledger."""
        step = current_step()
        return Caller(self.life, step[1] if step else None)

    def before(self, call: Call) -> None:
        """A provider is about to be called."""
        place = _place(call)
        with self.lock:
            self._calls[place] += 1
            self._thread.call = self._calls[place]
        self._pass(Point(place, Window.BEFORE, self._thread.call))

    def applied(self, call: Call) -> None:
        """A provider has acted and committed; the caller does not know yet."""
        self._pass(Point(_place(call), Window.APPLIED, self._thread.call))

    def storing(self, entry: Entry) -> None:
        """A record is about to be written."""
        if entry.kind != "intent":
            self._pass(Point(_place_of_entry(entry), Window.UNRECORDED))

    def stored(self, entry: Entry) -> None:
        """A record is durable."""
        if entry.kind != "intent":
            self._pass(Point(_place_of_entry(entry), Window.RECORDED))

    def _pass(self, point: Point) -> None:
        self.pause()
        with self.lock:  # who dies here keeps it, so that no other thread passes a point after the last one
            self.trace.append(point)
            self.passed(point)


@dataclass(slots=True)
class WatchedStore(WrappedStore):
    """A store that tells a `Watch` of every record."""

    watch: Watch

    def append(self, run_id: str, entry: Entry, lease: Lease | None) -> None:
        """As the store itself, with a point before and after."""
        self.watch.storing(entry)
        with self.watch.lock:
            self.inner.append(run_id, entry, lease)
            self.watch.changed(entry)
        self.watch.stored(entry)

    def put_blob(self, run_id: str, data: bytes) -> str:
        """As the store itself."""
        with self.watch.lock:
            digest = self.inner.put_blob(run_id, data)
            self.watch.changed((digest, data))
            return digest


def die() -> NoReturn:
    """End this process by SIGKILL, from the kernel: no `finally`, no `atexit`, no flush."""
    save_coverage()
    os.kill(os.getpid(), signal.SIGKILL)
    while True:  # the signal is on its way
        time.sleep(1)


def _place(call: Call) -> str:
    step = current_step()
    return place_of_step(step[1]) if step else place_of_call(call.provider, call.operation)


def _place_of_entry(entry: Entry) -> str:
    if entry.kind in OUTCOMES:
        return place_of_step(entry.step_id)
    return START if entry.kind == "start" else FINISH
