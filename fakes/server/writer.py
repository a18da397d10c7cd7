"""One thread that writes a ledger for many callers at once: those that wait together share a transaction."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Generic, Protocol, TypeVar

from fakes.ledger import Ledger

T = TypeVar("T")

_MOST = 256
"""Jobs in one transaction; the first of them waits for the last."""


class _Job(Protocol):
    def carry_out(self) -> None:
        """Do the work, and keep what came of it."""

    def tell(self, failure: BaseException | None) -> None:
        """Let the caller know; a failure is that of the transaction."""


class Writer:
    """Group commit: what `do` returns is durable, and no caller has waited for a transaction of its own."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._write, name="ledger writer", daemon=True)
        self._thread.start()

    async def do(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises, after the transaction that it was done in has landed."""
        job = _Awaited(work)
        self._jobs.put(job)
        return await job.future

    def close(self) -> None:
        """Write what waits, and end the thread."""
        self._jobs.put(None)
        self._thread.join()

    def _write(self) -> None:
        while jobs := self._waiting():
            failure: BaseException | None = None
            try:
                with self._ledger.transaction():
                    for job in jobs:
                        job.carry_out()
            except BaseException as error:  # noqa: BLE001 - the transaction failed, and so did every job in it
                failure = error
            for job in jobs:
                job.tell(failure)

    def _waiting(self) -> list[_Job]:
        """All that waits, at least one; none when there will be no more."""
        jobs: list[_Job] = []
        while len(jobs) < _MOST:
            try:
                job = self._jobs.get(block=not jobs)
            except queue.Empty:
                break
            if job is None:
                if jobs:
                    self._jobs.put(None)  # for the next round
                break
            jobs.append(job)
        return jobs


class _Awaited(Generic[T]):
    """A job whose outcome a coroutine waits for."""

    def __init__(self, work: Callable[[], T]) -> None:
        self._work = work
        self._loop = asyncio.get_running_loop()
        self.future: asyncio.Future[T] = self._loop.create_future()
        self._settle: Callable[[], None] = self.future.cancel  # type: ignore[assignment]  # its result is of no interest

    def carry_out(self) -> None:
        """Raises nothing: an error is an outcome."""
        try:
            self._settle = partial(self.future.set_result, self._work())
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            self._settle = partial(self.future.set_exception, error)

    def tell(self, failure: BaseException | None) -> None:
        """From the writer's thread, into the loop's."""
        settle = self._settle if failure is None else partial(self.future.set_exception, failure)
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._unless_given_up, settle)

    def _unless_given_up(self, settle: Callable[[], None]) -> None:
        if not self.future.done():
            settle()
