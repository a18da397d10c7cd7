"""Servers that can be measured: ours, and other people's fakes of OpenAI, installed where they do not get in the way.

Peers are kept in .venv/bench-peers, in the versions named here. One that cannot be had is a `NotHad`, with the reason.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from load import HOST, PATH, SUBJECT, question

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / ".venv" / "bench-peers"
AIMOCK = "1.43.0"
LLMOCK = "0.2.2"

_COMMAND = "import sys, crashwindow; sys.exit(crashwindow.main())"
_PARAGRAPH = "Some sharks swim far, and others stay where they are; all of them were here before the trees. " * 3
"""What aimock answers: as long as the paragraphs of the others."""

_INSTALL_SECONDS = 300
_START_SECONDS = 30
_END_SECONDS = 10


class NotHad(Exception):
    """A peer cannot be installed, started or measured; the message says why."""


class Installed(Protocol):
    """Sees to it that a peer is in a folder of its own."""

    def __call__(self, folder: Path, *, fetch: bool) -> list[str]:
        """Its command. Raises `NotHad` where it is not there and cannot, or may not, be fetched."""


@dataclass(frozen=True, slots=True)
class Peer:
    """Somebody else's fake.

    Attributes:
        name: with the version.
        aim: how many times as fast ours has to be.
        installed: makes its command, without the port.
    """

    name: str
    aim: int
    installed: Installed


def ours(ledger: Path, *options: str) -> list[str]:
    """Our command, without the port."""
    return [sys.executable, "-c", _COMMAND, "serve", "--ledger", str(ledger), *options]


@contextmanager
def running(command: Sequence[str], log: Path) -> Iterator[int]:
    """A server that answers as long as the block lasts; gives its port. Raises `NotHad`."""
    port = _free_port()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    options = ["--port", str(port)]
    try:
        with log.open("wb") as output:
            process = subprocess.Popen([*command, *options], stdout=output, stderr=subprocess.STDOUT, env=environment)
    except OSError as error:
        raise NotHad(f"it cannot be started: {error}") from None
    try:
        _wait_for(process, port, log)
        yield port
    finally:
        process.terminate()
        try:
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_for(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Until it has answered a question; the first one may take it long."""
    until = time.monotonic() + _START_SECONDS
    while not _answers(port):
        if process.poll() is not None or time.monotonic() > until:
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["nothing"]
            raise NotHad(f"it does not answer; the last that it said: {said[-1]}")
        time.sleep(0.05)


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=_START_SECONDS)
    headers = {"Authorization": "Bearer sk-any", "Content-Type": "application/json"}
    with suppress(OSError, http.client.HTTPException):
        try:
            connection.request("POST", PATH, question(0), headers)
            return connection.getresponse().status == http.client.OK
        finally:
            connection.close()
    return False


def _free_port() -> int:
    with socket.create_server((HOST, 0)) as taken:
        return int(taken.getsockname()[1])


def _aimock(folder: Path, *, fetch: bool) -> list[str]:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise NotHad("there is no Node.js")
    package = folder / "node_modules" / "@copilotkit" / "aimock"
    if _version(package / "package.json") != AIMOCK:
        options = ["--no-audit", "--no-fund", "--prefix", str(folder)]
        _fetch([npm, "install", *options, f"@copilotkit/aimock@{AIMOCK}"], allowed=fetch)
    fixtures = folder / "fixtures.json"
    fixture = {"match": {"userMessage": SUBJECT}, "response": {"content": _PARAGRAPH}}
    fixtures.write_text(json.dumps({"fixtures": [fixture]}), encoding="utf-8")
    return [node, str(package / "dist" / "cli.js"), "--fixtures", str(fixtures), "--log-level", "silent"]


def _llmock(folder: Path, *, fetch: bool) -> list[str]:
    python = folder / "bin" / "python"
    if not list(folder.glob(f"lib/*/site-packages/llmock-{LLMOCK}.dist-info")):
        if not python.exists():
            _fetch([sys.executable, "-m", "venv", str(folder)], allowed=fetch)
        pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"llmock=={LLMOCK}"]
        _fetch([str(python), *pip], allowed=fetch)
    return [str(folder / "bin" / "llmock"), "serve", "--log-level", "critical"]


PEERS = {
    "node": Peer(f"aimock {AIMOCK}", 1, _aimock),
    "llmock": Peer(f"llmock {LLMOCK}", 5, _llmock),
}
"""By the folder that each is kept in."""


def _version(package: Path) -> str | None:
    return json.loads(package.read_text(encoding="utf-8"))["version"] if package.exists() else None


def _fetch(command: Sequence[str], *, allowed: bool) -> None:
    if not allowed:
        raise NotHad("it is not installed, and --quick fetches nothing")
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotHad(f"it cannot be installed: {error}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
        raise NotHad(f"it cannot be installed: {said[-1]}")
