"""Processes that a life has left running: they are found by their environment and ended, and no zombie stays."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import time
from collections.abc import Collection
from pathlib import Path

from chaos.life import LifeSpec

LIFE_VARIABLE = "CRASHWINDOW_LIFE"
"""In the environment of every process of a life."""

_PR_SET_CHILD_SUBREAPER = 36
_PROC = Path("/proc")
_ROUNDS = 50
_PAUSE_SECONDS = 0.002


def life_mark(spec: LifeSpec) -> str:
    """What tells the processes of one life from all others."""
    return f"{spec.folder}#{spec.number}"


def adopt_orphans() -> None:
    """Become the parent of whatever descendants lose theirs (Linux), to be able to end and to bury them."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)


def end_strays(spec: LifeSpec, living: Collection[int]) -> None:
    """End every process of a life that is over, those in sessions of their own too, and reap them.

    `living` are the processes of the lives that are on. When there are none, whoever is left is a stray, even if it
    has cleared its environment.
    """
    mark = f"{LIFE_VARIABLE}={life_mark(spec)}".encode()
    for _ in range(_ROUNDS):  # the children of a stray become children of this process only when it has died
        strays = [pid for pid in _children() if pid not in living and (not living or _bears(pid, mark))]
        if not strays:
            return
        for pid in strays:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in strays:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        time.sleep(_PAUSE_SECONDS)


def _children() -> list[int]:
    """Of this process, zombies among them."""
    try:
        text = (_PROC / "self/task" / str(os.getpid()) / "children").read_text()
    except OSError:  # a kernel without that file
        return []
    return [int(pid) for pid in text.split()]


def _bears(pid: int, mark: bytes) -> bool:
    """Whether the process is of that life, or dead."""
    try:
        if (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        return mark in (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
