"""Launchers: how a life gets a process of its own. `fork` from a warm parent, or `spawn` of a fresh interpreter."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn, Protocol

from chaos.agent import Agent, name_of
from chaos.coverage import coverage_setup
from chaos.errors import AgentError, LaunchError
from chaos.life import REPORT, SPEC, LifeEnd, LifeSpec
from chaos.lives import end_images, live_here, prepare_images
from chaos.parents import HASH_SEEDS, Parent, greeting, interpreter, start_parents
from chaos.warm import end_group, other_threads, warm_parent
from durable_core import NotRecordable
from durable_core.codec import PLAIN

IN_PROCESS = "in-process"
"""Lives of crash images need no kill, so they can be lived here, one after another: for Hypothesis."""

LAUNCHERS = ("fork", "spawn", IN_PROCESS)


class Launcher(Protocol):
    """Something that gives lives a process. It is used from several threads."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the verdict has to know about how lives were started."""

    def surroundings(self, spec: LifeSpec) -> AbstractContextManager[None]:
        """What the lives of a try have in common, beside its folder; `spec` is that of the first one."""

    def run(self, spec: LifeSpec) -> LifeEnd:
        """Live one life to its end."""

    def close(self) -> None:
        """End what is still running."""


def launcher_for(agent: Agent, kind: str | None = None, *, perturbed: bool = False) -> Launcher:
    """The launcher of that kind; by default `fork` where the system has it.

    A module's function is imported by a fresh interpreter. A closure or lambda, or an agent with input that is not
    plain data, exists in this process only, so this process is forked. Where lives are `perturbed`, their clock is
    held from before the agent is imported.

    Raises:
        LaunchError: this system, or this agent, cannot do it; says what works.
    """
    if kind == IN_PROCESS:
        if not perturbed:
            raise LaunchError("a kill needs a process of its own; in-process works for verify alone")
        return InProcess(agent)
    if sys.platform == "win32":
        raise LaunchError(
            "real kills need SIGKILL, which Windows does not have; durable_core on SQLite and the fakes work here, and "
            "kills work on Linux, on macOS and in WSL"
        )
    kind = kind or ("fork" if sys.platform == "linux" else "spawn")
    setup = _setup(agent, perturbed=perturbed)
    if kind == "spawn":
        if setup is None:
            raise LaunchError(
                f"{agent.name} cannot be spawned: a fresh interpreter can import no closure or lambda, and takes no "
                f"input but plain data. Define the agent at the level of its module, or use the fork launcher"
            )
        return Spawn(setup)
    if sys.platform != "linux":
        raise LaunchError("the fork launcher needs Linux; use --launcher spawn here")
    if setup is None:
        return Fork([_fork_here(agent, perturbed=perturbed)])
    try:
        return Fork(start_parents("chaos.fresh:serve", setup))
    except AgentError as error:
        return Fork(
            [_fork_here(agent, perturbed=perturbed)],
            f"lives were forked from this process: a fresh interpreter says that {error}",
        )


@dataclass(frozen=True, slots=True)
class Fork:
    """Each life is a child of a warm parent. Lives take turns among the parents, which differ in their hash seed."""

    parents: Sequence[Parent]
    reason: str = ""

    @property
    def notes(self) -> tuple[str, ...]:
        """The threads that were alive in the parents, since lives do not have them."""
        names = ", ".join(self.parents[0].told["threads"])
        threads = f"threads alive where lives are forked, which lives do not have: {names} (--launcher spawn has them)"
        return tuple(note for note in (self.reason, threads if names else "") if note)

    def surroundings(self, spec: LifeSpec) -> AbstractContextManager[None]:  # noqa: ARG002 - as the protocol
        """Nothing: store and ledger are files in the folder of the try."""
        return nullcontext()

    def run(self, spec: LifeSpec) -> LifeEnd:
        """Live one life to its end."""
        with self.parents[spec.turn % len(self.parents)].begin(spec) as lines:
            *reports, last = lines.read().splitlines() or [_PARENT_DIED]
        status = json.loads(last)
        return _end(spec, reports[0] if reports else b"", status["exit"], hung=status["hung"])

    def close(self) -> None:
        """Let the parents end, and with them all lives."""
        for parent in self.parents:
            parent.control.close()
            parent.wait()


@dataclass(frozen=True, slots=True)
class Spawn:
    """Each life is a fresh interpreter that imports the agent again: slow, and always right."""

    setup: dict[str, object]
    notes: tuple[str, ...] = ()

    def surroundings(self, spec: LifeSpec) -> AbstractContextManager[None]:  # noqa: ARG002 - as the protocol
        """Nothing: store and ledger are files in the folder of the try."""
        return nullcontext()

    def run(self, spec: LifeSpec) -> LifeEnd:
        """Live one life to its end."""
        seed = HASH_SEEDS[spec.turn % len(HASH_SEEDS)]
        process, control = interpreter("chaos.fresh:live_once", socket.SOCK_STREAM, self.setup, seed)
        with control, control.makefile("rb") as reports:
            greeting(reports.readline())
            control.sendall(SPEC.dump_json(spec) + b"\n")
            control.settimeout(spec.seconds)
            try:
                line, hung = reports.readline(), False
            except TimeoutError:
                line, hung = b"", True
                process.kill()
            code = process.wait()
            end_group(process.pid)
            return _end(spec, line, code, hung=hung)

    def close(self) -> None:
        """Nothing stays between lives."""


@dataclass(frozen=True, slots=True)
class InProcess:
    """Each life is a call in this process. Module-level state of the agent is what the life before has left."""

    agent: Agent
    notes: tuple[str, ...] = ()

    def surroundings(self, spec: LifeSpec) -> AbstractContextManager[None]:  # noqa: ARG002 - as the protocol
        """Nothing: store and ledger are files in the folder of the try."""
        return nullcontext()

    def run(self, spec: LifeSpec) -> LifeEnd:
        """Live one life to its end."""
        return LifeEnd(spec=spec, report=live_here(self.agent, spec), exit=0)

    def close(self) -> None:
        """Give this process its clock back."""
        end_images()


def _setup(agent: Agent, *, perturbed: bool) -> dict[str, object] | None:
    """What a fresh interpreter has to know to import the agent; None when it cannot."""
    name = name_of(agent.function)
    try:
        payload, _ = PLAIN.encode("the input", list(agent.input))
    except NotRecordable:
        return None
    if name is None:
        return None
    return {
        "agent": name,
        "input": json.loads(payload),
        "path": sys.path,
        "cwd": str(Path.cwd()),
        "coverage": coverage_setup(),
        "perturbed": perturbed,
    }


def _fork_here(agent: Agent, *, perturbed: bool) -> Parent:
    """A warm parent that is a fork of this process, for agents that no other process can import."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    threads = other_threads()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the threads are reported to the user instead
        pid = os.fork()
    if pid == 0:
        ours.close()
        _be_parent(agent, theirs, perturbed=perturbed)
    theirs.close()
    return Parent(ours, {"threads": threads}, lambda: os.waitpid(pid, 0))


def _be_parent(agent: Agent, control: socket.socket, *, perturbed: bool) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the tests, and that ends this
    try:
        if perturbed:
            prepare_images()
        warm_parent(agent, control).serve()
    finally:
        os._exit(0)


_PARENT_DIED = b'{"exit": -9, "hung": false}'


def _end(spec: LifeSpec, report: bytes, code: int, *, hung: bool) -> LifeEnd:
    return LifeEnd(spec=spec, report=REPORT.validate_json(report) if report else None, exit=code, hung=hung)
