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

    All is done on the callers' event loop, of which there is one, at the end of its present round: what a round brings
    is one batch. A thread would do it no sooner, since a commit is a write() into the system's memory (see `Ledger`),
    and would have to be woken for every batch.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._jobs: list[_Job] = []

    async def do(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises, after the transaction that it was done in has landed."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[T] = loop.create_future()
        self._jobs.append(_Awaited(work, outcome))
        loop.call_soon(self.write)
        return await outcome

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

    __slots__ = ("_error", "_future", "_result", "_work")

    def __init__(self, work: Callable[[], T], future: asyncio.Future[T]) -> None:
        self._work = work
        self._error: Exception | None = None
        self._future = future

    def carry_out(self) -> None:
        """Raises nothing: an error is an outcome."""
        try:
            self._result = self._work()
        except Exception as error:  # noqa: BLE001 - handed to whoever waits
            self._error = error

    def tell(self, failure: Exception | None) -> None:
        """Nobody is told who has given up, or whose loop has ended."""
        if self._future.done():
            return
        error = failure or self._error
        with suppress(RuntimeError):
            if error is None:
                self._future.set_result(self._result)
            else:
                self._future.set_exception(error)
