"""Every check finds the scenario that breaks it, and none finds anything in what is right."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from chaos.agent import find_agent
from chaos.errors import OptionError
from chaos.findings import CHECKS, Finding
from chaos.options import Options
from chaos.points import format_schedule
from chaos.verdict import Verdict, Word
from chaos.verify import verify
from scenarios import broken

Kill = Callable[..., Verdict]

BREAKS = {
    "duplicate-effect": ("send@unrecorded", "was sent 2 times, expected 1", {}),
    "unstable-key": ("send@unrecorded", "was sent 2 times, expected 1", {}),
    "unstable-step-id": (None, "was sent 2 times, expected 1", {}),
    "phantom-effect": ("send@unrecorded", "was sent 1 time, expected 0", {}),
    "lost-effect": ("(email.send)@before", "was sent 0 times, expected 1", {}),
    "re-spent-tokens": ("", "tokens were paid again", {}),
    "one-key-two-bodies": ("send@unrecorded", "different bodies under the key 'run:send'", {}),
    "executed-again": (None, "was executed again", {"store": "scenarios.broken:forgetful"}),
    "replay-differs": ("", "a replay of the finished run gives 'sent at", {}),
    "other-outcome": ("(email.send)#2@applied", "ended with 1; without a crash it ends with 2", {}),
    "does-not-end": ("(email.send)@applied", "another process is at it", {}),
    "swallowed-signal": ("", "caught Suspended", {}),
    "not-as-expected": ("", "expected=", {"expected": lambda ending: sum(ending.effects.values()) == 1}),
    "checkpoint-growth": ("", "'note:0' to 'note:4' records again", {}),
    "secret-at-rest": ("", "the value of MAIL_API_KEY is in the record of step 'settings'", {}),
}
BY_VERIFYING = {"key-collision": ("", "a second run sent the key 'send'")}


@pytest.fixture(autouse=True)
def _mail_api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_API_KEY", "sk-a-secret-of-the-test")


def finding(verdict: Verdict, check: str) -> Finding:
    return next(found for found in verdict.findings if found.check == check)


def scenario(check: str) -> str:
    return f"broken:{check.replace('-', '_')}"


def test_every_check_has_a_scenario_that_breaks_it() -> None:
    assert BREAKS.keys() | BY_VERIFYING.keys() == CHECKS.keys()
    assert {name.replace("-", "_") for name in CHECKS} <= vars(broken).keys()


@pytest.mark.parametrize("check", BREAKS)
def test_a_check_finds_what_breaks_it(check: str, kill_scenario: Kill) -> None:
    schedule, fact, options = BREAKS[check]
    verdict = kill_scenario(scenario(check), **options)
    found = finding(verdict, check)
    assert verdict.word is Word.UNSAFE
    assert fact in found.fact
    if schedule is not None:
        assert format_schedule(found.schedule) == schedule
    assert found.cause
    assert found.fix
    assert found.reproduce.startswith(f"crashwindow reproduce scenarios.{scenario(check)} ")
    assert bool(found.schedule) == bool(found.window)


@pytest.mark.parametrize("check", BY_VERIFYING)
def test_a_check_of_two_runs_finds_what_breaks_it(check: str) -> None:
    schedule, fact = BY_VERIFYING[check]
    found = finding(verify(find_agent(f"scenarios.{scenario(check)}"), Options(launcher="in-process")), check)
    assert fact in found.fact
    assert format_schedule(found.schedule) == schedule


def test_a_secret_is_named_and_never_shown(kill_scenario: Kill) -> None:
    assert "sk-a-secret" not in str(kill_scenario("broken:secret_at_rest").as_json())


def test_tokens_are_told_in_money_where_a_model_is_named(kill_scenario: Kill) -> None:
    verdict = kill_scenario("newsletter:restart", model="gpt-4o")
    assert " tokens ($0.0" in finding(verdict, "re-spent-tokens").fact
    with pytest.raises(OptionError, match="knows no model 'gpt-nope'"):
        kill_scenario("newsletter:restart", model="gpt-nope")


RIGHT = [
    "newsletter:keyed",
    "refund:looked_up",
    "article:keyed",
    "wandering:agent",
    "wandering:threaded",
    "wandering:gathered",
]


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_never_a_finding(name: str, kill_scenario: Kill) -> None:
    """Not even where plan, wording, length and order differ from run to run."""
    verdict = kill_scenario(name)
    assert verdict.findings == ()
    assert verdict.word is Word.WITHIN_BOUNDS
    assert verdict.kills >= verdict.tries >= 10


def test_the_open_crash_window_is_named_with_its_story(kill_scenario: Kill) -> None:
    (found,) = kill_scenario("newsletter:unkeyed").findings
    assert found.fact == "email to reader@example.com was sent 2 times, expected 1"
    assert found.step == "send"
    assert format_schedule(found.schedule) == "send@unrecorded"
    assert found.story[0].endswith("KILLED before the record (send@unrecorded)")
    assert "run.effect" in found.fix


def test_an_agent_without_a_checkpoint_is_told_what_it_paid_again(kill_scenario: Kill) -> None:
    found = finding(kill_scenario("newsletter:restart"), "re-spent-tokens")
    assert "tokens were paid again in 4 calls" in found.fact
    assert found.damage > 0
    assert f"{found.damage:,} tokens" in found.fact


def test_a_hand_written_checkpoint_is_held_against_its_baseline(kill_scenario: Kill) -> None:
    verdict = kill_scenario("article:unkeyed")
    assert {found.check for found in verdict.findings} == {"duplicate-effect", "re-spent-tokens"}
    assert format_schedule(finding(verdict, "duplicate-effect").schedule) == "(email.send)@applied"


def test_a_blind_resend_is_found_and_a_held_effect_is_not(kill_scenario: Kill) -> None:
    assert finding(kill_scenario("refund:blind"), "duplicate-effect").step == "refund"
    held = kill_scenario("refund:held")
    assert held.findings == ()
    assert any("'refund'" in text and "held" in text for text in held.not_covered)


def test_in_flight_loss_is_a_finding_until_it_is_accepted(kill_scenario: Kill) -> None:
    without = kill_scenario("newsletter:keyed", policies={"llm": "openai"})
    assert {found.check for found in without.findings} == {"re-spent-tokens"}
    accepted = kill_scenario("newsletter:keyed", policies={"llm": "openai"}, accept=("in-flight",))
    assert accepted.findings == ()
    assert accepted.accepted[0].startswith("in-flight: ")


def test_what_is_lost_beyond_the_call_in_flight_stays_a_finding(kill_scenario: Kill) -> None:
    verdict = kill_scenario("newsletter:restart", accept=("in-flight",))
    assert "re-spent-tokens" in {found.check for found in verdict.findings}
