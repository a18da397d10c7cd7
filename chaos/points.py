"""Crash points and schedules, and their one spelling as text.

A point is `place@window`. A place is a step id, or a name in parentheses for what is not a step: `(start)` and
`(finish)` of the run, and `(email.send)` for provider calls that an agent makes outside of steps. `#2` after a place
is its second provider call. A step id that could be misread is written as a JSON string.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from chaos.errors import ScheduleError


class Window(StrEnum):
    """Where within a place a life ends."""

    BEFORE = "before"
    """The provider is about to be called; nothing is done."""
    APPLIED = "applied"
    """The provider has acted; its answer is not back."""
    UNRECORDED = "unrecorded"
    """The answer is in hand; no record of it."""
    RECORDED = "recorded"
    """The record is durable; the step has not returned."""
    ANSWERED = "answered"
    """The answer is on its way to a program whose records cannot be seen; whether it notes it is a race."""


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """A named place where a life can end. `call` counts the provider calls of the place from 1."""

    place: str
    window: Window
    call: int = 1

    def __str__(self) -> str:
        return f"{self.place}{f'#{self.call}' if self.call > 1 else ''}@{self.window}"


Schedule = tuple[Point, ...]
"""One crash point per life, in order; the life after the last one is not killed."""

START, FINISH = "(start)", "(finish)"

_BARE = re.compile(r'[^\s"@>#()][^\s"@>#]*')
_POINT = re.compile(
    r'(?P<place>"(?:[^"\\]|\\.)*"|\([^\s"@>#()]+\)|[^\s"@>#()][^\s"@>#]*)(?:#(?P<call>[1-9]\d*))?@(?P<window>\w+)'
)


def place_of_step(step_id: str) -> str:
    """The place of a step, as it is written in a schedule."""
    return step_id if _BARE.fullmatch(step_id) else json.dumps(step_id, ensure_ascii=False)


def place_of_call(provider: str, operation: str) -> str:
    """The place of the provider calls that are made outside of steps."""
    return f"({provider}.{operation})"


def format_schedule(schedule: Iterable[Point]) -> str:
    """The inverse of `parse_schedule`."""
    return " > ".join(map(str, schedule))


def parse_schedule(text: str) -> Schedule:
    """Read `send@unrecorded > send@unrecorded`; the empty text is the schedule without a kill.

    Raises:
        ScheduleError: says which piece cannot be read, and what was probably meant.
    """
    points: list[Point] = []
    rest = text.strip()
    while rest:
        match = _POINT.match(rest)
        if match is None:
            raise ScheduleError(
                f"schedule {text!r} cannot be read at {rest!r}: expected place@window, such as send@unrecorded, "
                f"with ' > ' between the lives"
            )
        points.append(Point(match["place"], _window(match["window"], text), int(match["call"] or 1)))
        rest = rest[match.end() :].lstrip()
        if rest:
            if not rest.startswith(">") or not rest[1:].strip():
                raise ScheduleError(f"schedule {text!r} cannot be read at {rest!r}: expected ' > ' and another point")
            rest = rest[1:].lstrip()
    return tuple(points)


def _window(name: str, text: str) -> Window:
    try:
        return Window(name)
    except ValueError:
        raise ScheduleError(f"schedule {text!r} names no window {name!r}{nearest(name, list(Window))}") from None


def nearest(name: str, known: Sequence[str], *, most: int = 8) -> str:
    """`; did you mean 'x'?`, or the known names when none is near, to end an error message with."""
    close = difflib.get_close_matches(name, known, n=1)
    if close:
        return f"; did you mean {str(close[0])!r}?"
    listed = ", ".join(map(str, known[:most]))
    return f"; there are: {listed}{', …' if len(known) > most else ''}" if known else ""
