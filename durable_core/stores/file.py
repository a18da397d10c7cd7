"""A store in a folder: for each run an append-only journal, a lock file and a folder of blobs."""

from __future__ import annotations

import hashlib
import os
import string
import sys
import threading
import weakref
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from durable_core.entries import Entry
from durable_core.errors import CorruptCheckpoint, LeaseLost, RunIsHeld, StoreError
from durable_core.stores.disk import locked_folder, make_folder, naming, sync, unlock, write_whole
from durable_core.stores.journal import Journal
from durable_core.stores.lines import damage, read_header
from durable_core.stores.protocol import Lease

if sys.platform != "win32":
    import fcntl

MAX_NAME = 180
"""Bytes of a file name before its suffix; file systems allow 255 in all."""

_PLAIN = frozenset((string.ascii_lowercase + string.digits + "-_").encode())


class FileStore:
    """Keeps checkpoints in `folder`, which is made, for this user alone, when it is not there.

    Everything of a run begins with its quoted id: `<name>.journal` holds the entries; `<name>.lock` is locked as
    long as its owner lives, for the kernel frees the lock of a dead process; `<name>.blobs` holds large results;
    `<name>.torn` what was cut off after a crash. Several processes may use one folder, on a local disk.

    Raises:
        StoreError: the folder cannot be made or is not a folder; on Windows, which has no flock.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder).absolute()
        if sys.platform == "win32":
            raise StoreError(
                f"{self}: the file store needs flock, which Windows does not have; use sqlite:///runs.db, which works"
            )
        with naming("make the folder", self._folder):
            make_folder(self._folder)
        self._mutex = threading.Lock()  # for _held; taken for moments only, never around a write
        self._held: dict[str, _Held] = {}
        self._process = os.getpid()
        _open_stores.add(self)

    def __repr__(self) -> str:
        return f"file:{self._folder}"

    def acquire(self, run_id: str) -> Lease:
        """Take the lease; `RunIsHeld` while its owner lives, in whichever process, this one included."""
        self._check_process()
        path = self._path(run_id, ".lock")
        with naming("lock", path):
            fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                try:
                    fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise RunIsHeld(self._held_by(run_id, _read_lock(path, fd)[1])) from None
                token = _read_lock(path, fd)[0] + 1
                os.pwrite(fd, _lock_line(token), 0)
                sync(fd)
            except BaseException:
                os.close(fd)
                raise
        with self._mutex:
            self._held[run_id] = _Held(fd, token, Journal(self._path(run_id, ".journal"), run_id))
        return Lease(run_id, token)

    def release(self, lease: Lease) -> None:
        """Give the lease back."""
        self._check_process()
        with self._mutex:
            held = self._held.get(lease.run_id)
            if held is None or held.token != lease.token:
                return
            del self._held[lease.run_id]
        held.journal.close()
        unlock(held.fd)

    def entries(self, run_id: str) -> list[Entry]:
        """All entries in the order they landed. Changes nothing, and passes over a torn tail."""
        self._check_process()
        with self._mutex:
            held = self._held.get(run_id)
        journal = held.journal if held else Journal(self._path(run_id, ".journal"), run_id)
        return journal.entries()

    def append(self, run_id: str, entry: Entry, lease: Lease | None) -> None:
        """Add one entry: one write and one sync, under a short lock of the journal."""
        self._check_process()
        if lease is None:
            with closing(Journal(self._path(run_id, ".journal"), run_id)) as journal:
                journal.append(entry, lambda: None)
            return
        with self._mutex:
            held = self._held.get(run_id)
        if held is None:
            raise self._lost(run_id, lease)
        held.journal.append(entry, lambda: self._check_lease(run_id, lease))

    def put_blob(self, run_id: str, data: bytes) -> str:
        """Store `data` under its sha256. A damaged one of that name is mended."""
        self._check_process()
        digest = hashlib.sha256(data).hexdigest()
        blobs = self._path(run_id, ".blobs")
        with naming(f"store blob {digest}", blobs):
            make_folder(blobs)
            with locked_folder(blobs) as folder:
                write_whole(folder, blobs / digest, data)
        return digest

    def get_blob(self, run_id: str, digest: str) -> bytes:
        """The bytes of that sha256, verified."""
        self._check_process()
        path = self._path(run_id, ".blobs") / _quote(digest)
        with naming("read", path):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                raise CorruptCheckpoint(f"{path}: the blob is missing; {_RESTORE}") from None
        if hashlib.sha256(data).hexdigest() != digest:
            raise CorruptCheckpoint(f"{path}: the blob is not what its sha256 says; {_RESTORE}")
        return data

    def runs(self) -> list[str]:
        """The ids in the headers of all journals, sorted."""
        self._check_process()
        ids = []
        with naming("list", self._folder):
            paths = sorted(self._folder.glob("*.journal"))
        for path in paths:
            with naming("read", path), path.open("rb") as file:
                run_id = read_header(path, file.readline().removesuffix(b"\n"))
            if self._path(run_id, ".journal") != path:
                raise damage(path, 1, f"the file belongs to run {run_id!r} and has another name")
            ids.append(run_id)
        return sorted(ids)

    def close(self) -> None:
        """Release every lease."""
        with self._mutex:
            leases = [Lease(run_id, held.token) for run_id, held in self._held.items()]
        for lease in leases:
            self.release(lease)

    def _path(self, run_id: str, suffix: str) -> Path:
        return self._folder / (_quote(run_id) + suffix)

    def _check_lease(self, run_id: str, lease: Lease) -> None:
        with self._mutex:
            held = self._held.get(run_id)
            if lease.run_id != run_id or held is None or held.token != lease.token or not held.is_in_force():
                raise self._lost(run_id, lease)

    def _lost(self, run_id: str, lease: Lease) -> LeaseLost:
        return LeaseLost(
            f"the lease of run {run_id!r} with token {lease.token} is no longer the one in force in {self}: it was "
            "released or taken over, and the run may have another owner; end this life and call resume again"
        )

    def _held_by(self, run_id: str, pid: int) -> str:
        who = "this very process" if pid == os.getpid() else f"process {pid}, which is alive"
        return (
            f"run {run_id!r} in {self} is held by {who}: two owners would do every step twice; "
            "let it finish or end it, the lease is free at that moment"
        )

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise StoreError(
                f"{self}: the store was opened by process {self._process} and is used in process {os.getpid()}, a fork "
                "of it; open the store again in the new process"
            )

    def _abandon(self) -> None:
        """In a forked child: close its copies, or the parent's locks would outlive the parent."""
        for held in self._held.values():
            os.close(held.fd)
            held.journal.forget()
        self._held = {}
        self._mutex = threading.Lock()  # another thread may have held it at the fork


@dataclass(frozen=True, slots=True)
class _Held:
    """A lease this store holds: the descriptor that keeps the lock file locked, its token, the run's journal."""

    fd: int
    token: int
    journal: Journal

    def is_in_force(self) -> bool:
        """Whether the lock file is still there and nobody has put a higher token into it."""
        return os.fstat(self.fd).st_nlink > 0 and os.pread(self.fd, _TOKEN, 0) == b"%0*d" % (_TOKEN, self.token)


_TOKEN = 20
"""Digits of a token in its lock file: of fixed width, so that the new one is written over the old one at once."""


def _lock_line(token: int) -> bytes:
    return b"%0*d %010d\n" % (_TOKEN, token, os.getpid())


def _read_lock(path: Path, fd: int) -> tuple[int, int]:
    """Token and process id in a lock file; zeros in a new one."""
    line = os.pread(fd, 100, 0)
    try:
        token, pid = line.split() if line else (0, 0)
        return int(token), int(pid)
    except ValueError as error:
        raise StoreError(
            f"{path}: the file holds {line!r} and not a token and a process id: something else wrote to it; "
            "remove it when no process works on the run"
        ) from error


def _quote(run_id: str) -> str:
    """A file name for any id. Nothing in it leaves the folder, and no two differ in case alone."""
    name = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in run_id.encode())
    if len(name) <= MAX_NAME:
        return name
    digest = hashlib.sha256(run_id.encode()).hexdigest()
    return f"{name[: MAX_NAME - len(digest) - 1]}~{digest}"


_RESTORE = "the disk lost it or it was changed; nothing was executed. Restore the file from a copy"

_open_stores: weakref.WeakSet[FileStore] = weakref.WeakSet()


def _abandon_all() -> None:
    for store in list(_open_stores):
        store._abandon()  # noqa: SLF001


if sys.platform != "win32":
    os.register_at_fork(after_in_child=_abandon_all)
