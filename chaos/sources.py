"""Where in the agent's own code something was read or done, for findings that name a line."""

from __future__ import annotations

import site
import sys
import sysconfig
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from durable_core import current_step

SOURCES = ("clock", "random", "uuid", "hash", "answers", "search", "environment", "cache")
"""What can be perturbed between lives, by name (see `chaos.perturb`)."""

_OURS = tuple(str(Path(__file__).resolve().parent.parent / name) + "/" for name in ("durable_core", "fakes", "chaos"))
_LIBRARIES = (
    *(sysconfig.get_paths()[name] + "/" for name in ("stdlib", "platstdlib", "purelib", "platlib")),
    *(folder + "/" for folder in site.getsitepackages()),
    "<",
)
_READ_FOR_OTHERS = frozenset({"random", "uuid", "secrets", "os", "collections.abc"})
"""Modules of the standard library that read a value on behalf of who calls them."""


@dataclass(slots=True)
class Noted:
    """What an agent read and did in one life, each once, as `what at file:line`."""

    reads: dict[str, None] = field(default_factory=dict)
    unseen: dict[str, None] = field(default_factory=dict)

    def read(self, source: str) -> bool:
        """A value that differs from life to life was read: whether by the agent itself. Outside steps it is noted."""
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001 - the documented way to look at one's caller
        while frame is not None and (_is_here(frame) or frame.f_globals.get("__name__") in _READ_FOR_OTHERS):
            frame = frame.f_back
        if frame is None or not _is_agents(frame):
            return False
        if current_step() is None:
            self.reads[f"{source} at {_line(frame)}"] = None
        return True

    def did(self, what: str) -> None:
        """Something was done that neither the store nor a provider knows of."""
        frame: FrameType | None = sys._getframe(1)  # noqa: SLF001
        while frame is not None and (_is_here(frame) or frame.f_code.co_filename.startswith(_LIBRARIES)):
            frame = frame.f_back
        if frame is not None and _is_agents(frame):  # if not, it was a deed of ours
            self.unseen[f"{what} at {_line(frame)}"] = None


def _is_here(frame: FrameType) -> bool:
    """The frames between the agent and this module: the sources themselves, and freezegun's stand-ins."""
    name = frame.f_globals.get("__name__", "")
    return name in (__name__, "chaos.perturb", "chaos.unseen") or name.startswith("freezegun")


def _is_agents(frame: FrameType) -> bool:
    return not frame.f_code.co_filename.startswith((*_OURS, *_LIBRARIES))


def _line(frame: FrameType) -> str:
    path = Path(frame.f_code.co_filename)
    with suppress(ValueError):
        path = path.relative_to(Path.cwd())
    return f"{path}:{frame.f_lineno}"
