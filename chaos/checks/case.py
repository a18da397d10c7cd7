"""What a check is given, and what it says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from chaos.accounts import Surplus
from chaos.agent import Subject
from chaos.life import Try
from fakes import Row


def nothing(_: Row) -> bool:
    """No call concerns a finding that is not about calls."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """What a check has found. `concerns` chooses the calls that its story tells of; the worst `damage` is shown."""

    check: str
    text: str
    cause: str
    fix: str
    step: str = ""
    damage: int = 1
    concerns: Callable[[Row], bool] = nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One run, with what it is held against.

    Attributes:
        agent: under test.
        run: the try that is judged.
        baseline: a run with no kill.
        surplus: the calls of the run that nothing accounts for, and that are not accepted.
        secrets: values that may not be at rest, by the names of their environment variables.
        expected: the author's own oracle, if there is one.
        model: whose prices the tokens have, if money is told.
    """

    agent: Subject
    run: Try
    baseline: Try
    surplus: tuple[Surplus, ...]
    secrets: Mapping[str, str] = field(default_factory=dict)
    expected: Expected | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """A finished run, as `expected=` is shown it.

    Attributes:
        result: what the agent returned, as text.
        rows: the ledger.
        effects: how often each (provider, operation, target) was acted on.
    """

    result: str
    rows: tuple[Row, ...]
    effects: Mapping[tuple[str, str, str], int]


Expected = Callable[[Ending], object]
"""Raises AssertionError, or returns False, when a finished run is not as its author expects it."""

Check = Callable[[Case], Iterator[Fact]]
