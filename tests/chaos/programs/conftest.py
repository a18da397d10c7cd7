"""Small programs that know nothing of us, and a way to kill them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.plan import Reach
from chaos.programs.execute import execute, program_options
from chaos.programs.program import Program
from chaos.verdict import Verdict

DESK = """
import json, os, pathlib, sys, urllib.parse, urllib.request

state = pathlib.Path(os.environ["CRASHWINDOW_STATE"])
noted = state / "noted.json"
done = json.loads(noted.read_text()) if noted.exists() else {}

def post(url, body, **headers):
    if isinstance(body, dict):
        body, headers = json.dumps(body), {"Content-Type": "application/json", **headers}
    headers = {"Authorization": "Bearer sk_test_x", **{name.replace("_", "-"): text for name, text in headers.items()}}
    return json.load(urllib.request.urlopen(urllib.request.Request(url, body.encode(), headers)))

def step(name, work):
    if name not in done:
        done[name] = work()
        new = state / "new.json"
        new.write_text(json.dumps(done))
        new.replace(noted)
    return done[name]

def key(name):
    return {"Idempotency_Key": os.environ["CRASHWINDOW_RUN_ID"] + ":" + name} if "--keyed" in sys.argv else {}

def send(name, to, subject="Hello"):
    body = {"from": "desk@example.com", "to": [to], "subject": subject, "text": "Hello"}
    return step(name, lambda: post(os.environ["RESEND_API_URL"] + "/emails", body, **key(name)))
"""


UNMEASURED = {"COVERAGE_PROCESS_START": "", "COVERAGE_PROCESS_CONFIG": ""}
"""For the programs, which are no code of ours: measuring them would double the time that each life takes."""


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], tuple[str, ...]]:
    """A command that runs a program made of the desk and the given lines."""

    def written(lines: str, *arguments: str, name: str = "desk.py") -> tuple[str, ...]:
        file = tmp_path / name
        file.write_text(DESK + lines)
        return (sys.executable, str(file), *arguments)

    return written


@pytest.fixture
def kill(tmp_path: Path) -> Callable[..., Verdict]:
    """Kill a command at the points that match; everything else by name, as `Program` and `Options` have it."""
    if sys.platform != "linux":
        pytest.skip("programs are started on Linux")
    names = {"environment", "state", "signal", "grace", "later", "tls", "warm", "syscalls", "script", "recorded"}

    def killed(command: tuple[str, ...], *points: str, **keywords: object) -> Verdict:
        of_program = {name: keywords.pop(name) for name in names & set(keywords)}
        of_program["environment"] = {**UNMEASURED, **of_program.get("environment", {})}
        reach = Reach(points=points or None, depth=keywords.pop("depth", 1))
        options = program_options(reach=reach, jobs=2, **keywords)
        return execute(Program(command=command, **of_program), options)

    return killed
