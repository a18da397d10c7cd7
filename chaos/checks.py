"""Checks: what one try is held against. Each returns its findings; none is content with silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

from chaos.accounts import (
    Surplus,
    lost_by_baseline,
    lost_by_records,
    surplus_by_baseline,
    surplus_by_records,
    tokens,
)
from chaos.agent import Agent
from chaos.causes import cause_of_error, cause_of_surplus, done
from chaos.findings import Finding
from chaos.points import format_schedule
from chaos.story import tell
from chaos.tries import Try
from fakes import Row

IN_FLIGHT = "in-flight"
"""Accepted by name: at a provider without keys, each crash may lose the one answer that was on its way."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """What was found in one try, and what was accepted instead of being found."""

    findings: tuple[Finding, ...]
    accepted: tuple[Surplus, ...] = ()


@dataclass(frozen=True, slots=True)
class Judge:
    """Holds tries of one agent against its baseline.

    Attributes:
        agent: under test.
        baseline: a run with no kill.
        accept: what is accepted by name.
        reproduce: spells the command that shows a schedule again.
    """

    agent: Agent
    baseline: Try
    accept: frozenset[str]
    reproduce: Callable[[str], str]

    def judge(self, run: Try) -> Judgement:
        """All findings of one try."""
        surplus = self._surplus(run)
        accepted = tuple(one for one in surplus if self._is_accepted(one))
        findings = [
            *self._effects(run, [one for one in surplus if one.row.nature == "acts"]),
            *self._tokens(run, [one for one in surplus if one.row.nature == "bills" and one not in accepted]),
            *self._lost(run),
            *self._replay(run),
            *self._outcome(run),
            *self._end(run),
        ]
        return Judgement(tuple(findings), accepted)

    def _surplus(self, run: Try) -> list[Surplus]:
        if run.finished is None:
            return []  # what is in vain is known at the end only; that there is none is a finding of its own
        return surplus_by_records(run) if self.agent.takes_run else surplus_by_baseline(run, self.baseline)

    def _is_accepted(self, surplus: Surplus) -> bool:
        return IN_FLIGHT in self.accept and surplus.in_flight and surplus.row.nature == "bills"

    def _effects(self, run: Try, surplus: list[Surplus]) -> Iterator[Finding]:
        for (step, operation, target), group in groupby(sorted(surplus, key=_subject), key=_subject):
            extra = list(group)
            cause, fix = cause_of_surplus(extra[0], self.agent)
            if extra[0].again is None:
                check, fact = "phantom-effect", f"{done(operation, target)}, and no record ever came of it"
            else:
                times = len(extra) + sum(row.id == extra[0].again.id for row in run.rows)
                check = "duplicate-effect"
                fact = f"{done(operation, target)} {times} times, expected {times - len(extra)}"
            yield self._finding(
                run, check, step or operation, fact, cause, fix, len(extra), lambda row, e=extra[0].row: _alike(row, e)
            )

    def _tokens(self, run: Try, surplus: list[Surplus]) -> Iterator[Finding]:
        if not surplus:
            return
        again = tokens(one.row for one in surplus)
        paid = tokens(row for row in run.rows if row.outcome == "applied")
        worst = max(surplus, key=lambda one: tokens([one.row])).row
        steps = {one.row.step for one in surplus}
        where = f"in step {worst.step!r}" if len(steps) == 1 and worst.step else f"in {len(surplus)} calls"
        cause, fix = cause_of_surplus(surplus[0], self.agent)
        ids = {one.row.id for one in surplus} | {one.again.id for one in surplus if one.again}
        yield self._finding(
            run,
            "re-spent-tokens",
            worst.step or f"{worst.provider}.{worst.operation}",
            f"{again} tokens were paid again {where}: {paid} in all, where {paid - again} were needed",
            cause,
            fix,
            again,
            lambda row: row.id in ids,
        )

    def _lost(self, run: Try) -> Iterator[Finding]:
        if run.finished is None:
            return
        lost = lost_by_records if self.agent.takes_run else lost_by_baseline
        for row in lost(run, self.baseline):
            yield self._finding(
                run,
                "lost-effect",
                row.step or f"{row.provider}.{row.operation}",
                f"{done(f'{row.provider}.{row.operation}', row.target)} 0 times, expected 1",
                "it was noted as done before it was done, and the life ended in between",
                "record the effect after it has happened, and give it an idempotency key for the time in between",
                1,
                lambda other, lost=row: _alike(other, lost),
            )

    def _replay(self, run: Try) -> Iterator[Finding]:
        if run.replay is None or run.finished is None or run.finished.report is None:
            return
        report, first = run.replay.report, run.finished.report
        fix = "make every value that the path or the result depends on a recorded step: run.now, run.random, run.uuid, run.step"
        if report is None or report.outcome != "finished":
            error = report.error if report else run.replay.unplanned or ""
            cause, fix = cause_of_error(error, fix)
            fact = f"a replay of the finished run does not come to its end: {error}"
        elif report.result != first.result:
            fact = f"a replay of the finished run gives {report.shown}, the run itself gave {first.shown}"
            cause = "the result holds a value that is not recorded, such as the time, a random choice or an environment variable"
        elif report.unasked:
            fact = f"a replay of the finished run does not ask for the records of {', '.join(report.unasked)}"
            cause = "step ids, or the path, differ from life to life"
        else:
            return
        yield self._finding(run, "replay-differs", "", fact, cause, fix, 1, lambda _: False)

    def _outcome(self, run: Try) -> Iterator[Finding]:
        """Without records the result of the baseline is the measure; the fakes answer both runs equally."""
        if self.agent.takes_run or run.finished is None or run.finished.report is None:
            return
        expected = self.baseline.finished.report if self.baseline.finished else None
        if expected is not None and run.finished.report.result != expected.result:
            yield self._finding(
                run,
                "other-outcome",
                "",
                f"the run ended with {run.finished.report.shown}; without a crash it ends with {expected.shown}",
                "the resumed run went on from another state than the killed one had reached",
                "record each finished step and go on from the records",
                1,
                lambda _: False,
            )

    def _end(self, run: Try) -> Iterator[Finding]:
        last = run.lives[-1]
        if run.finished is not None or last.report is None or last.report.outcome != "raised" or not run.schedule:
            return
        cause, fix = cause_of_error(last.report.error, "let a resumed life go on from what the killed one left behind")
        lives = len(run.lives) - run.kills
        yield self._finding(
            run,
            "does-not-end",
            "",
            f"the run does not end: {lives} further lives all failed, the last with {last.report.error}"
            f"{f' ({last.report.where})' if last.report.where else ''}",
            cause,
            fix,
            1,
            lambda row: row.outcome in ("refused", "failed"),
        )

    def _finding(
        self,
        run: Try,
        check: str,
        step: str,
        fact: str,
        cause: str,
        fix: str,
        damage: int,
        concerns: Callable[[Row], bool],
    ) -> Finding:
        killed = [life for life in run.lives if life.killed_at]
        return Finding(
            check=check,
            agent=self.agent.short,
            step=step,
            schedule=run.schedule,
            fact=fact,
            cause=cause,
            fix=fix,
            reproduce=self.reproduce(format_schedule(run.schedule)),
            story=tell(run, step or "run", concerns),
            damage=damage,
            rank=len(killed[-1].trace) if killed else 0,
        )


def _subject(surplus: Surplus) -> tuple[str, str, str]:
    row = surplus.row
    return row.step or "", f"{row.provider}.{row.operation}", row.target


def _alike(row: Row, other: Row) -> bool:
    return (row.step, row.provider, row.operation, row.target) == (
        other.step,
        other.provider,
        other.operation,
        other.target,
    )
