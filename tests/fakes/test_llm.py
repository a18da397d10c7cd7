"""The model: it varies, it bills, it can be held steady."""

from __future__ import annotations

from pathlib import Path

import pytest

from fakes import World
from fakes.llm import tokens


def test_answers_differ_from_call_to_call() -> None:
    with World() as world:
        answers = [world.llm.complete("hello") for _ in range(50)]
    assert len({answer.text for answer in answers}) == len({answer.id for answer in answers}) == 50


def test_with_the_same_key_the_first_answer_comes_back_and_is_billed_once() -> None:
    with World() as world:
        first = world.llm.complete("hello", idempotency_key="k")
        assert world.llm.complete("hello", idempotency_key="k") == first
        assert world.ledger.tokens() == (first.tokens_in, first.tokens_out)
        assert [(row.outcome, row.original, row.tokens_out) for row in world.ledger.rows()] == [
            ("applied", None, first.tokens_out),
            ("deduplicated", 1, 0),
        ]


def test_the_first_answer_comes_back_in_a_later_life_with_another_seed(tmp_path: Path) -> None:
    with World(tmp_path / "ledger.db", seed=1) as world:
        first = world.llm.complete("hello", idempotency_key="k")
    with World(tmp_path / "ledger.db", seed=2) as world:
        assert world.llm.complete("hello", idempotency_key="k") == first


@pytest.mark.parametrize("name", ["openai", "anthropic"])
def test_real_model_providers_bill_every_time(name: str) -> None:
    with World(policies={"llm": name}) as world:
        texts = {world.llm.complete("hello", idempotency_key="k").text for _ in range(3)}
        assert len(texts) == 3
        assert world.ledger.tokens()[0] == 3 * tokens("hello")


def test_a_number_of_lines_gives_as_many() -> None:
    with World() as world:
        assert [len(world.llm.complete("plan", lines=n).text.splitlines()) for n in (1, 2, 7)] == [1, 2, 7]


def test_a_range_of_lines_varies_within_its_bounds() -> None:
    with World() as world:
        assert {len(world.llm.complete("plan", lines=(2, 4)).text.splitlines()) for _ in range(60)} == {2, 3, 4}


@pytest.mark.parametrize("lines", [0, -1, (0, 3), (3, 2)])
def test_an_impossible_number_of_lines_is_refused(lines: int | tuple[int, int]) -> None:
    with World() as world, pytest.raises(ValueError, match="is no number of lines; give n or"):
        world.llm.complete("plan", lines=lines)


@pytest.mark.parametrize(("text", "billed"), [("", 4), ("a", 5), ("abcd", 5), ("abcde", 6), ("ééé", 6), ("\ud800", 5)])
def test_a_message_is_billed_a_token_per_four_bytes_plus_a_constant(text: str, billed: int) -> None:
    assert tokens(text) == billed


def test_usage_follows_the_texts() -> None:
    with World() as world:
        answer = world.llm.complete("hello there")
    assert (answer.tokens_in, answer.tokens_out) == (tokens("hello there"), tokens(answer.text))


def test_the_models_name_is_the_target() -> None:
    with World() as world:
        world.llm.complete("hello")
        assert world.ledger.rows()[0].target == "fake-1"


def test_steady_answers_depend_on_the_request_alone() -> None:
    with World(steady=True) as world:
        first = world.llm.complete("hello", lines=(1, 9))
        world.email.send(to="ada@example.com", body="b")
        assert world.llm.complete("hello", lines=(1, 9)) == first
        assert world.llm.complete("hullo", lines=(1, 9)) != first
    with World(steady=True, seed=1) as world:
        assert world.llm.complete("hello", lines=(1, 9)).text != first.text
