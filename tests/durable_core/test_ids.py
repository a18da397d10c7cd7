"""Ids name things; keys are made of two ids and are never shared."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from durable_core import InvalidId
from durable_core.ids import MAX_ID, MAX_KEY, check_id, idempotency_key

DIGEST = "85d8087e4eb738d61acea26d64a1fd3bf42a585a5c2508f9daa7e27282e63090"

ids = st.text(st.characters(codec="utf-8"), min_size=1, max_size=40).filter(str.isprintable)
long_ids = st.builds(lambda part, times: (part * times)[:MAX_ID], ids, st.sampled_from([1, 30, 1000]))


@pytest.mark.parametrize("good", ["send", "issue-42", "write:3", "a/b", "customer 7", "grüße 🦈", "../..", "x" * 1000])
def test_a_good_id_is_returned_as_it_is(good: str) -> None:
    assert check_id("run id", good) == good


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("", r"run id '' is not a non-empty string; give it a stable name"),
        (None, r"run id None is not a non-empty string"),
        (7, r"run id 7 is not a non-empty string"),
        (b"send", r"run id b'send' is not a non-empty string"),
        ("x" * 1001, r"^run id 'x{40}'… has 1001 characters, more than 1000; give it a name, not a text"),
        ("a\nb", r"'a\\nb' holds characters that cannot be printed"),
        ("\0", "cannot be printed"),
        ("\x7f", "cannot be printed"),
        ("\u202e", "cannot be printed"),
        ("\ud800", "cannot be printed"),
    ],
)
def test_a_bad_id_is_refused_with_what_and_why(bad: object, why: str) -> None:
    with pytest.raises(InvalidId, match=why):
        check_id("run id", bad)


def test_a_key_is_made_of_run_and_step_and_stays_what_it_is() -> None:
    assert idempotency_key("issue-42", "send") == "issue-42:send"
    assert idempotency_key("a b", "customer:3/mail ü") == "a%20b:customer:3/mail%20%C3%BC"
    assert idempotency_key("r", "s" * 300) == "r:" + "s" * 188 + "=" + DIGEST
    assert len("r:" + "s" * 188 + "=" + DIGEST) == MAX_KEY


@pytest.mark.parametrize(("length", "kept"), [(253, True), (254, False)])
def test_a_key_ends_in_a_digest_only_when_it_would_be_too_long(length: int, *, kept: bool) -> None:
    key = idempotency_key("r", "s" * length)
    assert len(key) == MAX_KEY
    assert (key == "r:" + "s" * length) == kept


@given(long_ids, long_ids)
def test_a_key_fits_into_a_header(run_id: str, step_id: str) -> None:
    """ASCII, no spaces, and no longer than what providers take."""
    key = idempotency_key(run_id, step_id)
    assert 0 < len(key) <= MAX_KEY == 255
    assert set(key) <= set(string.ascii_letters + string.digits + string.punctuation)


@given(st.tuples(long_ids, long_ids), st.tuples(long_ids, long_ids))
@example(("a:b", "c"), ("a", "b:c"))
@example(("a", "b/c"), ("a/b", "c"))
@example(("a%3Ab", "c"), ("a:b", "c"))
@example(("ü", "c"), ("%C3%BC", "c"))
@example(("a", "s" * 300), ("a", "s" * 301))
def test_two_steps_never_share_a_key(one: tuple[str, str], other: tuple[str, str]) -> None:
    assert (idempotency_key(*one) == idempotency_key(*other)) == (one == other)


@given(st.text("a:/%~=", min_size=1, max_size=4), st.text("a:/%~=", min_size=1, max_size=4), st.data())
def test_nor_do_steps_with_ids_that_are_made_of_separators(run_id: str, step_id: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(1, len(run_id + step_id) - 1))
    moved = (run_id + step_id)[:cut], (run_id + step_id)[cut:]
    assert (idempotency_key(*moved) == idempotency_key(run_id, step_id)) == (moved == (run_id, step_id))


@pytest.mark.parametrize("separator", ["~", "=", "", ":"])
def test_a_short_step_id_cannot_pass_for_a_long_one(separator: str) -> None:
    long = idempotency_key("r", "s" * 300)
    forged = long.removeprefix("r:").replace("=", separator)
    assert idempotency_key("r", forged) != long
