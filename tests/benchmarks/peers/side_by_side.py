"""crashwindow beside its peers, in one run, on one agent: `python side_by_side.py [--venv FOLDER] [--json FILE]`.

The agent has four steps and four halves: `keyed` is right, and has to pass although a resend of its key happens;
`unkeyed` sends twice; `respent` pays the model twice; `forgets` sends twice after two crashes, never after one. Every
tool is run on the agent that it can run: a plain one with a JSON checkpoint, a handler on replaycheck's World, one on
a `Run`. What a tool finds is what its own exit says; a tool that could not be run is listed as such, with the reason.

Lines are those of the real files beside this one, without blank lines, comments and docstrings, and without the
agent. Tries are what each tool counts as one: a death and a recovery, a schedule, a killed life, a life in an image.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tokenize
import venv
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from xml.etree import ElementTree as ET

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
HALVES = ("unkeyed", "keyed", "respent", "forgets")
COMMAND = "import sys, crashwindow; sys.exit(crashwindow.main())"
AGENT_FILES = ("plain_agent.py", "plain_providers.py")
PEER_FILES = ("with_obligation.py", "ask_obligation.py", "with_replaycheck.py", "ask_replaycheck.py")
SECONDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one tool found.

    Attributes:
        tool: its name and version.
        found: by half, whether the tool complained.
        lines: that a user writes for the tool, in the files named, `command` for a command line.
        fakes: lines of fake providers that the tool does not have.
        tries: and `seconds` that they took.
        reason: why there is nothing of it.
    """

    tool: str = ""
    found: dict[str, bool] = field(default_factory=dict)
    lines: int = 0
    fakes: int = 0
    tries: int = 0
    seconds: float = 0.0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Application:
    """The plain agent as an application, with its tests beside it: pytest-obligation tells the two by their folders."""

    code: Path
    tests: Path
    python: Path

    @classmethod
    def beside_tests(cls, folder: Path, python: Path) -> Application:
        """Copy both into a folder."""
        app = cls(folder / "app", folder / "tests", python)
        for place, names in ((app.code, AGENT_FILES), (app.tests, PEER_FILES)):
            place.mkdir()
            for name in names:
                shutil.copy(HERE / name, place)
        return app

    @property
    def path(self) -> str:
        """What imports are looked for in."""
        return os.pathsep.join([str(self.code), str(self.tests)])


class NotRun(Exception):
    """A tool could not be run; the message says why."""


def main(argv: Sequence[str] | None = None) -> int:
    """Install the peers, run everything, print the table."""
    parser = argparse.ArgumentParser(description="crashwindow beside its peers, on one agent.")
    parser.add_argument("--venv", type=Path, default=HERE / ".venv", help="where the peers are installed")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what was found there too")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="side-by-side-") as name:
        told = list(_everything(options.venv.absolute(), Path(name)))
    Console().print(_table(told))
    if options.json:
        options.json.write_text(json.dumps([asdict(one) for one in told], indent=2) + "\n", encoding="utf-8")
    return 0


def _everything(place: Path, folder: Path) -> Iterator[Told]:
    tools: dict[str, Callable[[], Told]] = {"crashwindow verify": _verify, "crashwindow kill": _kill}
    python = place / "bin" / "python"
    try:
        _install(place)
    except NotRun as error:
        yield from (Told(tool=name, reason=str(error)) for name in _pinned())
    else:
        app = Application.beside_tests(folder, python)
        tools |= {
            "pytest-obligation": lambda: _ask("with_obligation.py", app, fakes=_lines("plain_providers.py")),
            "replaycheck": lambda: _ask("with_replaycheck.py", app),
            "ckpt-chaos": lambda: _ckpt_chaos(app),
        }
    for name, run in tools.items():
        full_name = " ".join([name, *filter(None, [_pinned().get(name)])])
        try:
            yield replace(run(), tool=full_name)
        except NotRun as error:
            yield Told(tool=full_name, reason=str(error))


def _verify() -> Told:
    """Every sequence of crashes. The test file, as a user writes it, has to say what the command says."""
    told = _ours("verify", "lives", lines=_lines("with_crashwindow.py"))
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        options = ["-q", "-p", "no:cacheprovider", "--rootdir", str(HERE), f"--junitxml={report}"]
        _run([sys.executable, "-m", "pytest", *options, str(HERE / "with_crashwindow.py")], _path(), {0, 1})
        cases = ET.parse(report).getroot().iter("testcase")
        failed = {case.get("name", "").partition("[")[2][:-1]: case.find("failure") is not None for case in cases}
    if failed != told.found:
        raise NotRun(f"the command found {told.found}, the test file {failed}")
    return told


def _kill() -> Told:
    """Real kills at every single point, from the command line."""
    return _ours("kill", "kills", lines=1)


def _ours(command: str, tries: str, *, lines: int) -> Told:
    """One of our commands on each half."""
    verdicts: dict[str, dict[str, object]] = {}
    for half in HALVES:
        options = [f"durable_agent:{half}", "--format", "json"]
        said = _run([sys.executable, "-c", COMMAND, command, *options], _path(), {0, 1, 3})
        verdicts[half] = json.loads(said)
        if verdicts[half]["verdict"] == "inconclusive":
            raise NotRun(f"{half} is inconclusive: {verdicts[half]['reasons']}")
    return Told(
        tool=f"crashwindow {command}",
        found={half: verdict["verdict"] == "unsafe" for half, verdict in verdicts.items()},
        lines=lines,
        tries=sum(int(str(verdict[tries])) for verdict in verdicts.values()),
        seconds=sum(float(str(verdict["seconds"])) for verdict in verdicts.values()),
    )


def _ask(file: str, app: Application, *, fakes: int = 0) -> Told:
    """A script of ours asks the peer, by what the user wrote."""
    script = app.tests / file.replace("with_", "ask_")
    answer = json.loads(_run([str(app.python), str(script), *HALVES], app.path, {0}).splitlines()[-1])
    return Told(lines=_lines(file), fakes=fakes, **answer)


def _ckpt_chaos(app: Application) -> Told:
    """One command for each half."""
    found, tries, seconds = {}, 0, 0.0
    agent, report = (str(app.code / name) for name in AGENT_FILES)
    for half in HALVES:
        options = ["--work", str(app.code / f"work-{half}"), "--result-cmd", f"{app.python} {report} {{out}}"]
        command = [str(app.python.with_name("ckpt-chaos")), "run", *options, "--", str(app.python), agent, half]
        began = time.perf_counter()
        said = _run([*command, "{out}"], app.path, {0, 1})
        seconds += time.perf_counter() - began
        points = re.search(r"-> (\d+) crash points", said)
        if points is None or "PASS: " not in said:
            raise NotRun(f"its output is not understood: {said[-200:]}")
        tries += int(points[1])
        found[half] = "SILENT_DIVERGENCE: " in said or "HARD_FAIL: " in said
    return Told(found=found, lines=1, fakes=_lines("plain_providers.py"), tries=tries, seconds=seconds)


def _install(place: Path) -> None:
    if not (place / "bin" / "python").exists():
        venv.create(place, with_pip=True)
    requirements = str(HERE / "requirements.txt")
    _run([str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--requirement", requirements], "", {0})


def _pinned() -> dict[str, str]:
    lines = (HERE / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if "==" in line)


def _path() -> str:
    return os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")]), str(ROOT)])


def _run(command: list[str], path: str, codes: set[int]) -> str:
    """What a command prints. Raises `NotRun` unless it ends in time with one of the codes."""
    try:
        done = subprocess.run(
            command,
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotRun(str(error)) from None
    if done.returncode not in codes:
        said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
        raise NotRun(f"exit {done.returncode}: {said[-1]}")
    return done.stdout


def _lines(name: str) -> int:
    """Lines of code: those with a token on them that is no comment and no docstring."""
    text = (HERE / name).read_text(encoding="utf-8")
    docs = {
        line
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    code = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in blank
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(code - docs)


def _table(told: Sequence[Told]) -> Table:
    reasons = [f"{one.tool} was not run: {one.reason}" for one in told if one.reason]
    told_apart = "✓ as it should be, ✗ not; lines in brackets: fake providers that the tool does not have"
    table = Table(caption="\n".join([told_apart, *reasons]))
    table.add_column("tool")
    for half in ("unkeyed\nfound", "keyed\npasses", "re-spent\nfound", "two crashes\nfound"):
        table.add_column(half, justify="center")
    table.add_column("lines", justify="right")
    table.add_column("tries/s", justify="right")
    for one in told:
        if one.reason:
            table.add_row(one.tool, *["not run"] * len(HALVES), "", "")
            continue
        marks = ["✓" if one.found[half] is (half != "keyed") else "✗" for half in HALVES]
        lines = f"{one.lines} (+{one.fakes})" if one.fakes else str(one.lines)
        table.add_row(one.tool, *marks, lines, f"{one.tries / one.seconds:,.3g}")
    return table


if __name__ == "__main__":
    sys.exit(main())
