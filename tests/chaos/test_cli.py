"""The command line: exit codes, one-line errors, and one object for the machine."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from durable_core import Run, open_store, resume


def crashwindow(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "crashwindow", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=cwd)


def test_a_safe_agent_exits_with_0() -> None:
    done = crashwindow("kill", "scenarios.newsletter:keyed")
    assert done.returncode == 0
    assert "safe within bounds" in done.stdout


def test_an_unsafe_agent_exits_with_1_and_names_the_window() -> None:
    done = crashwindow("kill", "scenarios.newsletter:unkeyed")
    assert done.returncode == 1
    assert "UNSAFE  unkeyed: email to reader@example.com was sent 2 times, expected 1" in done.stdout
    assert "crashwindow reproduce scenarios.newsletter:unkeyed send@unrecorded" in done.stdout


def test_an_agent_that_starts_over_is_told_its_tokens() -> None:
    done = crashwindow("kill", "scenarios.newsletter:restart")
    assert done.returncode == 1
    assert "tokens were paid again" in done.stdout


def test_the_command_of_a_finding_reproduces_it() -> None:
    done = crashwindow("reproduce", "scenarios.newsletter:unkeyed", "send@unrecorded")
    assert done.returncode == 1
    assert "was sent 2 times, expected 1" in done.stdout


def test_a_finding_under_a_fault_is_saved_and_shown_again_by_its_command(tmp_path: Path) -> None:
    fault = ("--fault", "email.send#1:lost_after", "--format", "json")
    saved = tmp_path / "found.json"
    found = crashwindow("verify", "scenarios.newsletter:unkeyed", *fault, "--save", str(saved))
    assert found.returncode == 1
    assert "lost_after" in saved.read_text()
    assert crashwindow("reproduce", "scenarios.newsletter:unkeyed", "", *fault).returncode == 1
    wrong = crashwindow("kill", "scenarios.newsletter:unkeyed", "--fault", "email.send:lost")
    assert (wrong.returncode, "did you mean 'lost_after'?" in wrong.stderr) == (2, True)


def test_an_inconclusive_verdict_exits_with_3() -> None:
    assert crashwindow("kill", "scenarios.approval:agent").returncode == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("kill", "scenarios.newsletter:keyd"), "did you mean 'keyed'?"),
        (("kill", "scenarios.newsletter:keyed", "--arg", "a", "--arg", "b"), "takes 1: topic"),
        (("kill", "scenarios.newsletter:keyed", "--store", "memory:"), "dies with the process"),
        (("kill", "scenarios.newsletter:keyed", "--policy", "llm"), "NAME=VALUE"),
        (("kill", "scenarios.newsletter:keyed", "--deliver", "a=no"), "is not JSON"),
        (("kill", "scenarios.newsletter:keyed", "--depth", "0"), "--depth 0"),
        (("reproduce", "scenarios.newsletter:keyed", "sendd@unrecorded"), "did you mean 'send@unrecorded'?"),
        (("reproduce", "scenarios.newsletter:keyed", "send@unrecord"), "did you mean 'unrecorded'?"),
        (("runs", "list", "sqlite:///no/such/file.db"), "there is nothing at"),
    ],
)
def test_what_does_not_exist_is_one_line_and_exits_with_2(arguments: tuple[str, ...], message: str) -> None:
    done = crashwindow(*arguments)
    assert done.returncode == 2
    (line,) = done.stderr.strip().splitlines()
    assert line.startswith("crashwindow: ")
    assert message in line


def test_json_is_one_object_and_nothing_else() -> None:
    verdict = json.loads(crashwindow("kill", "scenarios.newsletter:unkeyed", "--format", "json").stdout)
    assert verdict["verdict"] == "unsafe"
    assert verdict["complete"] is False
    assert verdict["crash_points"] == 28
    (finding,) = verdict["findings"]
    assert finding["check"] == "duplicate-effect"
    assert (finding["step"], finding["window"]) == ("send", "unrecorded")
    assert finding["schedule"] == "send@unrecorded"


def test_points_are_listed_in_the_order_they_are_passed() -> None:
    listed = crashwindow("points", "scenarios.newsletter:keyed").stdout.split()
    assert listed[:4] == ["(start)@unrecorded", "(start)@recorded", "plan@before", "plan@applied"]
    assert json.loads(crashwindow("points", "scenarios.newsletter:keyed", "--format", "json").stdout) == listed


def test_the_demo_shows_the_bug_and_its_fix() -> None:
    done = crashwindow("demo")
    assert done.returncode == 0
    rows = {line[:18].strip(): line[18:].split() for line in done.stdout.splitlines()}
    zero, checkpoint, keys = (rows[name] for name in ("from zero", "with a checkpoint", "with keys"))
    assert int(zero[2].replace(",", "")) > 0
    assert (zero[3], checkpoint[2], checkpoint[3], keys[2], keys[3]) == ("2", "0", "2", "0", "1")
    assert "notify@unrecorded" in done.stdout


def test_agents_of_the_working_directory_are_found(tmp_path: Path) -> None:
    tmp_path.joinpath("my_agent.py").write_text(
        "def agent(run, topic: str = 'x'):\n    return run.step('think', str, topic)\n"
    )
    done = crashwindow("kill", "my_agent:agent", cwd=tmp_path)
    assert done.returncode == 3
    assert "nothing was exercised" in done.stdout


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A store with one finished run whose values are hostile to terminals."""

    def agent(run: Run) -> str:
        run.step("greet", lambda: "\x1b[31mred[/bold]\x07")
        return "done"

    url = f"sqlite:///{tmp_path}/runs.db"
    opened = open_store(url)
    resume(opened, "run-1", agent)
    opened.close()
    return url


def test_runs_of_a_store_are_listed_and_shown(store: str) -> None:
    listed = crashwindow("runs", "list", store).stdout
    assert "run-1" in listed
    assert "finished" in listed
    shown = crashwindow("runs", "show", store, "run-1").stdout
    assert "greet" in shown
    assert "\x1b[31m" not in shown
    assert "[/bold]" in shown


def test_a_run_that_is_not_there_names_the_nearest(store: str) -> None:
    done = crashwindow("runs", "show", store, "run-2")
    assert done.returncode == 2
    assert "did you mean 'run-1'?" in done.stderr
