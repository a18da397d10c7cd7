"""A store that fails ends the life, for what it holds is not known any more; what it held before stays."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from durable_core import AlreadyRecorded, LeaseLost, Run, StoreError, Suspended, deliver, resume
from durable_core.entries import Entry
from durable_core.stores.memory import MemoryStore
from durable_core.stores.protocol import Lease

ERRORS: list[BaseException] = [
    StoreError("postgresql://db: connection reset"),
    LeaseLost("stale token"),
    ConnectionResetError("as a store of a stranger's may let slip"),
    KeyboardInterrupt("in the middle of a write"),
]


class Failing(MemoryStore):
    """Fails once on the append of the named step, after `landed` says whether the entry went in all the same."""

    def __init__(self, step_id: str, error: BaseException, *, landed: bool = False) -> None:
        super().__init__()
        self.step_id = step_id
        self.error: BaseException | None = error
        self.landed = landed

    def append(self, run_id: str, entry: Entry, lease: Lease | None) -> None:
        if entry.step_id == self.step_id and self.error is not None:
            error, self.error = self.error, None
            if self.landed:
                super().append(run_id, entry, lease)
            raise error
        super().append(run_id, entry, lease)


class Provider:
    """Charges once a key, as the real ones do."""

    def __init__(self) -> None:
        self.charges: dict[str, int] = {}
        self.calls: list[str] = []

    def charge(self, amount: int, *, idempotency_key: str) -> int:
        self.calls.append(idempotency_key)
        return self.charges.setdefault(idempotency_key, amount)


def paying(provider: Provider, *, swallow: bool = False) -> Callable[[Run], int]:
    def agent(run: Run) -> int:
        run.step("plan", str, 1)
        try:
            paid = run.effect("pay", provider.charge, 42)
        except BaseException:
            if not swallow:
                raise
            paid = 0
        run.effect("tell", provider.charge, 1)
        return paid

    return agent


@pytest.mark.parametrize("landed", [False, True], ids=["lost", "landed"])
@pytest.mark.parametrize("swallow", [False, True], ids=["raised", "swallowed"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_record_that_could_not_be_written_ends_the_life(error: BaseException, *, swallow: bool, landed: bool) -> None:
    store, provider = Failing("pay", error, landed=landed), Provider()
    with pytest.raises(type(error)) as raised:
        resume(store, "run", paying(provider, swallow=swallow))
    assert raised.value is error
    assert provider.calls == ["run:pay"]  # nothing after it
    assert store.entries("run")[1].step_id == "plan"
    assert resume(store, "run", paying(provider)) == resume(store, "run", paying(provider)) == 42
    assert provider.charges == {"run:pay": 42, "run:tell": 1}
    assert provider.calls == ["run:pay", *([] if landed else ["run:pay"]), "run:tell"]


@pytest.mark.parametrize("step_id", ["", "pay"])
def test_the_cause_of_an_error_stays(step_id: str) -> None:
    error = StoreError("disk")
    error.__cause__ = OSError(28, "No space left on device")
    with pytest.raises(StoreError) as raised:
        resume(Failing(step_id, error), "run", paying(Provider()))
    assert raised.value.__cause__ is error.__cause__


def test_a_run_that_could_not_be_admitted_has_done_nothing() -> None:
    store, provider = Failing("", StoreError("down")), Provider()
    with pytest.raises(StoreError):
        resume(store, "run", paying(provider))
    assert provider.calls == []
    assert store.entries("run") == []
    assert resume(store, "run", paying(provider)) == 42


def test_a_failure_that_could_not_be_recorded_ends_the_life_too() -> None:
    store = Failing("s", StoreError("down"))
    calls: list[int] = []

    def fail() -> None:
        calls.append(1)
        raise ValueError("no")

    def agent(run: Run) -> str:
        try:
            run.step("s", fail, record_errors=(ValueError,))
        except ValueError:
            return "no"
        except StoreError:
            run.step("more", calls.append, 2)
        raise AssertionError

    with pytest.raises(StoreError):
        resume(store, "run", agent)
    assert calls == [1]
    assert resume(store, "run", agent) == "no"


def test_other_threads_are_stopped_too_and_what_they_had_finished_stays() -> None:
    store = Failing("w:3", StoreError("down"))
    done: list[int] = []

    def agent(run: Run) -> None:
        def one(number: int) -> None:
            run.step(f"w:{number}", done.append, number)

        with ThreadPoolExecutor(1) as pool:
            for future in [pool.submit(one, number) for number in range(8)]:
                future.exception()

    with pytest.raises(StoreError):
        resume(store, "run", agent)
    assert done == [0, 1, 2, 3]
    assert [entry.step_id for entry in store.entries("run")[1:]] == ["w:0", "w:1", "w:2"]


def test_gathered_steps_are_stopped_too() -> None:
    store = Failing("a", StoreError("down"))
    done: list[str] = []

    async def work(name: str) -> None:
        done.append(name)

    async def agent(run: Run) -> None:
        await asyncio.gather(*(run.step(name, work, name) for name in "abc"), return_exceptions=True)

    with pytest.raises(StoreError):
        asyncio.run(resume(store, "run", agent))
    assert done == ["a"]


def test_a_delivery_that_could_not_be_looked_for_ends_the_life() -> None:
    class Unreadable(MemoryStore):
        reads = 0

        def entries(self, run_id: str) -> list[Entry]:
            self.reads += 1
            if self.reads == 2:
                raise StoreError("down")
            return super().entries(run_id)

    store = Unreadable()
    done: list[int] = []

    def agent(run: Run) -> None:
        try:
            run.wait("approval")
        except StoreError:
            run.step("without", done.append, 1)

    with pytest.raises(StoreError):
        resume(store, "run", agent)
    assert done == []
    with pytest.raises(Suspended):
        resume(store, "run", agent)


def test_a_result_that_somebody_else_has_recorded_meanwhile_ends_the_life(store: MemoryStore) -> None:
    """Two results for one step: the first one stays, and the next life reads it."""

    def work() -> str:
        deliver(store, "run", "s", "theirs")
        return "ours"

    def agent(run: Run) -> str:
        return run.step("s", work)

    with pytest.raises(AlreadyRecorded):
        resume(store, "run", agent)
    assert resume(store, "run", agent) == "theirs"


def test_a_life_that_lost_its_lease_writes_nothing_more(store: MemoryStore) -> None:
    def stale(run: Run) -> None:
        run.step("a", str, 1)
        (lease,) = store._held
        store.release(lease)
        store.acquire("run")  # somebody else takes over
        run.step("b", str, 2)

    with pytest.raises(LeaseLost):
        resume(store, "run", stale)
    assert [entry.step_id for entry in store.entries("run")] == ["", "a"]
