"""Checks: what one try is held against. Each returns its findings; none is content with silence."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
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


def _nothing(_: Row) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fact:
    """What a check has found; `concerns` chooses the calls that its story tells of."""

    check: str
    text: str
    cause: str
    fix: str
    step: str = ""
    damage: int = 1
    concerns: Callable[[Row], bool] = _nothing


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
        surplus = self.surplus(run)
        accepted = tuple(one for one in surplus if self._is_accepted(one))
        facts = [
            *self._effects(run, [one for one in surplus if one.row.nature == "acts"]),
            *self._tokens(run, [one for one in surplus if one.row.nature == "bills" and one not in accepted]),
            *self._lost(run),
            *_replay(run),
            *self._outcome(run),
            *_end(run),
        ]
        return Judgement(tuple(self._finding(run, fact) for fact in facts), accepted)

    def surplus(self, run: Try) -> list[Surplus]:
        """The calls of a run that ended, of those that billed or acted in vain."""
        if run.finished is None and run.held is None:
            return []  # what was in vain is known at the end only; that there is none is a finding of its own
        return surplus_by_records(run) if self.agent.takes_run else surplus_by_baseline(run, self.baseline)

    def _is_accepted(self, surplus: Surplus) -> bool:
        return IN_FLIGHT in self.accept and surplus.in_flight and surplus.row.nature == "bills"

    def _effects(self, run: Try, surplus: list[Surplus]) -> Iterator[_Fact]:
        for (step, operation, target), group in groupby(sorted(surplus, key=_subject), key=_subject):
            extra = list(group)
            cause, fix = cause_of_surplus(extra[0], self.agent)
            again = extra[0].again
            expected = 0 if again is None else sum(row.id == again.id for row in run.rows)
            yield _Fact(
                check="phantom-effect" if again is None else "duplicate-effect",
                step=step or operation,
                text=f"{done(operation, target)} {_times(len(extra) + expected)}, expected {expected}",
                cause=cause,
                fix=fix,
                damage=len(extra),
                concerns=partial(_is_alike, extra[0].row),
            )

    def _tokens(self, run: Try, surplus: list[Surplus]) -> Iterator[_Fact]:
        if not surplus:
            return
        again = tokens(one.row for one in surplus)
        paid = tokens(row for row in run.rows if row.outcome == "applied")
        worst = max((one.row for one in surplus), key=lambda row: tokens([row]))
        one_step = worst.step is not None and all(one.row.step == worst.step for one in surplus)
        where = f"in step {worst.step!r}" if one_step else f"in {len(surplus)} call{'s' if len(surplus) > 1 else ''}"
        cause, fix = cause_of_surplus(surplus[0], self.agent)
        ids = {one.row.id for one in surplus} | {one.again.id for one in surplus if one.again}
        yield _Fact(
            check="re-spent-tokens",
            step=worst.step or f"{worst.provider}.{worst.operation}",
            text=f"{again:,} tokens were paid again {where}: {paid:,} in all, where {paid - again:,} were needed",
            cause=cause,
            fix=fix,
            damage=again,
            concerns=lambda row: row.id in ids,
        )

    def _lost(self, run: Try) -> Iterator[_Fact]:
        if run.finished is None:
            return
        lost = lost_by_records if self.agent.takes_run else lost_by_baseline
        for row in lost(run, self.baseline):
            operation = f"{row.provider}.{row.operation}"
            yield _Fact(
                check="lost-effect",
                step=row.step or operation,
                text=f"{done(operation, row.target)} {_times(0)}, expected 1",
                cause="it was noted as done before it was done, and the life ended in between",
                fix="record the effect after it has happened, and give it an idempotency key for the time in between",
                concerns=partial(_is_alike, row),
            )

    def _outcome(self, run: Try) -> Iterator[_Fact]:
        """Without records the result of the baseline is the measure; the fakes answer both runs equally."""
        if self.agent.takes_run or run.finished is None or self.baseline.finished is None:
            return
        ended, expected = run.finished.report, self.baseline.finished.report
        if ended and expected and ended.result != expected.result:
            yield _Fact(
                check="other-outcome",
                text=f"the run ended with {ended.shown}; without a crash it ends with {expected.shown}",
                cause="the resumed run went on from another state than the killed one had reached",
                fix="record each finished step and go on from the records",
            )

    def _finding(self, run: Try, fact: _Fact) -> Finding:
        return Finding(
            check=fact.check,
            agent=self.agent.short,
            step=fact.step,
            schedule=run.schedule,
            fact=fact.text,
            cause=fact.cause,
            fix=fact.fix,
            reproduce=self.reproduce(format_schedule(run.schedule)),
            story=tell(run, fact.step or "run", fact.concerns),
            damage=fact.damage,
            rank=tuple(len(life.trace) for life in run.lives if life.killed_at),
        )


def _replay(run: Try) -> Iterator[_Fact]:
    """A further life on the finished run gives its result and asks for its records, neither more nor less."""
    if run.replay is None or run.finished is None or run.finished.report is None:
        return
    report, first = run.replay.report, run.finished.report
    if report is None:
        return  # nobody planned that death; it makes the verdict inconclusive
    fix = "make every value that the path or the result depends on a recorded step: run.now, run.random, run.step"
    if report.outcome != "finished":
        cause, fix = cause_of_error(report.error, fix)
        text = f"a replay of the finished run does not come to its end: {report.error or report.outcome}"
    elif report.result != first.result:
        text = f"a replay of the finished run gives {report.shown}, the run itself gave {first.shown}"
        cause = "the result holds a value that is not recorded, such as the time, a choice or an environment variable"
    elif report.unasked:
        text = f"a replay of the finished run does not ask for the records of {', '.join(report.unasked)}"
        cause = "step ids, or the path, differ from life to life"
    else:
        return
    yield _Fact(check="replay-differs", text=text, cause=cause, fix=fix)


def _end(run: Try) -> Iterator[_Fact]:
    """A run that was killed comes to its end in the lives that follow."""
    last = run.lives[-1].report
    if last is None or last.outcome != "raised" or not run.schedule:
        return
    cause, fix = cause_of_error(last.error, "let a resumed life go on from what the killed one left behind")
    yield _Fact(
        check="does-not-end",
        text=f"the run does not end: it is resumed again and again, and every life fails with {last.error}"
        + (f" ({last.where})" if last.where else ""),
        cause=cause,
        fix=fix,
        concerns=lambda row: row.outcome in ("refused", "failed"),
    )


def _times(number: int) -> str:
    return f"{number} time" if number == 1 else f"{number} times"


def _subject(surplus: Surplus) -> tuple[str, str, str]:
    row = surplus.row
    return row.step or "", f"{row.provider}.{row.operation}", row.target


def _is_alike(one: Row, other: Row) -> bool:
    subject, same = ((row.step, row.provider, row.operation, row.target) for row in (one, other))
    return subject == same
