"""Group commit: callers that wait for a ledger at the same time share a transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Generic, Protocol, TypeVar

from fakes.ledger import Ledger

T = TypeVar("T")


class _Job(Protocol):
    def carry_out(self) -> None:
        """Do the work, and keep what came of it."""

    def tell(self, failure: Exception | None) -> None:
        """Let the caller know; a failure is that of the transaction."""


class Writer:
    """What `do` returns is durable, and no caller has waited for a transaction of its own.

    All is done on the caller's event loop, at the end of its present round: what the round brings is one batch. A
    thread of its own would do it no sooner, since a commit is a write() into the system's memory (see `Ledger`), and
    would have to be woken for every batch.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._jobs: list[_Job] = []

    async def do(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises, after the transaction that it was done in has landed."""
        loop = asyncio.get_running_loop()
        job = _Awaited(work, loop.create_future())
        self._jobs.append(job)
        loop.call_soon(self.write)
        return await job.future

    def write(self) -> None:
        """Carry out what waits, if anything does."""
        jobs, self._jobs = self._jobs, []
        if not jobs:
            return
        failure: Exception | None = None
        try:
            with self._ledger.transaction():
                for job in jobs:
                    job.carry_out()
        except Exception as error:  # noqa: BLE001 - the transaction failed, and so did every job in it
            failure = error
        for job in jobs:
            job.tell(failure)


class _Awaited(Generic[T]):
    """A job whose outcome a coroutine waits for."""

    __slots__ = ("_error", "_result", "_work", "future")

    def __init__(self, work: Callable[[], T], future: asyncio.Future[T]) -> None:
        self._work = work
        self._error: Exception | None = None
        self.future = future

    def carry_out(self) -> None:
        """Raises nothing: an error is an outcome."""
        try:
            self._result = self._work()
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            self._error = error

    def tell(self, failure: Exception | None) -> None:
        """Nobody is told who has given up, or whose loop has ended."""
        if self.future.done():
            return
        error = failure or self._error
        with suppress(RuntimeError):
            if error is None:
                self.future.set_result(self._result)
            else:
                self.future.set_exception(error)
