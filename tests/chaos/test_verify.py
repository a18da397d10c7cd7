"""Verifying: every sequence of crashes by images, and an honest word about what was not covered."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from chaos.agent import Agent, find_agent
from chaos.errors import HarnessError, OptionError
from chaos.kill import kill
from chaos.options import Options
from chaos.plan import Reach
from chaos.sources import SOURCES
from chaos.verdict import Verdict, Word
from chaos.verify import verify
from durable_core import Run
from fakes import World

READER = "reader@example.com"


def checked(name: str, **options: object) -> Verdict:
    return verify(find_agent(f"scenarios.{name}"), Options(**{"jobs": 2, **options}))  # type: ignore[arg-type]


def closure(function: Callable[..., object], **options: object) -> Verdict:
    """Verify an agent that exists in this process only."""
    return verify(Agent(f"tests:{function.__name__}", function), Options(**{"jobs": 2, **options}))  # type: ignore[arg-type]


def test_a_sixty_one_step_agent_is_safe_with_about_two_images_a_step() -> None:
    verdict = checked("research:agent")
    assert verdict.word is Word.SAFE
    assert verdict.complete
    assert verdict.crash_points >= 180
    assert verdict.images is not None
    assert verdict.images <= 2 * 61


@pytest.mark.parametrize(
    "name", ["newsletter:keyed", "refund:looked_up", "wandering:agent", "two_crashes:fixed", "sources:recorded"]
)
def test_what_is_right_is_safe(name: str) -> None:
    verdict = checked(name)
    assert verdict.findings == ()
    assert verdict.word is Word.SAFE


def test_a_bug_of_two_crashes_is_found_with_a_schedule_of_two() -> None:
    (found,) = checked("two_crashes:buggy").findings
    assert found.check == "duplicate-effect"
    assert len(found.schedule) == 2


def test_images_and_real_kills_find_the_same_shortest_schedule() -> None:
    (by_images,) = checked("newsletter:unkeyed").findings
    (by_kills,) = kill(find_agent("scenarios.newsletter:unkeyed"), Options(jobs=2)).findings
    assert by_images.schedule == by_kills.schedule
    assert (by_images.check, by_images.fact, by_images.fix) == (by_kills.check, by_kills.fact, by_kills.fix)


COMPARED = [
    "newsletter:keyed",
    "newsletter:unkeyed",
    "refund:looked_up",
    "refund:held",
    "refund:blind",
    "two_crashes:buggy",
    "two_crashes:fixed",
    "research:agent",
    "research:checkpoint_only",
    "wandering:agent",
    "sources:recorded",
    "broken:duplicate_effect",
    "broken:unstable_key",
    "broken:phantom_effect",
    "broken:re_spent_tokens",
    "broken:checkpoint_growth",
]


@pytest.mark.parametrize("name", COMPARED)
def test_in_process_forked_and_killed_lives_agree(name: str) -> None:
    """Verdict, checks and shortest schedules are the same; a bug of two crashes takes kills at pairs of points."""

    def seen(verdict: Verdict) -> set[tuple[str, str, int]]:
        return {(found.check, found.step, len(found.schedule)) for found in verdict.findings}

    agent = find_agent(f"scenarios.{name}")
    forked = verify(agent, Options(jobs=2))
    in_process = verify(agent, Options(launcher="in-process"))
    killed = kill(agent, Options(jobs=2, reach=Reach(depth=2 if "two_crashes" in name else 1)))
    assert in_process.word is forked.word
    assert [found.schedule for found in in_process.findings] == [found.schedule for found in forked.findings]
    assert seen(forked) == seen(killed)


@pytest.mark.parametrize(
    ("name", "source", "line"),
    [
        ("clock", "clock", "sources.py:"),
        ("chance", "random", "sources.py:"),
        ("identity", "uuid", "sources.py:"),
        ("order", "hash", ""),
        ("surroundings", "environment", "sources.py:"),
        ("warm_cache", "cache", ""),
        ("answers", "search", ""),
    ],
)
def test_the_source_that_a_finding_comes_from_is_named(name: str, source: str, line: str) -> None:
    verdict = checked(f"sources:{name}")
    assert verdict.word is Word.UNSAFE
    assert {found.source for found in verdict.findings} == {source}
    assert all(line in found.cause for found in verdict.findings)


@pytest.mark.parametrize("name", ["clock", "chance", "identity", "order", "surroundings", "warm_cache", "answers"])
def test_its_twin_that_records_the_source_is_safe(name: str) -> None:
    verdict = checked(f"sources:{name}_recorded")
    assert verdict.findings == ()
    assert verdict.word is Word.SAFE


def test_only_the_chosen_sources_differ_between_lives() -> None:
    assert checked("sources:clock", perturb=("random",)).word is Word.SAFE
    assert checked("sources:clock", perturb=("clock",)).word is Word.UNSAFE


def test_a_source_that_does_not_exist_names_the_nearest() -> None:
    with pytest.raises(OptionError, match="did you mean 'clock'"):
        checked("sources:clock", perturb=("clok",))
    assert "clock" in SOURCES


def one_email(run: Run, world: World) -> str:
    run.effect("send", world.email.send, to=READER, body="Hello")
    return "sent"


def test_bounds_are_named_and_the_verdict_is_within_them() -> None:
    verdict = checked("research:agent", max_images=5)
    assert verdict.word is Word.WITHIN_BOUNDS
    assert not verdict.complete
    assert any("images found and not begun (--max-images 5)" in text for text in verdict.not_covered)


def test_crashes_in_a_row_can_be_bounded() -> None:
    verdict = checked("wandering:agent", max_crashes=1)
    assert verdict.word is Word.WITHIN_BOUNDS
    assert any("more than 1 crashes" in text for text in verdict.not_covered)


def test_a_budget_ends_the_exploring() -> None:
    verdict = checked("research:agent", budget=0.0)
    assert any("--budget 0s" in text for text in verdict.not_covered)


def test_images_that_never_meet_again_come_to_a_bound_of_their_own() -> None:
    verdict = checked("broken:unstable_step_id", launcher="in-process")
    assert verdict.word is Word.UNSAFE
    assert any("--max-images" in text for text in verdict.not_covered)


def test_exact_tells_images_apart_by_what_was_answered() -> None:
    def picks(run: Run, world: World) -> str:
        run.random("coin")
        return one_email(run, world)

    loose, exact = (closure(picks, launcher="in-process", exact=exact) for exact in (False, True))
    assert exact.images > loose.images  # type: ignore[operator]


def test_an_answer_is_delivered_in_every_state_that_waits_for_it() -> None:
    verdict = checked("approval:agent", deliver={"approval": True})
    assert verdict.word is Word.SAFE
    assert checked("approval:agent").word is Word.INCONCLUSIVE


def test_the_answer_in_flight_can_be_accepted_and_no_more() -> None:
    accepted = checked("newsletter:keyed", policies={"llm": "openai"}, accept=("in-flight",))
    assert accepted.word is Word.SAFE
    assert accepted.accepted[0].startswith("in-flight: ")

    def asks_twice(run: Run, world: World) -> str:
        run.step("ask", lambda: [world.llm.complete(text).text for text in ("one", "two")])
        return one_email(run, world)

    beyond = closure(asks_twice, accept=("in-flight",))
    assert [found.check for found in beyond.findings] == ["re-spent-tokens"]


def test_orders_of_threads_and_tasks_are_named_as_not_covered() -> None:
    verdict = checked("wandering:threaded")
    assert verdict.word is Word.WITHIN_BOUNDS
    assert any("beyond the 1 explored" in text for text in verdict.not_covered)
    more = checked("wandering:gathered", interleavings=2)
    assert more.findings == ()
    assert any("beyond the 3 explored" in text for text in more.not_covered)


def test_what_lies_outside_of_store_and_providers_is_named_with_its_line(tmp_path: Path) -> None:
    note = tmp_path / "note.txt"

    def writes(run: Run, world: World) -> str:
        run.step("note", lambda: note.write_text("sent") and None)
        return one_email(run, world)

    verdict = closure(writes)
    assert verdict.word is Word.WITHIN_BOUNDS
    (text,) = verdict.not_covered
    assert "a file written" in text
    assert "test_verify.py:" in text


def test_a_subprocess_is_named_and_reading_a_file_is_fine(tmp_path: Path) -> None:
    source = tmp_path / "input.txt"
    source.write_text("sharks")

    def reads(run: Run, world: World) -> str:
        source.read_text()
        return one_email(run, world)

    def runs(run: Run, world: World) -> str:
        run.step("run", lambda: subprocess.run([sys.executable, "-c", ""], check=True).returncode)
        return one_email(run, world)

    assert closure(reads).word is Word.SAFE
    assert any("a process" in text for text in closure(runs).not_covered)


def test_asyncio_under_a_held_clock_does_not_hang() -> None:
    async def waits(run: Run, world: World) -> str:
        await asyncio.sleep(0.01)
        run.effect("send", world.email.send, to=READER, body=f"{run.now('now'):%Y}")
        return "sent"

    assert closure(waits).word is Word.SAFE


def test_the_clock_of_this_process_is_its_own_again_afterwards() -> None:
    closure(one_email, launcher="in-process")
    assert abs((datetime.now(UTC) - datetime.fromtimestamp(time.time(), UTC)).total_seconds()) < 5
    assert type(datetime.now(UTC)) is datetime


def test_a_sample_of_images_is_what_real_kills_leave() -> None:
    verdict = checked("newsletter:unkeyed", cross_check=6)
    assert verdict.reasons == ()
    assert any("compared with what real kills leave" in note for note in verdict.notes)


def test_an_image_that_is_not_what_a_kill_leaves_is_our_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("chaos.tries.Tries.state_after", lambda *_: [])
    verdict = checked("newsletter:keyed", cross_check=2)
    assert verdict.word is Word.INCONCLUSIVE
    assert all("our error" in reason for reason in verdict.reasons)


def test_an_agent_without_records_is_sent_to_kill() -> None:
    with pytest.raises(HarnessError, match="crashwindow kill"):
        checked("newsletter:restart")


def test_a_death_that_nobody_planned_makes_it_inconclusive() -> None:
    def dies(run: Run, world: World) -> str:
        if world.ledger.rows():
            os._exit(3)
        return one_email(run, world)

    verdict = closure(dies)
    assert verdict.word is Word.INCONCLUSIVE
    assert any("left with exit code 3" in reason for reason in verdict.reasons)


def test_an_agent_that_fails_without_a_crash_is_inconclusive() -> None:
    def fails(run: Run, world: World) -> str:
        raise RuntimeError("no such table")

    assert "the agent raised RuntimeError: no such table" in closure(fails).reasons[0]


def test_an_agent_that_calls_no_provider_is_inconclusive() -> None:
    def idle(run: Run, world: World) -> str:
        return run.step("think", str, 1)

    assert closure(idle).word is Word.INCONCLUSIVE
