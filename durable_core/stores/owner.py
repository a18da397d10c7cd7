"""Who holds a lease, told so that another process can see whether that one still lives."""

from __future__ import annotations

import os
import secrets
import sys
from dataclasses import dataclass
from pathlib import Path

if sys.platform == "win32":
    import ctypes


@dataclass(frozen=True, slots=True)
class Owner:
    """One opener of a store in one process, written `place/pid/started/nonce`.

    `place` is where process ids mean something: on Linux this boot of the machine and the pid namespace. An owner
    from another place counts as dead: the machine was started anew, or its container. (Two containers that live at
    the same time and share a database look dead to each other; then the token alone shuts the stale one out.)
    `started` is the start time of the process in clock ticks since boot (proc(5), stat, field 22), as process ids are
    used again; 0 where the system does not tell. `nonce` tells two stores of one process apart.
    """

    place: str
    pid: int
    started: int
    nonce: str

    @classmethod
    def new(cls) -> Owner:
        """An owner in this process, different from every other."""
        pid = os.getpid()
        return cls(_place(), pid, _started(pid), secrets.token_hex(8))

    @classmethod
    def parse(cls, text: str) -> Owner:
        """The inverse of `str`. Raises ValueError on anything else."""
        place, pid, started, nonce = text.split("/")
        return cls(place, int(pid), int(started), nonce)

    def __str__(self) -> str:
        return f"{self.place}/{self.pid}/{self.started}/{self.nonce}"

    def is_alive(self) -> bool:
        """Whether the process still runs. A zombie does not; in doubt (another user's process) it does."""
        if self.place != _place() or not _is_running(self.pid):
            return False
        stat = _stat(self.pid)
        return not stat or (stat[0] not in {"Z", "X"} and int(stat[_STARTED]) == self.started)


_STARTED = 19
"""Where field 22 of proc(5) stat is in what `_stat` returns, which begins with field 3."""


def _stat(pid: int) -> list[str]:
    """The fields of /proc/<pid>/stat from the state on; empty when it cannot be read.

    The command before the state may itself hold spaces and parentheses, so its end is the last one.
    """
    try:
        return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(") ")[2].split()
    except OSError:
        return []


def _started(pid: int) -> int:
    stat = _stat(pid)
    return int(stat[_STARTED]) if stat else 0


def _place() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}.{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return "here"


if sys.platform == "win32":
    _SYNCHRONIZE, _ACCESS_DENIED, _TIMEOUT = 0x00100000, 5, 0x102

    def _is_running(pid: int) -> bool:
        # os.kill would end the process here.
        system = ctypes.windll.kernel32
        process = system.OpenProcess(_SYNCHRONIZE, 0, pid)
        if not process:
            return bool(system.GetLastError() == _ACCESS_DENIED)  # another user's
        running = system.WaitForSingleObject(process, 0) == _TIMEOUT
        system.CloseHandle(process)
        return bool(running)

else:

    def _is_running(pid: int) -> bool:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True
