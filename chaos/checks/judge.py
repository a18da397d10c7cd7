"""The judge: holds one try against every check."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from chaos.accounts import Surplus, surplus_by_baseline, surplus_by_records
from chaos.agent import Subject
from chaos.checks import calls, ends, records
from chaos.checks.case import Case, Check, Expected, Fact
from chaos.checks.runs import keys_of_two_runs
from chaos.findings import Finding
from chaos.life import Try
from chaos.points import format_schedule
from chaos.story import tell

IN_FLIGHT = "in-flight"
"""Accepted by name: at a provider without keys, each crash may lose the one answer that was on its way."""

_CHECKS: tuple[Check, ...] = (
    calls.effects,
    calls.re_spent_tokens,
    calls.lost_effects,
    calls.one_key_two_bodies,
    calls.executed_again,
    ends.replay,
    ends.outcome,
    ends.end,
    ends.swallowed,
    ends.expected,
    records.growth,
    records.secrets,
)


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
        reproduce: spells the command that shows a schedule again.
        accept: what is accepted by name.
        secrets: values that may not be at rest, by name.
        expected: the author's own oracle.
        model: whose prices the tokens have.
    """

    agent: Subject
    baseline: Try
    reproduce: Callable[[str], str]
    accept: frozenset[str] = frozenset()
    secrets: Mapping[str, str] = field(default_factory=dict)
    expected: Expected | None = None
    model: str | None = None

    def judge(self, run: Try) -> Judgement:
        """All findings of one try."""
        surplus = self.surplus(run)
        accepted = tuple(one for one in surplus if self._is_accepted(one))
        case = Case(
            agent=self.agent,
            run=run,
            baseline=self.baseline,
            surplus=tuple(one for one in surplus if one not in accepted),
            secrets=self.secrets,
            expected=self.expected,
            model=self.model,
        )
        facts = [fact for check in _CHECKS for fact in check(case)]
        return Judgement(tuple(self._finding(run, fact) for fact in facts), accepted)

    def judge_other_run(self, run: Try) -> tuple[Finding, ...]:
        """The findings of a second run with the same providers: no key of it may have been a key of the first."""
        return tuple(self._finding(run, fact) for fact in keys_of_two_runs(run))

    def surplus(self, run: Try) -> list[Surplus]:
        """The calls of a run that ended, of those that billed or acted in vain."""
        if run.finished is None and run.held is None:
            return []  # what is in vain is known at the end only; that there is none is a finding of its own
        return surplus_by_records(run) if self.agent.takes_run else surplus_by_baseline(run, self.baseline)

    def _is_accepted(self, surplus: Surplus) -> bool:
        return IN_FLIGHT in self.accept and surplus.in_flight and surplus.row.nature == "bills"

    def _finding(self, run: Try, fact: Fact) -> Finding:
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
