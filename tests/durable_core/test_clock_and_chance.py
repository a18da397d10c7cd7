"""The time, random numbers and ids that an agent branches on are steps, so that every life reads the same."""

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import pytest
from freezegun import freeze_time

from durable_core import DuplicateStepId, InvalidId, Run, Store, resume
from durable_core.stores.memory import MemoryStore

NOON = datetime(2024, 2, 29, 12, 0, 0, 5, tzinfo=UTC)


class Died(BaseException):
    """Ends a life the way no `except Exception` stops."""


def reading(run: Run) -> tuple[datetime, float, UUID]:
    return run.now("started"), run.random("chance"), run.uuid("ticket")


def test_every_life_reads_the_same(each_store: Store) -> None:
    lives = []
    for days in range(3):
        with freeze_time(NOON + timedelta(days=days)):
            random.seed(days)
            lives.append(resume(each_store, "run", reading))
    assert lives == [lives[0]] * 3
    assert lives[0][0] == NOON
    assert [[type(value) for value in life] for life in lives] == [[datetime, float, UUID]] * 3


def test_another_run_reads_anew(store: MemoryStore) -> None:
    one, other = resume(store, "one", reading), resume(store, "other", reading)
    assert one[1:] != other[1:]
    assert 0 <= one[1] < 1
    assert one[2].version == 4
    assert one[0].utcoffset() == timedelta(0)
    assert abs(one[0] - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_branch_on_a_recorded_time_is_taken_again_days_later(store: MemoryStore) -> None:
    sent: list[str] = []
    alive = False

    def agent(run: Run) -> None:
        name = "weekday" if run.now("started").weekday() < 5 else "weekend"
        run.step(name, sent.append, name)
        if not alive:
            raise Died

    with freeze_time(NOON), pytest.raises(Died):
        resume(store, "run", agent)
    alive = True
    with freeze_time(NOON + timedelta(days=2)):
        resume(store, "run", agent)
    assert sent == ["weekday"]


def test_the_clock_of_a_step_may_be_frozen(store: MemoryStore) -> None:
    """A frozen clock gives objects of classes of its own; they are the times they pass for."""

    def times(offset: int) -> tuple[datetime, date, list[datetime]]:
        now = datetime.now(UTC) + timedelta(days=offset)
        return now, now.date(), [now]

    def agent(run: Run) -> tuple[datetime, date, list[datetime]]:
        return run.step("times", times, 1)

    with freeze_time(NOON):
        live = resume(store, "run", agent)
    replayed = resume(store, "run", agent)
    tomorrow = NOON + timedelta(days=1)
    assert live == replayed == (tomorrow, tomorrow.date(), [tomorrow])
    assert type(replayed[0]) is datetime


def test_a_time_that_is_handed_on_is_the_same_argument_frozen_or_not(store: MemoryStore) -> None:
    def agent(run: Run) -> str:
        return run.step("day", str, datetime(2024, 1, 1, tzinfo=UTC))

    with freeze_time(NOON):
        live = resume(store, "run", agent)
    assert resume(store, "run", agent) == live


READERS = (Run.now, Run.random, Run.uuid)


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_reading_is_a_step_with_an_id_and_a_scope(store: MemoryStore, read: Callable[[Run, str], object]) -> None:
    def agent(run: Run) -> list[object]:
        with pytest.raises(InvalidId):
            read(run, "")
        return [read(run, "x"), read(run.scope("customer:3"), "x")]

    one, other = resume(store, "run", agent)
    assert one != other
    assert [(entry.step_id, entry.position) for entry in store.entries("run")[1:-1]] == [("x", 0), ("customer:3/x", 1)]


@pytest.mark.parametrize("read", READERS, ids=lambda read: read.__name__)
def test_reading_twice_under_one_id_is_refused(store: MemoryStore, read: Callable[[Run, str], object]) -> None:
    def agent(run: Run) -> None:
        read(run, "x")
        read(run, "x")

    with pytest.raises(DuplicateStepId):
        resume(store, "run", agent)
