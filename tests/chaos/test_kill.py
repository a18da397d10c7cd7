"""Killing: real, everywhere, and honest about what was not reached."""

from __future__ import annotations

import os
import random
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.agent import Agent, find_agent
from chaos.errors import OptionError, ScheduleError
from chaos.kill import crash_points, kill, reproduce
from chaos.options import Options
from chaos.plan import Reach
from chaos.points import parse_schedule
from chaos.verdict import Verdict, Word
from durable_core import Run
from fakes import World

READER = "reader@example.com"


def options(**more: object) -> Options:
    return Options(jobs=2, **more)  # type: ignore[arg-type]


def closure(function: Callable[..., object]) -> Agent:
    """An agent that exists in this process only."""
    return Agent(f"tests:{function.__name__}", function)


def one_email(run: Run, world: World) -> str:
    run.effect("send", world.email.send, to=READER, body="Hello")
    return "sent"


def test_every_window_of_every_step_is_a_point() -> None:
    points = [str(point) for point in crash_points(closure(one_email))]
    assert points == [
        "(start)@unrecorded",
        "(start)@recorded",
        "send@before",
        "send@applied",
        "send@unrecorded",
        "send@recorded",
        "(finish)@unrecorded",
        "(finish)@recorded",
    ]


def test_the_sixty_one_step_agent_has_more_than_180_points() -> None:
    assert len(crash_points(find_agent("scenarios.research:agent"))) == 61 * 4 + 4


@pytest.mark.parametrize("store", ["sqlite", "file"])
def test_every_single_point_is_killed_at(store: str) -> None:
    verdict = kill(closure(one_email), options(store=store))
    assert verdict.crash_points == verdict.tries == verdict.kills == 8
    assert verdict.word is Word.WITHIN_BOUNDS


def test_single_crashes_are_never_called_complete() -> None:
    verdict = kill(closure(one_email), options())
    assert not verdict.complete
    assert any("more than 1 crash" in text for text in verdict.not_covered)


def test_a_store_by_url_is_used_and_keeps_the_runs(tmp_path: Path) -> None:
    verdict = kill(closure(one_email), options(store=f"sqlite:///{tmp_path}/runs.db"))
    assert verdict.word is Word.WITHIN_BOUNDS
    assert any("stay in the store" in note for note in verdict.notes)


def test_a_kill_runs_no_finally_and_no_except(tmp_path: Path) -> None:
    trace = tmp_path / "cleaned"

    def tidy(run: Run, world: World) -> str:
        try:
            return one_email(run, world)
        except BaseException:
            trace.write_text("caught")
            raise
        finally:
            if not run.unasked and trace.parent.joinpath("armed").exists():
                trace.write_text("finally")

    verdict = kill(closure(tidy), options(reach=Reach(points=("send@*",))))
    assert verdict.kills == 4
    assert not trace.exists()


def test_pairs_are_every_crash_in_every_recovery() -> None:
    verdict = kill(closure(one_email), options(reach=Reach(depth=2)))
    assert verdict.word is Word.WITHIN_BOUNDS
    assert verdict.kills > 2 * verdict.crash_points


def test_a_bug_of_two_crashes_is_found_by_pairs_only() -> None:
    agent = find_agent("scenarios.two_crashes:buggy")
    assert kill(agent, options()).findings == ()
    (found,) = kill(agent, options(reach=Reach(depth=2))).findings
    assert (found.check, len(found.schedule)) == ("duplicate-effect", 2)
    assert kill(find_agent("scenarios.two_crashes:fixed"), options(reach=Reach(depth=2))).findings == ()


def test_points_that_only_a_recovery_passes_are_killed_at_too() -> None:
    """The look-up of a resumed refund is a provider call that no life without a crash makes."""
    agent = find_agent("scenarios.refund:looked_up")
    first = {str(point) for point in crash_points(agent)}
    verdict = kill(agent, options())
    assert "refund#2@before" not in first
    assert verdict.crash_points > len(first)


def test_random_schedules_are_drawn_from_their_seed() -> None:
    agent = find_agent("scenarios.newsletter:keyed")
    one, same, other = (kill(agent, options(reach=Reach(points=(), random=6), seed=seed)).kills for seed in (7, 7, 8))
    assert one == same
    assert one >= 6
    assert other >= 6


def test_only_the_chosen_points_are_killed_at_and_the_others_are_named() -> None:
    verdict = kill(closure(one_email), options(reach=Reach(points=("send@*",))))
    assert verdict.kills == 4
    assert any("4 points that were not chosen" in text for text in verdict.not_covered)


def test_a_whole_schedule_can_be_chosen() -> None:
    verdict = kill(closure(one_email), options(reach=Reach(points=("send@applied > send@unrecorded",))))
    assert (verdict.tries, verdict.kills) == (1, 2)


def test_a_point_that_the_agent_does_not_have_names_the_nearest() -> None:
    with pytest.raises(ScheduleError, match="did you mean 'send@before'"):
        kill(closure(one_email), options(reach=Reach(points=("sent@before",))))


def test_a_found_schedule_is_reproduced_alone() -> None:
    agent = find_agent("scenarios.newsletter:unkeyed")
    (found,) = kill(agent, options()).findings
    verdict = reproduce(agent, parse_schedule("send@unrecorded"), options())
    assert (verdict.tries, verdict.kills) == (1, 1)
    assert verdict.findings[0].fact == found.fact
    assert verdict.findings[0].schedule == found.schedule


def test_reproducing_what_does_not_happen_again_is_inconclusive() -> None:
    verdict = reproduce(closure(one_email), parse_schedule("send@recorded > send@recorded"), options())
    assert verdict.word is Word.INCONCLUSIVE
    assert "a planned kill did not fire: no life passed send@recorded after send@recorded" in verdict.reasons


def test_an_agent_that_does_nothing_is_inconclusive() -> None:
    def idle(run: Run, world: World) -> str:
        return run.step("think", str, 1)

    verdict = kill(closure(idle), options())
    assert verdict.word is Word.INCONCLUSIVE
    assert "nothing was exercised" in verdict.reasons[0]
    assert verdict.kills == 0


def test_an_agent_that_fails_without_a_kill_is_inconclusive_and_says_where() -> None:
    def fails(run: Run, world: World) -> None:
        raise RuntimeError("no such table")

    (reason,) = kill(closure(fails), options()).reasons
    assert "without any kill, the agent raised RuntimeError: no such table" in reason
    assert "test_kill.py" in reason


def test_a_planned_kill_that_does_not_fire_is_inconclusive(tmp_path: Path) -> None:
    first = tmp_path / "first"

    def fickle(run: Run, world: World) -> str:
        if not first.exists():
            first.touch()
            run.effect("once", world.llm.complete, "Hello")
        return one_email(run, world)

    verdict = kill(closure(fickle), options())
    assert any("no life passed once@before" in reason for reason in verdict.reasons)


@pytest.mark.parametrize(
    ("death", "words"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGTERM), f"was killed by signal {int(signal.SIGTERM)}"),
        (lambda: os._exit(3), "left with exit code 3"),
    ],
)
def test_a_death_that_nobody_planned_is_named(death: Callable[[], None], words: str) -> None:
    def dies(run: Run, world: World) -> str:
        print("about to die")  # noqa: T201
        if any(row.operation == "send" for row in world.ledger.rows()):
            death()
        return one_email(run, world)

    verdict = kill(closure(dies), options(reach=Reach(points=("send@applied",))))
    assert verdict.word is Word.INCONCLUSIVE
    assert any(words in reason and "about to die" in reason for reason in verdict.reasons)


def test_a_life_that_hangs_is_ended_and_named() -> None:
    def hangs(run: Run, world: World) -> str:
        signal.pause()
        return one_email(run, world)

    (reason,) = kill(closure(hangs), options(seconds=0.3)).reasons
    assert "life 1 did not end within 0.3 s" in reason


def test_no_process_is_left_over() -> None:
    def leaves_a_child(run: Run, world: World) -> str:
        if os.fork() == 0:
            signal.pause()
        return one_email(run, world)

    before = children()
    kill(closure(leaves_a_child), options(reach=Reach(points=("send@*",))))
    assert children() == before


def children() -> set[str]:
    """Processes of this session that wait in `signal.pause`, or are children of this process."""
    return {
        entry.name
        for entry in Path("/proc").iterdir()
        if entry.name.isdigit() and parent_of(entry) in (str(os.getpid()), "1") and belongs_to_us(entry)
    }


def parent_of(entry: Path) -> str:
    try:
        return entry.joinpath("stat").read_text().rpartition(")")[2].split()[1]
    except OSError:
        return ""


def belongs_to_us(entry: Path) -> bool:
    try:
        return Path(sys.executable).resolve() == entry.joinpath("exe").resolve()
    except OSError:
        return False


def test_answers_are_delivered_to_a_run_that_waits() -> None:
    agent = find_agent("scenarios.approval:agent")
    verdict = kill(agent, options(deliver={"approval": True}))
    assert verdict.word is Word.WITHIN_BOUNDS
    assert "refund@unrecorded" in {str(point) for point in crash_points(agent, options(deliver={"approval": True}))}


def test_a_run_that_waits_for_nobody_is_inconclusive() -> None:
    (reason,) = kill(find_agent("scenarios.approval:agent"), options()).reasons
    assert "the run waits for 'approval'; give the answer with --deliver approval=JSON" in reason


def test_the_same_seed_gives_the_same_first_life_in_every_try() -> None:
    def draws(run: Run, world: World) -> str:
        number = random.randrange(1000)
        run.effect(f"send:{number}", world.email.send, to=READER, body="Hello")
        return "sent"

    one, other = (crash_points(closure(draws), options()) for _ in range(2))
    assert one == other


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"store": "memory:"}, "dies with the process"),
        ({"store": "sqllite:///x.db"}, "did you mean 'sqlite'"),
        ({"accept": ("in-fligth",)}, "did you mean 'in-flight'"),
        ({"policies": {"emial": "none"}}, "did you mean 'email'"),
        ({"policies": {"email": "resnd"}}, "resend"),
        ({"launcher": "frok"}, "did you mean 'fork'"),
        ({"jobs": 0}, "counts from 1"),
    ],
)
def test_an_option_that_is_wrong_says_what_there_is(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        kill(closure(one_email), Options(**wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"depth": 0}, {"random": -1}])
def test_a_reach_that_tries_nothing_is_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(OptionError):
        Reach(**wrong)  # type: ignore[arg-type]


def test_a_verdict_for_the_machine_is_one_object(kill_scenario: Callable[..., Verdict]) -> None:
    verdict: Verdict = kill_scenario("newsletter:unkeyed")
    as_json = verdict.as_json()
    assert {"verdict", "complete", "crash_points", "lives", "seconds", "accepted", "not_covered"} <= as_json.keys()
    (found,) = as_json["findings"]  # type: ignore[misc]
    assert {"check", "step", "window", "schedule", "fact", "cause", "fix", "reproduce"} <= found.keys()
