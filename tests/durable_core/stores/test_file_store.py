import errno
import json
import logging
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from zlib import crc32

import pytest

from durable_core.conformance import START, STRANGE_IDS, Reopen, SharedStoreConformance, StoreConformance, record
from durable_core.entries import Entry
from durable_core.errors import AlreadyRecorded, CorruptCheckpoint, LeaseLost, RunIsHeld, StoreError
from durable_core.stores import disk, journal
from durable_core.stores.file import FileStore

LINES = [START, record("plan", b'"three parts"'), record("write:0", b'"sharks"'), record("send", b'"msg_1"')]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FileStore]:
    with closing(FileStore(tmp_path / "runs")) as store:
        yield store


@pytest.fixture
def reopen(tmp_path: Path) -> Reopen:
    return lambda: FileStore(tmp_path / "runs")


@pytest.fixture
def path(store: FileStore, tmp_path: Path) -> Path:
    """The journal of a finished life."""
    lease = store.acquire("run")
    for entry in LINES:
        store.append("run", entry, lease)
    store.release(lease)
    return tmp_path / "runs" / "run.journal"


class TestFileStore(StoreConformance, SharedStoreConformance):
    """The public suite, with the fixtures of this module."""


# ── what is on the disk ──────────────────────────────────────────────────────────────────────────────────────────


def test_a_journal_is_a_header_and_a_line_for_each_entry(path: Path) -> None:
    """Each behind the checksum of everything before it and itself."""
    crc = 0
    bodies = []
    for line in path.read_bytes().splitlines():
        crc = crc32(line[9:], crc)
        assert line[:9] == b"%08x " % crc
        bodies.append(line[9:])
    assert json.loads(bodies[0]) == {"journal": 1, "run_id": "run"}
    assert [Entry.from_bytes(body) for body in bodies[1:]] == LINES


def test_files_are_for_their_user_alone(store: FileStore, path: Path) -> None:
    store.put_blob("run", b"large")
    with path.open("ab") as file:
        file.write(b"torn")
    store.append("run", record("approval"), None)
    found = {entry: stat.S_IMODE(entry.stat().st_mode) for entry in path.parent.rglob("*")}
    assert {entry.suffix for entry in found} == {".journal", ".lock", ".torn", ".blobs", ""}
    assert all(mode == (0o700 if entry.is_dir() else 0o600) for entry, mode in found.items())
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("run_id", STRANGE_IDS)
def test_no_run_id_leaves_the_folder(store: FileStore, run_id: str, tmp_path: Path) -> None:
    store.append(run_id, START, store.acquire(run_id))
    store.put_blob(run_id, b"large")
    names = [entry.name for entry in (tmp_path / "runs").iterdir()]
    assert sorted(Path(name).suffix for name in names) == [".blobs", ".journal", ".lock"]
    assert all(len(name) < 200 and name == name.lower() for name in names)
    assert list(tmp_path.iterdir()) == [tmp_path / "runs"]


def test_ids_that_differ_have_names_that_differ_on_any_file_system(store: FileStore, tmp_path: Path) -> None:
    for run_id in STRANGE_IDS:
        store.append(run_id, START, None)
    assert len({entry.name.casefold() for entry in (tmp_path / "runs").glob("*.journal")}) == len(STRANGE_IDS)


def test_a_run_comes_into_existence_at_once(store: FileStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to the rename there is no run; what a dead process left unfinished is in nobody's way."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        with pytest.raises(KeyboardInterrupt):
            store.append("run", START, None)
    assert [entry.name for entry in (tmp_path / "runs").iterdir()] == ["unfinished.tmp"]
    assert store.entries("run") == []
    assert store.runs() == []
    store.append("run", START, None)
    assert [entry.name for entry in (tmp_path / "runs").iterdir()] == ["run.journal"]


def test_an_append_reads_nothing_back(store: FileStore, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the run: the first one of a life reads it once, a later one only what others delivered."""
    read: list[int] = []

    def read_all(fd: int, offset: int) -> bytes:
        data = real(fd, offset)
        read.append(len(data))
        return data

    real = disk.read_all
    monkeypatch.setattr(journal, "read_all", read_all)
    lease = store.acquire("run")
    store.entries("run")
    for number in range(3):
        store.append("run", record(str(number)), lease)
    assert read == [len(path.read_bytes()) - 3 * (len(record("0").to_bytes()) + 10)]
    del read[:]
    before = path.stat().st_size
    with closing(FileStore(path.parent)) as other:
        other.append("run", record("approval"), None)
    delivered = path.stat().st_size - before
    store.append("run", record("3"), lease)
    assert read == [before, delivered]


# ── torn tails ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_tail_torn_at_any_byte_is_cut_off_and_the_run_goes_on(
    path: Path, reopen: Reopen, caplog: pytest.LogCaptureFixture
) -> None:
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    for kept in range(len(last)):
        caplog.clear()
        torn = path.with_suffix(".torn")
        torn.unlink(missing_ok=True)
        path.write_bytes(whole[: len(whole) - len(last) + kept])
        with closing(reopen()) as store:
            assert store.entries("run") == LINES[:-1]
            assert not torn.exists()
            lease = store.acquire("run")
            store.append("run", record("send", b'"msg_2"'), lease)
            store.append("run", record("next"), lease)
            assert store.entries("run") == [*LINES[:-1], record("send", b'"msg_2"'), record("next")]
        assert (torn.read_bytes() if kept else b"") == last[:kept]
        assert [entry.levelno for entry in caplog.records] == ([logging.WARNING] if kept else [])
        assert all(str(torn) in entry.getMessage() for entry in caplog.records)


def test_sectors_that_read_as_zeros_are_a_torn_tail(path: Path, reopen: Reopen) -> None:
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    start = len(whole) - len(last)
    for first in range(len(last)):
        for end in {first + 1, (first + len(last)) // 2 + 1, len(last)}:
            path.write_bytes(whole[: start + first] + b"\0" * (end - first) + whole[start + end :])
            with closing(reopen()) as store:
                assert store.entries("run") == LINES[:-1]


def test_torn_bytes_of_every_crash_are_kept(path: Path, reopen: Reopen) -> None:
    for torn in (b"one", b"two"):
        with path.open("ab") as file:
            file.write(torn)
        with closing(reopen()) as store:
            store.append("run", record(f"after {torn!r}"), None)
    assert path.with_suffix(".torn").read_bytes() == b"onetwo"


def test_reading_changes_nothing(path: Path, store: FileStore) -> None:
    with path.open("ab") as file:
        file.write(b"torn")
    before = {entry: entry.read_bytes() for entry in path.parent.iterdir()}
    assert store.entries("run") == LINES
    assert store.runs() == ["run"]
    assert {entry: entry.read_bytes() for entry in path.parent.iterdir()} == before


# ── damage ───────────────────────────────────────────────────────────────────────────────────────────────────────


def fails_closed(store: FileStore, path: Path) -> bool:
    """Whether reading and writing both refuse and leave the file alone."""
    before = path.read_bytes()
    for use in (lambda: store.entries("run"), lambda: store.append("run", record("next"), None)):
        with pytest.raises(CorruptCheckpoint) as refused:
            use()
        assert str(path) in str(refused.value)
    return path.read_bytes() == before and not path.with_suffix(".torn").exists()


def test_any_flipped_byte_before_the_last_line_fails_closed(path: Path, store: FileStore) -> None:
    """Newlines included, and whether or not a torn tail follows."""
    whole = path.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    for position in range(len(whole) - len(last)):
        old = whole[position]
        for new in {old ^ 0x01, old ^ 0x20, old ^ 0x80, 0, ord("\n")} - {old}:
            for tail in (whole[position + 1 :], whole[position + 1 : -1], whole[position + 1 : -len(last) + 5]):
                path.write_bytes(whole[:position] + bytes([new]) + tail)
                with pytest.raises(CorruptCheckpoint):
                    store.entries("run")


def test_a_flipped_byte_in_the_last_line_fails_closed(path: Path, store: FileStore) -> None:
    """It was acknowledged, and neither its newline is missing nor are there zeros in it."""
    whole = path.read_bytes()
    for position in range(len(whole) - len(whole.splitlines(keepends=True)[-1]), len(whole)):
        path.write_bytes(whole[:position] + bytes([whole[position] ^ 0x01]) + whole[position + 1 :])
        with pytest.raises(CorruptCheckpoint, match="line 5"):
            store.entries("run")


@pytest.mark.parametrize(
    "order",
    [[0, 1, 3, 4], [0, 1, 2, 2, 3, 4], [0, 2, 1, 3, 4], [0, 1, 2, 3, 4, 4], [1, 2, 3, 4], [0, 0, 1, 2, 3, 4], [0]],
)
def test_lines_lost_doubled_or_moved_fail_closed(path: Path, store: FileStore, order: list[int]) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[number] for number in order))
    assert fails_closed(store, path)


@pytest.mark.parametrize("content", [b"", b"\n", b"\0" * 100, b"not a journal\n", b"00000000 \n"])
def test_a_file_that_is_no_journal_fails_closed(path: Path, store: FileStore, content: bytes) -> None:
    """An empty one too: it is never a fresh run."""
    path.write_bytes(content)
    assert fails_closed(store, path)
    with pytest.raises(CorruptCheckpoint, match="line 1"):
        store.runs()


def test_a_file_cut_inside_its_header_or_first_entry_fails_closed(path: Path, store: FileStore) -> None:
    """They came into existence together, so no crash explains it."""
    whole = path.read_bytes()
    for length in range(len(b"".join(whole.splitlines(keepends=True)[:2]))):
        path.write_bytes(whole[:length])
        assert fails_closed(store, path)


def test_damage_names_file_line_and_what_to_do(path: Path, store: FileStore) -> None:
    path.write_bytes(path.read_bytes().replace(b"three", b"seven"))
    with pytest.raises(CorruptCheckpoint, match=r"run\.journal, line 3: the checksum is wrong.*Restore"):
        store.entries("run")


def test_a_journal_of_another_run_is_refused(path: Path, store: FileStore) -> None:
    path.rename(path.with_name("other.journal"))
    with pytest.raises(CorruptCheckpoint, match="belongs to run 'run', not 'other'"):
        store.entries("other")
    with pytest.raises(CorruptCheckpoint, match="belongs to run 'run' and has another name"):
        store.runs()


@pytest.mark.parametrize(
    ("header", "error", "message"),
    [
        (b'{"journal":2,"run_id":"run"}', StoreError, "newer"),
        (b'{"run_id":"run"}', CorruptCheckpoint, "does not name a format"),
        (b"[]", CorruptCheckpoint, "does not name a format"),
    ],
)
def test_a_header_of_another_kind_is_refused(
    path: Path, store: FileStore, header: bytes, error: type[Exception], message: str
) -> None:
    path.write_bytes(b"%08x %b\n" % (crc32(header), header))
    with pytest.raises(error, match=message):
        store.entries("run")


@pytest.mark.parametrize("body", [b"no tab", b"1\t", b"[1,2]\t", b"{\t"])
def test_a_whole_line_that_is_no_entry_fails_closed(path: Path, store: FileStore, body: bytes) -> None:
    crc = int(path.read_bytes().splitlines()[-1][:8], 16)
    with path.open("ab") as file:
        file.write(b"%08x %b\n" % (crc32(body, crc), body))
    assert fails_closed(store, path)


def test_a_file_that_became_shorter_while_in_use_fails_closed(path: Path, store: FileStore) -> None:
    lease = store.acquire("run")
    store.append("run", record("next"), lease)
    os.truncate(path, path.stat().st_size - 5)
    with pytest.raises(CorruptCheckpoint, match="and now has"):
        store.append("run", record("after"), lease)


def test_a_file_that_was_removed_while_in_use_is_not_written_to(path: Path, store: FileStore) -> None:
    """The record would be acknowledged and lost."""
    lease = store.acquire("run")
    store.append("run", record("next"), lease)
    path.unlink()
    with pytest.raises(StoreError, match="removed or replaced while in use"):
        store.append("run", record("after"), lease)


def test_a_changed_or_missing_blob_fails_closed_and_can_be_mended(store: FileStore, tmp_path: Path) -> None:
    digest = store.put_blob("run", b"large")
    blob = tmp_path / "runs" / "run.blobs" / digest
    for spoil in (lambda: blob.write_bytes(b"lArge"), blob.unlink):
        spoil()
        with pytest.raises(CorruptCheckpoint, match=digest):
            store.get_blob("run", digest)
        store.put_blob("run", b"large")
        assert store.get_blob("run", digest) == b"large"


# ── leases ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_lock_file_that_was_removed_loses_the_lease(path: Path, store: FileStore, reopen: Reopen) -> None:
    """Another process can hold the new one."""
    lease = store.acquire("run")
    path.with_suffix(".lock").unlink()
    with closing(reopen()) as other:
        other.append("run", record("theirs"), other.acquire("run"))
        with pytest.raises(LeaseLost):
            store.append("run", record("ours"), lease)


def test_an_owner_that_died_before_writing_its_token_is_no_obstacle(store: FileStore, tmp_path: Path) -> None:
    (tmp_path / "runs" / "run.lock").touch()
    assert store.acquire("run").token == 1


def test_a_lock_file_with_other_content_is_named(store: FileStore, tmp_path: Path) -> None:
    (tmp_path / "runs" / "run.lock").write_text("hello")
    with pytest.raises(StoreError, match=r"run\.lock.*b'hello'"):
        store.acquire("run")


def test_a_run_held_by_this_process_says_so(store: FileStore) -> None:
    store.acquire("run")
    with pytest.raises(RunIsHeld, match="held by this very process"):
        store.acquire("run")


# ── when the system refuses ──────────────────────────────────────────────────────────────────────────────────────

FULL = """
import resource, sys
from pathlib import Path
from durable_core.conformance import record
from durable_core.errors import StoreError
from durable_core.stores.file import FileStore
store, path = FileStore(sys.argv[1]), Path(sys.argv[1], "run.journal")
lease = store.acquire("run")
before = store.entries("run")
size = path.stat().st_size
for room in (0, 1, 20, 1000):
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + room, resource.RLIM_INFINITY))
    for use in (
        lambda: store.append("run", record("big", b"1" * 2000), lease),
        lambda: store.append("run", record("big", b"1" * 2000), None),
        lambda: store.append("new", record("big", b"1" * 20000), None),
        lambda: store.put_blob("run", b"1" * 20000),
    ):
        try:
            use()
        except StoreError as error:
            print(error)
    assert path.stat().st_size == size
    assert store.entries("run") == before
    assert store.runs() == ["run"]
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
store.append("run", record("big", b"1" * 2000), lease)
assert len(store.entries("run")) == len(before) + 1
assert list(Path(sys.argv[1]).glob("*.tmp")) == []
store.close()
"""

READ_ONLY = """
import os, sys
from durable_core.conformance import START, record
from durable_core.errors import StoreError
from durable_core.stores.file import FileStore
if os.getuid() == 0:
    os.setuid(65534)  # root may write anywhere
store = FileStore(sys.argv[1])
assert len(store.entries("run")) == 4 and store.runs() == ["run"]
for use in (
    lambda: store.append("run", record("next"), None),
    lambda: store.append("new", START, None),
    lambda: store.put_blob("run", b"large"),
    lambda: store.acquire("run"),
    lambda: FileStore(sys.argv[1] + "/new"),
):
    try:
        use()
    except StoreError as error:
        print(error)
"""

UNREADABLE = """
import os, sys
from durable_core.errors import StoreError
from durable_core.stores.file import FileStore
if os.getuid() == 0:
    os.setuid(65534)
store = FileStore(sys.argv[1])
for use in (lambda: store.entries("run"), store.runs):
    try:
        use()
    except StoreError as error:
        print(error)
"""


def test_a_full_disk_leaves_the_file_as_it_was(path: Path, run: Callable[..., str]) -> None:
    errors = run(FULL, path.parent).splitlines()
    assert len(errors) == 4 * 4
    assert all(str(path.parent) in error and "allowed file size" in error for error in errors)


def test_a_folder_one_may_only_read_can_be_read(path: Path, open_folder: Path, run: Callable[..., str]) -> None:
    for entry in path.parent.iterdir():
        (open_folder / entry.name).write_bytes(entry.read_bytes())
        (open_folder / entry.name).chmod(0o444)
    open_folder.chmod(0o555)
    errors = run(READ_ONLY, open_folder).splitlines()
    assert len(errors) == 5
    assert all(error.startswith(str(open_folder)) and "this user may not" in error for error in errors)


def test_an_unreadable_file_is_not_a_fresh_run(path: Path, open_folder: Path, run: Callable[..., str]) -> None:
    (open_folder / path.name).write_bytes(path.read_bytes())
    (open_folder / path.name).chmod(0o000)
    errors = run(UNREADABLE, open_folder).splitlines()
    assert len(errors) == 2
    assert all(error.startswith(f"{open_folder}/run.journal: cannot read: this user may not") for error in errors)


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize("part", ["write_all", "sync"])
def test_a_record_that_did_not_reach_the_disk_is_not_there(
    store: FileStore, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """And can be recorded when the disk is well again, also by the same life."""
    lease = store.acquire("run")
    store.append("run", record("next"), lease)
    reasons = {
        errno.ENOSPC: "disk is full",
        errno.EROFS: "read-only",
        errno.EIO: "disk failed",
        errno.EINVAL: "operating system refused",
    }
    for number, reason in reasons.items():

        def fail(*_: object, number: int = number) -> None:
            raise OSError(number, os.strerror(number))

        with monkeypatch.context() as patch:
            patch.setattr(journal, part, fail)
            with pytest.raises(StoreError, match=rf"run\.journal: cannot append record 'pay': .*{reason}"):
                store.append("run", record("pay"), lease)
        assert store.entries("run") == [*LINES, record("next")]
    store.append("run", record("pay"), lease)
    with pytest.raises(AlreadyRecorded):
        store.append("run", record("pay"), lease)
    assert store.entries("run") == [*LINES, record("next"), record("pay")]


def test_a_write_that_was_interrupted_may_be_tried_again(
    path: Path, store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C behind the write: the record stands, and the next use sees it."""
    lease = store.acquire("run")

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    store.append("run", record("next"), lease)
    with monkeypatch.context() as patch:
        patch.setattr(journal, "sync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.append("run", record("pay"), lease)
    with pytest.raises(AlreadyRecorded):
        store.append("run", record("pay"), lease)
    assert path.read_bytes().count(b"pay") == 1


@pytest.mark.usefixtures("path")
def test_a_short_write_is_carried_on(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: real(fd, data[:7]))
    store.append("run", record("next"), None)
    assert store.entries("run") == [*LINES, record("next")]


def test_an_entry_of_two_lines_is_refused(path: Path, store: FileStore) -> None:
    before = path.read_bytes()
    with pytest.raises(StoreError, match="raw newline"):
        store.append("run", record("next", b"{\n}"), None)
    assert path.read_bytes() == before


def test_on_windows_the_error_names_a_store_that_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(StoreError, match="sqlite:///"):
        FileStore(tmp_path)
