"""One run as one append-only file, see `lines`.

The file comes into existence with its header and its first entry at once, so a file with less is damaged. Readers
pass over a torn tail and the next writer cuts it off; every other damage raises `CorruptCheckpoint`.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from durable_core.entries import OUTCOMES, Entry
from durable_core.errors import AlreadyRecorded, StoreError
from durable_core.stores.disk import disk_error, locked_folder, naming, read_all, sync, unlock, write_all, write_whole
from durable_core.stores.lines import Lines, damage

if sys.platform != "win32":
    import fcntl

_log = logging.getLogger("durable_core")


class Journal:
    """Reads and extends the file of one run. Remembers how far it has read, so an append costs O(1)."""

    def __init__(self, path: Path, run_id: str) -> None:
        self.path = path
        self._run_id = run_id
        self._mutex = threading.Lock()
        self._fd: int | None = None
        self._lines = Lines(path, run_id)

    def close(self) -> None:
        """Close the file, once an append in another thread is through."""
        with self._mutex:
            self.forget()

    def forget(self) -> None:
        """Close the file and know nothing of it: the next use reads it again. For a thread that is alone with it."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None
        self._lines = Lines(self.path, self._run_id)

    def entries(self) -> list[Entry]:
        """All acknowledged entries; empty when there is no file. Nothing is changed.

        Raises:
            CorruptCheckpoint: the file is damaged.
        """
        with self._mutex, naming("read", self.path):
            try:
                fd = os.open(self.path, os.O_RDONLY)
            except FileNotFoundError:
                return []
            try:
                fcntl.flock(fd, fcntl.LOCK_SH)
                sync(fd)  # a writer may have died before its own sync, and what is read is acted on
                data = read_all(fd, 0)
            finally:
                unlock(fd)
            lines = Lines(self.path, self._run_id)
            entries, _ = lines.take(data)
            self._lines = lines
            return entries

    def append(self, entry: Entry, fence: Callable[[], None]) -> None:
        """Add one line, durable when this returns. `fence` is called under the lock and raises when it may not be.

        Raises:
            AlreadyRecorded: the step has an outcome.
            CorruptCheckpoint: the file is damaged.
            StoreError: it could not be written; what is there is as it was.
        """
        body = entry.to_bytes()
        if b"\n" in body:
            raise StoreError(
                f"{self.path}: entry {entry.kind} {entry.step_id!r} holds a raw newline, which ends a line here; "
                "its payload must be JSON on one line"
            )
        with self._mutex:
            try:
                while (fd := self._open()) is None:
                    if self._begin(body, fence):
                        return
                self._extend(fd, entry, body, fence)
            except OSError as error:
                self.forget()
                raise disk_error(f"append {entry.kind} {entry.step_id!r}", self.path, error) from error
            except BaseException:
                self.forget()
                raise

    def _open(self) -> int | None:
        """The descriptor for appending; None when there is no file."""
        if self._fd is None:
            try:
                self._fd = os.open(self.path, os.O_RDWR | os.O_APPEND)
            except FileNotFoundError:
                return None
            with locked_folder(self.path.parent) as folder:
                os.fsync(folder)  # who created the file may have died before its name was durable
        return self._fd

    def _begin(self, body: bytes, fence: Callable[[], None]) -> bool:
        """Bring the file into existence with header and first entry; False when another process was faster."""
        with locked_folder(self.path.parent) as folder:
            if self.path.exists():
                return False
            fence()
            lines = Lines(self.path, self._run_id)
            header = lines.header()
            lines.add(header, None)
            write_whole(folder, self.path, header + lines.line(body))
            return True

    def _extend(self, fd: int, entry: Entry, body: bytes, fence: Callable[[], None]) -> None:
        """Write one line behind what is there, or leave what is there as it is."""
        fcntl.flock(fd, fcntl.LOCK_EX)
        try:
            status = os.fstat(fd)
            if status.st_nlink == 0:
                raise StoreError(f"{self.path}: the file was removed or replaced while in use; put it back and resume")
            if status.st_size != self._lines.end or self._lines.count == 0:
                self._catch_up(fd, status.st_size)
            fence()
            lines = self._lines
            if entry.kind in OUTCOMES and entry.step_id in lines.settled:
                raise AlreadyRecorded(
                    f"step {entry.step_id!r} of run {self._run_id!r} has its record in {self.path}; "
                    "a record is written once: read it instead"
                )
            line = lines.line(body)
            try:
                write_all(fd, line)
                sync(fd)
            except OSError:
                os.ftruncate(fd, lines.end)
                raise
            lines.add(line, entry)
        finally:
            fcntl.flock(fd, fcntl.LOCK_UN)

    def _catch_up(self, fd: int, size: int) -> None:
        """Read what other processes appended since this one last looked, and cut a torn tail off."""
        lines = self._lines
        if size < lines.end:
            raise damage(self.path, lines.count, f"the file had {lines.end} bytes and now has {size}")
        sync(fd)  # for a writer that died before its own sync: this entry will stand on that one
        _, torn = lines.take(read_all(fd, lines.end))
        if not torn:
            return
        keep = self.path.with_suffix(".torn")
        kept = os.open(keep, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            write_all(kept, torn)
            sync(kept)
        finally:
            os.close(kept)
        os.ftruncate(fd, lines.end)
        _log.warning(
            "%s: cut off a torn tail of %d bytes after line %d: a process died while it wrote; that record was never "
            "acknowledged, and its step counts as unrecorded; the bytes are kept in %s",
            self.path,
            len(torn),
            lines.count,
            keep,
        )
