"""Points and schedules: one spelling, read back as it was written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chaos.errors import ScheduleError
from chaos.points import FINISH, START, Point, Window, format_schedule, parse_schedule, place_of_call, place_of_step

step_ids = st.text(min_size=1, max_size=30).filter(str.isprintable)
names = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
places = st.one_of(
    step_ids.map(place_of_step), st.sampled_from([START, FINISH]), st.builds(place_of_call, names, names)
)
points = st.builds(Point, places, st.sampled_from(list(Window)), st.integers(1, 40))


@given(st.lists(points, max_size=5))
def test_a_schedule_is_read_back_as_it_was_written(schedule: list[Point]) -> None:
    assert parse_schedule(format_schedule(schedule)) == tuple(schedule)


@given(step_ids, step_ids)
def test_two_step_ids_never_share_a_place(one: str, other: str) -> None:
    assert (place_of_step(one) == place_of_step(other)) == (one == other)


@given(st.text(max_size=40))
def test_any_text_is_a_schedule_or_a_clear_error(text: str) -> None:
    try:
        schedule = parse_schedule(text)
    except ScheduleError as error:
        assert repr(text) in str(error)  # noqa: PT017 - either way is right
    else:
        assert parse_schedule(format_schedule(schedule)) == schedule


def test_a_schedule_reads_as_the_documents_write_it() -> None:
    assert parse_schedule("send@unrecorded > write:3@applied") == (
        Point("send", Window.UNRECORDED),
        Point("write:3", Window.APPLIED),
    )


def test_later_provider_calls_of_a_place_are_numbered() -> None:
    assert parse_schedule("(email.send)#2@applied") == (Point("(email.send)", Window.APPLIED, 2),)


def test_the_empty_schedule_kills_nothing() -> None:
    assert parse_schedule("  ") == ()


def test_a_step_that_looks_like_something_else_is_quoted() -> None:
    assert str(Point(place_of_step("a step @ 5 > 3"), Window.BEFORE)) == '"a step @ 5 > 3"@before'


@pytest.mark.parametrize(
    "text", ["send", "send@", "@applied", "send@applied >", "send@applied send@applied", "> a@before"]
)
def test_what_is_no_schedule_says_what_was_expected(text: str) -> None:
    with pytest.raises(ScheduleError, match="expected"):
        parse_schedule(text)


def test_an_unknown_window_names_the_nearest() -> None:
    with pytest.raises(ScheduleError, match="did you mean 'unrecorded'"):
        parse_schedule("send@unrecord")
