"""Random agents under random schedules: safe with keys, found without."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from chaos.agent import Agent
from chaos.kill import kill
from chaos.options import Options
from chaos.plan import Reach
from scenarios.plans import Beside, Branch, Do, Loop, Part, carry_out

does = st.builds(Do, st.sampled_from(["ask", "search", "send", "charge", "now"]))
bodies = st.lists(does, min_size=1, max_size=2).map(tuple)
parts = st.one_of(
    does,
    st.builds(Loop, bodies),
    st.builds(Branch, bodies, bodies),
    st.builds(Beside, st.sampled_from(["threads", "tasks"]), st.lists(bodies, min_size=1, max_size=3).map(tuple)),
)
programs = st.lists(parts, min_size=1, max_size=4)
effects = st.builds(Do, st.sampled_from(["ask", "send", "charge"]))

# A kill takes milliseconds, so an example takes a second; there is no deadline since machines differ.
few = settings(max_examples=12, deadline=None)


def agent_of(program: list[Part]) -> Agent:
    return Agent("scenarios.plans:carry_out", partial(carry_out, program=program))


@few
@given(program=programs, first=effects, seed=st.integers(0, 1000))
def test_with_keys_a_random_agent_is_safe_whatever_the_model_answers(program: list[Part], first: Do, seed: int) -> None:
    reach = Reach(points=("*@applied", "*@unrecorded"), random=2)
    verdict = kill(agent_of([first, *program]), Options(jobs=2, seed=seed, reach=reach))
    assert verdict.findings == ()
    assert verdict.reasons == ()
    assert verdict.kills >= verdict.tries


@few
@given(program=programs, victim=effects, place=st.integers(0, 4), seed=st.integers(0, 1000))
def test_one_key_taken_away_is_found(program: list[Part], victim: Do, place: int, seed: int) -> None:
    place = min(place, len(program))
    broken = [*program[:place], replace(victim, keyed=False), *program[place:]]
    reach = Reach(points=(f"{place}/{victim.what}@unrecorded",))
    (found,) = kill(agent_of(broken), Options(jobs=2, seed=seed, reach=reach)).findings
    assert found.step == f"{place}/{victim.what}"
    assert found.check == ("re-spent-tokens" if victim.what == "ask" else "duplicate-effect")
