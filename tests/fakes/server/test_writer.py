"""The ledger's writer: callers at the same time share a transaction, and each has its own outcome."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakes import Call, Caller, Ledger
from fakes.server.writer import Writer

CALL = Call(provider="openai", operation="chat", target="gpt", body="digest", nature="bills")


class Counting(Ledger):
    """Counts its transactions."""

    count = 0

    @contextmanager
    def transaction(self) -> Iterator[None]:
        self.count += 1
        with super().transaction():
            yield


def adding(ledger: Ledger) -> Callable[[], int]:
    return lambda: ledger.add(CALL, Caller(), "applied", at=0.0)


def failing() -> int:
    raise ValueError("no")


async def all_of(writer: Writer, *work: Callable[[], int]) -> list[int | BaseException]:
    return await asyncio.gather(*map(writer.do, work), return_exceptions=True)


def test_callers_at_the_same_time_share_a_transaction() -> None:
    with Counting() as ledger:
        writer = Writer(ledger)
        assert asyncio.run(all_of(writer, *[adding(ledger)] * 20)) == list(range(1, 21))
        assert ledger.count == 1


def test_a_caller_after_another_has_a_transaction_of_its_own() -> None:
    async def one_by_one(writer: Writer) -> None:
        for _ in range(3):
            await writer.do(adding(ledger))

    with Counting() as ledger:
        asyncio.run(one_by_one(Writer(ledger)))
        assert ledger.count == 3


def test_what_is_done_is_seen_by_other_processes_when_the_caller_goes_on(tmp_path: Path) -> None:
    async def seen(writer: Writer) -> int:
        await writer.do(adding(ledger))
        return len(other)

    with Ledger(tmp_path / "ledger.db") as ledger, Ledger(tmp_path / "ledger.db") as other:
        assert asyncio.run(seen(Writer(ledger))) == 1


def test_an_error_is_that_of_its_caller_alone() -> None:
    with Ledger() as ledger:
        first, error, last = asyncio.run(all_of(Writer(ledger), adding(ledger), failing, adding(ledger)))
        assert (first, last, len(ledger)) == (1, 2, 2)
        assert isinstance(error, ValueError)


def test_a_transaction_that_fails_is_an_error_for_all_who_shared_it() -> None:
    class Full(Ledger):
        @contextmanager
        def transaction(self) -> Iterator[None]:
            with super().transaction():
                yield
                raise sqlite3.OperationalError("database or disk is full")

    with Full() as ledger:
        outcomes = asyncio.run(all_of(Writer(ledger), adding(ledger), adding(ledger)))
        assert [type(outcome) for outcome in outcomes] == [sqlite3.OperationalError] * 2
        assert len(ledger) == 0


def test_the_work_of_a_caller_who_gave_up_is_done_all_the_same() -> None:
    async def given_up(writer: Writer) -> None:
        task = asyncio.create_task(writer.do(adding(ledger)))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Ledger() as ledger:
        asyncio.run(given_up(Writer(ledger)))
        assert len(ledger) == 1


def test_what_still_waits_is_written_when_asked_for_and_once() -> None:
    async def left_behind(writer: Writer) -> None:
        waiting = asyncio.ensure_future(writer.do(adding(ledger)))
        await asyncio.sleep(0)
        writer.write()
        assert len(ledger) == 1
        await waiting

    with Ledger() as ledger:
        asyncio.run(left_behind(Writer(ledger)))
        assert len(ledger) == 1
