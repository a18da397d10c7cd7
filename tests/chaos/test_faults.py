"""Faults beside crashes: lost answers, refusals, broken writes; each planned one has to strike."""

from __future__ import annotations

import re

import pytest

from chaos.agent import Agent, find_agent
from chaos.errors import OptionError
from chaos.faults import normal_fault
from chaos.kill import kill, reproduce
from chaos.options import Options
from chaos.plan import Reach
from chaos.points import parse_schedule
from chaos.verdict import Verdict, Word
from chaos.verify import reproduce_in_images, verify
from durable_core import Run
from fakes import ConnectionLost, World

READER = "reader@example.com"
FEW = Reach(points=("plan@applied", "send@*"))


def verified(name: str, *faults: str, **options: object) -> Verdict:
    agent = find_agent(f"scenarios.{name}")
    return verify(agent, Options(launcher="in-process", faults=faults, **options))  # type: ignore[arg-type]


def killed(name: str, *faults: str, reach: Reach = FEW) -> Verdict:
    return kill(find_agent(f"scenarios.{name}"), Options(jobs=2, faults=faults, reach=reach))


def closure(function: object, *faults: str) -> Verdict:
    return verify(Agent("tests:closure", function), Options(launcher="in-process", faults=faults))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "faults",
    [
        ("email.send#1:lost_after",),
        ("llm.complete#2:lost_after",),
        ("email.send#1:error_after_commit",),
        ("email.send#1:malformed", "llm.*#1:lost_before"),
        ("llm.complete#1:rate_limit", "email.send#1:server_error", "search.query#1:server_error"),
        ("store.append#1:fails",),
        ("store.append#2:fails", "store.append#send:fails"),
        ("store.append#2:ambiguous", "store.append#write:0:ambiguous"),
    ],
    ids=", ".join,
)
def test_what_is_right_stays_safe_under_faults(faults: tuple[str, ...]) -> None:
    assert verified("newsletter:keyed", *faults).word is Word.SAFE


def test_what_is_right_stays_safe_under_faults_and_real_kills() -> None:
    verdict = killed("newsletter:keyed", "email.send#1:lost_after", "llm.complete#2:rate_limit", "store.append#2:fails")
    assert (verdict.findings, verdict.reasons) == ((), ())
    verdict = killed("newsletter:keyed", "store.append#send:ambiguous")
    assert (verdict.findings, verdict.reasons) == ((), ())


def test_a_lost_answer_shows_a_missing_key_without_any_kill() -> None:
    for verdict in (
        verified("newsletter:unkeyed", "email.send#1:lost_after"),
        killed("newsletter:unkeyed", "email.send#1:lost_after"),
    ):
        (found,) = verdict.findings
        assert found.check == "duplicate-effect"
        assert found.schedule == ()
        assert "FAULT email.send#1:lost_after" in found.story[0]
        assert found.reproduce.endswith("'' --fault 'email.send#1:lost_after'")


def test_a_write_that_fails_shows_a_missing_key_without_any_kill() -> None:
    (found,) = verified("newsletter:unkeyed", "store.append#send:fails").findings
    assert (found.check, found.schedule) == ("duplicate-effect", ())
    options = Options(launcher="in-process", faults=("store.append#send:ambiguous",))
    assert reproduce_in_images(find_agent("scenarios.newsletter:unkeyed"), (), options).findings == ()


def test_an_agent_that_retries_by_itself_needs_a_key_too() -> None:
    def send_twice(run: Run, world: World, *, keyed: bool) -> str:
        def send(idempotency_key: str | None = None) -> str:
            for _ in range(3):
                try:
                    return world.email.send(to=READER, body="Hello", idempotency_key=idempotency_key).id
                except ConnectionLost:
                    continue
            raise AssertionError

        return run.effect("send", send) if keyed else run.step("send", send)

    def unkeyed(run: Run, world: World) -> str:
        return send_twice(run, world, keyed=False)

    def keyed(run: Run, world: World) -> str:
        return send_twice(run, world, keyed=True)

    assert [found.schedule for found in closure(unkeyed, "email.send#1:lost_after").findings] == [()]
    assert closure(keyed, "email.send#1:lost_after").word is Word.SAFE


def test_a_second_lost_answer_does_not_hide_what_the_first_has_shown() -> None:
    faults = ("email.send#1:lost_after", "email.send#2:lost_after")
    for verdict in (verified("newsletter:unkeyed", *faults), killed("newsletter:unkeyed", *faults)):
        (found,) = verdict.findings
        assert found.schedule == ()
        assert "was sent 3 times" in found.fact


def test_an_answer_that_a_fault_has_lost_can_be_accepted_as_in_flight() -> None:
    options = Options(
        launcher="in-process", faults=("llm.complete#1:lost_after",), policies={"llm": "none"}, accept=("in-flight",)
    )
    assert verify(find_agent("scenarios.newsletter:keyed"), options).word is Word.SAFE


@pytest.mark.parametrize("fault", ["payments.charge#1:lost_after", "store.append#no-such-step:fails"])
def test_a_fault_that_never_strikes_makes_it_inconclusive(fault: str) -> None:
    for verdict in (verified("newsletter:keyed", fault), killed("newsletter:keyed", fault)):
        assert verdict.word is Word.INCONCLUSIVE
        assert any(f"the planned fault {fault} did not strike" in reason for reason in verdict.reasons)


def test_a_fault_that_only_recoveries_come_to_strikes_in_crash_images() -> None:
    assert verified("newsletter:keyed", "email.send#3:lost_after").word is Word.SAFE


def test_a_fault_in_every_life_leaves_an_agent_no_chance_and_is_no_finding() -> None:
    for verdict in (verified("newsletter:keyed", "llm.*:rate_limit"), killed("newsletter:keyed", "llm.*:rate_limit")):
        assert verdict.word is Word.INCONCLUSIVE
        assert any("by a fault in each of its lives" in reason for reason in verdict.reasons)


def test_a_run_that_one_fault_ends_for_good_is_a_finding() -> None:
    def begins_once(run: Run, world: World) -> str:
        if any(row.fault for row in world.ledger.rows()):
            raise RuntimeError("I have failed before")
        return run.effect("send", world.email.send, to=READER, body="Hello").id

    (found,) = closure(begins_once, "email.send#1:rate_limit").findings
    assert found.check == "does-not-end"


def test_the_same_schedule_under_the_same_faults_is_shown_again() -> None:
    agent, options = find_agent("scenarios.newsletter:unkeyed"), Options(jobs=2, faults=("email.send#1:lost_after",))
    assert reproduce(agent, (), options).word is Word.UNSAFE
    assert reproduce(agent, parse_schedule("plan@applied"), options).word is Word.UNSAFE
    assert reproduce_in_images(agent, (), Options(launcher="in-process", faults=options.faults)).word is Word.UNSAFE


def test_images_under_faults_are_what_real_kills_leave() -> None:
    verdict = verified("newsletter:keyed", "llm.complete#1:lost_after", "store.append#3:fails", cross_check=4)
    assert verdict.word is Word.SAFE
    assert any("4 images were compared" in note for note in verdict.notes)


def test_a_spelling_is_made_one() -> None:
    assert normal_fault(" llm.*:slow=0.20 ") == "llm.*:slow=0.2"
    assert normal_fault("store.append#write:0:fails") == "store.append#write:0:fails"
    assert Options(faults=("llm.*:slow=0.20", "llm.*:slow=0.2")).faults == ("llm.*:slow=0.2",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("email.send#1:lost_aftre", "did you mean 'lost_after'"),
        ("emial.send:lost_after", "did you mean 'email'"),
        ("email.sent:lost_after", "has no operation 'sent'; did you mean 'send'"),
        ("stor.append#1:fails", "stor.append"),
        ("store.append#1:fail", "did you mean 'fails'"),
        ("store.append:fails", "does not say which write fails"),
        ("store.append#0:fails", "counted from 1"),
        ("lost", "provider.operation#nth:kind"),
    ],
)
def test_a_text_that_cannot_be_read_is_told_with_what_was_meant(text: str, message: str) -> None:
    with pytest.raises(OptionError, match=re.escape(message)):
        Options(faults=(text,))
