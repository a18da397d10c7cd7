"""Strategies for Hypothesis: schedules over the real points of an agent, and faults; and the carrying out of one.

    @given(schedule=schedules(agent))
    def test_it_is_safe_under(schedule):
        assert_safe(agent, schedule)

A schedule is carried out in crash images, in this process, within milliseconds. Hypothesis comes with the extra
`crashwindow[hypothesis]`; this module alone imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import hypothesis
from hypothesis import strategies as st

from chaos.bench import RESTART, Bench, bench_for
from chaos.points import Point, Schedule, format_schedule
from chaos.report import verdict_text
from chaos.verdict import Verdict, Word

_NO_POLICIES: Mapping[str, str] = MappingProxyType({})
_KINDS = ("lost_after", "error_after_commit", "malformed", "lost_before", "server_error", "rate_limit")
"""What `faults` draws; not `slow`, which takes the time that it says."""


def schedules(
    agent: Callable[..., object] | Sequence[Point],
    *input: object,  # noqa: A002 - the word of design and CLI
    max_crashes: int = 3,
    policies: Mapping[str, str] = _NO_POLICIES,
) -> st.SearchStrategy[Schedule]:
    """Schedules of up to `max_crashes` crashes, each at a point that the life in question really passes.

    Crashes in recoveries are among them. A failing schedule shrinks to fewer crashes, and to earlier points. Where
    points are given instead of an agent, a schedule never goes back among them, and may name one that is not passed.
    """
    if not callable(agent):
        order = range(len(agent))
        return st.lists(st.sampled_from(order), max_size=max_crashes).map(
            lambda drawn: tuple(agent[index] for index in sorted(drawn))
        )

    @st.composite
    def drawn(draw: st.DrawFn) -> Schedule:
        bench = bench_for(agent, input, policies)  # at the first draw: its time is not that of the test
        schedule: Schedule = ()
        for _ in range(draw(st.integers(0, max_crashes))):
            points = bench.points_after(schedule)
            if not points:
                break
            schedule = (*schedule, draw(st.sampled_from(points)))
        return schedule

    return drawn()


def faults(
    agent: Callable[..., object],
    *input: object,  # noqa: A002 - the word of design and CLI
    max_faults: int = 2,
    policies: Mapping[str, str] = _NO_POLICIES,
) -> st.SearchStrategy[tuple[str, ...]]:
    """Up to `max_faults` faults, as text, each at a call or a write that the agent makes without a crash."""

    @st.composite
    def drawn(draw: st.DrawFn) -> tuple[str, ...]:
        texts = st.sampled_from(_texts(bench_for(agent, input, policies)))
        return tuple(draw(st.lists(texts, max_size=max_faults, unique_by=lambda text: text.rpartition(":")[0])))

    return drawn()


def judged(
    agent: Callable[..., object],
    schedule: Schedule,
    *input: object,  # noqa: A002 - the word of design and CLI
    faults: Sequence[str] = (),
    perturb: Sequence[str] = RESTART,
    policies: Mapping[str, str] = _NO_POLICIES,
) -> Verdict:
    """Carry out one schedule in this process, and judge what comes of it.

    Returns:
        The verdict: `safe within bounds` at best, since one schedule is not all of them; `inconclusive` where a crash
        or a fault of it did not happen.

    Raises:
        HarnessError: the agent shows no records, fails without a crash, or a fault cannot be read.
    """
    return bench_for(agent, input, policies).carry_out(schedule, tuple(faults), tuple(perturb)).verdict


def assert_safe(
    agent: Callable[..., object],
    schedule: Schedule,
    *input: object,  # noqa: A002 - the word of design and CLI
    faults: Sequence[str] = (),
    perturb: Sequence[str] = RESTART,
    policies: Mapping[str, str] = _NO_POLICIES,
) -> None:
    """Fail unless the agent is safe under one schedule.

    Where a crash or a fault of it did not happen, Hypothesis is told that the example means nothing.

    Raises:
        AssertionError: the verdict is `unsafe` or `inconclusive`; with all of its text.
        HarnessError: as for `judged`.
    """
    __tracebackhide__ = True
    carried = bench_for(agent, input, policies).carry_out(schedule, tuple(faults), tuple(perturb))
    verdict = carried.verdict
    if carried.missed and not verdict.findings and hypothesis.currently_in_test_context():
        hypothesis.reject()
    if verdict.word in (Word.UNSAFE, Word.INCONCLUSIVE):
        raise AssertionError(f"under {format_schedule(schedule)!r}\n{verdict_text(verdict)}")


def _texts(bench: Bench) -> list[str]:
    """The faults that strike an agent without a crash, those of its first calls first."""
    counts: dict[str, int] = {}
    places = []
    for row in bench.baseline.rows:
        operation = f"{row.provider}.{row.operation}"
        counts[operation] = counts.get(operation, 0) + 1
        places.append(f"{operation}#{counts[operation]}")
    writes = range(1, len(bench.baseline.entries) + 1)
    at_store = [f"store.append#{number}:{kind}" for number in writes for kind in ("fails", "ambiguous")]
    return [*(f"{place}:{kind}" for place in places for kind in _KINDS), *at_store]
