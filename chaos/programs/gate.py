"""Where the life of a program is ended: a provider call, in one of its windows.

The provider is the trigger. It has its ledger committed, or is about to be asked; it ends the program, and only then
loses the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from random import Random

from chaos.points import Point, Window, place_of_call
from chaos.programs.program import KILL
from chaos.warm import end_group
from fakes import Call, Caller
from fakes.server.gate import Dropped, retry_of

_DEATH_SECONDS = 5.0
"""To see a process die that has been sent SIGKILL. It takes microseconds."""

_RACE_SECONDS = 0.02
"""At most between an answer and the kill after it: long enough to note it, short enough not to."""


@dataclass(slots=True)
class LifeAtGate:
    """One life of a program, as its providers see it.

    Attributes:
        number: of the life.
        kill_at: the point to end it at, by name or as the nth that it passes.
        signal: by which; `grace` seconds are left to it if it is not KILL.
        seed: decides how long after an answer the kill comes.
    """

    number: int
    kill_at: Point | int | None
    signal: str
    grace: float
    seed: int
    pid: int | None = None
    trace: list[tuple[float, Point]] = field(default_factory=list)
    ended: bool = False
    was_killed: bool = False
    _started: threading.Event = field(default_factory=threading.Event)
    _calls: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def has_started(self, pid: int) -> None:
        """The process, which leads a group of its own."""
        self.pid = pid
        self._started.set()

    def count(self, call: Call) -> int:
        """Which call of its operation it is in this life."""
        place = place_of_call(call.provider, call.operation)
        with self._lock:
            self._calls[place] += 1
            return self._calls[place]

    async def passes(self, call: Call, number: int, window: Window) -> None:
        """A point is passed; end the life if it is the one. Raises `Dropped` when nobody is left to answer."""
        point = Point(place_of_call(call.provider, call.operation), window, number)
        with self._lock:
            if self.ended:
                return
            self.trace.append((time.monotonic(), point))
            self.ended = is_here = self.kill_at in (point, len(self.trace))
        if is_here:
            self.was_killed = True
            await self._end(point)

    def strikes(self, point: Point) -> None:
        """A kill has come from elsewhere than a provider: from strace. The rest of the group goes too."""
        with self._lock:
            self.trace.append((time.monotonic(), point))
            self.ended = self.was_killed = True
        self._end_group()

    async def _end(self, point: Point) -> None:
        if point.window is Window.ANSWERED:
            draw = Random(f"{self.seed}/{point}")  # noqa: S311 - a reproducible choice, not a secret
            await asyncio.sleep(max(0.0, draw.uniform(-_RACE_SECONDS, _RACE_SECONDS)))  # half of them at once
        await asyncio.to_thread(self._started.wait, _DEATH_SECONDS)  # a quick program calls before we know its number
        if self.pid is None:
            return
        if self.signal != KILL:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, getattr(signal, f"SIG{self.signal}"))
            asyncio.get_running_loop().call_later(self.grace, self._end_group)
            return
        await self._kill(self.pid)
        raise Dropped

    async def _kill(self, pid: int) -> None:
        """End the group, and return when the process that leads it is dead: it must not see its connection go."""
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        dead = asyncio.Event()
        loop = asyncio.get_running_loop()
        loop.add_reader(descriptor, dead.set)
        try:
            self._end_group()
            await asyncio.wait_for(dead.wait(), _DEATH_SECONDS)
        finally:
            loop.remove_reader(descriptor)
            os.close(descriptor)

    def is_over(self) -> None:
        """The process has ended; its number may be another's by now."""
        self.pid = None
        self.ended = True

    def _end_group(self) -> None:
        if self.pid is not None:
            end_group(self.pid)


@dataclass(slots=True)
class ProgramGate:
    """The gate of one try: whatever life is on, its calls pass here."""

    life: LifeAtGate
    _now: ContextVar[tuple[LifeAtGate, int]] = field(default_factory=lambda: ContextVar("life and call"))

    def caller(self, headers: Mapping[str, str]) -> Caller:
        """The life that is on; which retry it is, its SDK says."""
        self._now.set((self.life, 0))
        return Caller(self.life.number, None, retry_of(headers))

    async def before(self, call: Call) -> None:
        """The provider is about to be asked. A request of a life that is over arrives all the same."""
        life, _ = self._now.get()
        number = life.count(call)
        self._now.set((life, number))
        await life.passes(call, number, Window.BEFORE)

    async def applied(self, call: Call) -> None:
        """The provider has committed."""
        life, number = self._now.get()
        await life.passes(call, number, Window.APPLIED)

    async def answered(self, call: Call) -> None:
        """The answer is out."""
        life, number = self._now.get()
        await life.passes(call, number, Window.ANSWERED)
