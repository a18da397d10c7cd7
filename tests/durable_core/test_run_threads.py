"""Steps in threads: their order is free, their ids count."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from durable_core import DuplicateStepId, NotRecordable, Run, Store, resume
from durable_core.stores.memory import MemoryStore


class Died(BaseException):
    """Ends a life the way no `except Exception` stops."""


def test_steps_in_a_pool_are_executed_once(each_store: Store) -> None:
    calls: list[int] = []

    def work(number: int) -> tuple[int, str]:
        calls.append(number)
        return number, "done"

    def agent(run: Run) -> list[tuple[int, str]]:
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(lambda i: run.step(f"work:{i}", work, i), range(16)))

    first = resume(each_store, "run", agent)
    assert first == resume(each_store, "run", agent) == [(i, "done") for i in range(16)]
    assert sorted(calls) == list(range(16))


def test_threads_may_ask_in_another_order_on_every_life(store: MemoryStore) -> None:
    """Order among threads is no part of the record, so another one is no divergence."""
    calls: list[str] = []
    orders = iter([["a", "b", "c"], ["c", "a", "b"]])

    def agent(run: Run) -> str:
        run.step("first", str, 1)
        for name in next(orders):
            thread = threading.Thread(target=lambda name=name: run.step(name, calls.append, name))
            thread.start()
            thread.join()
        return run.step("last", str, 2)

    assert resume(store, "run", agent) == resume(store, "run", agent) == "2"
    assert calls == ["a", "b", "c"]
    positions = {entry.step_id: entry.position for entry in store.entries("run") if entry.kind == "record"}
    assert positions == {"first": 0, "a": None, "b": None, "c": None, "last": 1}


def test_a_pool_that_died_half_way_does_the_rest(store: MemoryStore) -> None:
    calls: list[int] = []
    alive = False

    def work(number: int) -> int:
        if number == 5 and not alive:
            raise Died
        calls.append(number)
        return number

    def agent(run: Run) -> int:
        with ThreadPoolExecutor(3) as pool:
            return sum(pool.map(lambda i: run.step(f"work:{i}", work, i), range(10)))

    with pytest.raises(Died):
        resume(store, "run", agent)
    alive = True
    assert resume(store, "run", agent) == 45
    assert sorted(calls) == list(range(10))


def test_an_id_used_by_two_threads_is_refused(store: MemoryStore) -> None:
    calls: list[int] = []

    def agent(run: Run) -> None:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda i: run.step("same", calls.append, i), range(2)))

    with pytest.raises(DuplicateStepId):
        resume(store, "run", agent)
    assert len(calls) == 1


def test_what_one_thread_poisons_stops_the_others(store: MemoryStore) -> None:
    calls: list[str] = []

    def spoil(run: Run) -> None:
        with pytest.raises(NotRecordable):
            run.step("bad", lambda: {1})

    def agent(run: Run) -> None:
        thread = threading.Thread(target=spoil, args=(run,))
        thread.start()
        thread.join()
        run.step("next", calls.append, "next")

    with pytest.raises(NotRecordable, match="'bad'"):
        resume(store, "run", agent)
    assert calls == []


def test_an_agent_may_live_in_a_thread_of_its_own(store: MemoryStore) -> None:
    """The main strand is wherever the agent began, in this life."""

    def agent(run: Run) -> list[str]:
        return [run.step(name, str.upper, name) for name in "ab"]

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(resume, store, "run", agent).result() == ["A", "B"]
    assert resume(store, "run", agent) == ["A", "B"]
    assert [entry.position for entry in store.entries("run")] == [None, 0, 1, None]
