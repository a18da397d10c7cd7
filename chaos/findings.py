"""A finding: a difference that matters, with its story, cause, fix and the command that reproduces it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from chaos.points import Schedule, format_schedule

CHECKS = {
    "duplicate-effect": "an effect happened more often than its step",
    "unstable-key": "an effect happened again, because its idempotency key changed from life to life",
    "unstable-step-id": "an effect happened again, because its step had another id in another life",
    "phantom-effect": "an effect happened that no record ever came from",
    "lost-effect": "an effect is recorded, or was due, and the provider does not know of it",
    "re-spent-tokens": "tokens were paid for an answer that was paid for before",
    "one-key-two-bodies": "one idempotency key was sent with two different requests",
    "key-collision": "two runs sent the same idempotency key, so one of them lost its effect",
    "executed-again": "a step was executed although its record had landed",
    "replay-differs": "the finished run does not replay from its records to the same result",
    "other-outcome": "the run ended with another result than without a crash",
    "does-not-end": "the run does not end, however often it is resumed",
    "swallowed-signal": "the agent caught what tells a run to stop, and went on",
    "not-as-expected": "the run ended otherwise than its author expects",
    "checkpoint-growth": "the checkpoint grows with the square of the run",
    "secret-at-rest": "a known secret stands in the checkpoint",
}
"""Everything a run is held against, by the name a finding carries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is wrong.

    Attributes:
        check: a name in `CHECKS`.
        agent: the short name of the agent.
        step: the step id, or the provider's operation where there is no step.
        schedule: the shortest one under which it happened.
        fact: what happened, in numbers.
        cause: why it could happen.
        fix: what to write instead.
        reproduce: the command that shows it again.
        story: what each life did about it, a line each.
        damage: tokens or effects too many; the worst of equals is shown.
        rank: how far each life came before its kill; of equals the last window is shown, which is the hardest to see.
        also: how many other schedules showed the same.
        source: what of the surroundings it depends on, where that is known: `clock`, `random`, ...
    """

    check: str
    agent: str
    step: str
    schedule: Schedule
    fact: str
    cause: str
    fix: str
    reproduce: str
    story: tuple[str, ...] = ()
    damage: int = 0
    rank: tuple[int, ...] = ()
    also: int = field(default=0, compare=False)
    source: str = ""

    @property
    def window(self) -> str:
        """The window of the last kill; empty when there was none."""
        return str(self.schedule[-1].window) if self.schedule else ""

    @property
    def kind(self) -> tuple[str, str, str]:
        """Findings of one kind are one finding: a loop's step `send:3` is mended in the way `send:4` is."""
        return self.check, _without_numbers(self.step), _without_numbers(self.fix)

    def as_json(self) -> dict[str, object]:
        """Plain data for `--format json`."""
        return {
            "check": self.check,
            "step": self.step,
            "window": self.window,
            "schedule": format_schedule(self.schedule),
            "fact": self.fact,
            "cause": self.cause,
            "fix": self.fix,
            "reproduce": self.reproduce,
            "story": list(self.story),
            "also": self.also,
            "source": self.source,
        }


def merge(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """One finding of each kind: the shortest schedule, of those the worst damage, of those the latest window."""
    best: dict[tuple[str, str, str], Finding] = {}
    for finding in findings:
        known = best.get(finding.kind)
        if known is None:
            best[finding.kind] = finding
            continue
        shown = min(known, finding, key=_severity)
        best[finding.kind] = replace(shown, also=known.also + finding.also + 1)
    order = list(CHECKS)
    return tuple(sorted(best.values(), key=lambda finding: (order.index(finding.check), _severity(finding))))


def _severity(finding: Finding) -> tuple[int, int, tuple[int, ...], str]:
    latest = tuple(-passed for passed in finding.rank)
    return len(finding.schedule), -finding.damage, latest, format_schedule(finding.schedule)


def _without_numbers(text: str) -> str:
    return re.sub(r"\d+", "*", text)
