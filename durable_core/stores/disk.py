"""What durability asks of a file system: written in full, synced, named at once, and errors that say why not."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from durable_core.errors import StoreError

if sys.platform != "win32":
    import fcntl

_REASONS = {
    errno.ENOSPC: ("the disk is full", "free some space"),
    errno.EDQUOT: ("the disk quota is used up", "free some space or raise the quota"),
    errno.EFBIG: ("the file would exceed the allowed file size", "raise the limit (ulimit -f)"),
    errno.EROFS: ("the file system is read-only", "mount it read-write or use another folder"),
    errno.EACCES: ("this user may not", "run as the owner of the file, or give the owner's rights back"),
    errno.EPERM: ("this user may not", "run as the owner of the file, or give the owner's rights back"),
    errno.EIO: ("the disk failed", "check the disk"),
    errno.EMFILE: ("this process has too many files open", "raise the limit (ulimit -n)"),
    errno.ENFILE: ("the system has too many files open", "close some"),
    errno.ENOENT: ("it is gone", "put the folder back, or open another store"),
    errno.ENOTDIR: ("a part of the path is a file, not a folder", "name a folder"),
    errno.EISDIR: ("it is a folder", "move the folder away"),
}


def disk_error(what: str, path: Path, error: OSError) -> StoreError:
    """The `StoreError` for an error of the operating system: path, what failed, reason and fix."""
    reason, fix = _REASONS.get(error.errno or 0, ("the operating system refused", "see its reason"))
    return StoreError(f"{path}: cannot {what}: {reason} ({error.strerror}); {fix}, then resume: the records stand")


@contextmanager
def naming(what: str, path: Path) -> Iterator[None]:
    """Turn any OSError of the block into a `StoreError` that names the path."""
    try:
        yield
    except OSError as error:
        raise disk_error(what, path, error) from error


def sync(fd: int) -> None:
    """Return when the file's bytes are on the disk.

    On macOS fsync leaves them in the drive's cache and only F_FULLFSYNC flushes it (man 2 fsync).
    """
    if sys.platform == "darwin":
        fcntl.fcntl(fd, fcntl.F_FULLFSYNC)
    elif hasattr(os, "fdatasync"):
        os.fdatasync(fd)
    else:
        os.fsync(fd)


def write_all(fd: int, data: bytes) -> None:
    """Write everything. After a short write the next one says why (a full disk, a limit)."""
    written = os.write(fd, data)
    while written < len(data):
        written += os.write(fd, data[written:])


def read_all(fd: int, offset: int) -> bytes:
    """Everything from `offset` to the end."""
    pieces = []
    while piece := os.pread(fd, 1 << 24, offset):
        pieces.append(piece)
        offset += len(piece)
    return b"".join(pieces)


@contextmanager
def locked_folder(folder: Path) -> Iterator[int]:
    """Hold the folder against others who bring files into existence in it; yields its descriptor."""
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield fd
    finally:
        unlock(fd)


def unlock(fd: int) -> None:
    """Unlock the file and close it. Closing alone would not do when another thread has forked meanwhile."""
    fcntl.flock(fd, fcntl.LOCK_UN)
    os.close(fd)


def write_whole(folder: int, path: Path, data: bytes) -> None:
    """Give `path` these bytes at once and durably: whoever finds it, after any crash, finds all of them.

    `folder` is the descriptor of the path's folder, locked, so that one name serves for all unfinished files.
    """
    unfinished = path.with_name("unfinished.tmp")
    fd = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        write_all(fd, data)
        sync(fd)
    except OSError:
        unfinished.unlink()
        raise
    finally:
        os.close(fd)
    unfinished.rename(path)
    os.fsync(folder)


def make_folder(path: Path) -> None:
    """Make the folder, for this user alone, and durably; its parents too. One that exists is left as it is."""
    if path.is_dir():
        return
    make_folder(path.parent)
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        if not path.is_dir():
            raise
    fd = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
