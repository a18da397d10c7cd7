"""For each step the verdict says why it is safe, and what guarantee it reaches."""

from __future__ import annotations

from chaos.agent import Agent, find_agent
from chaos.kill import kill
from chaos.options import Options
from chaos.plan import Reach
from chaos.report import verdict_text
from chaos.verify import verify
from durable_core import Run
from fakes import World


def safety(name: str, **options: object) -> dict[str, tuple[str, str]]:
    verdict = verify(find_agent(f"scenarios.{name}"), Options(launcher="in-process", **options))  # type: ignore[arg-type]
    return {one.step: (one.why, one.guarantee) for one in verdict.steps}


def test_a_key_that_the_provider_has_recognised_makes_it_effectively_once() -> None:
    steps = safety("newsletter:keyed")
    assert steps["send"] == ("the provider deduplicates on its key", "effectively exactly once")
    assert steps["news"] == ("read-only", "at least once")


def test_a_look_up_and_a_hold_reach_what_they_can() -> None:
    assert safety("refund:looked_up")["refund"] == ("asks before it sends again", "effectively exactly once")
    assert safety("refund:held")["refund"] == ("held for a person", "at most once")


def test_a_delivery_comes_from_outside() -> None:
    steps = safety("approval:agent", deliver={"approval": False})
    assert steps["approval"] == ("delivered once from outside", "effectively exactly once")


def test_what_no_crash_has_tried_is_luck() -> None:
    verdict = kill(find_agent("scenarios.newsletter:keyed"), Options(jobs=1, reach=Reach(points=("news@*",))))
    why = {one.step: one.why for one in verdict.steps}
    assert why["send"] == "luck: no crash has put its key to the test"
    assert "write:* (3)" in verdict_text(verdict)


def test_an_effect_without_a_key_is_at_least_once() -> None:
    assert safety("broken:duplicate_effect")["send"] == ("luck: it has no key", "at least once")


def test_a_step_without_a_provider_rests_on_its_record() -> None:
    def counts(run: Run, world: World) -> str:
        run.step("count", len, "abc")
        return run.effect("send", world.email.send, to="reader@example.com", body="Hello").id

    verdict = verify(Agent("tests:counts", counts), Options(launcher="in-process"))
    assert verdict.steps[0].why == "its record"
    assert verdict.as_json()["steps"][0] == {  # type: ignore[index]
        "step": "count",
        "why": "its record",
        "guarantee": "effectively exactly once",
    }
