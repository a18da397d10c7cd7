"""Checks of the calls: nothing happens twice, in vain or never, and no answer is paid for again."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import groupby

from chaos.accounts import Surplus, lost_by_baseline, lost_by_records, tokens
from chaos.causes import cause_of_surplus, done
from chaos.checks.case import Case, Fact
from chaos.money import price
from chaos.points import Window, place_of_step
from fakes import Row


def effects(case: Case) -> Iterator[Fact]:
    """An effect happens as often as its step, under one step id and one key, and a record comes of it."""
    acting = sorted((one for one in case.surplus if one.row.nature == "acts"), key=_subject)
    for (step, operation, target), group in groupby(acting, key=_subject):
        extra = list(group)
        cause, fix = cause_of_surplus(extra[0], case.agent)
        again = extra[0].again
        renamed = None if again else _under_another_step(case, extra[0].row)
        expected = 0 if again is None and renamed is None else 1
        if renamed is not None:
            cause = f"its step was called {step!r} in one life and {renamed.step!r} in another, so no record was found"
            fix = "make step ids of position: f'send:{index}', never of time, uuid, random or set order"
        yield Fact(
            check=_name(extra[0], renamed),
            step=step or operation,
            text=f"{done(operation, target)} {_times(len(extra) + expected)}, expected {expected}",
            cause=cause,
            fix=fix,
            damage=len(extra),
            concerns=partial(_is_alike, extra[0].row) if renamed is None else partial(_same_request, extra[0].row),
        )


def re_spent_tokens(case: Case) -> Iterator[Fact]:
    """No answer is paid for again."""
    billed = [one for one in case.surplus if one.row.nature == "bills"]
    if not billed:
        return
    again = tokens(one.row for one in billed)
    paid = tokens(row for row in case.run.rows if row.outcome == "applied")
    worst = max((one.row for one in billed), key=lambda row: tokens([row]))
    one_step = worst.step is not None and all(one.row.step == worst.step for one in billed)
    where = f"in step {worst.step!r}" if one_step else f"in {len(billed)} call{'s' if len(billed) > 1 else ''}"
    cost = price(case.model, [one.row for one in billed])
    cause, fix = cause_of_surplus(billed[0], case.agent)
    ids = {one.row.id for one in billed} | {one.again.id for one in billed if one.again}
    yield Fact(
        check="re-spent-tokens",
        step=worst.step or f"{worst.provider}.{worst.operation}",
        text=f"{again:,} tokens{cost} were paid again {where}: {paid:,} in all, where {paid - again:,} were needed",
        cause=cause,
        fix=fix,
        damage=again,
        concerns=lambda row: row.id in ids,
    )


def lost_effects(case: Case) -> Iterator[Fact]:
    """What is recorded as done, or was due, is known to its provider."""
    if case.run.finished is None:
        return
    lost = lost_by_records if case.agent.takes_run else lost_by_baseline
    for row in lost(case.run, case.baseline):
        operation = f"{row.provider}.{row.operation}"
        yield Fact(
            check="lost-effect",
            step=row.step or operation,
            text=f"{done(operation, row.target)} {_times(0)}, expected 1",
            cause="it was noted as done before it was done, and the life ended in between",
            fix="record the effect after it has happened, and give it an idempotency key for the time in between",
            concerns=partial(_is_alike, row),
        )


def one_key_two_bodies(case: Case) -> Iterator[Fact]:
    """A retry is the same request: one key never carries two bodies."""
    keyed = sorted((row for row in case.run.rows if row.key), key=lambda row: (row.provider, row.key or "", row.id))
    for (provider, key), group in groupby(keyed, key=lambda row: (row.provider, row.key)):
        rows = list(group)
        bodies = {row.body for row in rows}
        if len(bodies) < 2:  # noqa: PLR2004 - two bodies are what it is about
            continue
        last = rows[-1]
        answer = "refused" if any(row.outcome == "refused" for row in rows) else "answered with the first result"
        yield Fact(
            check="one-key-two-bodies",
            step=last.step or f"{provider}.{last.operation}",
            text=f"{provider} was sent {len(bodies)} different bodies under the key {key!r}, and {answer}",
            cause="something in the request differs from life to life",
            fix="make what the request is built from (the time, an answer) a recorded step, and the retry is equal",
            concerns=lambda row, ids=frozenset(row.id for row in rows): row.id in ids,  # type: ignore[misc]
        )


def executed_again(case: Case) -> Iterator[Fact]:
    """A step whose record has landed is not executed again."""
    landed: dict[str, int] = {}
    for life in case.run.lives:
        for point in life.trace:
            if point.window is Window.RECORDED:
                landed.setdefault(point.place, life.spec.number)
    for row in case.run.rows:
        if row.step is not None and row.life > landed.get(place_of_step(row.step), row.life):
            yield Fact(
                check="executed-again",
                step=row.step,
                text=f"step {row.step!r} was executed again in life {row.life}, although life "
                f"{landed[place_of_step(row.step)]} had recorded it",
                cause="the store has lost the record, or does not give it back",
                fix="hold the store against durable_core.conformance; a record is durable when append returns",
                concerns=partial(_is_alike, row),
            )
            return


def _name(surplus: Surplus, renamed: Row | None) -> str:
    if renamed is not None:
        return "unstable-step-id"
    if surplus.again is None:
        return "phantom-effect"
    row, again = surplus.row, surplus.again
    return "unstable-key" if row.key and again.key and row.key != again.key else "duplicate-effect"


def _under_another_step(case: Case, row: Row) -> Row | None:
    """The same request, made and recorded in a later life under another step id."""
    if row.step is None or row.step in case.run.recorded:
        return None
    others = (other for other in case.run.rows if other.life > row.life and other.outcome == "applied")
    return next((other for other in others if other.step != row.step and _same_request(row, other)), None)


def _subject(surplus: Surplus) -> tuple[str, str, str]:
    row = surplus.row
    return row.step or "", f"{row.provider}.{row.operation}", row.target


def _same_request(one: Row, other: Row) -> bool:
    return (one.provider, one.operation, one.target, one.body) == (
        other.provider,
        other.operation,
        other.target,
        other.body,
    )


def _is_alike(one: Row, other: Row) -> bool:
    subject, same = ((row.step, row.provider, row.operation, row.target) for row in (one, other))
    return subject == same


def _times(number: int) -> str:
    return f"{number} time" if number == 1 else f"{number} times"
