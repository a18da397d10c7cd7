"""Faults: their text, when they strike, and what they leave behind."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import ConnectionLost, Fault, MalformedAnswer, ProviderError, RateLimited, ServerError, World
from fakes.faults import Kind

faults = st.builds(
    Fault,
    provider=st.from_regex(r"[\w-]+", fullmatch=True),
    operation=st.just("*") | st.from_regex(r"[\w.-]+", fullmatch=True),
    nth=st.integers(min_value=0),
    kind=st.sampled_from(get_args(Kind)),
    amount=st.floats(min_value=0, allow_infinity=False),
)


@given(faults)
def test_a_fault_and_its_text_are_the_same_thing(fault: Fault) -> None:
    assert Fault.parse(str(fault)) == fault


@given(st.text())
def test_any_other_text_is_a_fault_or_a_value_error(text: str) -> None:
    with suppress(ValueError):
        fault = Fault.parse(text)
        assert Fault.parse(str(fault)) == fault


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("email.send#2:lost_aftr", "kind of fault 'lost_aftr' does not exist; did you mean 'lost_after'?"),
        ("email.send", "fault 'email.send' cannot be read; write provider.operation#nth:kind=amount"),
        ("llm.*:slow=soon", "'soon' is not a number"),
        ("llm.*:slow=-1", "nth and the amount count up from 0"),
        ("llm.*:slow=inf", "nth and the amount count up from 0"),
    ],
)
def test_a_wrong_text_is_told_what_is_wrong_with_it(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        Fault.parse(text)


def test_a_fault_that_could_not_be_spelled_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="provider and operation are words"):
        Fault(provider="e mail", kind="slow")


@pytest.mark.parametrize(
    ("kind", "error", "status", "sent"),
    [
        ("rate_limit", RateLimited, 429, 0),
        ("lost_before", ConnectionLost, None, 0),
        ("server_error", ServerError, 500, 0),
        ("error_after_commit", ServerError, 502, 1),
        ("lost_after", ConnectionLost, None, 1),
        ("malformed", MalformedAnswer, 200, 1),
    ],
)
def test_each_fault_raises_its_error_and_the_retry_under_the_key_mends_it(
    kind: str, error: type[ProviderError], status: int | None, sent: int
) -> None:
    with World(faults=[Fault.parse(f"email.send#1:{kind}")]) as world:
        with pytest.raises(error, match=r"^email\.send: ") as caught:
            world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        assert caught.value.status == status
        assert world.ledger.effects().total() == sent
        world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        assert world.ledger.effects() == {("email", "send", "ada@example.com"): 1}
        assert [row.fault for row in world.ledger.rows()] == [f"email.send#1:{kind}", ""]


def test_a_lost_answer_and_a_retry_without_a_key_act_twice() -> None:
    with World(faults=[Fault.parse("email.send#1:lost_after")]) as world:
        with pytest.raises(ConnectionLost):
            world.email.send(to="ada@example.com", body="hello")
        world.email.send(to="ada@example.com", body="hello")
        assert world.ledger.effects() == {("email", "send", "ada@example.com"): 2}


def test_a_caller_cannot_tell_a_connection_lost_before_from_one_lost_after() -> None:
    seen = []
    for kind in ("lost_before", "lost_after"):
        with World(faults=[Fault.parse(f"email.send:{kind}")]) as world, pytest.raises(ConnectionLost) as caught:
            world.email.send(to="ada@example.com", body="hello")
        seen.append((str(caught.value), vars(caught.value)))
    assert seen[0] == seen[1]


def test_a_rate_limit_says_when_to_call_again() -> None:
    with (
        World(faults=[Fault.parse("llm.*:rate_limit=2.5")]) as world,
        pytest.raises(RateLimited, match=r"2\.5 s") as caught,
    ):
        world.llm.complete("hello")
    assert caught.value.retry_after == 2.5


def test_nth_counts_calls_over_all_lives(tmp_path: Path) -> None:
    lives = []
    for _ in range(4):
        with World(tmp_path / "ledger.db", faults=[Fault.parse("email.send#3:lost_before")]) as world:
            try:
                world.email.send(to="ada@example.com", body="hello")
            except ConnectionLost:
                lives.append("lost")
            else:
                lives.append("sent")
    assert lives == ["sent", "sent", "lost", "sent"]


def test_nth_counts_the_calls_of_the_operation_it_names() -> None:
    with World(faults=[Fault.parse("payments.refund#1:lost_before")]) as world:
        world.payments.charge(customer="cus_1", cents=1)
        with pytest.raises(ConnectionLost):
            world.payments.refund(charge="ch_1", cents=1)
        world.payments.refund(charge="ch_1", cents=1)


def test_a_star_counts_the_calls_of_all_operations() -> None:
    with World(faults=[Fault.parse("payments.*#2:lost_before")]) as world:
        world.payments.charge(customer="cus_1", cents=1)
        with pytest.raises(ConnectionLost):
            world.payments.refund(charge="ch_1", cents=1)


def test_without_nth_every_call_is_hit() -> None:
    with World(faults=[Fault.parse("email.send:lost_after")]) as world:
        for _ in range(3):
            with pytest.raises(ConnectionLost):
                world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        assert [row.outcome for row in world.ledger.rows()] == ["applied", "deduplicated", "deduplicated"]


@pytest.mark.parametrize("kind", ["slow=0.001", "server_error", "lost_after"])
def test_a_fault_strikes_a_deduplicated_call_too(kind: str) -> None:
    with World(faults=[Fault.parse(f"email.send#2:{kind}")]) as world:
        first = world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        try:
            assert world.email.send(to="ada@example.com", body="hello", idempotency_key="k") == first
        except ProviderError:
            assert not kind.startswith("slow")
        assert world.ledger.rows()[1].fault == f"email.send#2:{kind}"
        assert world.ledger.effects().total() == 1


def test_a_call_that_the_key_policy_refuses_meets_no_fault() -> None:
    with World(faults=[Fault.parse("email.send#2:lost_after")]) as world:
        world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        with pytest.raises(ProviderError, match="another body"):
            world.email.send(to="ada@example.com", body="bye", idempotency_key="k")
        assert world.ledger.rows()[1].fault == ""


def test_two_faults_can_meet_in_one_call() -> None:
    with World(faults=[Fault.parse("llm.*:slow=0.001"), Fault.parse("llm.complete#1:malformed")]) as world:
        with pytest.raises(MalformedAnswer):
            world.llm.complete("hello")
        assert world.ledger.rows()[0].fault == "llm.*:slow=0.001 llm.complete#1:malformed"
