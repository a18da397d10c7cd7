"""Warm parents, from this side: fresh interpreters that import what lives need once, and fork or start them."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from chaos.errors import AgentError, LaunchError
from chaos.life import SPEC, LifeSpec
from chaos.warm import MESSAGE_BYTES

HASH_SEEDS = (1, 2)
"""`PYTHONHASHSEED` of the warm parents: odd and even lives differ in it, as restarts do."""

_SOURCES = str(Path(__file__).resolve().parent.parent)


@dataclass(frozen=True, slots=True)
class Parent:
    """This side of a warm parent. `told` is what it has said of itself, `wait` returns when it has ended."""

    control: socket.socket
    told: Mapping[str, Sequence[str]]
    wait: Callable[[], object]
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def begin(self, spec: LifeSpec) -> Iterator[BinaryIO]:
        """Begin a life; gives what it, and then its parent, says of it, a line each.

        Raises:
            LaunchError: the parent is gone.
        """
        ours, theirs = socket.socketpair()
        with ours, ours.makefile("rb") as lines:
            with theirs, self.lock:
                try:
                    socket.send_fds(self.control, [SPEC.dump_json(spec)], [theirs.fileno()])
                except OSError as error:
                    raise LaunchError(f"a warm parent is gone ({error}): was it killed from outside?") from None
            yield lines


def start_parents(entry: str, setup: dict[str, object], count: int = len(HASH_SEEDS)) -> list[Parent]:
    """Warm parents with a hash seed each; they import what they need at the same time.

    Raises:
        AgentError: what it is that a parent could not import.
        LaunchError: a parent ended.
    """
    started = [interpreter(entry, socket.SOCK_SEQPACKET, setup, seed) for seed in HASH_SEEDS[:count]]
    try:
        return [Parent(control, greeting(control.recv(MESSAGE_BYTES)), process.wait) for process, control in started]
    except (AgentError, LaunchError):
        for process, control in started:
            control.close()
            process.wait()
        raise


def interpreter(
    entry: str, kind: socket.SocketKind, setup: dict[str, object], hash_seed: int
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """A fresh interpreter at a `module:function` of ours, with the setup on its standard input.

    Our own packages are found by their path: the user may have a folder called `chaos` too.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, kind)
    module, _, function = entry.partition(":")
    code = (
        f"import sys; sys.path.insert(0, {_SOURCES!r}); from {module} import {function}; {function}({theirs.fileno()})"
    )
    with theirs, tempfile.TemporaryFile() as standard_input:
        standard_input.write(json.dumps(setup).encode())
        standard_input.seek(0)
        process = subprocess.Popen(  # noqa: S603 - our own interpreter and our own code
            [sys.executable, "-P", "-c", code],
            env=os.environ | {"PYTHONHASHSEED": str(hash_seed)},
            pass_fds=[theirs.fileno()],
            stdin=standard_input,
            stdout=subprocess.DEVNULL,
            process_group=0,
        )
    return process, ours


def greeting(message: bytes) -> Mapping[str, Sequence[str]]:
    """The first message of a fresh interpreter: its `threads` and the like, or why it could not import the agent."""
    if not message:
        raise LaunchError("a fresh interpreter ended before it could import the agent; its messages are above")
    answer = json.loads(message)
    if "error" in answer:
        raise AgentError(answer["error"])
    told: Mapping[str, Sequence[str]] = answer
    return told
