"""What images cannot see: files, sockets, processes and databases that an agent touches beside its store and providers.

An audit hook notices them. It cannot be taken out of a process again, so there is one, and it looks at whom it serves.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from chaos.sources import Noted

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_DEEDS: Mapping[str, str] = MappingProxyType(
    {
        "socket.connect": "a connection to {1}",
        "subprocess.Popen": "a process: {0}",
        "os.system": "a command: {0}",
        "os.posix_spawn": "a process: {0}",
        "os.fork": "a fork",
        "sqlite3.connect": "a database: {0}",
        "os.remove": "a file removed: {0}",
        "os.rename": "a file renamed: {0}",
        "os.mkdir": "a folder made: {0}",
        "os.rmdir": "a folder removed: {0}",
        "os.truncate": "a file cut: {0}",
    }
)

_serving: list[Noted] = []
_hooked: list[bool] = []


@contextmanager
def watching(noted: Noted) -> Iterator[None]:
    """Note what is done while the agent runs."""
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked.append(True)
    _serving.append(noted)
    try:
        yield
    finally:
        _serving.pop()


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not _serving:
        return
    if event == "open":
        path, _, flags = arguments
        if isinstance(flags, int) and flags & _WRITES and isinstance(path, str | bytes) and not _is_harmless(path):
            _serving[-1].did(f"a file written: {os.fsdecode(path)}")
    elif event in _DEEDS and arguments[:1] != (":memory:",):
        _serving[-1].did(_DEEDS[event].format(*map(_shown, arguments)))


def _is_harmless(path: str | bytes) -> bool:
    name = os.fsdecode(path)
    return name == os.devnull or "__pycache__" in name


def _shown(argument: object) -> str:
    return os.fsdecode(argument) if isinstance(argument, bytes) else str(argument)
