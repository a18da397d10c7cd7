"""What every store must do, as tests that any store plugs into. Needs no pytest to be imported.

    import pytest
    from durable_core.conformance import Reopen, SharedStoreConformance, StoreConformance

    class TestMyStore(StoreConformance, SharedStoreConformance):
        @pytest.fixture
        def store(self, tmp_path):
            with closing(MyStore(tmp_path)) as store:
                yield store

        @pytest.fixture
        def reopen(self, tmp_path):  # opens one more store object on the same place
            return lambda: MyStore(tmp_path)

A store that does not outlive its object, such as the one in memory, leaves `SharedStoreConformance` out.
`pytest.register_assert_rewrite("durable_core.conformance")` before the import makes failures tell more.
"""
# ruff: noqa: S101

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from durable_core.entries import Entry
from durable_core.errors import AlreadyRecorded, CorruptCheckpoint, LeaseLost, RunIsHeld
from durable_core.stores.protocol import Lease, Store

Reopen = Callable[[], Store]
"""Opens one more store object on the place of the `store` fixture. Tests close what they open."""

START = Entry(kind="start", payload=b'"sharks"', at=1700000000.25)
STRANGE_IDS = (
    "../../etc/passwd",
    "a/b",
    "..",
    ".",
    "A",
    "a",
    "a.lock",
    "%41",
    "con",
    "x" * 1000,
    "x" * 999 + "y",
    "grüße 🦈",
    "'; DROP TABLE runs; --",
)


def record(step_id: str, payload: bytes = b"1") -> Entry:
    """A record of a step with that id."""
    return Entry(kind="record", step_id=step_id, payload=payload)


class StoreConformance:
    """What a store object does. A subclass has the pytest fixture `store`: a new and empty one."""

    def test_entries_come_back_equal_and_in_order(self, store: Store) -> None:
        """Every field of an entry survives, whatever the characters."""
        lease = store.acquire("run")
        entries = [
            START,
            Entry(kind="intent", step_id="send", position=0, fingerprint="f" * 64, effect=True, at=0.1),
            Entry(kind="record", step_id="send", position=0, effect=True, payload='{"ü":"\\u0000 🦈"}'.encode()),
            Entry(kind="failure", step_id='a"\\/b', position=2**63, payload=b"[null,-0.0,1e400]"),
            Entry(kind="record", step_id="big", blob="0" * 64),
            Entry(kind="finish"),
        ]
        for entry in entries:
            store.append("run", entry, lease)
        assert store.entries("run") == entries

    def test_an_unknown_run_is_empty(self, store: Store) -> None:
        """Neither asking for a run nor taking its lease admits it."""
        assert store.entries("run") == []
        store.release(store.acquire("run"))
        assert store.entries("run") == []
        assert store.runs() == []

    def test_a_step_has_one_outcome(self, store: Store) -> None:
        """A second record or a failure after a record is refused; other steps and other runs are not concerned."""
        lease = store.acquire("run")
        store.append("run", START, lease)
        store.append("run", record("send", b"1"), lease)
        for second in (record("send", b"2"), Entry(kind="failure", step_id="send")):
            with _raises(AlreadyRecorded):
                store.append("run", second, lease)
            with _raises(AlreadyRecorded):
                store.append("run", second, None)
        store.append("run", Entry(kind="intent", step_id="send"), lease)
        store.append("run", record("other"), lease)
        store.append("run 2", record("send"), store.acquire("run 2"))
        assert [entry.payload for entry in store.entries("run")] == [START.payload, b"1", b"", b"1"]

    def test_a_held_run_cannot_be_acquired(self, store: Store) -> None:
        """Also not by the same store object; another run can."""
        lease = store.acquire("run")
        with _raises(RunIsHeld):
            store.acquire("run")
        store.acquire("other")
        store.append("run", START, lease)

    def test_tokens_grow(self, store: Store) -> None:
        """Each lease has a higher token than the one before."""
        first = store.acquire("run")
        store.release(first)
        second = store.acquire("run")
        assert second.token > first.token

    def test_a_released_lease_is_refused(self, store: Store) -> None:
        """Releasing twice is no error."""
        lease = store.acquire("run")
        store.append("run", START, lease)
        store.release(lease)
        store.release(lease)
        with _raises(LeaseLost):
            store.append("run", record("late"), lease)
        assert store.entries("run") == [START]

    def test_a_stale_token_is_refused(self, store: Store) -> None:
        """And releasing it does not take the lease from its new owner."""
        stale = store.acquire("run")
        store.release(stale)
        lease = store.acquire("run")
        with _raises(LeaseLost):
            store.append("run", START, stale)
        store.release(stale)
        store.append("run", START, lease)
        assert store.entries("run") == [START]

    def test_a_lease_is_for_its_run_alone(self, store: Store) -> None:
        """Neither another run's lease nor an invented one lets an entry in."""
        other = store.acquire("other")
        for lease in (other, Lease("run", other.token)):
            with _raises(LeaseLost):
                store.append("run", START, lease)
        store.acquire("run")
        with _raises(LeaseLost):
            store.append("run", START, other)
        assert store.runs() == []

    def test_anybody_may_deliver(self, store: Store) -> None:
        """A delivery needs no lease, held or not, and lands behind what is there."""
        lease = store.acquire("run")
        store.append("run", START, lease)
        store.append("run", record("approval"), None)
        store.append("run", record("send"), lease)
        store.release(lease)
        store.append("run", record("second approval"), None)
        assert [entry.step_id for entry in store.entries("run")] == ["", "approval", "send", "second approval"]

    def test_blobs_come_back(self, store: Store) -> None:
        """By their sha256, as often as they were put, a missing one as damage."""
        for data in (b"", bytes(range(256)) * 1000, b"again", b"again"):
            digest = store.put_blob("run", data)
            assert store.get_blob("run", digest) == data
        for missing in ("0" * 64, "../../etc/passwd"):
            with _raises(CorruptCheckpoint):
                store.get_blob("run", missing)

    def test_strange_run_ids_stay_apart(self, store: Store) -> None:
        """An id is data; ids that differ are different runs, whatever the file system thinks of them."""
        for run_id in STRANGE_IDS:
            lease = store.acquire(run_id)
            store.append(run_id, Entry(kind="start", step_id=run_id), lease)
            store.put_blob(run_id, run_id.encode())
        for run_id in STRANGE_IDS:
            assert [entry.step_id for entry in store.entries(run_id)] == [run_id]
        assert store.runs() == sorted(STRANGE_IDS)

    def test_threads_may_append_at_once(self, store: Store) -> None:
        """Nothing is lost, and each thread's entries stay in order."""
        lease = store.acquire("run")

        def work(name: int) -> None:
            for number in range(20):
                store.append("run", record(f"{name}:{number}"), lease if number % 2 else None)

        threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        landed = [entry.step_id for entry in store.entries("run")]
        for name in range(8):
            assert [step for step in landed if step.startswith(f"{name}:")] == [f"{name}:{n}" for n in range(20)]

    def test_threads_race_for_one_record(self, store: Store) -> None:
        """Of many deliveries of one step, one wins."""
        refused = []

        def deliver(name: int) -> None:
            try:
                store.append("run", record("approval", str(name).encode()), None)
            except AlreadyRecorded:
                refused.append(name)

        threads = [threading.Thread(target=deliver, args=(name,)) for name in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (winner,) = store.entries("run")
        assert sorted([*refused, int(winner.payload)]) == list(range(8))


class SharedStoreConformance:
    """What store objects on one place do for each other. A subclass has the fixtures `store` and `reopen`."""

    def test_what_one_wrote_another_reads(self, store: Store, reopen: Reopen) -> None:
        """Entries, runs and blobs outlive the object."""
        lease = store.acquire("run")
        store.append("run", START, lease)
        digest = store.put_blob("run", b"large")
        store.close()
        with closing(reopen()) as other:
            assert other.entries("run") == [START]
            assert other.runs() == ["run"]
            assert other.get_blob("run", digest) == b"large"

    def test_a_held_run_cannot_be_acquired_by_another(self, store: Store, reopen: Reopen) -> None:
        """Until it is released; the next token is higher across objects."""
        lease = store.acquire("run")
        with closing(reopen()) as other:
            with _raises(RunIsHeld):
                other.acquire("run")
            store.release(lease)
            assert other.acquire("run").token > lease.token
            with _raises(LeaseLost):
                store.append("run", START, lease)

    def test_closing_releases(self, store: Store, reopen: Reopen) -> None:
        """A store that is closed holds no run."""
        with closing(reopen()) as other:
            other.acquire("run")
        store.append("run", START, store.acquire("run"))

    def test_a_lease_is_for_its_holder_alone(self, store: Store, reopen: Reopen) -> None:
        """A copy of the token does not let another object write."""
        lease = store.acquire("run")
        with closing(reopen()) as other, _raises(LeaseLost):
            other.append("run", START, lease)

    def test_a_delivery_by_another_is_seen(self, store: Store, reopen: Reopen) -> None:
        """The owner's next entry lands behind it, and the owner cannot record that step again."""
        lease = store.acquire("run")
        store.append("run", START, lease)
        with closing(reopen()) as other:
            other.append("run", record("approval"), None)
        with _raises(AlreadyRecorded):
            store.append("run", record("approval"), lease)
        store.append("run", record("send"), lease)
        assert [entry.step_id for entry in store.entries("run")] == ["", "approval", "send"]


@contextmanager
def _raises(expected: type[Exception]) -> Iterator[None]:
    try:
        yield
    except expected:
        return
    raise AssertionError(f"{expected.__name__} was not raised")
