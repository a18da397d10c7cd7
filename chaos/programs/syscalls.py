"""Kills at system calls: strace lists those that make something durable, and ends the program as it enters one.

A point is `(pwrite64)#12@before`: the twelfth `pwrite64` of whichever thread or process comes so far first. The kernel
has not carried it out. SQLite, the file system and what is sent are seen as they are; nothing in the program is asked.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random

from chaos.errors import LaunchError
from chaos.points import Point, Window
from chaos.programs.gate import LifeAtGate

DURABLE = (
    *("write", "writev", "pwrite64", "pwritev", "fsync", "fdatasync", "rename", "renameat", "renameat2"),
    *("link", "linkat", "unlink", "unlinkat", "ftruncate", "sendto"),
)
"""System calls that change what outlives a process, or what others see."""

_BY_PATH = frozenset({"rename", "renameat", "renameat2", "link", "linkat", "unlink", "unlinkat"})
_LINE = re.compile(r"(?P<task>\d+) +(?P<at>\d+\.\d+) (?P<call>\w+)\((?:\d+<(?P<file>[^>]*)>)?(?P<rest>.*)")
_KILLED = re.compile(r"\d+ +\d+\.\d+ \+\+\+ killed by SIGKILL")
_NOWHERE = ("/proc/", "/sys/", "/dev/")


@dataclass(slots=True)
class Syscalls:
    """Lists and strikes. `most` points are kept of a listing, drawn by the seed; `left_out` are the others."""

    most: int
    seed: int
    left_out: int = 0

    def check(self) -> None:
        """Refuse where there is no strace. Raises `LaunchError`."""
        if shutil.which("strace") is None:
            raise LaunchError("--at syscalls needs strace, and none is on PATH; install it: apt-get install strace")

    @contextmanager
    def listing(self, life: LifeAtGate, folder: Path) -> Iterator[Sequence[str]]:
        """A prefix for the command of a life; the calls that it makes become points of its trace."""
        lines: list[str] = []
        with _pipe(folder, lines.append) as pipe:
            yield _strace("--seccomp-bpf", f"-etrace={','.join(DURABLE)}", "-o", str(pipe))
        points = list(durable_points(lines, folder / "output.log"))
        kept = self._sampled(points)
        self.left_out = len(points) - len(kept)
        offset = time.time() - time.monotonic()
        life.trace = sorted([*life.trace, *((at - offset, point) for at, point in kept)], key=lambda passed: passed[0])

    @contextmanager
    def striking(self, life: LifeAtGate, point: Point, folder: Path) -> Iterator[Sequence[str]]:
        """A prefix for the command of a life that ends as it enters a system call."""
        name = point.place.strip("()")

        def seen(line: str) -> None:
            if _KILLED.match(line):
                life.strikes(point)

        with _pipe(folder, seen) as pipe:
            inject = f"-einject={name}:signal=SIGKILL:when={point.call}"
            yield _strace(f"-etrace={name}", inject, "-o", str(pipe))

    def _sampled(self, points: list[tuple[float, Point]]) -> list[tuple[float, Point]]:
        if len(points) <= self.most:
            return points
        chosen = Random(self.seed).sample(range(len(points)), self.most)  # noqa: S311 - a reproducible choice
        return [points[index] for index in sorted(chosen)]


def is_syscall(point: Point | int | None) -> bool:
    """Whether a point is a system call, and not a provider call."""
    return isinstance(point, Point) and point.place.strip("()") in DURABLE


def durable_points(lines: Iterable[str], log: Path) -> Iterator[tuple[float, Point]]:
    """The points in what strace has written, each once, with their time: files that last, and what is sent.

    Counted as strace counts for an injection: each kind of call in each task for itself.
    """
    counts: Counter[tuple[str, str]] = Counter()
    known: set[Point] = set()
    for line in lines:
        match = _LINE.match(line)
        if match is None or match["call"] not in DURABLE:
            continue
        counts[match["task"], match["call"]] += 1
        point = Point(f"({match['call']})", Window.BEFORE, counts[match["task"], match["call"]])
        if point not in known and _lasts(match["call"], match["file"] or "", log):
            known.add(point)
            yield float(match["at"]), point


def _lasts(call: str, file: str, log: Path) -> bool:
    if call in _BY_PATH or file.startswith(("TCP", "socket:", "UNIX")):
        return True
    if file.startswith("/dev/shm/"):  # noqa: S108 - where the states of tries are
        return file != str(log)
    return file.startswith("/") and not file.startswith(_NOWHERE) and file != str(log)


def _strace(*options: str) -> tuple[str, ...]:
    return ("strace", "--follow-forks", "--decode-fds=path,socket", "-ttt", "-qq", *options, "--")


@contextmanager
def _pipe(folder: Path, take: Callable[[str], object]) -> Iterator[Path]:
    """A named pipe for strace to write to; each line is taken as it comes."""
    pipe = folder / "strace"
    os.mkfifo(pipe, 0o600)
    descriptor = os.open(pipe, os.O_RDWR)  # so that neither side waits for the other to open it

    def read() -> None:
        with os.fdopen(descriptor, "r", encoding="utf-8", errors="backslashreplace") as lines:
            for line in lines:
                if line == _END:
                    return
                take(line)

    reader = threading.Thread(target=read, name="strace reader", daemon=True)
    reader.start()
    try:
        yield pipe
    finally:
        end = os.open(pipe, os.O_WRONLY)
        os.write(end, _END.encode())
        os.close(end)
        reader.join()
        pipe.unlink()


_END = "(no more)\n"
