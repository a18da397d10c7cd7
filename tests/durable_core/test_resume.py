"""Starting and resuming: admitted once, held by one, finished once, and given back whatever happens."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator

import pytest

from durable_core import DuplicateStepId, InvalidId, Run, RunIsHeld, Store, resume
from durable_core.entries import Entry
from durable_core.stores.memory import MemoryStore
from durable_core.stores.protocol import Lease


class Died(BaseException):
    """Ends a life the way no `except Exception` stops."""


def agent(run: Run, topic: str = "sharks") -> str:
    return run.step("s", str.upper, topic)


async def async_agent(run: Run, topic: str = "sharks") -> str:
    return run.step("s", str.upper, topic)


class Agent:
    def __call__(self, run: Run, topic: str = "sharks") -> str:
        return agent(run, topic)


class AsyncAgent:
    async def __call__(self, run: Run, topic: str = "sharks") -> str:
        return agent(run, topic)


def is_free(store: Store, run_id: str = "run") -> bool:
    try:
        store.release(store.acquire(run_id))
    except RunIsHeld:
        return False
    return True


def test_a_run_is_admitted_with_its_agent_and_input_before_anything_is_done(store: MemoryStore) -> None:
    found: list[list[Entry]] = []

    def look(run: Run, topic: str) -> str:
        found.append(store.entries("run"))
        return agent(run, topic)

    resume(store, "run", look, "sharks")
    ((start,),) = found
    assert (start.kind, start.payload) == ("start", f'"{__name__}:{look.__qualname__}"'.encode())
    assert start.fingerprint.startswith("(0=")


@pytest.mark.parametrize("topic", ["sharks", "whales"])
@pytest.mark.parametrize("kind", [agent, Agent()])
def test_an_agent_is_a_function_or_an_object_that_is_called(store: MemoryStore, kind: object, topic: str) -> None:
    assert resume(store, "run", kind, topic) == resume(store, "run", kind, topic) == topic.upper()  # type: ignore[call-overload]


@pytest.mark.parametrize("kind", [async_agent, AsyncAgent()])
def test_an_agent_may_be_async_both_ways(store: MemoryStore, kind: object) -> None:
    for _ in range(2):
        assert asyncio.run(resume(store, "run", kind, topic="whales")) == "WHALES"  # type: ignore[call-overload]


@pytest.mark.parametrize("bad", ["", "a\nb", "\ud800", "x" * 1001, None, 7])
def test_bad_run_ids_are_refused(store: MemoryStore, bad: str) -> None:
    with pytest.raises(InvalidId, match="run id"):
        resume(store, bad, agent)
    assert store.runs() == []


def test_the_run_is_held_while_it_lives_and_free_afterwards(each_store: Store) -> None:
    def look(run: Run) -> bool:
        del run
        return is_free(each_store)

    assert resume(each_store, "run", look) is False
    assert is_free(each_store)


@pytest.mark.parametrize("error", [ValueError, Died, KeyboardInterrupt, SystemExit, StopIteration, GeneratorExit])
def test_the_run_is_free_after_whatever_ended_the_life(store: MemoryStore, error: type[BaseException]) -> None:
    def failing(run: Run) -> None:
        agent(run)
        raise error

    async def failing_async(run: Run) -> None:
        agent(run)
        raise error

    with pytest.raises(error):
        resume(store, "run", failing)
    assert is_free(store)
    if error is ValueError:
        with pytest.raises(error):
            asyncio.run(resume(store, "run", failing_async))
        assert is_free(store)
    assert (
        resume(
            store,
            "run",
            agent,
        )
        == "SHARKS"
    )


def test_a_run_that_is_held_is_left_alone(store: MemoryStore) -> None:
    lease = store.acquire("run")
    with pytest.raises(RunIsHeld):
        resume(store, "run", agent)
    assert store.entries("run") == []
    store.release(lease)
    assert resume(store, "run", agent) == "SHARKS"


def test_a_run_may_not_resume_itself(store: MemoryStore) -> None:
    def nested(run: Run) -> str:
        return resume(store, run.run_id, agent)

    with pytest.raises(RunIsHeld):
        resume(store, "run", nested)


def test_a_run_is_free_when_its_checkpoint_could_not_be_read() -> None:
    class Broken(MemoryStore):
        def entries(self, run_id: str) -> list[Entry]:
            raise OSError(run_id)

    store = Broken()
    with pytest.raises(OSError, match="run"):
        resume(store, "run", agent)
    assert is_free(store)


def test_a_run_is_finished_once(store: MemoryStore) -> None:
    for _ in range(3):
        resume(store, "run", agent)
    assert [entry.kind for entry in store.entries("run")] == ["start", "record", "finish"]


def test_an_agent_that_raises_has_not_finished(store: MemoryStore) -> None:
    def failing(run: Run) -> None:
        agent(run)
        raise ValueError

    with pytest.raises(ValueError):  # noqa: PT011
        resume(store, "run", failing)
    assert [entry.kind for entry in store.entries("run")] == ["start", "record"]


def test_every_life_has_a_lease_of_its_own() -> None:
    class Noting(MemoryStore):
        tokens: list[int] = []  # noqa: RUF012

        def append(self, run_id: str, entry: Entry, lease: Lease | None) -> None:
            assert lease is not None
            self.tokens.append(lease.token)
            super().append(run_id, entry, lease)

    store = Noting()

    def dying(run: Run) -> None:
        agent(run)
        raise Died

    with pytest.raises(Died):
        resume(store, "run", dying)
    resume(store, "run", agent)
    assert store.tokens == [1, 1, 2]


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, Died])
def test_who_stops_a_poisoned_run_is_not_held_up_by_it(store: MemoryStore, error: type[BaseException]) -> None:
    def stopped(run: Run) -> None:
        agent(run)
        with pytest.raises(DuplicateStepId):
            agent(run)
        raise error

    with pytest.raises(error):
        resume(store, "run", stopped)


def generator(run: Run) -> Iterator[str]:
    yield agent(run)


async def async_generator(run: Run) -> AsyncIterator[str]:
    yield agent(run)


def forgetting(run: Run) -> Coroutine[None, None, str]:
    return async_agent(run)


@pytest.mark.parametrize(
    ("not_begun", "kind"),
    [(generator, "generator"), (async_generator, "async_generator"), (forgetting, "coroutine")],
)
def test_an_agent_that_has_done_nothing_yet_does_not_finish_the_run(
    store: MemoryStore, not_begun: object, kind: str
) -> None:
    """Its steps would be carried out when the run is over and the lease is gone."""
    with pytest.raises(
        TypeError, match=rf"returned a {kind} and has done nothing yet; the run stays open\. Make the age"
    ):
        resume(store, "run", not_begun)  # type: ignore[call-overload]
    assert [entry.kind for entry in store.entries("run")] == ["start"]
    assert resume(store, "run", agent) == "SHARKS"


def test_runs_of_one_store_know_nothing_of_each_other(each_store: Store) -> None:
    for run_id in ("a", "b", "a/b", "../a"):
        assert resume(each_store, run_id, agent, run_id) == run_id.upper()
    assert each_store.runs() == sorted(["a", "b", "a/b", "../a"])
