"""Saved regressions: schedules that have found something once, in a small file that people review.

The file is JSON: the name of each agent, and with it the schedules in order, each with the check that it broke and the
faults that went with it, if any. They are carried out first the next time. What is mended stays in the file.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from chaos.errors import OptionError, ScheduleError
from chaos.faults import normal_fault
from chaos.findings import CHECKS, Finding
from chaos.points import Point, Schedule, format_schedule, nearest, parse_schedule


@checked(frozen=True, config=ConfigDict(extra="forbid", strict=False))
class _Line:
    """One entry of the file."""

    check: str
    schedule: str
    faults: tuple[str, ...] = ()


_FILE: TypeAdapter[dict[str, list[_Line]]] = TypeAdapter(dict[str, list[_Line]])


@dataclass(frozen=True, slots=True)
class Saved:
    """A schedule that has found something, with the faults that went with it, and the check that it broke."""

    schedule: Schedule
    faults: tuple[str, ...]
    check: str

    def __str__(self) -> str:
        faults = f" with {', '.join(self.faults)}" if self.faults else ""
        return f"{format_schedule(self.schedule)!r}{faults}"

    def stale(self, missed: Point, file: Path) -> str:
        """What the reader is told when no life passes a point of it any more."""
        return f"the saved schedule {self} ({self.check}) is stale: no life passes {missed}. It stays in {file.name}"


def saved_for(agent: str, file: Path | None) -> list[Saved]:
    """The schedules that are saved for an agent; none without a file.

    Raises:
        OptionError: the file cannot be read, or is damaged; it is left as it is.
    """
    return [
        Saved(parse_schedule(line.schedule), tuple(map(normal_fault, line.faults)), line.check)
        for line in (_read(file) if file is not None else {}).get(agent, ())
    ]


def save(agent: str, file: Path | None, findings: Iterable[Finding], faults: tuple[str, ...]) -> None:
    """Add what was found to the file, if there is one. Several processes may do so at once.

    Raises:
        OptionError: the file cannot be written, or is damaged; it is left as it is.
    """
    found = {_Line(finding.check, format_schedule(finding.schedule), faults) for finding in findings}
    if file is None or not found:
        return
    with _alone(file.parent):
        lines = _read(file)
        known = set(lines.get(agent, ()))
        if not found <= known:
            _write(file, lines | {agent: [*known | found]})


def _read(file: Path) -> dict[str, list[_Line]]:
    try:
        lines = _FILE.validate_json(file.read_bytes()) if file.exists() else {}
        for line in (line for agent in lines.values() for line in agent):
            _check(line)
    except OSError as error:
        raise OptionError(f"--save {file} cannot be read: {error.strerror}") from None
    except (ValidationError, ScheduleError, OptionError) as error:
        fact = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise OptionError(
            f"--save {file} is damaged: {fact}. Nothing was changed in it; mend it, or restore it from a copy"
        ) from None
    return lines


def _check(line: _Line) -> None:
    if line.check not in CHECKS:
        raise OptionError(f"there is no check {line.check!r}{nearest(line.check, list(CHECKS))}")
    parse_schedule(line.schedule)
    for fault in line.faults:
        normal_fault(fault)


def _write(file: Path, lines: dict[str, list[_Line]]) -> None:
    """All of it or nothing."""
    ordered = {
        agent: sorted(lines[agent], key=lambda line: (line.schedule.count(">"), line.schedule, line.check, line.faults))
        for agent in sorted(lines)
    }
    data = _FILE.dump_json(ordered, indent=2, exclude_defaults=True)
    try:
        descriptor, name = tempfile.mkstemp(prefix=f".{file.name}-", dir=file.parent)
        with os.fdopen(descriptor, "wb") as new:
            new.write(data + b"\n")
        Path(name).chmod(0o644)
        Path(name).replace(file)
    except OSError as error:
        raise OptionError(f"--save {file} cannot be written: {error.strerror}") from None


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """No other process of ours writes in the folder meanwhile, where the system has locks for that."""
    try:
        import fcntl  # noqa: PLC0415 - not on Windows
    except ImportError:
        yield
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise OptionError(f"--save: there is no folder {folder}: {error.strerror}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
