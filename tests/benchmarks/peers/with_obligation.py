"""What a user of pytest-obligation writes: a child that dies at named points, and a history for each half."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from plain_agent import run
from plain_providers import Providers
from pytest_obligation.host import Host, configure
from pytest_obligation.process_histories import ProcessHistory, die_here, fault_environment

configure(Host(production_packages={"app"}))

STEPS = ("plan", "research", "write", "send")
BOOKS = [("mail", "reader@example.com", 1), ("model", "plan", 1), ("model", "write", 1)]


def history(half: str) -> ProcessHistory:
    steps = [step for step in STEPS if (half, step) != ("respent", "write")]  # asked outside of any step there

    def start(point: str | None) -> tuple[Path, int]:
        folder = Path(tempfile.mkdtemp())
        command = [sys.executable, __file__, half, str(folder)]
        return folder, subprocess.run(command, env=os.environ | fault_environment(point), check=False).returncode

    return ProcessHistory(
        name=half,
        initial=[],
        expected=BOOKS,
        run=start,
        observe=lambda folder: Providers(folder).books(),
        recover=lambda folder: run(half, folder),
        death_points=tuple(f"{when}_{step}" for step in steps for when in ("before", "after")),
    )


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]), die_here)
