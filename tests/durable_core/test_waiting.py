"""Waiting for a person is a step that somebody else records, once."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

import pytest
from pydantic import BaseModel

from durable_core import (
    AlreadyRecorded,
    InvalidId,
    NotRecordable,
    RecordUnreadable,
    Run,
    Store,
    Suspended,
    UnknownRun,
    deliver,
    resume,
)
from durable_core.stores.memory import MemoryStore


class Answer(StrEnum):
    YES = "yes"


@dataclass(frozen=True)
class Decision:
    approved: bool
    reasons: tuple[str, ...] = ()


class Form(BaseModel):
    name: str


class Pair(NamedTuple):
    left: int
    right: int


def asking(run: Run) -> object:
    run.step("plan", str, 1)
    return run.wait("approval"), run.step("after", str, 2)


def test_a_wait_suspends_until_the_delivery(each_store: Store) -> None:
    for _ in range(2):
        with pytest.raises(
            Suspended,
            match=r"^run 'run' waits for 'approval'; record it with deliver\(store, 'run', 'approval', value\)",
        ) as suspended:
            resume(each_store, "run", asking)
        assert suspended.value.step_id == "approval"
    deliver(each_store, "run", "approval", {"ok": True})
    assert resume(each_store, "run", asking) == resume(each_store, "run", asking) == ({"ok": True}, "2")
    assert [(entry.kind, entry.step_id, entry.position) for entry in each_store.entries("run")] == [
        ("start", "", None),
        ("record", "plan", 0),
        ("record", "approval", None),
        ("record", "after", 2),
        ("finish", "", None),
    ]


def test_a_delivery_is_recorded_once_and_the_first_one_stays(each_store: Store) -> None:
    with pytest.raises(Suspended):
        resume(each_store, "run", asking)
    deliver(each_store, "run", "approval", "first")
    with pytest.raises(AlreadyRecorded, match="'approval' of run 'run' has a result already, which stays"):
        deliver(each_store, "run", "approval", "second")
    assert resume(each_store, "run", asking) == ("first", "2")


def test_of_many_who_deliver_at_once_one_is_taken(each_store: Store) -> None:
    with pytest.raises(Suspended):
        resume(each_store, "run", asking)
    ready = threading.Barrier(8)

    def answer(number: int) -> int | None:
        ready.wait()
        try:
            deliver(each_store, "run", "approval", number)
        except AlreadyRecorded:
            return None
        return number

    with ThreadPoolExecutor(8) as pool:
        (taken,) = {*pool.map(answer, range(8))} - {None}
    assert resume(each_store, "run", asking) == (taken, "2")


def test_it_can_be_delivered_while_the_run_is_held_and_is_seen_in_the_same_life(each_store: Store) -> None:
    def agent(run: Run) -> object:
        run.step("ask", deliver, each_store, "run", "approval", "yes")
        return run.wait("approval")

    assert resume(each_store, "run", agent) == resume(each_store, "run", agent) == "yes"


def test_it_can_be_delivered_before_anybody_waits(each_store: Store) -> None:
    def agent(run: Run) -> object:
        if not run.wait("first"):
            raise AssertionError
        return run.wait("second")

    with pytest.raises(Suspended):
        resume(each_store, "run", agent)
    deliver(each_store, "run", "second", 2)
    deliver(each_store, "run", "first", 1)
    assert resume(each_store, "run", agent) == 2


def test_a_message_for_another_waiter_changes_nothing(store: MemoryStore) -> None:
    with pytest.raises(Suspended):
        resume(store, "run", asking)
    deliver(store, "run", "something else", 1)
    with pytest.raises(Suspended, match="'approval'"):
        resume(store, "run", asking)
    deliver(store, "run", "approval", "yes")
    assert resume(store, "run", asking) == ("yes", "2")


def test_a_loop_that_asks_in_rounds_asks_each_once(store: MemoryStore) -> None:
    """Three rounds of a search and a question; answers no, no, yes."""
    searches: list[int] = []

    def agent(run: Run) -> int:
        for number in range(10):
            round_ = run.scope(f"round:{number}")
            round_.step("search", searches.append, number)
            if round_.wait("good enough?") == "yes":
                return number
        raise AssertionError

    for number, answer in enumerate(["no", "no", "yes"]):
        with pytest.raises(Suspended) as suspended:
            resume(store, "run", agent)
        assert suspended.value.step_id == f"round:{number}/good enough?"
        deliver(store, "run", suspended.value.step_id, answer)
    assert resume(store, "run", agent) == 2
    assert searches == [0, 1, 2]


@pytest.mark.parametrize("nested", [True, False])
def test_an_inner_flow_that_waits_repeats_nothing_nested_or_alone(store: MemoryStore, *, nested: bool) -> None:
    asked: list[str] = []

    def inner(run: Run) -> str:
        draft = run.step("draft", lambda: asked.append("draft") or "draft")  # type: ignore[func-returns-value]
        return f"{draft} {run.wait('approval')}"

    def outer(run: Run) -> str:
        return inner(run.scope("inner"))

    agent, step_id = (outer, "inner/approval") if nested else (inner, "approval")
    with pytest.raises(Suspended):
        resume(store, "run", agent)
    deliver(store, "run", step_id, "approved")
    assert resume(store, "run", agent) == "draft approved"
    assert asked == ["draft"]


def test_a_run_nobody_has_started_is_unknown(each_store: Store) -> None:
    with pytest.raises(UnknownRun, match="no run 'run' in this store to deliver 'approval' to; start it first"):
        deliver(each_store, "run", "approval", 1)
    assert each_store.runs() == []


@pytest.mark.parametrize(("run_id", "step_id"), [("", "s"), ("run", ""), ("run", "a\nb")])
def test_bad_ids_are_refused(store: MemoryStore, run_id: str, step_id: str) -> None:
    with pytest.raises(InvalidId):
        deliver(store, run_id, step_id, 1)


@pytest.mark.parametrize(
    ("value", "returns"),
    [
        ({"a": [1, None, 2.5]}, object),
        (True, bool),
        ("yes", Answer),
        (Answer.YES, Answer),
        (Decision(approved=True, reasons=("cheap",)), Decision),
        (Form(name="ann"), Form),
        ((1, "a"), tuple),
        (Pair(1, 2), Pair),
        (b"\xff", bytes),
    ],
    ids=repr,
)
def test_a_delivery_comes_back_as_the_type_that_is_waited_for(
    each_store: Store, value: object, returns: type[object]
) -> None:
    def agent(run: Run) -> object:
        return run.wait("approval", returns)

    with pytest.raises(Suspended):
        resume(each_store, "run", agent)
    deliver(each_store, "run", "approval", value)
    for _ in range(2):
        result = resume(each_store, "run", agent)
        assert result == value
        assert isinstance(result, returns)


def test_a_delivery_that_does_not_survive_is_refused_and_another_can_be_made(store: MemoryStore) -> None:
    with pytest.raises(Suspended):
        resume(store, "run", asking)
    with pytest.raises(NotRecordable, match=r"the delivery for step 'approval' .* at \['a'\]: a set would come back"):
        deliver(store, "run", "approval", {"a": {1}})
    deliver(store, "run", "approval", "yes")
    assert resume(store, "run", asking) == ("yes", "2")


def test_a_delivery_of_another_type_than_is_waited_for_is_unreadable(store: MemoryStore) -> None:
    def agent(run: Run) -> Decision:
        return run.wait("approval", Decision)

    with pytest.raises(Suspended):
        resume(store, "run", agent)
    deliver(store, "run", "approval", "yes")
    with pytest.raises(RecordUnreadable, match="step 'approval' has a record that Decision cannot read"):
        resume(store, "run", agent)


def test_a_large_delivery_comes_back(each_store: Store) -> None:
    with pytest.raises(Suspended):
        resume(each_store, "run", asking)
    deliver(each_store, "run", "approval", "x" * 200_000)
    assert resume(each_store, "run", asking) == ("x" * 200_000, "2")


def swallowing(run: Run) -> object:
    try:
        run.wait("approval")
    except Exception:  # noqa: BLE001 - as agents do
        run.step("after", str, 1)
    return "never mind"


def returning(run: Run) -> object:
    try:
        run.wait("approval")
    except Suspended:
        return "never mind"


@pytest.mark.parametrize("agent", [swallowing, returning])
def test_a_wait_that_is_swallowed_still_ends_the_life(store: MemoryStore, agent: Callable[[Run], object]) -> None:
    with pytest.raises(Suspended):
        resume(store, "run", agent)
    assert [entry.kind for entry in store.entries("run")] == ["start"]


def test_an_async_agent_waits_too(store: MemoryStore) -> None:
    async def agent(run: Run) -> object:
        return run.wait("approval")

    with pytest.raises(Suspended):
        asyncio.run(resume(store, "run", agent))
    deliver(store, "run", "approval", 7)
    assert asyncio.run(resume(store, "run", agent)) == 7


def test_branches_can_wait_each_for_their_own(store: MemoryStore) -> None:
    async def branch(run: Run) -> object:
        return run.wait("approval")

    async def agent(run: Run) -> list[object]:
        return await asyncio.gather(*(branch(run.scope(name)) for name in "ab"))

    for name in "ab":
        with pytest.raises(Suspended):
            asyncio.run(resume(store, "run", agent))
        deliver(store, "run", f"{name}/approval", name)
    assert asyncio.run(resume(store, "run", agent)) == ["a", "b"]


def test_a_delivery_is_not_unasked(store: MemoryStore) -> None:
    """Nobody may ever wait for it, and that is no fault of the agent's."""
    seen: list[frozenset[str]] = []

    def agent(run: Run) -> object:
        seen.append(run.unasked)
        return run.wait("approval")

    with pytest.raises(Suspended):
        resume(store, "run", agent)
    deliver(store, "run", "approval", 1)
    resume(store, "run", agent)
    assert seen == [frozenset(), frozenset()]
