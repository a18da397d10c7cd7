"""`current_step` tells, wherever a step is executed, which one it is: for logs, and for the accounts of providers."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from durable_core import NotRecordable, Run, current_step, resume
from durable_core.stores.memory import MemoryStore


def where() -> list[str] | None:
    step = current_step()
    return list(step) if step else None


async def where_async() -> list[str] | None:
    await asyncio.sleep(0)
    return where()


def test_outside_of_steps_there_is_none(store: MemoryStore) -> None:
    def agent(run: Run) -> list[object]:
        return [where(), run.step("s", where), where(), run.scope("a").step("s", where), where()]

    assert where() is None
    assert resume(store, "run", agent) == [None, ["run", "s"], None, ["run", "a/s"], None]
    assert where() is None


def test_it_is_forgotten_when_a_step_fails(store: MemoryStore) -> None:
    def agent(run: Run) -> object:
        for error, work in ((ZeroDivisionError, lambda: 1 / 0), (KeyError, lambda: {}["x"])):
            with pytest.raises(error):
                run.step("s", work, record_errors=(KeyError,))
        with pytest.raises(NotRecordable):
            run.step("t", lambda: {1})
        return where()

    with pytest.raises(NotRecordable):
        resume(store, "run", agent)
    assert where() is None


def test_in_threads_each_has_its_own(store: MemoryStore) -> None:
    together = threading.Barrier(4)

    def work() -> list[str] | None:
        together.wait()
        return where()

    def agent(run: Run) -> list[object]:
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(lambda i: run.step(f"s:{i}", work), range(4)))

    assert resume(store, "run", agent) == [["run", f"s:{i}"] for i in range(4)]


def test_it_goes_along_into_to_thread(store: MemoryStore) -> None:
    async def outer() -> list[str] | None:
        return await asyncio.to_thread(where)

    async def agent(run: Run) -> list[object]:
        return [await run.step("a", outer), await asyncio.to_thread(run.step, "b", where), where()]

    assert asyncio.run(resume(store, "run", agent)) == [["run", "a"], ["run", "b"], None]


def test_gathered_steps_each_have_their_own(store: MemoryStore) -> None:
    async def agent(run: Run) -> list[object]:
        return await asyncio.gather(*(run.step(f"s:{i}", where_async) for i in range(4)))

    assert asyncio.run(resume(store, "run", agent)) == [["run", f"s:{i}"] for i in range(4)]


def test_two_runs_in_one_loop_each_have_their_own(store: MemoryStore) -> None:
    """Also when the first was left in the middle of a step."""

    async def forever() -> None:
        await asyncio.Event().wait()

    async def stuck(run: Run) -> None:
        await run.step("stuck", forever)

    async def agent(run: Run) -> list[object]:
        return [await run.step("a", where_async), await asyncio.to_thread(run.step, "b", where), where()]

    async def main() -> list[list[object]]:
        first = asyncio.ensure_future(resume(store, "first", stuck))
        await asyncio.sleep(0)
        others = await asyncio.gather(*(resume(store, f"run:{i}", agent) for i in range(2)))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        return others

    assert asyncio.run(main()) == [[[f"run:{i}", "a"], [f"run:{i}", "b"], None] for i in range(2)]


def test_a_run_inside_a_step_of_another_has_its_own(store: MemoryStore) -> None:
    def child(run: Run) -> object:
        return run.step("inner", where)

    def parent(run: Run) -> list[object]:
        return [run.step("outer", lambda: [where(), resume(store, "child", child), where()])]

    assert resume(store, "parent", parent) == [[["parent", "outer"], ["child", "inner"], ["parent", "outer"]]]


def test_a_look_up_is_part_of_its_step(store: MemoryStore) -> None:
    class Died(BaseException):
        pass

    def send() -> None:
        raise Died

    def agent(run: Run) -> object:
        return run.effect("send", send, returns=object, if_unknown=lambda _: where())

    with pytest.raises(Died):
        resume(store, "run", agent)
    assert resume(store, "run", agent) == ["run", "send"]
