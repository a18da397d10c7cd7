"""The fixture `chaos`, as a project's own pytest sees it: files in, outcomes out."""

from __future__ import annotations

import re
import sys

import pytest

AGENTS = """
from fakes import World
from durable_core import Run

def safe(run: Run, world: World, topic: str = "sharks") -> str:
    plan = run.effect("plan", world.llm.complete, topic)
    run.effect("send", world.email.send, to="reader@example.com", body=plan.text)
    return "sent"

def unkeyed(run: Run, world: World) -> str:
    run.step("send", world.email.send, to="reader@example.com", body="hello")
    return "sent"
"""


SETTINGS = """
[pytest]
filterwarnings = error
xfail_strict = true
addopts = --strict-markers --strict-config -p no:faker -p no:hypothesispytest
"""
"""Strict, and without plugins of others that take a second to load."""


@pytest.fixture(autouse=True)
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project with two agents. Its pytest is not measured by that of this repository."""
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
    pytester.makeini(SETTINGS)
    pytester.makepyfile(agents=AGENTS)


def run_test(pytester: pytest.Pytester, body: str, *arguments: str) -> pytest.RunResult:
    pytester.makepyfile(test_it=body)
    return pytester.runpytest_subprocess(*arguments)


@pytest.fixture(autouse=True)
def _not_in_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    """In CI pytest repeats whole failures in its summary, and a finding would be counted twice."""
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)


def output(result: pytest.RunResult) -> str:
    return result.stdout.str() + result.stderr.str()


def test_a_safe_agent_passes_and_the_verdict_says_how_far_it_goes(pytester: pytest.Pytester) -> None:
    result = run_test(
        pytester,
        """
        from agents import safe

        def test_it(chaos):
            verdict = chaos.kill(safe)
            assert verdict.word == "safe within bounds"
            assert verdict.kills == verdict.crash_points == 12
            assert not verdict.findings
            assert not verdict.notes
        """,
    )
    result.assert_outcomes(passed=1)
    assert "warning" not in output(result).lower()


def test_every_sequence_of_crashes_is_covered(pytester: pytest.Pytester) -> None:
    result = run_test(
        pytester,
        """
        from agents import safe, unkeyed
        from fakes import World

        def test_safe(chaos):
            verdict = chaos.verify(safe)
            assert verdict.complete
            assert verdict.word == "safe"

        def test_closure(chaos):
            def agent(run, world: World):
                return safe(run, world, "tides")

            assert chaos.verify(agent).complete

        def test_unkeyed(chaos):
            chaos.verify(unkeyed)
        """,
    )
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["UNSAFE  unkeyed: email to reader@example.com was sent 2 times, expected 1*"])
    assert "Traceback" not in output(result)


def test_an_unkeyed_agent_fails_with_the_finding_and_no_traceback(pytester: pytest.Pytester) -> None:
    result = run_test(
        pytester,
        """
        from agents import unkeyed

        def test_it(chaos):
            chaos.kill(unkeyed)
        """,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "UNSAFE  unkeyed: email to reader@example.com was sent 2 times, expected 1*",
            "  life 1  send  email.send key=- → applied as call 1 · KILLED before the record (send@unrecorded)",
            "  life 2  send  email.send key=- → applied as call 2",
            "  cause   step 'send' has no idempotency key, so the provider could not tell a retry from a new email",
            '  fix     run.effect("send", email.send, ...), which passes run.key("send")',
            "  again   crashwindow reproduce agents:unkeyed send@unrecorded",
        ]
    )
    assert "Traceback" not in output(result)
    assert "chaos/" not in output(result)


def test_the_command_of_a_finding_shows_the_finding_again(pytester: pytest.Pytester) -> None:
    result = run_test(pytester, "from agents import unkeyed\ndef test_it(chaos): chaos.kill(unkeyed)")
    (command,) = re.findall(r"again   (crashwindow reproduce .*)", result.stdout.str())
    again = pytester.run(sys.executable, "-m", *command.split())
    assert again.ret == 1
    again.stdout.fnmatch_lines(["UNSAFE  unkeyed: email to reader@example.com was sent 2 times, expected 1"])


def test_closures_and_lambdas_are_killed_too(pytester: pytest.Pytester) -> None:
    result = run_test(
        pytester,
        """
        from agents import safe, unkeyed
        from fakes import World

        def test_closure(chaos):
            topic = "tides"

            def agent(run, world: World):
                return safe(run, world, topic)

            assert chaos.kill(agent).kills == 12

        def test_lambda(chaos):
            chaos.kill(lambda run: unkeyed(run, World("/nowhere/ledger.db")), points=["send@*"])

        def test_unsafe_closure(chaos):
            def agent(run, world: World):
                return unkeyed(run, world)

            chaos.kill(agent)
        """,
    )
    result.assert_outcomes(passed=1, failed=2)
    assert "was sent 2 times, expected 1" in output(result)
    assert "because: without any kill, the agent raised LedgerUnusable" in output(result)


def test_what_follows_the_agent_is_its_input(pytester: pytest.Pytester) -> None:
    result = run_test(
        pytester,
        """
        from fakes import World

        def agent(run, world: World, to, body="hello"):
            assert to == {"name": "Ada", "ids": [1, 2]}
            assert body == "text"
            run.effect("send", world.email.send, to=to["name"], body=body)

        def test_it(chaos):
            chaos.kill(agent, {"name": "Ada", "ids": [1, 2]}, "text")

        def test_missing(chaos):
            chaos.kill(agent)
        """,
    )
    result.assert_outcomes(passed=1, failed=1)
    assert "test_it:agent needs an input for 'to'" in output(result)


@pytest.mark.parametrize("options", ['store="file"', 'points=["send@*"]', 'launcher="spawn", points=["send@applied"]'])
def test_options_of_the_command_line_are_options_of_the_fixture(pytester: pytest.Pytester, options: str) -> None:
    result = run_test(
        pytester,
        f"""
        from agents import safe, unkeyed

        def test_safe(chaos):
            assert chaos.kill(safe, {options}).kills in (1, 4, 12)

        def test_unkeyed(chaos):
            chaos.kill(unkeyed, {options})
        """,
    )
    result.assert_outcomes(passed=1, failed=1)
    assert "was sent 2 times, expected 1" in output(result)


def test_an_agent_that_fails_without_a_kill_is_inconclusive(pytester: pytest.Pytester) -> None:
    result = run_test(
        pytester,
        """
        def agent(run):
            run.step("read", int, "three")

        def test_it(chaos):
            chaos.kill(agent)
        """,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "test_it:agent: inconclusive*",
            "  because: without any kill, the agent raised ValueError: invalid literal*three*test_it.py:2 in agent*",
        ]
    )


def test_an_agent_that_calls_no_provider_is_inconclusive(pytester: pytest.Pytester) -> None:
    result = run_test(
        pytester,
        """
        def agent(run):
            return run.step("add", sum, [1, 2])

        def test_it(chaos):
            chaos.kill(agent)
        """,
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["  because: nothing was exercised: the agent called no provider of its World"])


def test_an_unknown_point_is_named_with_the_nearest_one(pytester: pytest.Pytester) -> None:
    result = run_test(
        pytester,
        """
        from agents import safe

        def test_it(chaos):
            chaos.kill(safe, points=["sent@unrecorded"])
        """,
    )
    result.assert_outcomes(failed=1)
    message = "crashwindow: the agent passes no point 'sent@unrecorded'; did you mean 'send@unrecorded'?"
    assert message in output(result)
    assert "Traceback" not in output(result)


@pytest.mark.parametrize("option", ['store="memory:"', "depth=0", 'policies={"mail": "none"}', 'accept=["inflight"]'])
def test_a_wrong_option_fails_the_test_with_one_line(pytester: pytest.Pytester, option: str) -> None:
    result = run_test(pytester, f"from agents import safe\ndef test_it(chaos): chaos.kill(safe, {option})")
    result.assert_outcomes(failed=1)
    assert re.search(r"^crashwindow: ", result.stdout.str(), re.MULTILINE)
    assert "Traceback" not in output(result)


def test_workers_of_xdist_give_one_verdict_a_test(pytester: pytest.Pytester) -> None:
    result = run_test(
        pytester,
        """
        import pytest
        from agents import safe, unkeyed

        @pytest.mark.parametrize("agent", [safe, unkeyed, safe, unkeyed])
        def test_it(chaos, agent):
            chaos.kill(agent, points=["send@*"])
        """,
        "-n",
        "2",
    )
    result.assert_outcomes(passed=2, failed=2)
    assert output(result).count("UNSAFE  unkeyed: email to reader@example.com was sent 2 times, expected 1") == 2


def test_four_workers_that_verify_give_one_verdict_a_test(pytester: pytest.Pytester) -> None:
    result = run_test(
        pytester,
        """
        import os, signal
        import pytest
        from agents import safe, unkeyed

        def dies(run, world):
            if world.ledger.rows():
                os.kill(os.getpid(), signal.SIGTERM)
            return safe(run, world)

        @pytest.mark.parametrize("agent", [safe, unkeyed, safe, unkeyed, safe])
        def test_it(chaos, agent):
            chaos.verify(agent)

        def test_death(chaos):
            from fakes import World
            def agent(run, world: World): return dies(run, world)
            chaos.verify(agent)
        """,
        "-n",
        "4",
    )
    result.assert_outcomes(passed=3, failed=3)
    assert output(result).count("UNSAFE  unkeyed: email to reader@example.com was sent 2 times, expected 1") == 2
    assert "was killed by signal 15" in output(result)


def test_a_life_that_dies_unplanned_is_named_by_its_signal_or_exit_code(pytester: pytest.Pytester) -> None:
    result = run_test(
        pytester,
        """
        import os, signal
        from agents import safe
        from fakes import World

        def crashes(run, world: World):
            os.kill(os.getpid(), signal.SIGSEGV)

        def leaves(run, world: World):
            print("out of luck")
            os._exit(3)

        def leaves_when_resumed(run, world: World, state=None):
            if run.step("life", os.getpid) != os.getpid():
                os._exit(3)
            safe(run, world)

        def test_signal(chaos):
            chaos.kill(crashes)

        def test_exit_code(chaos):
            chaos.kill(leaves)

        def test_resumed(chaos):
            chaos.kill(leaves_when_resumed)
        """,
    )
    result.assert_outcomes(failed=3)
    text = output(result)
    assert "because: without any kill, life 1 was killed by signal 11" in text
    assert "because: without any kill, life 1 left with exit code 3; it last said: out of luck" in text
    assert "left with exit code 3" in text.partition("test_resumed")[2]


def test_a_project_with_a_package_called_chaos_keeps_its_tests(pytester: pytest.Pytester) -> None:
    pytester.mkpydir("chaos").joinpath("monkey.py").write_text("NAME = 'theirs'\n")
    pytester.makeconftest("import chaos.monkey\nassert chaos.monkey.NAME == 'theirs'")
    result = run_test(
        pytester,
        """
        from chaos.monkey import NAME

        def test_theirs():
            assert NAME == "theirs"

        def test_ours(chaos):
            chaos.kill(None)
        """,
    )
    result.assert_outcomes(passed=1, errors=1)
    taken = pytester.path / "chaos" / "__init__.py"
    assert f"crashwindow needs its package 'chaos', but that name is taken by {taken}." in output(result)
    assert "Traceback" not in output(result)


def test_a_folder_called_chaos_that_is_no_package_does_no_harm(pytester: pytest.Pytester) -> None:
    pytester.mkdir("chaos").joinpath("notes.txt").write_text("theirs")
    result = run_test(pytester, "from agents import safe\ndef test_it(chaos): chaos.kill(safe, points=['plan@*'])")
    result.assert_outcomes(passed=1)


def test_the_fixture_is_listed_with_what_it_does(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("--fixtures")
    result.stdout.fnmatch_lines(["chaos -- *", "    Kill agents in every crash window:*"])


def test_jobs_are_an_option_of_pytest(pytester: pytest.Pytester) -> None:
    body = "from agents import safe\ndef test_it(chaos): assert chaos.kill(safe, points=['send@*']).kills == 4"
    run_test(pytester, body, "--chaos-jobs", "1").assert_outcomes(passed=1)
    refused = run_test(pytester, body, "--chaos-jobs", "0")
    refused.assert_outcomes(failed=1)
    assert "crashwindow: --jobs 0 " in output(refused)


MEASURED = """
from durable_core import Run
from fakes import World

def agent(run: Run, world: World) -> str:
    run.effect("send", world.email.send, to="reader@example.com", body="hello")
    return "sent"

def never() -> str:
    return "this line is not executed"
"""


@pytest.mark.parametrize("launcher", ["fork", "spawn"])
@pytest.mark.parametrize("measure", ["pytest-cov", "coverage run"])
def test_lines_that_only_lives_execute_are_covered(pytester: pytest.Pytester, measure: str, launcher: str) -> None:
    pytester.makepyfile(measured=MEASURED)
    pytester.makefile(".coveragerc", "[run]\nbranch = true\nparallel = true\nsource = .\n")
    body = (
        f"from measured import agent\ndef test_it(chaos): chaos.kill(agent, launcher={launcher!r}, points=['send@*'])"
    )
    if measure == "pytest-cov":
        run_test(pytester, body, "--cov", "--cov-report=").assert_outcomes(passed=1)
    else:
        pytester.makepyfile(test_it=body)
        pytester.run(sys.executable, "-m", "coverage", "run", "-m", "pytest").assert_outcomes(passed=1)
        assert pytester.run(sys.executable, "-m", "coverage", "combine", "--quiet").ret == 0
    report = pytester.run(sys.executable, "-m", "coverage", "report", "--show-missing", "--include", "measured.py")
    report.stdout.fnmatch_lines(["measured.py * 9"])
    assert not [file.name for file in pytester.path.glob(".coverage.*")]
