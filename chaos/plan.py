"""The plan: which schedules are tried. Every single point, pairs on request, chance beyond."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from chaos.errors import OptionError, ScheduleError
from chaos.life import Try
from chaos.points import Point, Schedule, nearest, parse_schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How far to explore.

    Attributes:
        points: patterns of points (`send@*`), or whole schedules with ` > `; None for every point.
        depth: how many crashes in a row are tried exhaustively.
        random: how many schedules are drawn beyond that, of up to `MOST_RANDOM` crashes.
    """

    points: tuple[str, ...] | None = None
    depth: int = 1
    random: int = 0

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise OptionError(f"--depth {self.depth} tries nothing; 1 kills at every point, 2 at every pair of points")
        if self.random < 0:
            raise OptionError(f"--random {self.random} is no number of schedules; it counts from 0")


MOST_RANDOM = 4
"""Crashes in one random schedule."""

MOST_FRESH = 64
"""Points that recoveries alone pass, and that are killed at. An agent whose step ids are chance has no end of them."""


@dataclass(slots=True)
class Plan:
    """Grows while it is carried out: what a recovery passes for the first time is killed at too."""

    reach: Reach
    seed: int = 0
    known: dict[Point, None] = field(default_factory=dict)
    followed: int = 0
    left_out: int = 0

    def start(self, baseline: Try) -> Iterator[Schedule]:
        """The schedules that the baseline gives.

        Raises:
            ScheduleError: a pattern names a point that the agent does not have; the nearest is named.
        """
        self.known.update(dict.fromkeys(baseline.passed))
        if self.reach.points is None:
            yield from ((point,) for point in list(self.known))
            return
        chosen: dict[Schedule, None] = {}
        for text in self.reach.points:
            chosen.update(dict.fromkeys(self._matching(text)))
        self.left_out = len(self.known) - len({schedule[0] for schedule in chosen})
        yield from chosen

    def follow(self, run: Try) -> Iterator[Schedule]:
        """The schedules that a try gives: a further crash in its recovery.

        Up to the depth at every point of it; beyond at those only that no life has passed before.
        """
        if self.reach.points is not None or run.missed:
            return
        fresh = [point for point in run.recovery if point not in self.known]
        self.known.update(dict.fromkeys(fresh))
        if len(run.schedule) < self.reach.depth:
            yield from ((*run.schedule, point) for point in run.recovery)
            return
        chosen = fresh[: MOST_FRESH - self.followed]
        self.followed += len(chosen)
        self.left_out += len(fresh) - len(chosen)
        yield from ((*run.schedule, point) for point in chosen)

    def drawn(self) -> Iterator[tuple[int, ...]]:
        """Random schedules, as depths: kill life 1 at its nth point, life 2 at its mth, ..."""
        draw = random.Random(self.seed)  # noqa: S311 - a reproducible choice, not a secret
        most = max(len(self.known), 1)
        for _ in range(self.reach.random):
            crashes = draw.randint(2, MOST_RANDOM)
            yield tuple(draw.randint(1, most) for _ in range(crashes))

    def not_covered(self) -> tuple[str, ...]:
        """What carrying out this plan says nothing about."""
        crashes = f"{self.reach.depth} crash{'es' if self.reach.depth > 1 else ''}"
        drawn = f", of which {self.reach.random} were drawn at random (seed {self.seed})" if self.reach.random else ""
        left_out = f"{self.left_out} points that were not chosen, or that only recoveries pass" if self.left_out else ""
        beyond = (
            f"sequences of more than {crashes}{drawn}" if self.reach.points is None else "other sequences of crashes"
        )
        return tuple(part for part in (left_out, beyond, "writes torn in the middle") if part)

    def _matching(self, text: str) -> Sequence[Schedule]:
        names = {str(point): point for point in self.known}
        found = [(point,) for name, point in names.items() if fnmatchcase(name, text)]
        if found:
            return found
        schedule = parse_schedule(text)
        check_points(schedule[:1], names)
        return [schedule]


def check_points(schedule: Iterable[Point], known: Iterable[str]) -> None:
    """Refuse a point that a life without a kill does not pass.

    Raises:
        ScheduleError: names the nearest point there is.
    """
    names = list(known)
    for point in schedule:
        if str(point) not in names:
            raise ScheduleError(f"the agent passes no point {str(point)!r}{nearest(str(point), names)}")
