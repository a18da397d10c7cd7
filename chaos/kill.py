"""Killing an agent at its crash points, for real, and judging what comes of it."""

from __future__ import annotations

import json
import os
import shlex
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from chaos.accounts import Surplus, agree, tokens
from chaos.agent import Agent
from chaos.checks import IN_FLIGHT, Judge
from chaos.errors import HarnessError, OptionError
from chaos.findings import Finding, merge
from chaos.launchers import launcher_for
from chaos.plan import Plan, Reach, check_points
from chaos.points import Point, Schedule, format_schedule, nearest
from chaos.tries import SHORT_STORES, Setting, Tries, Try, check_store
from chaos.verdict import Verdict
from fakes import policy
from fakes.world import PROVIDERS

Progress = Callable[[int, int, int], None]
"""Told of every finished try: tries done, tries planned so far, findings so far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to kill. The command line and the pytest fixture offer the same.

    Attributes:
        store: `sqlite` or `file`, made anew for every try, or a store's URL.
        reach: which schedules are tried.
        accept: what is accepted by name: `in-flight`.
        policies: how providers treat keys, by provider: the name of a preset.
        deliver: answers for what the run waits for, by step id.
        launcher: `fork` or `spawn`; None for the best that this system has.
        jobs: tries at a time; None for one per core.
        seconds: after which a life counts as hung.
        seed: of the fakes.
        folder: where the tries keep their files; None for memory where the system offers it (`/dev/shm`).
    """

    store: str = "sqlite"
    reach: Reach = field(default_factory=Reach)
    accept: tuple[str, ...] = ()
    policies: Mapping[str, str] = field(default_factory=dict)
    deliver: Mapping[str, object] = field(default_factory=dict)
    launcher: str | None = None
    jobs: int | None = None
    seconds: float = 60.0
    seed: int = 0
    folder: Path | None = None

    def check(self) -> None:
        """Refuse what cannot work, before any life is started.

        Raises:
            OptionError: names the option, what is wrong, and what there is.
        """
        check_store(self.store)
        for name in self.accept:
            if name != IN_FLIGHT:
                raise OptionError(f"nothing can be accepted as {name!r}{nearest(name, [IN_FLIGHT])}")
        for provider, preset in self.policies.items():
            if provider not in PROVIDERS:
                raise OptionError(f"there is no provider {provider!r}{nearest(provider, list(PROVIDERS))}")
            policy(preset)
        if self.jobs is not None and self.jobs < 1:
            raise OptionError(f"--jobs {self.jobs} would try nothing; it counts from 1")

    def as_arguments(self) -> str:
        """Those options that change what a schedule does, as they are written on a command line."""
        parts = [] if self.store == "sqlite" else ["--store", self.store]
        parts += [part for name in self.accept for part in ("--accept", name)]
        parts += [part for item in self.policies.items() for part in ("--policy", "=".join(item))]
        parts += [part for step, value in self.deliver.items() for part in ("--deliver", f"{step}={json.dumps(value)}")]
        parts += ["--seed", str(self.seed)] if self.seed else []
        return "".join(f" {shlex.quote(part)}" for part in parts)


def kill(agent: Agent, options: Options | None = None, progress: Progress | None = None) -> Verdict:
    """Kill an agent at its crash points and judge every run that comes of it.

    Raises:
        HarnessError: an option, a name or the set-up is wrong.
    """
    began = time.monotonic()
    with _exploring(agent, options or Options()) as exploring:
        exploring.explore(progress or _ignore)
        return exploring.verdict(time.monotonic() - began)


def reproduce(agent: Agent, schedule: Schedule, options: Options | None = None) -> Verdict:
    """Carry out one schedule and judge it.

    Raises:
        ScheduleError: the agent does not pass the first point of the schedule; the nearest is named.
        HarnessError: an option, a name or the set-up is wrong.
    """
    began = time.monotonic()
    with _exploring(agent, options or Options()) as exploring:
        exploring.carry_out(schedule)
        return exploring.verdict(time.monotonic() - began)


def crash_points(agent: Agent, options: Options | None = None) -> tuple[Point, ...]:
    """The points at which a life without a kill can end, in the order it passes them.

    Raises:
        HarnessError: an option, a name or the set-up is wrong, or the agent does not come to its end.
    """
    with _exploring(agent, options or Options()) as exploring:
        if exploring.reasons:
            raise HarnessError(f"{agent.name} cannot be explored: {exploring.reasons[0]}")
        return exploring.baseline.lives[-1].trace


@contextmanager
def _exploring(agent: Agent, options: Options) -> Iterator[_Exploring]:
    options.check()
    launcher = launcher_for(agent, options.launcher)
    try:
        with tempfile.TemporaryDirectory(prefix="crashwindow-", dir=options.folder or _fast_folder()) as folder:
            setting = Setting(
                store=options.store,
                seed=options.seed,
                policies=options.policies,
                deliver=options.deliver,
                seconds=options.seconds,
                folder=Path(folder),
                prefix="run" if options.store in SHORT_STORES else f"crashwindow-{uuid.uuid4().hex[:12]}",
            )
            tries = Tries(agent, launcher, setting)
            exploring = _Exploring(agent, options, tries, tries.carry_out(()))
            exploring.check_baseline()
            exploring.notes += launcher.notes
            yield exploring
    finally:
        launcher.close()


@dataclass(slots=True)
class _Exploring:
    """One exploration as it goes on."""

    agent: Agent
    options: Options
    tries: Tries
    baseline: Try
    plan: Plan = field(init=False)
    judge: Judge = field(init=False)
    findings: list[Finding] = field(default_factory=list)
    accepted: list[Surplus] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    done: int = 0
    kills: int = 0
    lives: int = 0

    def __post_init__(self) -> None:
        self.plan = Plan(self.options.reach)
        self.judge = Judge(self.agent, self.baseline, frozenset(self.options.accept), self._command)

    def check_baseline(self) -> None:
        """A run without a kill has to end, to do something, and to be sound itself."""
        self._note(self.baseline)
        if self.baseline.finished is None:
            self.reasons.append(f"without any kill, {_unfinished(self.baseline)}")
        elif not self.baseline.rows:
            self.reasons.append("nothing was exercised: the agent called no provider of its World")
        elif not self.agent.takes_run and not agree(self.baseline, self.tries.carry_out(())):
            self.reasons.append(
                "two runs without a kill ask different things of the providers, and the agent shows no records to hold "
                "a run against; let it work through a Run, or take chance and time out of its requests"
            )

    def explore(self, progress: Progress) -> None:
        """Carry out the plan, several tries at a time."""
        if self.reasons:
            return
        planned = deque[Schedule | tuple[int, ...]](self.plan.start(self.baseline))
        planned += self.plan.drawn()
        jobs = self.options.jobs or os.cpu_count() or 1
        running: deque[Future[Try]] = deque()
        with ThreadPoolExecutor(jobs) as pool:
            while planned or running:
                while planned and len(running) < 2 * jobs:
                    running.append(pool.submit(self.tries.carry_out, planned.popleft()))
                run = running.popleft().result()  # in order, so that what is found does not depend on speed
                self._take(run)
                planned += self.plan.follow(run)
                progress(self.done, self.done + len(planned) + len(running), len(self.findings))

    def carry_out(self, schedule: Schedule) -> None:
        """Carry out one schedule alone."""
        if self.reasons:
            return
        check_points(schedule[:1], [str(point) for point in self.baseline.lives[-1].trace])
        self.plan.known.update(dict.fromkeys(self.baseline.lives[-1].trace))
        if schedule:
            self._take(self.tries.carry_out(schedule))

    def verdict(self, seconds: float) -> Verdict:
        """What can be said now."""
        return Verdict(
            agent=self.agent.name,
            crash_points=len(self.plan.known),
            tries=self.done,
            kills=self.kills,
            lives=self.lives,
            seconds=seconds,
            accepted=_accepted(self.accepted),
            not_covered=self.plan.not_covered(),
            reasons=tuple(dict.fromkeys(self.reasons)),
            notes=self.notes,
            findings=merge(self.findings),
        )

    def _take(self, run: Try) -> None:
        self.done += 1
        self._note(run)
        text = format_schedule(run.schedule)
        if run.missed is not None:
            self.reasons.append(
                f"a planned kill did not fire: no life passed {run.missed}" + (f" after {text}" if text else "")
            )
        if run.finished is None and (run.lives[-1].report is None or run.lives[-1].report.outcome == "suspended"):
            self.reasons.append(f"under {text!r}, {_unfinished(run)}")

    def _note(self, run: Try) -> None:
        self.kills += run.kills
        self.lives += len(run.lives) + (run.replay is not None)
        judgement = self.judge.judge(run)
        self.findings += judgement.findings
        self.accepted += judgement.accepted

    def _command(self, schedule: str) -> str:
        arguments = "".join(f" --arg {shlex.quote(_as_argument(value))}" for value in self.agent.input)
        return (
            f"crashwindow reproduce {self.agent.name} {shlex.quote(schedule)}{arguments}{self.options.as_arguments()}"
        )


def _unfinished(run: Try) -> str:
    last = run.lives[-1]
    if last.unplanned is not None:
        said = run.log.strip().rsplit("\n", 1)[-1]
        return f"life {last.spec.number} {last.unplanned}" + (f"; it last said: {said}" if said else "")
    if last.report is not None and last.report.outcome == "suspended":
        step = last.report.waits_for
        return f"the run waits for {step!r}; give the answer with --deliver {step}=JSON"
    error = last.report.error if last.report else ""
    where = f" ({last.report.where})" if last.report and last.report.where else ""
    return f"the agent raised {error}{where}"


def _accepted(surplus: list[Surplus]) -> tuple[str, ...]:
    if not surplus:
        return ()
    most = max(tokens([one.row]) for one in surplus)
    return (f"{IN_FLIGHT}: {len(surplus)} answers lost on their way, one call per crash, {most} tokens at most each",)


def _as_argument(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=repr)


def _fast_folder() -> str | None:
    """Memory, where there is some to keep files in: a SIGKILL loses nothing that the kernel has."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - a fresh 0700 folder is made in it


def _ignore(*_: int) -> None:
    """Nobody watches."""
