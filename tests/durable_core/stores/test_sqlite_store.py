import os
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from durable_core.conformance import START, Reopen, SharedStoreConformance, StoreConformance, record
from durable_core.errors import AlreadyRecorded, CorruptCheckpoint, LeaseLost, RunIsHeld, StoreError
from durable_core.stores import owner
from durable_core.stores.owner import Owner
from durable_core.stores.sqlite import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with closing(SqliteStore(path)) as store:
        yield store


@pytest.fixture
def reopen(path: Path) -> Reopen:
    return lambda: SqliteStore(path)


class TestSqliteStore(StoreConformance, SharedStoreConformance):
    """The public suite, with the fixtures of this module."""


def execute(path: Path, *statements: str) -> None:
    """What something other than a store does to the file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_commit_is_durable_when_it_returns(store: SqliteStore) -> None:
    for pragma, value in (("journal_mode", "wal"), ("synchronous", 2), ("fullfsync", 1)):
        assert store._connection.execute(f"PRAGMA {pragma}").fetchall() == [(value,)]


def test_files_are_for_their_user_alone(path: Path, store: SqliteStore) -> None:
    store.append("run", START, None)
    assert {entry.name: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.iterdir()} == {
        "runs.db": 0o600,
        "runs.db-wal": 0o600,
        "runs.db-shm": 0o600,
    }


def test_only_the_database_is_left_when_the_store_is_closed(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        store.append("run", START, store.acquire("run"))
    assert [entry.name for entry in path.parent.iterdir()] == ["runs.db"]


OPEN = """
import sys
from contextlib import closing
from durable_core.conformance import START
from durable_core.stores.sqlite import SqliteStore
print("ready", flush=True)
sys.stdin.readline()
for number in range(20):
    with closing(SqliteStore(f"{sys.argv[1]}{number}")) as store:
        store.append(sys.argv[2], START, store.acquire(sys.argv[2]))
"""


def test_processes_may_make_the_database_at_once(path: Path, start: Callable[..., subprocess.Popen[str]]) -> None:
    processes = [start(OPEN, path, name) for name in range(4)]
    for process in processes:
        assert process.stdout
        process.stdout.readline()
    for process in processes:
        process.communicate("go\n", timeout=60)
        assert process.returncode == 0
    for number in range(20):
        with closing(SqliteStore(f"{path}{number}")) as store:
            assert store.runs() == ["0", "1", "2", "3"]
    assert not list(path.parent.glob("*.tmp"))


# ── damage ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_empty_file_is_not_a_fresh_database(path: Path) -> None:
    path.touch()
    with pytest.raises(CorruptCheckpoint, match=r"runs\.db: the file is empty"):
        SqliteStore(path)
    assert path.stat().st_size == 0


def test_a_file_that_is_no_database_is_named(path: Path) -> None:
    path.write_bytes(b"hello" * 1000)
    with pytest.raises(CorruptCheckpoint, match=r"runs\.db: cannot open: it is not a SQLite database"):
        SqliteStore(path)
    assert path.read_bytes() == b"hello" * 1000


def test_another_programs_database_is_left_alone(path: Path) -> None:
    execute(path, "CREATE TABLE customers (name TEXT)")
    before = path.read_bytes()
    with pytest.raises(StoreError, match="belongs to another program"):
        SqliteStore(path)
    assert path.read_bytes() == before


def test_a_newer_schema_is_refused(path: Path, store: SqliteStore) -> None:
    store.close()
    execute(path, "PRAGMA user_version = 2")
    with pytest.raises(StoreError, match="schema 2 and this durable_core knows up to 1: a newer one wrote it"):
        SqliteStore(path)


@pytest.mark.parametrize(
    "harm",
    [
        "UPDATE entries SET body = CAST(replace(body, 'sharks', 'whales') AS BLOB) WHERE seq = 2",
        "UPDATE entries SET body = CAST('hello' AS BLOB), crc = 907060870 WHERE seq = 2",
        "DELETE FROM entries WHERE seq = 2",
        "DELETE FROM entries WHERE seq = 1",
    ],
)
def test_an_entry_changed_or_missing_fails_closed(path: Path, store: SqliteStore, harm: str) -> None:
    for entry in (START, record("write", b'"sharks"'), record("send")):
        store.append("run", entry, None)
    execute(path, harm)
    with pytest.raises(CorruptCheckpoint, match=r"entry [12] of run 'run' is missing or changed"):
        store.entries("run")


def test_a_damaged_page_fails_closed(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        for number in range(200):
            store.append("run", record(str(number)), None)
    whole = path.read_bytes()
    for page in range(1, len(whole) // 4096):
        path.write_bytes(whole[: page * 4096] + os.urandom(4096) + whole[(page + 1) * 4096 :])
        with closing(SqliteStore(path)) as store:
            try:
                assert len(store.entries("run")) == 200  # the page was of something else
            except CorruptCheckpoint as error:
                assert str(path) in str(error)  # noqa: PT017


def test_a_cut_off_file_is_never_a_fresh_run(path: Path) -> None:
    with closing(SqliteStore(path)) as store:
        for number in range(200):
            store.append("run", record(str(number)), None)
    whole = path.read_bytes()
    for length in range(0, len(whole), 1000):
        path.write_bytes(whole[:length])
        with pytest.raises(CorruptCheckpoint), closing(SqliteStore(path)) as store:
            store.entries("run")


def test_a_changed_blob_fails_closed_and_can_be_mended(path: Path, store: SqliteStore) -> None:
    digest = store.put_blob("run", b"large")
    execute(path, "UPDATE blobs SET data = x'00'")
    with pytest.raises(CorruptCheckpoint, match=digest):
        store.get_blob("run", digest)
    store.put_blob("run", b"large")
    assert store.get_blob("run", digest) == b"large"


# ── when the system refuses ──────────────────────────────────────────────────────────────────────────────────────


def test_a_full_disk_leaves_the_run_as_it_was(store: SqliteStore) -> None:
    """And it goes on when there is room again."""
    lease = store.acquire("run")
    store.append("run", START, lease)
    ((pages,),) = store._connection.execute("PRAGMA page_count").fetchall()
    store._connection.execute(f"PRAGMA max_page_count = {pages}").fetchall()
    big = record("big", b"1" * 100_000)
    with pytest.raises(StoreError, match=r"runs\.db: cannot append record 'big': the disk is full"):
        store.append("run", big, lease)
    assert store.entries("run") == [START]
    store._connection.execute("PRAGMA max_page_count = 100000").fetchall()
    store.append("run", big, lease)
    assert store.entries("run") == [START, big]


def test_a_locked_database_is_named_and_the_run_goes_on(path: Path) -> None:
    with closing(SqliteStore(path, timeout=0.01)) as store:
        lease = store.acquire("run")
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            for use in (lambda: store.append("run", START, lease), lambda: store.acquire("other")):
                with pytest.raises(StoreError, match=r"runs\.db: cannot .*: another connection keeps it locked"):
                    use()
            other.execute("ROLLBACK")
        store.append("run", START, lease)
        assert store.entries("run") == [START]


READ_ONLY = """
import os, sys
from contextlib import closing
from durable_core.conformance import START
from durable_core.errors import StoreError
from durable_core.stores.sqlite import SqliteStore
if os.getuid() == 0:
    os.setuid(65534)  # root may write anywhere
for use in (
    lambda store: store.append("run", START, None),
    lambda store: store.acquire("run"),
    lambda store: store.put_blob("run", b"large"),
):
    try:
        with closing(SqliteStore(sys.argv[1])) as store:
            use(store)
    except StoreError as error:
        print(error)
"""


@pytest.mark.parametrize(
    ("rights", "reason"),
    [((0o444, 0o777), "it is read-only"), ((0o444, 0o555), "it is read-only"), ((0, 0o777), "it cannot be opened")],
)
def test_a_database_one_may_not_write_to_is_named(
    path: Path, open_folder: Path, run: Callable[..., str], rights: tuple[int, int], reason: str
) -> None:
    """`rights` are those of the file and of its folder, in which SQLite keeps its log."""
    with closing(SqliteStore(path)) as store:
        store.append("run", START, None)
    place = open_folder / "runs.db"
    place.write_bytes(path.read_bytes())
    place.chmod(rights[0])
    open_folder.chmod(rights[1])
    errors = run(READ_ONLY, place).splitlines()
    assert len(errors) == 3
    assert all(str(place) in error and reason in error and "give this user the right" in error for error in errors)


def test_a_folder_one_may_not_write_to_is_named(open_folder: Path, run: Callable[..., str]) -> None:
    open_folder.chmod(0o555)
    errors = run(READ_ONLY, open_folder / "runs.db").splitlines()
    assert len(errors) == 3
    assert all("cannot make the database: this user may not" in error for error in errors)


def test_a_closed_store_says_so(path: Path) -> None:
    store = SqliteStore(path)
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.entries("run")


def test_an_old_sqlite_is_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(StoreError, match=r"needs 3\.37"):
        SqliteStore(path)


# ── owners ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_owner_is_written_and_read() -> None:
    new = Owner.new()
    assert Owner.parse(str(new)) == new
    assert Owner.new() != new


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells when a process began and the machine was started")
@pytest.mark.parametrize(
    ("difference", "alive"),
    [({}, True), ({"started": 1}, False), ({"place": "another boot"}, False), ({"pid": 2**22 + 1}, False)],
)
def test_an_owner_is_this_process_of_this_boot(difference: dict[str, int | str], alive: bool) -> None:  # noqa: FBT001
    """A process id is used again, after a restart of the machine at the latest."""
    assert replace(Owner.new(), **difference).is_alive() is alive  # type: ignore[arg-type]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_command_with_spaces_and_parentheses_is_no_obstacle(run: Callable[..., str]) -> None:
    source = """
from pathlib import Path
from durable_core.stores.owner import Owner
before = Owner.new()
Path("/proc/self/comm").write_text("a) Z 1 (b ) R")
print(before.is_alive(), Owner.new().started == before.started)
"""
    assert run(source) == "True True\n"


def test_a_process_that_cannot_be_looked_at_counts_as_alive(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)
    monkeypatch.setattr(owner, "_stat", lambda _: [])
    assert Owner.new().is_alive()


def test_without_proc_the_process_id_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> str:
        raise FileNotFoundError

    monkeypatch.setattr(Path, "read_text", missing)
    new = Owner.new()
    assert (new.place, new.started) == ("here", 0)
    assert new.is_alive()
    assert not replace(new, pid=2**22 + 1).is_alive()


def test_an_owner_that_cannot_be_read_is_named(path: Path, store: SqliteStore) -> None:
    store.release(store.acquire("run"))
    execute(path, "UPDATE runs SET owner = 'somebody'")
    with pytest.raises(CorruptCheckpoint, match="the owner of run 'run', 'somebody'"):
        store.acquire("run")


def test_of_two_that_see_a_dead_owner_one_takes_over(
    path: Path, store: SqliteStore, reopen: Reopen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other one was between looking and taking; it looks again and finds a living owner."""
    dead = f"{Owner.new().place}/{2**22 + 1}/0/x"
    lease = store.acquire("run")
    store.append("run", START, lease)
    execute(path, f"UPDATE runs SET owner = '{dead}'")
    with closing(reopen()) as faster:
        real = Owner.is_alive

        def look(holder: Owner) -> bool:
            alive = real(holder)
            if str(holder) == dead:
                monkeypatch.setattr(Owner, "is_alive", real)
                faster.append("run", record("theirs"), faster.acquire("run"))
            return alive

        monkeypatch.setattr(Owner, "is_alive", look)
        with pytest.raises(RunIsHeld, match="held by this very process"):
            store.acquire("run")
        with pytest.raises(LeaseLost):
            store.append("run", record("ours"), lease)


def test_a_refused_record_leaves_no_transaction_open(store: SqliteStore, reopen: Reopen) -> None:
    store.append("run", record("send"), None)
    with pytest.raises(AlreadyRecorded):
        store.append("run", record("send"), None)
    assert not store._connection.in_transaction
    with closing(reopen()) as other:
        other.append("run", record("next"), None)
