"""The story of a finding: what each life did about it, a line each."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import groupby

from chaos.life import LifeEnd, Try
from chaos.points import Window
from fakes import Row

_KILLED = {
    Window.BEFORE: "KILLED before the call",
    Window.APPLIED: "KILLED before the answer came back",
    Window.ANSWERED: "KILLED with the answer on its way",
    Window.UNRECORDED: "KILLED before the record",
    Window.RECORDED: "KILLED after the record",
}
_MOST_CALLS = 3
"""Calls of one life that are told one by one."""


def tell(run: Try, step: str, concerns: Callable[[Row], bool]) -> tuple[str, ...]:
    """The lives of a try, with those provider calls that concern the finding."""
    lives = [*run.lives, *([run.replay] if run.replay else [])]
    told = [(life.spec.number, _line(life, [row for row in _of_life(run, life) if concerns(row)])) for life in lives]
    lines = []
    for _, same in groupby((pair for pair in told if pair[1]), key=lambda pair: _alike(pair[1])):
        alike = list(same)
        first, last = alike[0][0], alike[-1][0]
        who = f"life {first}" if first == last else f"lives {first} to {last}"
        line = alike[0][1]
        lines.append(f"{who}  {line}" if line.startswith(step) else f"{who}  {step:<4}  {line}")
    return tuple(lines)


def _alike(line: str) -> str:
    """A line; without its numbers and made-up ids where a life has failed, for the next ones mostly fail alike."""
    return re.sub(r"[0-9a-f-]*\d[0-9a-f-]*", "*", line) if " raised " in line else line


def _of_life(run: Try, life: LifeEnd) -> list[Row]:
    return [row for row in run.rows if row.life == life.spec.number]


def _line(life: LifeEnd, rows: list[Row]) -> str:
    told = [_call(row) for row in rows[:_MOST_CALLS]]
    if len(rows) > _MOST_CALLS:
        more = len(rows) - _MOST_CALLS
        told.append(f"and {more} call{'s' if more > 1 else ''} more")
    return " · ".join([*told, *_end(life)])


def _call(row: Row) -> str:
    usage = f", {row.tokens_in + row.tokens_out} tokens" if row.nature == "bills" else ""
    outcome = f"deduplicated onto call {row.original}" if row.original else f"{row.outcome} as call {row.id}"
    fault = f" · FAULT {row.fault}" if row.fault else ""
    again = f" (retry {row.retry} of its client)" if row.retry else ""
    return f"{row.provider}.{row.operation} key={row.key or '-'}{again} → {outcome}{usage}{fault}"


def _end(life: LifeEnd) -> list[str]:
    if life.killed_at is not None:
        return [f"{_KILLED[life.killed_at.window]} ({life.killed_at})"]
    if life.unplanned:
        return [life.unplanned]
    if life.report and life.report.outcome == "raised":
        return [f"raised {life.report.error}"]
    return []
