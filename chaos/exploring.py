"""One exploration: the baseline, the tries of the plan on all cores, the judging, the verdict."""

from __future__ import annotations

import os
import tempfile
import uuid
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from chaos.accounts import Surplus, agree, tokens
from chaos.agent import Agent, Subject
from chaos.checks import IN_FLIGHT, Judge
from chaos.findings import Finding, merge
from chaos.launchers import Launcher, launcher_for
from chaos.life import LifeEnd, Try
from chaos.options import Options
from chaos.plan import Plan, check_points
from chaos.points import Schedule, format_schedule
from chaos.races import Races
from chaos.safety import safety_of
from chaos.saved import saved_for
from chaos.stores import is_fresh
from chaos.tries import Setting, Tries
from chaos.verdict import Verdict
from chaos.warm import EXPLORATION

Progress = Callable[[int, int, int], None]
"""Told of every finished try, or life in an image: how many are done, are known to be done so far, and were found."""


def exploring(agent: Agent, options: Options) -> AbstractContextManager[Exploring]:
    """Explore an agent that is called; see `exploring_with`."""
    agent.check_input()
    return exploring_with(agent, options, lambda: launcher_for(agent, options.launcher))


@contextmanager
def exploring_with(subject: Subject, options: Options, start: Callable[[], Launcher]) -> Iterator[Exploring]:
    """Start the launcher and run the baseline; end every process and remove every file afterwards.

    Raises:
        HarnessError: an option, a name or the set-up is wrong.
    """
    with setting_of(options) as setting:
        launcher = start()
        try:
            tries = Tries(subject, launcher, setting)
            found = Exploring(subject, options, tries, tries.carry_out((), faults=()))
            found.check_baseline()
            found.notes += launcher.notes
            if not is_fresh(options.store):
                found.notes += (f"the runs of this exploration stay in the store, as {setting.prefix}-0, -1, ...",)
            yield found
        finally:
            launcher.close()


@contextmanager
def setting_of(options: Options) -> Iterator[Setting]:
    """Check the options, and make the folder that all tries keep their files in.

    Raises:
        HarnessError: an option is wrong; told before anything is started.
    """
    options.check()
    with tempfile.TemporaryDirectory(prefix="crashwindow-", dir=options.folder or _fast_folder()) as folder:
        (Path(folder) / EXPLORATION).touch()
        yield Setting(
            store=options.store,
            seed=options.seed,
            policies=options.policies,
            faults=options.faults,
            deliver=options.deliver,
            seconds=options.seconds,
            folder=Path(folder),
            prefix="run" if is_fresh(options.store) else f"crashwindow-{uuid.uuid4().hex[:12]}",
        )


@dataclass(slots=True)
class Exploring:
    """One exploration as it goes on."""

    agent: Subject
    options: Options
    tries: Tries
    baseline: Try
    plan: Plan = field(init=False)
    judge: Judge = field(init=False)
    findings: list[Finding] = field(default_factory=list)
    accepted: list[Surplus] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    held: Counter[str] = field(default_factory=Counter)
    notes: tuple[str, ...] = ()
    uncovered: tuple[str, ...] = ()
    races: Races = field(default_factory=Races)
    deduplicated: set[str] = field(default_factory=set)
    done: int = 0
    kills: int = 0
    met: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.plan = Plan(self.options.reach, self.options.seed)
        self.judge = self.options.judge(self.agent, self.baseline)

    def check_baseline(self) -> None:
        """A run without a kill has to end, to do something, and to be sound itself."""
        self._note(self.baseline)
        if self.baseline.finished is None:
            self.reasons.append(f"without any kill, {_unfinished(self.baseline)}")
        elif not self.baseline.rows:
            self.reasons.append(f"nothing was exercised: {self.agent.idle}")
        elif not self.agent.takes_run and not agree(self.baseline, self.tries.carry_out((), faults=())):
            self.reasons.append(self.agent.disagreement)

    def carry_out_saved(self, file: Path | None) -> None:
        """Carry out first what has found something before; what does not fit the agent any more is noted."""
        for saved in saved_for(self.agent.name, file):
            if self.reasons:
                return
            run = self.tries.carry_out(saved.schedule, faults=saved.faults)
            if run.missed is not None and file is not None:
                self.notes += (saved.stale(run.missed, file),)
                continue
            judge, self.judge = self.judge, replace(self.options, faults=saved.faults).judge(self.agent, self.baseline)
            self._take(run)
            self.judge = judge

    def explore(self, progress: Progress) -> None:
        """Carry out the plan, several tries at a time."""
        if self.reasons:
            return
        first = self._without_kill()
        if self.reasons:
            return
        planned = deque[Schedule | tuple[int, ...]](self.plan.start(first))
        planned += self.plan.drawn()
        jobs = self.options.cores
        running: deque[Future[Try]] = deque()
        with ThreadPoolExecutor(jobs) as pool:
            while planned or running:
                while planned and len(running) < 2 * jobs:
                    running.append(pool.submit(self.tries.carry_out, planned.popleft()))
                run = running.popleft().result()  # in order, so that what is found does not depend on speed
                self._take(run)
                planned += self.plan.follow(run)
                progress(self.done, self.done + len(planned) + len(running), len(self.findings))

    def carry_out(self, schedule: Schedule) -> Try:
        """Carry out one schedule alone; the baseline is what the empty one gives, and a broken one."""
        if self.reasons:
            return self.baseline
        first = self._without_kill()
        if not schedule:
            return first
        check_points(schedule[:1], map(str, first.passed))
        self.plan.known.update(dict.fromkeys(first.passed))
        run = self.tries.carry_out(schedule)
        self._take(run)
        return run

    def verdict(self, seconds: float) -> Verdict:
        """What can be said now."""
        return Verdict(
            agent=self.agent.name,
            crash_points=len(self.plan.known),
            tries=self.done,
            kills=self.kills,
            lives=len(self.tries.lived),
            seconds=seconds,
            accepted=accepted_text(self.accepted),
            not_covered=(
                *(
                    f"what follows once a person has settled {step!r}, held in {n} tries"
                    for step, n in self.held.items()
                ),
                *self.plan.not_covered(),
                *self.uncovered,
            ),
            reasons=tuple(dict.fromkeys([*self.reasons, *not_met(self.options.faults, self.met)])),
            notes=(*self.notes, *self.races.told()),
            findings=merge(self.findings),
            steps=safety_of(self.baseline, self.deduplicated, self.held),
        )

    def _without_kill(self) -> Try:
        """What the planned faults do without a kill: the baseline, where there are none."""
        if not self.options.faults:
            return self.baseline
        run = self.tries.carry_out(())
        self._take(run)
        return run

    def _take(self, run: Try) -> None:
        self.done += 1
        self.met.update(text for texts in run.met.values() for text in texts)
        self._note(run)
        text = format_schedule(run.schedule)
        if run.missed is not None:
            self.reasons.append(
                f"a planned kill did not fire: no life passed {run.missed}" + (f" after {text}" if text else "")
            )
        if run.held:
            self.held[run.held] += 1
        elif run.finished is None and (run.lives[-1].report is None or run.lives[-1].report.outcome == "suspended"):
            self.reasons.append(f"under {text!r}, {_unfinished(run)}")
        elif run.finished is None and run.lives[-1].spec.number in run.met:
            where = f"under {text!r}" if text else "without any kill"
            self.reasons.append(f"{where}, {_unfinished(run)}, by a fault in each of its lives")

    def _note(self, run: Try) -> None:
        if run.replay is not None and run.replay.unplanned is not None:
            self.reasons.append(
                f"under {format_schedule(run.schedule)!r}, {unplanned_text(run.replay, run.log)}, in a replay"
            )
        self.kills += run.kills
        self.races.note(run)
        self.deduplicated |= {row.step for row in run.rows if row.step and row.outcome == "deduplicated"}
        judgement = self.judge.judge(run)
        self.findings += judgement.findings
        self.accepted += judgement.accepted


def _unfinished(run: Try) -> str:
    last = run.lives[-1]
    if last.unplanned is not None:
        return unplanned_text(last, run.log)
    if last.report is not None and last.report.outcome == "suspended":
        step = last.report.waits_for
        return f"the run waits for {step!r}; give the answer with --deliver {step}=JSON"
    error = last.report.error if last.report else ""
    where = f" ({last.report.where})" if last.report and last.report.where else ""
    return f"the agent raised {error}{where}"


def unplanned_text(life: LifeEnd, log: str) -> str:
    """How a life died that nobody had planned to end, and the last it said."""
    said = log.strip().rsplit("\n", 1)[-1]
    return f"life {life.spec.number} {life.unplanned}" + (f"; it last said: {said}" if said else "")


def not_met(planned: Iterable[str], met: Collection[str]) -> list[str]:
    """Why nothing can be said of faults that were planned and did not strike."""
    return [
        f"the planned fault {text} did not strike: no life came to such a call or write"
        for text in planned
        if text not in met
    ]


def accepted_text(surplus: list[Surplus]) -> tuple[str, ...]:
    """What was accepted by name, in numbers."""
    if not surplus:
        return ()
    most = max(tokens([one.row]) for one in surplus)
    return (f"{IN_FLIGHT}: {len(surplus)} answers lost on their way, one call per crash, {most} tokens at most each",)


def _fast_folder() -> str | None:
    """Memory, where there is some to keep files in: a SIGKILL loses nothing that the kernel has."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - a fresh 0700 folder is made in it
