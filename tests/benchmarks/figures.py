"""A figure: something measured, beside what it is held against in the same run."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import TypeVar


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One line of the table.

    Attributes:
        name: what was measured.
        value: the median, in `unit`.
        unit: of the value: a rate (`kills/s`), a time (`s`, `µs`) or a size (`MB`).
        baseline: what it is held against, measured in the same run, turn by turn.
        baseline_value: the median of that, in `unit`.
        ratio: how many times the baseline; how many times as fast, where the unit is a rate.
        aim: in words.
        met: whether the aim was reached; None where there is none.
        note: what else there is to say about it.
    """

    name: str
    value: float
    unit: str
    baseline: str = ""
    baseline_value: float | None = None
    aim: str = ""
    met: bool | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """The value in baselines."""
        return self.value / self.baseline_value if self.baseline_value else None

    def as_json(self) -> dict[str, object]:
        """Plain data."""
        return asdict(self) | {"ratio": self.ratio}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much is measured.

    Attributes:
        repeats: turns; every measurement has one in each, so that a slow minute of the machine is slow for all.
        points: patterns of the crash points at which forked lives are killed; None for every point.
        spawned: the same for lives in fresh interpreters, which take so long that fewer have to do.
        research: the same for the long agent.
        steps: recorded steps in a turn.
        records: lengths of the checkpoints that are resumed: smallest, the one with an aim, largest.
        calls: provider calls in a turn.
        worlds: worlds made in a turn.
        respawned: patterns of the points of the long agent that are killed at for the extrapolation.
        lengths: steps of the agents that are verified; the last has the aim.
        budget: seconds after which such a verification is ended, incomplete.
        asked: chat calls of the program that `exec` kills.
        served: seconds in which a server is asked, in a turn.
        fetch: whether peers that are not installed yet are.
    """

    repeats: int = 3
    points: tuple[str, ...] | None = None
    spawned: tuple[str, ...] | None = ("*@unrecorded",)
    research: tuple[str, ...] | None = None
    steps: int = 300
    records: tuple[int, int, int] = (1_000, 10_000, 20_000)
    calls: int = 300
    worlds: int = 30
    respawned: tuple[str, ...] = ("answer:*[05]@unrecorded",)
    lengths: tuple[int, ...] = (61, 250, 1_000)
    budget: int = 75
    asked: int = 4
    served: float = 4.0
    fetch: bool = True


QUICK = Sizes(
    repeats=1,
    points=("send@unrecorded",),
    spawned=("send@unrecorded",),
    research=("notify@unrecorded",),
    steps=5,
    records=(5, 10, 20),
    calls=5,
    worlds=2,
    respawned=("notify@unrecorded",),
    lengths=(3, 5),
    budget=20,
    asked=1,
    served=1.0,
    fetch=False,
)


K = TypeVar("K")


def turn_by_turn(repeats: int, measures: Mapping[K, Callable[[], float]]) -> dict[K, float]:
    """The median of every measure. Each takes one turn after the other."""
    taken: dict[K, list[float]] = {name: [] for name in measures}
    for _ in range(repeats):
        for name, measure in measures.items():
            taken[name].append(measure())
    return {name: statistics.median(values) for name, values in taken.items()}
