"""However the harness itself ends, nothing of a program is left: no process, no zombie, no port, no file."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

LINES = """
import subprocess, time
for command in (["sleep", "300"], ["sh", "-c", "(sleep 300 & echo $! >> {pids})"]):
    child = subprocess.Popen(command, start_new_session=True)
    open("{pids}", "a").write(str(child.pid) + "\\n")
open("{pids}", "a").write(str(os.getpid()) + "\\n" + os.environ["CRASHWINDOW_URL"] + "\\n" + str(state) + "\\n")
time.sleep(300)
"""


def until(condition: Any, seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_is_left_when_the_harness_is_ended_by(number: signal.Signals, program: Any, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    command = program(LINES.replace("{pids}", str(pids)))
    harness = subprocess.Popen(
        [Path(sys.executable).parent / "crashwindow", "exec", "--dir", tmp_path, "--", *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - in the background it is ignored
    )
    until(lambda: pids.exists() and "crashwindow-" in pids.read_text())

    harness.send_signal(number)
    output, _ = harness.communicate(timeout=60)

    assert b"Traceback" not in output
    text = pids.read_text()
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in re.findall(r"^\d+$", text, re.MULTILINE)))
    until(lambda: not list(tmp_path.glob("crashwindow-*")))
    with socket.create_server(("127.0.0.1", int(re.search(r"http://127\.0\.0\.1:(\d+)", text)[1]))):
        pass  # the port can be had again
