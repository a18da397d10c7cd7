"""Steps of coroutine functions: awaited alone, gathered, cancelled, dropped."""

import asyncio
import contextvars
from collections.abc import Coroutine
from functools import partial
from typing import cast

import pytest

from durable_core import NestedStep, NotRecordable, Run, Store, resume
from durable_core.stores.memory import MemoryStore


class Died(BaseException):
    """Ends a life the way no `except Exception` stops."""


async def double(number: int, *, naps: int = 0) -> tuple[int, str]:
    for _ in range(naps):
        await asyncio.sleep(0)
    return number * 2, "doubled"


def test_an_awaited_step_is_executed_once(each_store: Store) -> None:
    calls: list[int] = []

    async def work(number: int) -> tuple[int, str]:
        calls.append(number)
        return await double(number)

    async def agent(run: Run) -> list[tuple[int, str]]:
        return [await run.step(f"work:{number}", work, number) for number in range(3)]

    first = asyncio.run(resume(each_store, "run", agent))
    assert first == asyncio.run(resume(each_store, "run", agent)) == [(0, "doubled"), (2, "doubled"), (4, "doubled")]
    assert calls == [0, 1, 2]


def test_an_async_agent_may_have_plain_steps(store: MemoryStore) -> None:
    async def agent(run: Run) -> tuple[str, tuple[int, str]]:
        return run.step("plain", str, 1), await run.step("async", double, 1)

    assert asyncio.run(resume(store, "run", agent)) == asyncio.run(resume(store, "run", agent)) == ("1", (2, "doubled"))


def test_gathered_steps_complete_in_any_order_and_keep_their_values(store: MemoryStore) -> None:
    async def agent(run: Run, naps: list[int]) -> list[tuple[int, str]]:
        return await asyncio.gather(*(run.step(f"s:{i}", double, i, naps=n) for i, n in enumerate(naps)))

    first = asyncio.run(resume(store, "run", agent, [3, 1, 2]))
    order = [entry.step_id for entry in store.entries("run") if entry.kind == "record"]
    assert order == ["s:1", "s:2", "s:0"]
    assert (
        asyncio.run(resume(store, "run", agent, [3, 1, 2])) == first == [(0, "doubled"), (2, "doubled"), (4, "doubled")]
    )


def test_branches_may_be_resumed_in_another_order_than_they_were_recorded_in(store: MemoryStore) -> None:
    """Completion order B, C, (A dies); the recovery completes in order A, B, C."""
    calls: list[str] = []
    naps = {"A": 9, "B": 1, "C": 5}
    alive = False

    async def work(name: str) -> str:
        for _ in range(naps[name]):
            await asyncio.sleep(0)
        if name == "A" and not alive:
            raise Died
        calls.append(name)
        return name.lower()

    async def branch(run: Run, name: str) -> str:
        return await run.step("work", work, name) + await run.scope("then").step("work", work, name)

    async def agent(run: Run) -> list[str]:
        return await asyncio.gather(*(branch(run.scope(name), name) for name in "ABC"))

    with pytest.raises(Died):
        asyncio.run(resume(store, "run", agent))
    assert calls[:2] == ["B", "B"]
    alive = True
    naps.update(A=0)
    assert asyncio.run(resume(store, "run", agent)) == ["aa", "bb", "cc"]
    assert sorted(calls) == ["A", "A", "B", "B", "C", "C"]


def test_a_task_group_counts_by_ids_alone(store: MemoryStore) -> None:
    async def agent(run: Run, names: list[str]) -> list[str]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(run, name)) for name in names]
        return sorted(task.result() for task in tasks)

    async def one(run: Run, name: str) -> str:
        return run.step(name, str.upper, name)

    assert asyncio.run(resume(store, "run", agent, ["a", "b"])) == ["A", "B"]
    assert {entry.position for entry in store.entries("run")} == {None}


def test_a_step_in_to_thread_is_executed_once(store: MemoryStore) -> None:
    calls: list[int] = []

    def work(number: int) -> tuple[int, ...]:
        calls.append(number)
        return (number,)

    async def agent(run: Run) -> list[tuple[int, ...]]:
        return await asyncio.gather(*(asyncio.to_thread(run.step, f"w:{i}", work, i) for i in range(8)))

    assert (
        asyncio.run(resume(store, "run", agent)) == asyncio.run(resume(store, "run", agent)) == [(i,) for i in range(8)]
    )
    assert sorted(calls) == list(range(8))


def test_a_step_inside_a_step_is_seen_through_to_thread(store: MemoryStore) -> None:
    async def agent(run: Run) -> None:
        async def outer() -> None:
            await asyncio.to_thread(run.step, "inner", str, 1)

        await run.step("outer", outer)

    with pytest.raises(NestedStep, match=r"'inner' was started inside step 'outer'"):
        asyncio.run(resume(store, "run", agent))


def test_nothing_gathered_is_begun_after_the_run_is_poisoned(store: MemoryStore) -> None:
    calls: list[str] = []

    async def bad() -> object:
        return {1, 2}

    async def work() -> None:
        calls.append("work")

    async def agent(run: Run) -> None:
        await asyncio.gather(run.step("bad", bad), run.step("work", work), return_exceptions=True)

    with pytest.raises(NotRecordable):
        asyncio.run(resume(store, "run", agent))
    assert calls == []


def test_a_cancelled_step_leaves_no_record_and_the_run_can_be_resumed(store: MemoryStore) -> None:
    calls: list[str] = []

    begun = asyncio.Event()

    async def slow() -> str:
        calls.append("begun")
        begun.set()
        await asyncio.sleep(0 if len(calls) > 1 else 3600)
        return "done"

    async def agent(run: Run) -> str:
        return await run.step("slow", slow)

    async def cancel() -> None:
        task = asyncio.ensure_future(resume(store, "run", agent))
        await begun.wait()
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())
    assert asyncio.run(resume(store, "run", agent)) == asyncio.run(resume(store, "run", agent)) == "done"
    assert calls == ["begun", "begun"]


def test_a_step_that_timed_out_may_be_asked_for_again(store: MemoryStore) -> None:
    naps = [3600.0, 0.0]

    async def slow() -> str:
        await asyncio.sleep(naps.pop(0))
        return "done"

    async def agent(run: Run) -> str:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await run.step("slow", slow)
        return await run.step("slow", slow)

    assert asyncio.run(resume(store, "run", agent)) == "done"


class Sender:
    """Called like a coroutine function."""

    async def __call__(self, number: int) -> tuple[int, ...]:
        return (number,)

    async def method(self, number: int) -> tuple[int, ...]:
        return (number,)


@pytest.mark.parametrize(
    "function",
    [Sender(), Sender().method, partial(Sender(), 1), partial(Sender().method, 1)],
    ids=["object", "method", "partial object", "partial method"],
)
def test_whatever_is_called_like_a_coroutine_function_is_awaited(
    store: MemoryStore, function: "partial[Coroutine[None, None, tuple[int, ...]]]"
) -> None:
    arguments = () if isinstance(function, partial) else (1,)

    async def agent(run: Run) -> tuple[int, ...]:
        return await run.step("s", function, *arguments)

    assert asyncio.run(resume(store, "run", agent)) == asyncio.run(resume(store, "run", agent)) == (1,)


def test_a_plain_function_that_returns_a_coroutine_is_refused_with_advice(store: MemoryStore) -> None:
    async def agent(run: Run) -> None:
        run.step("s", lambda: double(1))

    with pytest.raises(NotRecordable, match=r"step 's' returned a coroutine from a plain function; make .*async def"):
        asyncio.run(resume(store, "run", agent))


def test_two_runs_in_one_loop_do_not_mix(store: MemoryStore) -> None:
    async def agent(run: Run, number: int) -> list[tuple[int, str]]:
        return [await run.step(f"s:{i}", double, number + i, naps=number) for i in range(4)]

    async def both() -> list[list[tuple[int, str]]]:
        return await asyncio.gather(*(resume(store, f"run:{number}", agent, number) for number in (1, 2)))

    first = asyncio.run(both())
    assert first == asyncio.run(both())
    ids = [[entry.step_id for entry in store.entries(f"run:{number}")] for number in (1, 2)]
    assert ids[0] == ids[1] == ["", "s:0", "s:1", "s:2", "s:3", ""]


def test_a_step_that_is_dropped_and_closed_elsewhere_does_not_fail(store: MemoryStore) -> None:
    """As a stream is, of which one event was read: its coroutine is closed by the loop, in another context."""
    resumed: list[str] = []

    class Pause:
        def __await__(self) -> "object":
            resumed.append("paused")
            yield

    async def work() -> None:
        await cast("Coroutine[None, None, None]", Pause())

    async def agent(run: Run) -> None:
        await run.step("s", work)

    dropped = cast("Coroutine[None, None, None]", resume(store, "run", agent))
    contextvars.copy_context().run(dropped.send, None)
    dropped.close()
    assert resumed == ["paused"]
    store.release(store.acquire("run"))
