"""Killing an agent at its crash points, for real, and judging what comes of it."""

from __future__ import annotations

import time

from chaos.agent import Agent
from chaos.errors import HarnessError
from chaos.exploring import Progress, exploring
from chaos.options import Options
from chaos.points import Point, Schedule
from chaos.saved import save
from chaos.verdict import Verdict


def kill(agent: Agent, options: Options | None = None, progress: Progress | None = None) -> Verdict:
    """Kill an agent at its crash points and judge every run that comes of it.

    Raises:
        HarnessError: an option, a name or the set-up is wrong.
    """
    began = time.monotonic()
    with exploring(agent, options or Options()) as found:
        found.carry_out_saved(found.options.save)
        found.explore(progress or _ignore)
        verdict = found.verdict(time.monotonic() - began)
        save(agent.name, found.options.save, verdict.findings, found.options.faults)
        return verdict


def reproduce(agent: Agent, schedule: Schedule, options: Options | None = None) -> Verdict:
    """Carry out one schedule and judge it.

    Raises:
        ScheduleError: the agent does not pass the first point of the schedule; the nearest is named.
        HarnessError: an option, a name or the set-up is wrong.
    """
    began = time.monotonic()
    with exploring(agent, options or Options()) as found:
        found.carry_out(schedule)
        return found.verdict(time.monotonic() - began)


def crash_points(agent: Agent, options: Options | None = None) -> tuple[Point, ...]:
    """The points at which a life without a kill can end, in the order it passes them.

    Raises:
        HarnessError: an option, a name or the set-up is wrong, or the agent does not come to its end.
    """
    with exploring(agent, options or Options()) as found:
        if found.reasons:
            raise HarnessError(f"{agent.name} cannot be explored: {found.reasons[0]}")
        return found.baseline.passed


def _ignore(*_: int) -> None:
    """Nobody watches."""
