"""Steps that are executed once, and answered from their record ever after."""

from dataclasses import dataclass

import pytest

import durable_core
from durable_core import DuplicateStepId, DurableError, InvalidId, NestedStep, NotRecordable, Run, Store, resume
from durable_core.entries import Entry
from durable_core.stores.memory import MemoryStore


class Died(BaseException):
    """Ends a life the way no `except Exception` stops."""


@dataclass(frozen=True)
class Receipt:
    amount: int
    tags: tuple[str, ...] = ()


def test_the_same_line_starts_and_resumes(each_store: Store) -> None:
    calls: list[str] = []

    def pay(amount: int) -> Receipt:
        calls.append("pay")
        return Receipt(amount, ("paid",))

    def agent(run: Run, amount: int) -> Receipt:
        return run.step("pay", pay, amount)

    lives = [resume(each_store, "run", agent, 42) for _ in range(3)]
    assert lives == [Receipt(42, ("paid",))] * 3
    assert calls == ["pay"]


@pytest.mark.parametrize("died_in", range(5))
def test_a_resume_repeats_nothing_that_was_finished(store: MemoryStore, died_in: int) -> None:
    """Whichever step a life dies in, that one alone is done again."""
    calls: list[int] = []
    alive = False

    def work(number: int) -> int:
        calls.append(number)
        if number == died_in and not alive:
            raise Died
        return number * number

    def agent(run: Run) -> list[int]:
        return [run.step(f"work:{number}", work, number) for number in range(5)]

    with pytest.raises(Died):
        resume(store, "run", agent)
    alive = True
    assert resume(store, "run", agent) == [0, 1, 4, 9, 16]
    assert sorted(calls) == sorted([*range(5), died_in])


def test_a_finished_run_gives_its_result_and_executes_and_writes_nothing(store: MemoryStore) -> None:
    def agent(run: Run) -> float:
        return run.random("chance")

    first = resume(store, "run", agent)
    entries = store.entries("run")
    assert resume(store, "run", agent) == first
    assert store.entries("run") == entries
    assert [entry.kind for entry in entries] == ["start", "record", "finish"]


def test_live_code_is_given_the_decoded_record_and_not_the_object_itself(store: MemoryStore) -> None:
    made: list[dict[str, int]] = []

    def make() -> dict[str, int]:
        made.append({"a": 1})
        return made[-1]

    def agent(run: Run) -> dict[str, int]:
        value = run.step("make", make)
        made[-1]["a"] = 2  # as a cache or a client might
        return value

    assert resume(store, "run", agent) == {"a": 1}
    assert resume(store, "run", agent) == {"a": 1}


def test_what_the_agent_does_to_a_value_does_not_reach_the_record(store: MemoryStore) -> None:
    def make() -> list[int]:
        return [1]

    def agent(run: Run) -> list[int]:
        value = run.step("make", make)
        value.append(2)
        return value

    assert resume(store, "run", agent) == resume(store, "run", agent) == [1, 2]


def test_a_record_is_made_of_position_arguments_and_value(store: MemoryStore) -> None:
    def agent(run: Run) -> None:
        run.step("a", str, 1)
        run.step("b", str, 2)

    resume(store, "run", agent)
    records = [entry for entry in store.entries("run") if entry.kind == "record"]
    assert [(entry.step_id, entry.position, entry.payload, entry.effect) for entry in records] == [
        ("a", 0, b'"1"', False),
        ("b", 1, b'"2"', False),
    ]
    assert records[0].fingerprint != records[1].fingerprint
    assert all(entry.at > 0 for entry in records)


def test_a_second_use_of_an_id_is_refused_before_anything_is_done(store: MemoryStore) -> None:
    calls: list[int] = []

    def agent(run: Run) -> None:
        for number in range(2):
            run.step("same", calls.append, number)

    with pytest.raises(DuplicateStepId, match=r"'same' is used twice in one life.*index of the loop"):
        resume(store, "run", agent)
    assert calls == [0]


def test_a_recorded_step_cannot_be_asked_for_twice_either(store: MemoryStore) -> None:
    def once(run: Run) -> None:
        run.step("same", str, 1)
        raise Died

    def twice(run: Run) -> None:
        run.step("same", str, 1)
        run.step("same", str, 1)

    with pytest.raises(Died):
        resume(store, "run", once)
    with pytest.raises(DuplicateStepId):
        resume(store, "run", twice)


def test_a_step_that_failed_may_be_asked_for_again_in_the_same_life(store: MemoryStore) -> None:
    attempts: list[int] = []

    def shaky() -> int:
        attempts.append(1)
        if len(attempts) < 3:
            raise ConnectionError("again")
        return 7

    def agent(run: Run) -> tuple[int, str]:
        for _ in range(5):
            try:
                return run.step("shaky", shaky), run.step("after", str, 1)
            except ConnectionError:
                continue
        raise AssertionError

    assert resume(store, "run", agent) == (7, "1")
    assert resume(store, "run", agent) == (7, "1")
    assert len(attempts) == 3
    positions = {entry.step_id: entry.position for entry in store.entries("run")}
    assert (positions["shaky"], positions["after"]) == (0, 1)


def test_a_step_inside_a_step_is_refused_and_poisons_the_run(store: MemoryStore) -> None:
    calls: list[str] = []

    def agent(run: Run) -> None:
        def outer() -> None:
            run.step("inner", calls.append, "inner")

        run.step("outer", outer)

    with pytest.raises(NestedStep, match=r"step 'inner' was started inside step 'outer'"):
        resume(store, "run", agent)
    assert calls == []


def test_what_poisoned_the_run_first_is_what_is_raised(store: MemoryStore) -> None:
    """The rest are consequences."""

    def agent(run: Run) -> None:
        def outer() -> set[int]:
            with pytest.raises(NestedStep):
                run.step("inner", str, 1)
            return {1}

        run.step("outer", outer, returns=object)

    with pytest.raises(NestedStep):
        resume(store, "run", agent)


def test_a_wait_inside_a_step_is_refused_too(store: MemoryStore) -> None:
    def agent(run: Run) -> None:
        run.step("outer", lambda: run.wait("approval"))

    with pytest.raises(NestedStep):
        resume(store, "run", agent)


def test_a_step_may_resume_another_run(store: MemoryStore) -> None:
    """That one has records of its own, so nothing of it is lost once the outer step is recorded."""
    calls: list[str] = []

    def child(run: Run) -> str:
        run.step("work", calls.append, "work")
        return "child"

    def parent(run: Run) -> str:
        return run.step("child", resume, store, "child", child)

    assert resume(store, "parent", parent) == resume(store, "parent", parent) == "child"
    assert calls == ["work"]


@pytest.mark.parametrize("bad", ["", "a\nb", "\0", "\ud800", "x" * 1001, None, 7])
def test_bad_step_ids_are_refused_before_anything_is_done(store: MemoryStore, bad: str) -> None:
    calls: list[int] = []

    def agent(run: Run) -> None:
        run.step(bad, calls.append, 1)

    with pytest.raises(InvalidId, match="step id"):
        resume(store, "run", agent)
    assert calls == []


def test_scopes_prefix_ids_keys_and_records(store: MemoryStore) -> None:
    def agent(run: Run) -> list[str]:
        run.step("look", str, 0)
        inner = run.scope("customer:3").scope("mail")
        inner.step("look", str, 1)
        return [run.scope("customer:3").key("send"), inner.key("send"), inner.run_id]

    assert resume(store, "run", agent) == ["run:customer:3/send", "run:customer:3/mail/send", "run"]
    assert [entry.step_id for entry in store.entries("run") if entry.kind == "record"] == [
        "look",
        "customer:3/mail/look",
    ]


def test_an_id_may_not_be_too_long_with_its_scopes_either(store: MemoryStore) -> None:
    def agent(run: Run) -> None:
        run.scope("x" * 600).step("y" * 600, str, 1)

    with pytest.raises(InvalidId, match="1201 characters"):
        resume(store, "run", agent)


def test_one_named_step_serves_every_customer_in_a_scope_of_their_own(store: MemoryStore) -> None:
    sent: list[str] = []
    alive = False

    def send(text: str) -> None:
        sent.append(text)

    def greet(run: Run, customer: int) -> None:
        run.step("send", send, f"hello {customer}")
        if customer == 2 and not alive:
            raise Died

    def agent(run: Run) -> None:
        for customer in (1, 2, 3):
            greet(run.scope(f"customer:{customer}"), customer)

    with pytest.raises(Died):
        resume(store, "run", agent)
    alive = True
    resume(store, "run", agent)
    assert sent == ["hello 1", "hello 2", "hello 3"]


def test_unasked_names_the_records_nobody_has_asked_for_yet(store: MemoryStore) -> None:
    seen: list[frozenset[str]] = []

    def agent(run: Run) -> None:
        for name in "ab":
            seen.append(run.unasked)
            run.step(name, str, 1)
        seen.append(run.unasked)

    resume(store, "run", agent)
    resume(store, "run", agent)
    assert seen == [frozenset()] * 3 + [frozenset("ab"), frozenset("b"), frozenset()]


def test_redact_keeps_a_value_out_of_the_log_and_live_code_sees_the_same(store: MemoryStore) -> None:
    def login() -> dict[str, str]:
        return {"user": "ann", "token": "s3cret"}

    def without_token(session: dict[str, str]) -> dict[str, str]:
        return session | {"token": "***"}

    def agent(run: Run) -> dict[str, str]:
        return run.step("login", login, redact=without_token)

    assert resume(store, "run", agent) == resume(store, "run", agent) == {"user": "ann", "token": "***"}
    assert not any(b"s3cret" in entry.to_bytes() for entry in store.entries("run"))


def test_a_redact_that_fails_leaves_no_record_and_the_step_may_be_asked_for_again(store: MemoryStore) -> None:
    def bad(_: str) -> str:
        raise ZeroDivisionError

    def agent(run: Run) -> str:
        with pytest.raises(ZeroDivisionError):
            run.step("s", str, 1, redact=bad)
        return run.step("s", str, 1)

    assert resume(store, "run", agent) == "1"


def test_a_value_that_does_not_survive_poisons_the_run(store: MemoryStore) -> None:
    """The step was carried out, and nothing says so: going on would be going on without a record."""
    calls: list[str] = []

    def agent(run: Run) -> str:
        try:
            run.step("bad", lambda: {1, 2})
        except NotRecordable:
            run.step("next", calls.append, "next")
        return "fine"

    with pytest.raises(NotRecordable, match=r"step 'bad' returned a set that does not survive"):
        resume(store, "run", agent)
    assert calls == []
    assert [entry.kind for entry in store.entries("run")] == ["start"]


def test_what_is_raised_outside_of_steps_passes_through(store: MemoryStore) -> None:
    def agent(run: Run) -> None:
        run.step("a", str, 1)
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        resume(store, "run", agent)
    assert [entry.kind for entry in store.entries("run")] == ["start", "record"]
    store.release(store.acquire("run"))  # nobody holds the run any more


def test_every_error_that_is_exported_is_a_durable_error() -> None:
    exported = [getattr(durable_core, name) for name in durable_core.__all__]
    errors = [thing for thing in exported if isinstance(thing, type) and issubclass(thing, Exception)]
    assert len(errors) == 16
    assert all(issubclass(error, DurableError) for error in errors)


class CountingStore(MemoryStore):
    """Counts what is asked of it."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = self.writes = 0

    def entries(self, run_id: str) -> list[Entry]:
        self.reads += 1
        return super().entries(run_id)

    def append(self, *arguments: object) -> None:
        self.writes += 1
        super().append(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("steps", [100, 10_000])
def test_the_store_is_read_once_a_life_and_written_once_a_step(steps: int) -> None:
    """So the cost of a step does not grow with the run."""
    store = CountingStore()

    def agent(run: Run) -> int:
        return sum(len(run.step(f"step:{number}", str, number)) for number in range(steps))

    first = resume(store, "run", agent)
    assert (store.reads, store.writes) == (1, steps + 2)
    assert resume(store, "run", agent) == first
    assert (store.reads, store.writes) == (2, steps + 2)
    size = sum(len(entry.to_bytes()) for entry in store.entries("run"))
    assert size < 100 * (steps + 2)
