"""Agents as programs, with real SDKs: what kills find in the buggy half of each, and not in the fixed one.

The points are chosen where the halves differ; all points of all programs take minutes.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from chaos.plan import Reach
from chaos.programs.execute import execute, program_options
from chaos.programs.program import Program
from chaos.verdict import Verdict, Word

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAMS = ROOT / "scenarios" / "programs"
CHARGED, REFUNDED = "(stripe.payment_intents.create)*@applied", "(stripe.refunds.create)@applied"
MAILED, MAILING = "(resend.emails.send)@applied", "(resend.emails.send)@before"
ASKED_AGAIN, ASKED_FOR_THE_LAST = "(openai.chat)#2@applied", "(anthropic.messages)#4@applied"

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="programs are started on Linux")
needs_node = pytest.mark.skipif(
    shutil.which("node") is None and "CI" not in os.environ, reason="node is not installed, and this is not CI"
)


UNMEASURED = {"COVERAGE_PROCESS_START": "", "COVERAGE_PROCESS_CONFIG": ""}
"""Measuring the processes of programs would double the time that each life takes."""


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def killed(name: str, half: str, *points: str, accept: tuple[str, ...] = ("in-flight",)) -> Verdict:
    """The verdict on one half of a program, killed at these points; at all of them if none is named."""
    script = PROGRAMS / f"{name}.jsonl"
    warm = not name.endswith(".mjs")
    command = (sys.executable, "-m", f"scenarios.programs.{name}") if warm else ("node", str(PROGRAMS / name))
    return execute(
        Program(
            command=(*command, half), environment=UNMEASURED, warm=warm, script=script if script.exists() else None
        ),
        program_options(accept=accept, jobs=2, reach=Reach(points=points or None)),
    )


def found_in(verdict: Verdict) -> dict[tuple[str, str], str]:
    """Facts by check and operation."""
    assert verdict.word is not Word.INCONCLUSIVE, verdict.reasons
    return {(found.check, found.step): found.fact for found in verdict.findings}


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("refund_desk", (CHARGED, REFUNDED, MAILED)),
        ("support_agent", (MAILED,)),
        ("story_writer", (ASKED_FOR_THE_LAST,)),
        ("typed_agent", (ASKED_AGAIN, MAILED)),
        ("chain_agent", (MAILING, MAILED)),
    ],
)
def test_the_fixed_half_is_safe_where_the_buggy_one_is_not(name: str, points: tuple[str, ...]) -> None:
    verdict = killed(name, "--fixed", *points)
    assert (verdict.findings, verdict.word) == ((), Word.WITHIN_BOUNDS)
    assert verdict.exit_code == 0


def test_a_key_that_the_stripe_sdk_makes_is_new_in_each_life() -> None:
    found = found_in(killed("refund_desk", "--buggy", CHARGED))
    ((check, fact),) = found.items()
    assert check == ("unstable-key", "stripe.payment_intents.create")
    assert "2 times, expected 1" in fact


def test_a_refund_without_a_stable_key_is_refused_for_ever() -> None:
    found = found_in(killed("refund_desk", "--buggy", REFUNDED))
    ((check, fact),) = found.items()
    assert check == ("does-not-end", "")
    assert "already been refunded" in fact


def test_a_mail_without_a_key_is_sent_again() -> None:
    found = found_in(killed("refund_desk", "--buggy", MAILED))
    ((check, fact),) = found.items()
    assert check == ("duplicate-effect", "resend.emails.send")
    assert "ada@example.com" in fact
    assert "2 times, expected 1" in fact


def test_a_turn_that_is_recorded_after_its_tools_is_mailed_and_paid_for_again() -> None:
    found = found_in(killed("support_agent", "--buggy", MAILED))
    assert found.keys() == {("duplicate-effect", "resend.emails.send"), ("re-spent-tokens", "openai.chat")}


def test_a_story_that_is_recorded_as_a_whole_is_paid_for_as_a_whole() -> None:
    found = found_in(killed("story_writer", "--buggy", ASKED_FOR_THE_LAST))
    ((check, fact),) = found.items()
    assert check == ("re-spent-tokens", "anthropic.messages")
    assert "in 3 calls" in fact


def test_a_framework_that_keeps_its_conversation_in_memory_mails_and_pays_again() -> None:
    found = found_in(killed("typed_agent", "--buggy", ASKED_AGAIN))
    assert found.keys() == {("duplicate-effect", "resend.emails.send"), ("re-spent-tokens", "openai.chat")}


def test_a_mail_that_is_noted_before_it_is_sent_is_lost() -> None:
    verdict = killed("chain_agent", "--buggy", MAILING)
    ((check, fact),) = found_in(verdict).items()
    assert check == ("lost-effect", "resend.emails.send")
    assert "0 times, expected 1" in fact
    assert verdict.findings[0].window == "before"


@needs_node
def test_a_javascript_program_charges_and_mails_again() -> None:
    found = found_in(killed("agent.mjs", "--buggy"))
    assert found.keys() == {
        ("duplicate-effect", "resend.emails.send"),
        ("duplicate-effect", "stripe.payment_intents.create"),
    }


@needs_node
def test_a_javascript_program_with_keys_is_safe_wherever_it_is_killed() -> None:
    verdict = killed("agent.mjs", "--fixed")
    assert (verdict.findings, verdict.word) == ((), Word.WITHIN_BOUNDS)
    assert verdict.kills == 9


@needs_node
def test_an_answer_in_flight_is_paid_for_again_unless_it_is_accepted() -> None:
    found = found_in(killed("agent.mjs", "--fixed", "(openai.chat)@applied", accept=()))
    assert found.keys() == {("re-spent-tokens", "openai.chat")}
