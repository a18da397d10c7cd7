"""A replay that asks for something else than was recorded is stopped, and says what and why."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from durable_core import CorruptCheckpoint, DurableError, ReplayDivergence, Run, Store, Suspended, resume
from durable_core.entries import Entry
from durable_core.stores.memory import MemoryStore

Agent = Callable[[Run], object]


class Died(BaseException):
    """Ends a life the way no `except Exception` stops."""


def steps(*names: str, then: type[BaseException] | None = None) -> Agent:
    """An agent that asks for these steps in this order."""

    def agent(run: Run) -> None:
        for name in names:
            run.step(name, str.upper, name)
        if then is not None:
            raise then

    return agent


def died_after(store: Store, *names: str) -> None:
    with pytest.raises(Died):
        resume(store, "run", steps(*names, then=Died))


def test_another_step_at_a_position_is_refused(store: MemoryStore) -> None:
    died_after(store, "plan", "send")
    with pytest.raises(
        ReplayDivergence,
        match=r"^at position 1 of run 'run' the record is of step 'send', but the replay asked for 'bill'\. Likely",
    ):
        resume(store, "run", steps("plan", "bill", "send"))


def test_steps_in_another_order_are_refused(store: MemoryStore) -> None:
    died_after(store, "a", "b")
    with pytest.raises(ReplayDivergence, match=r"position 0 .* step 'a', but the replay asked for 'b'"):
        resume(store, "run", steps("b", "a"))


def test_a_step_that_was_left_out_is_missed_at_once(store: MemoryStore) -> None:
    died_after(store, "a", "b", "c")
    with pytest.raises(ReplayDivergence, match=r"position 1 .* step 'b', but the replay asked for 'c'"):
        resume(store, "run", steps("a", "c"))


def test_an_agent_that_returns_early_is_refused(store: MemoryStore) -> None:
    died_after(store, "a", "b", "c")
    with pytest.raises(ReplayDivergence, match="returned without asking for step 'b', recorded at position 1"):
        resume(store, "run", steps("a"))
    assert [entry.kind for entry in store.entries("run")] == ["start", "record", "record", "record"]


def test_new_steps_behind_the_records_are_the_run_going_on(store: MemoryStore) -> None:
    died_after(store, "a", "b")
    resume(store, "run", steps("a", "b", "c", "d"))
    assert [entry.step_id for entry in store.entries("run") if entry.kind == "record"] == ["a", "b", "c", "d"]


def test_a_finished_run_takes_no_new_step(store: MemoryStore) -> None:
    resume(store, "run", steps("a"))
    with pytest.raises(
        ReplayDivergence, match="run 'run' has finished without a step 'b', which this replay asked for"
    ):
        resume(store, "run", steps("a", "b"))


def test_a_finished_run_does_not_wait_for_anything_new(store: MemoryStore) -> None:
    resume(store, "run", steps("a"))

    def agent(run: Run) -> None:
        run.step("a", str.upper, "a")
        run.wait("approval")

    with pytest.raises(ReplayDivergence, match="has finished without a step 'approval'"):
        resume(store, "run", agent)


def test_a_wait_where_a_step_is_recorded_is_refused(store: MemoryStore) -> None:
    died_after(store, "a")
    with pytest.raises(ReplayDivergence, match=r"position 0 .* step 'a', but the replay asked for 'approval'"):
        resume(store, "run", lambda run: run.wait("approval"))


def test_other_arguments_are_refused_and_named(store: MemoryStore) -> None:
    def send(*parts: object, **more: object) -> int:
        return len(parts) + len(more)

    def agent(run: Run, body: str) -> int:
        return run.step("send", send, 1, body, to="ann", cc=body)

    def first(run: Run) -> int:
        return agent(run, "hello")

    def second(run: Run) -> int:
        return agent(run, "good morning")

    resume(store, "run", first)
    with pytest.raises(
        ReplayDivergence,
        match=r"^step 'send' is recorded for other arguments than it was asked with \(argument 1, cc differs\)\. L",
    ):
        resume(store, "run", second)


def test_a_run_id_names_one_input(store: MemoryStore) -> None:
    def agent(run: Run, topic: str, *, lines: int = 3) -> str:
        return run.step("s", str, lines) + topic

    resume(store, "run", agent, "sharks", lines=2)
    for args, kwargs, named in (
        (("whales",), {"lines": 2}, "0"),
        (("sharks",), {}, "lines"),
        ((), {"topic": 1}, "0, li"),
    ):
        with pytest.raises(ReplayDivergence, match=rf"run 'run' was started with another input \(argument {named}"):
            resume(store, "run", agent, *args, **kwargs)
    assert resume(store, "run", agent, "sharks", lines=2) == "2sharks"


@pytest.mark.parametrize("swallowed", [Exception, DurableError, ReplayDivergence])
def test_a_divergence_that_is_swallowed_comes_again_and_nothing_more_is_executed(
    store: MemoryStore, swallowed: type[Exception]
) -> None:
    died_after(store, "a", "b")
    done: list[str] = []
    errors: list[Exception] = []

    def agent(run: Run) -> str:
        for name in ("a", "x", "y", "b", "z"):
            try:
                run.step(name, done.append, name)
            except swallowed as error:
                errors.append(error)
        return "all is well"

    before = store.entries("run")
    with pytest.raises(ReplayDivergence) as raised:
        resume(store, "run", agent)
    assert done == []
    assert len(errors) == 4  # all but the first, which is as recorded
    assert {*errors} == {raised.value}
    assert store.entries("run") == before


@pytest.mark.parametrize(
    "ask", [lambda run: run.step("x", str, 1), lambda run: run.wait("x"), lambda run: run.now("x")]
)
def test_whatever_a_poisoned_run_is_asked_for_it_raises_the_same(store: MemoryStore, ask: Agent) -> None:
    died_after(store, "a")
    caught: list[BaseException] = []

    def agent(run: Run) -> None:
        for attempt in (lambda run: run.step("other", str, 1), ask):
            try:
                attempt(run)
            except ReplayDivergence as error:
                caught.append(error)

    with pytest.raises(ReplayDivergence):
        resume(store, "run", agent)
    assert len({id(error) for error in caught}) == 1
    assert len(caught) == 2


def test_what_poisoned_a_run_goes_before_what_the_agent_made_of_it(store: MemoryStore) -> None:
    died_after(store, "a")

    def agent(run: Run) -> None:
        try:
            run.step("other", str, 1)
        except ReplayDivergence as error:
            raise RuntimeError("agent failed") from error

    with pytest.raises(ReplayDivergence):
        resume(store, "run", agent)


def test_an_async_agent_that_swallows_is_stopped_too(store: MemoryStore) -> None:
    died_after(store, "a")
    done: list[str] = []

    async def work(name: str) -> None:
        done.append(name)

    async def agent(run: Run) -> None:
        await asyncio.gather(*(run.step(name, work, name) for name in ("x", "y")), return_exceptions=True)

    with pytest.raises(ReplayDivergence):
        asyncio.run(resume(store, "run", agent))
    assert done == []


def test_a_poisoned_life_is_over_and_the_run_is_not(store: MemoryStore) -> None:
    died_after(store, "a", "b")
    with pytest.raises(ReplayDivergence):
        resume(store, "run", steps("b"))
    resume(store, "run", steps("a", "b"))
    assert store.entries("run")[-1].kind == "finish"


def test_a_failure_that_was_caught_unnamed_is_a_divergence_when_it_does_not_come_again(store: MemoryStore) -> None:
    fails = True

    def shaky() -> str:
        if fails:
            raise ConnectionError
        return "answer"

    def agent(run: Run) -> str:
        try:
            return run.step("ask", shaky)
        except ConnectionError:
            run.step("apologise", str, "sorry")
            raise Died from None

    with pytest.raises(Died):
        resume(store, "run", agent)
    fails = False
    with pytest.raises(
        ReplayDivergence, match=r"without asking for step 'apologise', recorded at position 1.*not named in"
    ):
        resume(store, "run", agent)


def test_a_life_that_suspends_leaves_the_order_of_the_records_alone(store: MemoryStore) -> None:
    def agent(run: Run) -> None:
        run.step("a", str, 1)
        run.wait("approval")

    for _ in range(2):
        with pytest.raises(Suspended):
            resume(store, "run", agent)


def test_records_without_a_start_are_corrupt(store: MemoryStore) -> None:
    for kind in ("intent", "record", "failure", "finish"):
        store.append(kind, Entry(kind=kind, step_id="s", payload=b"1"), None)  # type: ignore[arg-type]
        with pytest.raises(CorruptCheckpoint, match="has records but no start"):
            resume(store, kind, steps("s"))


SET_BASED = """
import asyncio, sys
from durable_core import ReplayDivergence, open_store, resume

async def work(name: str) -> str:
    with open(sys.argv[2], "a") as ledger:
        ledger.write(name + "\\n")
    return name

async def agent(run):
    names = {"alpha", "beta", "gamma"}
    tasks = {asyncio.ensure_future(run.step(name, work, name)) for name in names}
    for task in asyncio.as_completed(tasks):
        print(await task, flush=True)
        if sys.argv[3] == "die":
            sys.exit(3)
    return "done"

async def main():
    try:
        await resume(open_store("file://" + sys.argv[1]), "run", agent)
    except ReplayDivergence as error:
        print(error)

asyncio.run(main())
"""


def test_steps_started_through_a_set_are_done_once_or_the_two_that_differ_are_named(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    said = []
    for seed, last in ((1, "die"), (2, "live"), (3, "live"), (4, "live")):
        ended = subprocess.run(
            [sys.executable, "-c", SET_BASED, str(tmp_path / "runs"), str(ledger), last],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == (3 if last == "die" else 0), ended.stderr
        said.append(ended.stdout)
    assert len(ledger.read_text().split()) == len({*ledger.read_text().split()})
    for output in said[1:]:
        assert "the record is of step" in output or {*output.split()} == {"alpha", "beta", "gamma"}
