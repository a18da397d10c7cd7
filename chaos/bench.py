"""A bench: one agent set up once, to carry out single schedules in crash images, in this process, in milliseconds."""

from __future__ import annotations

import atexit
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from chaos.agent import Agent, agent_of
from chaos.checks import Judge
from chaos.errors import HarnessError
from chaos.exploring import not_met
from chaos.findings import merge
from chaos.imaging import Image, Imaging, Lived
from chaos.launchers import IN_PROCESS, launcher_for
from chaos.life import Try
from chaos.options import Options
from chaos.points import Point, Schedule
from chaos.tries import Setting
from chaos.verdict import Verdict

RESTART = ("clock", "random", "uuid", "answers", "search", "environment")
"""What differs between lives in one process: its hash seed and the caches of its modules are what they are."""


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a bench is made for. Two calls with equal ones share it."""

    function: Callable[..., object]
    given: str
    policies: tuple[tuple[str, str], ...]
    agent: Agent = field(compare=False)


@dataclass(frozen=True, slots=True)
class Carried:
    """One schedule carried out. `missed` says why it means nothing: a crash or a fault did not happen."""

    verdict: Verdict
    missed: tuple[str, ...] = ()


@dataclass(slots=True)
class Bench:
    """Holds the baseline of an agent, and what it passes after each beginning of a schedule that was asked for."""

    agent: Agent
    options: Options
    folder: Path
    baseline: Try
    known: dict[Schedule, tuple[Lived, tuple[Point, ...]]] = field(default_factory=dict)

    def points_after(self, schedule: Schedule) -> tuple[Point, ...]:
        """The points that the life after a schedule passes, in order, each once; none when it does not get there."""
        if schedule not in self.known:
            folder = Path(tempfile.mkdtemp(dir=self.folder))  # it stays, for the lives that go on from there
            with _imaging(self.agent, self.options, folder) as imaging:
                self._live_after(schedule, imaging)
        known = self.known.get(schedule)
        return known[1] if known is not None else ()

    def carry_out(self, schedule: Schedule, faults: tuple[str, ...], perturb: tuple[str, ...]) -> Carried:
        """Carry out one schedule, and judge what comes of it."""
        began = time.monotonic()
        options = replace(self.options, faults=faults, perturb=perturb)
        options.check()
        with (
            tempfile.TemporaryDirectory(dir=self.folder) as folder,
            _imaging(self.agent, options, Path(folder)) as imaging,
        ):
            run = imaging.carry_out(schedule, perturb)
        missed = not_met(options.faults, {text for texts in run.met.values() for text in texts})
        if run.missed is not None:
            missed.append(f"a planned crash did not happen: no life passed {run.missed}")
        verdict = Verdict(
            agent=self.agent.name,
            crash_points=len(run.passed),
            images=1 + len(run.schedule),
            lives=len(run.lives) + (run.replay is not None),
            seconds=time.monotonic() - began,
            not_covered=("other schedules: one was carried out",),
            reasons=(*missed, *_unfinished(run)),
            findings=merge(self._judge(options).judge(run).findings),
        )
        return Carried(verdict, tuple(missed))

    def _judge(self, options: Options) -> Judge:
        return options.judge(self.agent, self.baseline)

    def _live_after(self, schedule: Schedule, imaging: Imaging) -> None:
        """Make known what a life after a schedule passes, if it gets there."""
        image: Image | None = Image()
        if schedule:
            if schedule[:-1] not in self.known:
                self._live_after(schedule[:-1], imaging)
            before = self.known.get(schedule[:-1])
            image = imaging.crashed(before[0], schedule[-1]) if before is not None else None
        if image is not None:
            lived = imaging.begin(image, self.options.perturb)
            self.known[schedule] = lived, tuple(dict.fromkeys(imaging.passed(lived)))


def bench_for(agent: Callable[..., object], given: tuple[object, ...], policies: Mapping[str, str]) -> Bench:
    """The bench of an agent; it is set up once, and put away when the process ends.

    Raises:
        HarnessError: the agent shows no records, or does not come to its end without a crash.
    """
    wanted = _Wanted(agent, repr(given), tuple(sorted(policies.items())), agent_of(agent, given))
    return _set_up(wanted)


@lru_cache(maxsize=64)
def _set_up(wanted: _Wanted) -> Bench:
    agent, options = wanted.agent, Options(launcher=IN_PROCESS, perturb=RESTART, policies=dict(wanted.policies))
    if not agent.takes_run:
        raise HarnessError(f"{agent.name} takes no Run, so no crash image can be taken of it; chaos.kill tries it")
    options.check()
    agent.check_input()
    folder = tempfile.TemporaryDirectory(prefix="crashwindow-")
    atexit.register(folder.cleanup)
    with _imaging(agent, options, Path(folder.name)) as imaging:
        baseline = imaging.carry_out((), options.perturb)
    last = baseline.lives[-1].report
    if baseline.finished is None:
        how = (last.error or last.outcome) if last else "it died"
        raise HarnessError(f"{agent.name} does not come to its end without a crash: {how}")
    return Bench(agent, options, Path(folder.name), baseline)


@contextmanager
def _imaging(agent: Agent, options: Options, folder: Path) -> Iterator[Imaging]:
    """Lives in this process; its clock is its own again afterwards."""
    setting = Setting(policies=options.policies, faults=options.faults, seconds=options.seconds, folder=folder)
    launcher = launcher_for(agent, IN_PROCESS, perturbed=True)
    try:
        yield Imaging(agent, launcher, setting)
    finally:
        launcher.close()


def _unfinished(run: Try) -> Iterator[str]:
    last = run.lives[-1].report
    if run.finished is None and last is not None and last.outcome == "suspended":
        yield f"the run waits for {last.waits_for!r}"
    elif run.finished is None and run.lives[-1].spec.number in run.met:
        yield "the run does not end, by a fault in each of its lives"
