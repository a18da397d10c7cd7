"""The warm parent: a process that has imported the agent once and forks a fresh child for every life.

It serves one control socket. A message is a `LifeSpec`; with it comes the write end of a socket on which the life
reports, and on which the parent adds, once the life is over, how its process ended.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import selectors
import shutil
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Collection
from dataclasses import astuple, dataclass, field
from pathlib import Path

from chaos.agent import Agent
from chaos.coverage import save_coverage
from chaos.life import REPORT, SPEC, LifeSpec, Report
from chaos.lives import live
from durable_core import Run, resume
from durable_core.stores.memory import MemoryStore
from fakes import World
from fakes.lifelike import Vocabulary, adopt_vocabulary, draw_vocabulary

MESSAGE_BYTES = 1 << 16
EXPLORATION = ".crashwindow-exploration"
"""An empty file in the folder of an exploration, which the warm parents remove if the harness cannot."""

_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None  # once, before lives are forked


@dataclass(slots=True)
class _Child:
    pid: int
    spec: LifeSpec
    reply: int
    deadline: float
    hung: bool = False


Live = Callable[[LifeSpec, int], None]
"""Lives one life to its end in this process, and writes to the descriptor what there is to report, a line each."""


def warm_parent(agent: Agent, control: socket.socket) -> WarmParent:
    """The warm parent of an agent's lives, with everything in it that no life should be the first to need."""
    draw_words()
    rehearse()
    return WarmParent(lambda spec, reply: live(agent, spec, lambda report: send_report(reply, report)), control)


@dataclass(slots=True)
class WarmParent:
    """Forks lives until its control socket is closed.

    `strays` ends what the processes of a life have left running, given the processes of the other lives.
    """

    live: Live
    control: socket.socket
    strays: Callable[[LifeSpec, Collection[int]], None] = lambda *_: None
    _children: dict[int, _Child] = field(default_factory=dict)  # by pidfd
    _folders: set[str] = field(default_factory=set)
    _selector: selectors.BaseSelector = field(default_factory=selectors.DefaultSelector)

    def serve(self) -> None:
        """Fork what is asked for; return when the other side is gone, with no life left over."""
        gc.freeze()  # what is there now is shared by all lives; collecting it would copy it into each
        self._selector.register(self.control, selectors.EVENT_READ)
        while True:
            for key, _ in self._selector.select(self._patience()):
                if key.fileobj is not self.control:
                    self._reap(key.fd)
                elif not self._accept():
                    self._end_all()
                    self._clear_away()
                    return
            self._end_hung()

    def _accept(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self.control, MESSAGE_BYTES, 1)
        if not message:
            return False
        spec = SPEC.validate_json(message)
        self._folders.add(spec.folder)
        pid = os.fork()
        if pid == 0:
            self._become(spec, descriptors[0])
        child = _Child(pid, spec, descriptors[0], time.monotonic() + spec.seconds)
        pidfd = os.pidfd_open(pid)
        self._children[pidfd] = child
        self._selector.register(pidfd, selectors.EVENT_READ)
        return True

    def _become(self, spec: LifeSpec, reply: int) -> None:
        """In the child: live, and leave without running what the parent has registered for its own exit."""
        end_with_parent()
        os.setpgid(0, 0)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # an agent finds what it would find anywhere
        self._selector.close()
        self.control.close()
        code = 1
        try:
            self.live(spec, reply)
            code = 0
        except BrokenPipeError:  # the harness is gone, and nobody asks
            pass
        except BaseException:  # noqa: BLE001 - the process ends here; its log says why
            traceback.print_exc()
        finally:
            save_coverage()
            os._exit(code)

    def _reap(self, pidfd: int) -> None:
        child = self._children.pop(pidfd)
        self._selector.unregister(pidfd)
        os.close(pidfd)
        _, status = os.waitpid(child.pid, 0)
        end_group(child.pid)
        self.strays(child.spec, [other.pid for other in self._children.values()])
        with contextlib.suppress(OSError):  # the other side may have gone
            send_line(child.reply, {"exit": os.waitstatus_to_exitcode(status), "hung": child.hung})
        os.close(child.reply)

    def _patience(self) -> float | None:
        deadlines = [child.deadline for child in self._children.values() if not child.hung]
        return max(0.0, min(deadlines) - time.monotonic()) if deadlines else None

    def _end_hung(self) -> None:
        for child in self._children.values():
            if child.deadline <= time.monotonic() and not child.hung:
                child.hung = True
                os.kill(child.pid, signal.SIGKILL)

    def _clear_away(self) -> None:
        """Remove the files of the exploration, should the harness have been killed before it could."""
        paths = (path for folder in self._folders for path in (Path(folder), *Path(folder).parents))
        for exploration in {path for path in paths if (path / EXPLORATION).exists()}:
            shutil.rmtree(exploration, ignore_errors=True)

    def _end_all(self) -> None:
        for pidfd, child in list(self._children.items()):
            os.kill(child.pid, signal.SIGKILL)
            self._reap(pidfd)


def draw_words() -> None:
    """Let a child draw the words of the fakes: Faker is 5 MB that every life would be forked with."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        _write_all(theirs, json.dumps(astuple(draw_vocabulary())).encode())
        os._exit(0)
    os.close(theirs)
    with open(ours, "rb") as words:  # noqa: PTH123 - a descriptor
        adopt_vocabulary(Vocabulary(*map(tuple, json.load(words))))
    os.waitpid(pid, 0)


def rehearse() -> None:
    """Do in memory what every life does of ours, so that no life is the first to: codecs are built, say.

    The agent is not touched; its own caches are as cold in every life as in a process that has just started.
    """

    def all_calls(run: Run, world: World) -> None:
        run.effect("ask", world.llm.complete, "", lines=1)
        run.step("search", world.search.query, "")
        run.effect("send", world.email.send, to="", body="")
        run.effect("charge", world.payments.charge, customer="", cents=1)
        run.effect("refund", world.payments.refund, charge="", cents=1)

    with World() as world:
        resume(MemoryStore(), "rehearsal", all_calls, world)


def send_report(descriptor: int, report: Report) -> None:
    """Write a report as one line."""
    _write_all(descriptor, REPORT.dump_json(report) + b"\n")


def send_line(descriptor: int, message: object) -> None:
    """Write a message as one line of JSON."""
    _write_all(descriptor, json.dumps(message).encode() + b"\n")


def end_with_parent() -> None:
    """Ask the kernel to kill this process when its parent is gone (Linux; elsewhere nothing is done)."""
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def end_group(pid: int) -> None:
    """Kill what a life has left running in its process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def other_threads() -> list[str]:
    """The names of the threads that a fork would not carry over."""
    return [thread.name for thread in threading.enumerate() if thread is not threading.current_thread()]


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
