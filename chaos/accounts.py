"""Accounts: which provider calls of a try are accounted for, and which were made in vain.

A run is held against its own finished checkpoint and ledger, never against the wording or the size of another run.
Only where no records can be seen, because the agent does not work through a `Run`, is the baseline the measure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from chaos.faults import answer_lost, is_wasted
from chaos.life import Try
from chaos.points import Window, place_of_step
from fakes import Row


@dataclass(frozen=True, slots=True)
class Surplus:
    """An applied call that billed or acted and that nothing accounts for.

    Attributes:
        row: the call.
        again: the call that did the same once more and is accounted for; None when there is none.
        in_flight: a life ended by a crash or a fault while this was the last call of its step, so the answer was lost
            on its way.
    """

    row: Row
    again: Row | None
    in_flight: bool


def surplus_by_records(run: Try) -> list[Surplus]:
    """What the checkpoint of a run that finished, or is held, does not account for.

    For each step, the calls of the life that wrote its record count; so does the call that one of them was
    deduplicated onto. A record that came from a look-up stands for the last call of an earlier life. An effect that is
    held may have happened once.
    """
    found: list[Surplus] = []
    recorded_in = _recording_lives(run)
    for step, rows in _by_step(run.rows).items():
        life = recorded_in.get(step)
        if life is None and step in run.recorded:
            life = rows[-1].life  # another thread was killed between this record and the sight of it
        counted = {row.id for row in _costly(rows)[:1]} if step == run.held else _counted(rows, life)
        found += _surplus(run, rows, counted)
    return sorted(found, key=lambda surplus: surplus.row.id)


def surplus_by_baseline(run: Try, baseline: Try) -> list[Surplus]:
    """What a run without a kill did not need, counted by what was asked of whom. The last calls are the ones kept."""
    needed = Counter(map(_request, _costly(baseline.rows)))
    counted: set[int] = set()
    for row in sorted(_costly(run.rows), key=lambda row: -row.id):
        if needed[_request(row)] > 0:
            needed[_request(row)] -= 1
            counted.add(row.id)
    return _surplus(run, list(run.rows), counted)


def lost_by_records(run: Try, baseline: Try) -> list[Row]:
    """Effects that are recorded as done, and that no provider knows of, by the baseline's row for them."""
    known = {row.step for row in run.rows if row.nature == "acts" and row.outcome in ("applied", "deduplicated")}
    return [
        row
        for row in baseline.rows
        if row.nature == "acts" and row.outcome == "applied" and row.step in run.recorded - run.delivered - known
    ]


def lost_by_baseline(run: Try, baseline: Try) -> list[Row]:
    """Effects of the baseline that this run has not had."""
    missing = Counter(map(_request, _acting(baseline.rows))) - Counter(map(_request, _acting(run.rows)))
    return [row for row in _acting(baseline.rows) if missing[_request(row)] > 0]


def agree(one: Try, other: Try) -> bool:
    """Whether two runs without a kill asked the same of the same providers."""
    return Counter(map(_request, _costly(one.rows))) == Counter(map(_request, _costly(other.rows)))


def tokens(rows: Iterable[Row]) -> int:
    """Tokens in and out together."""
    return sum(row.tokens_in + row.tokens_out for row in rows)


def _recording_lives(run: Try) -> dict[str | None, int]:
    """The number of the life that wrote the record of each step; for calls outside of steps, the life that finished."""
    lives: dict[str | None, int] = {}
    if run.finished is not None:
        lives[None] = run.finished.spec.number
    for life in run.lives:
        places = {point.place for point in life.trace if point.window is Window.RECORDED}
        for step in run.recorded:
            if place_of_step(step) in places:
                lives[step] = life.spec.number
    return lives


def _counted(rows: list[Row], life: int | None) -> set[int]:
    """The calls that a record came from, by id."""
    if life is None:
        return set()
    own = [row for row in rows if row.life == life and row.nature != "reads"]
    if own:
        wasted = {row.id for row in own if any(is_wasted(row, later) for later in _costly(own))}
        return {row.original or row.id for row in own if row.outcome in ("applied", "deduplicated")} - wasted
    earlier = [row.id for row in _costly(rows) if row.life < life]
    return set(earlier[-1:])


def _surplus(run: Try, rows: list[Row], counted: set[int]) -> list[Surplus]:
    kept = [row for row in rows if row.id in counted]
    return [Surplus(row, _twin(row, kept), _was_in_flight(run, row)) for row in _costly(rows) if row.id not in counted]


def _twin(row: Row, kept: list[Row]) -> Row | None:
    same_place = [other for other in kept if _place(other) == _place(row)]
    same_body = [other for other in same_place if other.body == row.body]
    return next(iter(same_body or same_place), None)


def _was_in_flight(run: Try, row: Row) -> bool:
    life = run.lives[row.life - 1] if row.life <= len(run.lives) else None
    if answer_lost(row):
        return True
    if life is None or (life.killed_at is None and row.life not in run.met):
        return False
    last = max(other.id for other in run.rows if other.life == row.life and other.step == row.step)
    return last == row.id


def _by_step(rows: Iterable[Row]) -> dict[str | None, list[Row]]:
    steps: dict[str | None, list[Row]] = defaultdict(list)
    for row in rows:
        steps[row.step].append(row)
    return steps


def _costly(rows: Iterable[Row]) -> list[Row]:
    return [row for row in rows if row.nature != "reads" and row.outcome == "applied"]


def _acting(rows: Iterable[Row]) -> list[Row]:
    return [row for row in _costly(rows) if row.nature == "acts"]


def _place(row: Row) -> tuple[str, str, str]:
    return row.provider, row.operation, row.target


def _request(row: Row) -> tuple[str, str, str, str]:
    """What is the same when a call is made again: an effect by whom it reaches, a paid answer by what was asked."""
    return (*_place(row), row.body if row.nature == "bills" else "")
