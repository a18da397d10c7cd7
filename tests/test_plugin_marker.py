"""The marker `@pytest.mark.chaos(...)` and `--chaos-budget`, as a project's own pytest sees them."""

from __future__ import annotations

import pytest

AGENTS = """
from fakes import World
from durable_core import Run

def keyed(run: Run, world: World) -> str:
    return run.effect("send", world.email.send, to="reader@example.com", body="hello").id
"""

SETTINGS = """
[pytest]
filterwarnings = error
addopts = --strict-markers --strict-config -p no:faker -p no:hypothesispytest
"""


@pytest.fixture(autouse=True)
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
    pytester.makeini(SETTINGS)
    pytester.makepyfile(agents=AGENTS)


def run_test(pytester: pytest.Pytester, body: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(test_it="import pytest\nfrom agents import keyed\n" + body)
    return pytester.runpytest_subprocess(*arguments)


def output(result: pytest.RunResult) -> str:
    return result.stdout.str() + result.stderr.str()


def test_keywords_of_the_marker_hold_for_the_calls_of_its_test(pytester: pytest.Pytester) -> None:
    result = run_test(
        pytester,
        """
@pytest.mark.chaos(launcher="in-process", policies={"email": "none"})
class TestIt:
    def test_class(self, chaos):
        with pytest.raises(pytest.fail.Exception, match="sent 2 times"):
            chaos.verify(keyed)

    def test_call_comes_first(self, chaos):
        assert chaos.verify(keyed, policies={}).complete

    @pytest.mark.chaos(policies={}, max_images=2)
    def test_closest_comes_first(self, chaos):
        assert "--max-images 2" in chaos.verify(keyed).not_covered[0]

def test_no_other_test(chaos):
    assert chaos.verify(keyed, launcher="in-process").complete
""",
    )
    result.assert_outcomes(passed=4)


def test_a_keyword_of_one_method_does_not_disturb_the_other(pytester: pytest.Pytester) -> None:
    result = run_test(
        pytester,
        """
@pytest.mark.chaos(points=["send@before"], interleavings=0, seed=3)
def test_it(chaos):
    assert chaos.kill(keyed).tries == 1
    assert chaos.verify(keyed, launcher="in-process").complete
""",
    )
    result.assert_outcomes(passed=1)


def test_what_no_method_takes_names_the_nearest(pytester: pytest.Pytester) -> None:
    result = run_test(
        pytester,
        """
@pytest.mark.chaos(bugdet=30)
def test_name(chaos): ...

@pytest.mark.chaos("30s")
def test_positional(chaos): ...
""",
    )
    result.assert_outcomes(errors=2)
    assert "@pytest.mark.chaos knows no keyword 'bugdet'; did you mean 'budget'?" in output(result)
    assert "@pytest.mark.chaos takes keywords alone" in output(result)


def test_a_budget_holds_for_every_verify_without_one_of_its_own(pytester: pytest.Pytester) -> None:
    body = """
def test_it(chaos):
    assert "--budget 0s" in chaos.verify(keyed, launcher="in-process").not_covered[0]

@pytest.mark.chaos(budget=60, launcher="in-process")
def test_marked(chaos):
    assert chaos.verify(keyed).complete
"""
    run_test(pytester, body, "--chaos-budget", "0s").assert_outcomes(passed=2)
    wrong = run_test(pytester, body, "--chaos-budget", "soon")
    wrong.assert_outcomes(errors=2)
    assert "--chaos-budget 'soon' is no time; write 30s, 2m or 1h" in output(wrong)


def test_the_marker_is_listed(pytester: pytest.Pytester) -> None:
    assert "@pytest.mark.chaos(**keywords)" in output(pytester.runpytest_subprocess("--markers"))


def test_faults_and_a_file_of_regressions_are_keywords_too(pytester: pytest.Pytester) -> None:
    result = run_test(
        pytester,
        """
from pathlib import Path

@pytest.mark.chaos(launcher="in-process", save=Path("found.json"))
def test_it(chaos):
    assert chaos.verify(keyed, faults=["email.send#1:lost_after"]).complete
    with pytest.raises(pytest.fail.Exception, match="sent 2 times"):
        chaos.verify(keyed, faults=["email.send#1:lost_after"], policies={"email": "none"})
    assert "email.send#1:lost_after" in Path("found.json").read_text()
    with pytest.raises(pytest.fail.Exception, match="did you mean 'lost_after'"):
        chaos.verify(keyed, faults=["email.send#1:lost_aftre"])
""",
    )
    result.assert_outcomes(passed=1)
