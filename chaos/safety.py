"""Why each step is safe, and the guarantee that it reaches: its record, its provider, being read-only, or luck."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from chaos.life import Try
from durable_core.entries import OUTCOMES, Entry
from fakes import Row

ONCE = "effectively exactly once"
AT_LEAST_ONCE = "at least once"
AT_MOST_ONCE = "at most once"


@dataclass(frozen=True, slots=True)
class Safety:
    """What keeps one step from harm. `why` is in words; `guarantee` is the best that can be said of its effect."""

    step: str
    why: str
    guarantee: str


def safety_of(baseline: Try, deduplicated: Collection[str], held: Collection[str]) -> tuple[Safety, ...]:
    """Each recorded step of a run without a crash, in order.

    Args:
        baseline: a run without a crash.
        deduplicated: steps of which a provider has recognised a repeated call in some life.
        held: effects of unknown outcome that a life has stopped at.
    """
    intents = {entry.step_id for entry in baseline.entries if entry.kind == "intent"}
    found = []
    for entry in baseline.entries:
        if entry.kind in OUTCOMES:
            rows = [row for row in baseline.rows if row.step == entry.step_id]
            found.append(_safety(entry, rows, entry.step_id in intents, entry.step_id in deduplicated, held))
    return tuple(found)


def summary_of(steps: Iterable[Safety]) -> list[str]:
    """A line for each reason, with the steps that it holds for; loops are told as `write:*`."""
    by_reason: dict[tuple[str, str], dict[str, int]] = {}
    for one in steps:
        names = by_reason.setdefault((one.why, one.guarantee), {})
        name = re.sub(r"\d+", "*", one.step)
        names[name] = names.get(name, 0) + 1
    return [
        f"{why}, {guarantee}: {', '.join(map(_times, *zip(*names.items(), strict=True)))}"
        for (why, guarantee), names in by_reason.items()
    ]


def _times(name: str, number: int) -> str:
    return f"{name} ({number})" if number > 1 else name


def _safety(entry: Entry, rows: list[Row], intended: bool, deduplicated: bool, held: Collection[str]) -> Safety:  # noqa: FBT001, PLR0911
    step = entry.step_id
    costly = [row for row in rows if row.nature != "reads"]
    if not entry.fingerprint:
        return Safety(step, "delivered once from outside", ONCE)
    if not rows:
        return Safety(step, "its record", ONCE)
    if not costly:
        return Safety(step, "read-only", AT_LEAST_ONCE)
    if step in held:
        return Safety(step, "held for a person", AT_MOST_ONCE)
    if intended:
        return Safety(step, "asks before it sends again", ONCE)
    if deduplicated:
        return Safety(step, "the provider deduplicates on its key", ONCE)
    if all(row.key for row in costly):
        return Safety(step, "luck: no crash has put its key to the test", AT_LEAST_ONCE)
    return Safety(step, "luck: it has no key", AT_LEAST_ONCE)
