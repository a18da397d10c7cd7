"""Any sequence of calls, on any store, against a model of dicts."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, rule

from durable_core.conformance import record
from durable_core.entries import OUTCOMES, Entry
from durable_core.errors import AlreadyRecorded, LeaseLost, RunIsHeld
from durable_core.stores.file import FileStore
from durable_core.stores.memory import MemoryStore
from durable_core.stores.protocol import Lease, Store
from durable_core.stores.sqlite import SqliteStore

RUNS = st.sampled_from(["a", "A", "../a"])
ENTRIES = st.builds(
    Entry,
    kind=st.sampled_from(["start", "intent", "record", "failure", "finish"]),
    step_id=st.sampled_from(["send", "plan", "ü"]),
    position=st.none() | st.integers(0, 3),
    effect=st.booleans(),
    payload=st.sampled_from([b"", b"null", b'"\\u0000"']),
    at=st.floats(allow_nan=False),
)


class MemoryMachine(RuleBasedStateMachine):
    leases = Bundle("leases")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.store = self.open()
        self.landed: dict[str, list[Entry]] = {}
        self.held: dict[str, Lease] = {}
        self.tokens: dict[str, int] = {}

    def open(self) -> Store:
        return MemoryStore()

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    @rule(target=leases, run=RUNS)
    def acquire(self, run: str) -> Lease:
        try:
            lease = self.store.acquire(run)
        except RunIsHeld:
            assert run in self.held
            return self.held[run]
        assert run not in self.held
        assert lease.token > self.tokens.get(run, 0)
        self.tokens[run] = lease.token
        self.held[run] = lease
        return lease

    @rule(lease=leases)
    def release(self, lease: Lease) -> None:
        self.store.release(lease)
        if self.held.get(lease.run_id) == lease:
            del self.held[lease.run_id]

    @rule(lease=leases, run=RUNS, entry=ENTRIES)
    def append(self, lease: Lease, run: str, entry: Entry) -> None:
        if self.held.get(run) == lease:
            self.land(run, entry, lease)
            return
        try:
            self.store.append(run, entry, lease)
        except LeaseLost:
            return
        raise AssertionError

    @rule(run=RUNS, entry=ENTRIES)
    def deliver(self, run: str, entry: Entry) -> None:
        self.land(run, entry, None)

    def land(self, run: str, entry: Entry, lease: Lease | None) -> None:
        landed = self.landed.get(run, [])
        settled = entry.kind in OUTCOMES and any(
            earlier.step_id == entry.step_id and earlier.kind in OUTCOMES for earlier in landed
        )
        try:
            self.store.append(run, entry, lease)
        except AlreadyRecorded:
            assert settled
            return
        assert not settled
        self.landed[run] = [*landed, entry]

    @invariant()
    def the_store_holds_what_landed(self) -> None:
        assert self.store.runs() == sorted(self.landed)
        for run in ("a", "A", "../a"):
            assert self.store.entries(run) == self.landed.get(run, [])


class FileMachine(MemoryMachine):
    def open(self) -> Store:
        return FileStore(self.folder)

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = self.open()
        self.held.clear()

    @rule(run=RUNS, torn=st.sampled_from([b"1", b"8f3d0a77 [", b"\0" * 50, b"x\0\n"]))
    def tear(self, run: str, torn: bytes) -> None:
        for path in journals(self.folder, run):
            with path.open("ab") as file:
                file.write(torn)
            self.store.append(run, record(f"after {len(self.landed[run])}"), None)
            self.landed[run].append(record(f"after {len(self.landed[run])}"))


class SqliteMachine(MemoryMachine):
    def open(self) -> Store:
        return SqliteStore(self.folder / "runs.db")

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = self.open()
        self.held.clear()


def journals(folder: Path, run: str) -> Iterator[Path]:
    name = {"a": "a", "A": "%41", "../a": "%2e%2e%2fa"}[run]
    return folder.glob(f"{name}.journal")


EFFORT = settings(max_examples=25, stateful_step_count=25, deadline=None)


class TestMemoryMachine(MemoryMachine.TestCase):  # type: ignore[misc, valid-type]
    settings = EFFORT


class TestFileMachine(FileMachine.TestCase):  # type: ignore[misc, valid-type]
    settings = EFFORT


class TestSqliteMachine(SqliteMachine.TestCase):  # type: ignore[misc, valid-type]
    settings = EFFORT
