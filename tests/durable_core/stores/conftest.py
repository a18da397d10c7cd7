"""Programs in processes of their own, for what only a process can do: die, lose rights, run out of disk."""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]

Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start Python source with arguments; what is still alive at the end of the test is killed."""
    with ExitStack() as running:

        def start(source: str, *arguments: object) -> subprocess.Popen[str]:
            command = [sys.executable, "-c", source, *map(str, arguments)]
            process = running.enter_context(
                subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            )
            running.callback(process.kill)
            return process

        yield start


@pytest.fixture
def run(start: Start) -> Callable[..., str]:
    """Run Python source with arguments to its end; its output."""

    def run(source: str, *arguments: object) -> str:
        process = start(source, *arguments)
        output, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        return output

    return run


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can get to; pytest's own are for this user alone."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)
