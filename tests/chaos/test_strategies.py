"""Strategies: schedules over real points, drawn, carried out in milliseconds, and shrunk to a shortest one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from chaos.agent import find_agent
from chaos.errors import HarnessError, OptionError
from chaos.options import Options
from chaos.points import FINISH, Schedule, parse_schedule
from chaos.strategies import assert_safe, faults, judged, schedules
from chaos.verdict import Word
from chaos.verify import verify
from durable_core import Run
from fakes import World
from scenarios import broken, newsletter, refund, two_crashes

quiet = settings(database=None, derandomize=True)


@given(schedule=schedules(newsletter.keyed))
def test_an_agent_can_be_held_against_drawn_schedules_with_default_settings(schedule: Schedule) -> None:
    assert_safe(newsletter.keyed, schedule)


@given(data=st.data(), planned=faults(newsletter.keyed, "tides"))
def test_schedules_and_faults_are_drawn_together(data: st.DataObject, planned: tuple[str, ...]) -> None:
    schedule = data.draw(schedules(newsletter.keyed, "tides", max_crashes=2))
    assert_safe(newsletter.keyed, schedule, "tides", faults=planned)


@quiet
@given(schedule=schedules(refund.looked_up))
def test_every_drawn_crash_happens_in_recoveries_too(schedule: Schedule) -> None:
    assert judged(refund.looked_up, schedule).reasons == ()


def shrunk(agent: object, **options: object) -> Schedule:
    return find(
        schedules(agent, **options),  # type: ignore[arg-type]
        lambda schedule: judged(agent, schedule).word is Word.UNSAFE,  # type: ignore[arg-type]
        settings=settings(quiet, max_examples=1000, phases=[Phase.generate, Phase.shrink]),
    )


def test_a_bug_of_two_crashes_shrinks_to_exactly_two() -> None:
    (found,) = verify(find_agent("scenarios.two_crashes:buggy"), Options(launcher="in-process")).findings
    schedule = shrunk(two_crashes.buggy)
    assert len(schedule) == len(found.schedule) == 2
    assert schedule[-1].place == "refund"


def test_a_bug_of_one_crash_shrinks_to_the_first_point_that_shows_it() -> None:
    assert shrunk(newsletter.unkeyed) == parse_schedule("send@applied")


def test_a_failing_schedule_is_told_with_all_of_the_verdict() -> None:
    with pytest.raises(AssertionError, match="sent 2 times, expected 1"):
        assert_safe(newsletter.unkeyed, parse_schedule("send@applied"))
    assert_safe(newsletter.keyed, parse_schedule("send@applied"))


def test_a_crash_or_a_fault_that_does_not_happen_says_nothing() -> None:
    verdict = judged(newsletter.keyed, parse_schedule("send@recorded > plan@before"))
    assert verdict.word is Word.INCONCLUSIVE
    assert "no life passed plan@before" in verdict.reasons[0]
    with pytest.raises(AssertionError, match="did not strike"):
        assert_safe(newsletter.keyed, (), faults=["payments.charge#1:lost_after"])


@quiet
@given(schedule=schedules(parse_schedule("plan@applied > send@applied > (finish)@recorded"), max_crashes=2))
def test_points_can_be_given_and_are_never_gone_back_among(schedule: Schedule) -> None:
    order = ["plan", "send", FINISH]
    places = [order.index(point.place) for point in schedule]
    assert places == sorted(places)
    assert_safe(newsletter.keyed, schedule)


def test_the_chosen_surroundings_differ_between_the_lives_of_a_schedule() -> None:
    schedule = parse_schedule("send@applied")

    def unstable(run: Run, world: World) -> str:
        day = f"{datetime.now(UTC):%j}"
        return run.step("send", world.email.send, to="a@example.com", body="", idempotency_key=day).id

    assert judged(unstable, schedule).word is Word.UNSAFE
    assert judged(unstable, schedule, perturb=["random"]).word is Word.WITHIN_BOUNDS
    assert type(datetime.now(UTC)) is datetime


def test_what_cannot_work_is_told_before_anything_is_drawn() -> None:
    with pytest.raises(HarnessError, match="takes no Run"):
        judged(newsletter.restart, ())
    with pytest.raises(OptionError, match="did you mean"):
        judged(newsletter.keyed, (), faults=["email.sent:lost_after"])

    def fails(run: Run, world: World) -> str:
        raise RuntimeError("no such table")

    with pytest.raises(HarnessError, match="no such table"):
        judged(fails, ())


def test_every_agent_with_a_bug_of_its_own_is_found_by_drawing() -> None:
    assert shrunk(broken.duplicate_effect) != ()
