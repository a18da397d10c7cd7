"""The README and the docs are true: their blocks are run, and their tables are held against the code.

How blocks are written is told in CONTRIBUTING.md, "Documentation".
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest
import typer.main
from packaging.requirements import Requirement

from chaos.cli import app
from chaos.findings import CHECKS
from chaos.points import Window
from chaos.sources import SOURCES
from chaos.verdict import Word
from fakes import PRESETS, KeyPolicy, Refusal
from fakes.faults import Kind
from fakes.server.dialects import DIALECTS, variables

ROOT = Path(__file__).resolve().parent.parent
FILES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LANGUAGES = {"python", "console", "text"}
TOOLS = {"crashwindow", "pytest", "python"}
"""The commands that a console block may run. `make` and `pip` are looked up instead: they would change this machine."""

_BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^ *```$", re.MULTILINE | re.DOTALL)
_FILE_NAME = re.compile(r"# (?P<name>[\w/]+\.py)\n")
_VARIES = re.compile(
    r"\d+ lives in \d+\.\d+ s"  # how many lives it takes to name a cause is no promise
    r"|\d+\.\d+ ?s\b"
    r"|\([\d.]+ (?:kills|lives)/s\)"
    r"|\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ"
    r"|\d+ tokens| *\d{1,3}(?:,\d{3})+"  # what was billed
)


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """A command of a console block, what it prints, and how it exits."""

    words: list[str]
    output: str
    exit_code: int


def blocks_of(text: str) -> list[Block]:
    return [
        Block(match["language"], match["text"], text.count("\n", 0, match.start()) + 1)
        for match in _BLOCK.finditer(text)
    ]


def commands_in(block: str) -> Iterator[Command]:
    parts = [part.split("\n", 1) for part in re.split(r"^\$ ", block, flags=re.MULTILINE) if part]
    while parts:
        line, output = parts.pop(0)
        exit_code = 0
        if parts and parts[0][0].strip() == "echo $?":
            exit_code = int(parts.pop(0)[1])
        yield Command(shlex.split(line, comments=True), output, exit_code)


def matches(expected: str, printed: str) -> bool:
    """Whether it is what was printed. A line `...` stands for any lines, `...` at its end for the rest of it."""
    lines = [r"(?:.*\n)*?" if line == "..." else _pattern(line) + r" *\n" for line in expected.splitlines()]
    return re.fullmatch("".join(lines), printed.rstrip() + "\n" if printed.strip() else "") is not None


def _pattern(line: str) -> str:
    begun = line.rstrip().removesuffix("...")
    return "(?:.*?)".join(map(re.escape, _VARIES.split(begun))) + (".*" if begun != line.rstrip() else "")


def carry_out(command: Command, folder: Path) -> None:
    tool = command.words[0]
    if tool == "make":
        assert re.search(rf"^{command.words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), "no such target"
        return
    if tool == "pip":
        project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        required = Requirement(command.words[-1])
        assert command.words[:2] == ["pip", "install"]
        assert required.name == project["name"]
        assert required.extras <= set(project["optional-dependencies"])
        return
    assert tool in TOOLS, f"{tool} is none of {', '.join(sorted(TOOLS))}"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    ran = subprocess.run(
        command.words,
        cwd=folder,
        env=os.environ | {"PATH": path, "COLUMNS": "100", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    printed = ran.stdout or ran.stderr
    assert ran.returncode == command.exit_code, ran.stdout + ran.stderr
    if command.output and not matches(command.output, printed):
        pytest.fail(f"{shlex.join(command.words)} printed:\n{printed}", pytrace=False)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_every_block_runs_and_prints_what_it_says(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, object] = {"__name__": f"blocks_of_{file.stem}"}
    for block in blocks_of(file.read_text()):
        with subtests.test(line=block.line):
            assert block.language in LANGUAGES, f"{file.name}:{block.line}: say which language it is"
            named = _FILE_NAME.match(block.text) if block.language == "python" else None
            if named is not None:
                (tmp_path / named["name"]).write_text(block.text)
            elif block.language == "python":
                exec(compile("\n" * block.line + block.text, str(file), "exec"), names)
            elif block.language == "console":
                for command in commands_in(block.text):
                    carry_out(command, tmp_path)


def test_a_block_that_does_not_hold_is_seen() -> None:
    (found,) = commands_in("$ crashwindow kill agents:safe  # in CI\nagents:safe: 3 kills\n...\n$ echo $?\n1\n")
    assert found == Command(["crashwindow", "kill", "agents:safe"], "agents:safe: 3 kills\n...\n", 1)
    assert matches("a\n...\nb\n", "a\n1\n2\nb\n")
    assert matches("took 1.4 s (20 kills/s), 1,234\n", "took 2.0 s (9 kills/s), 12,345\n")
    assert matches("safe ...\n", "safe within bounds\n")
    assert not matches("took 3 kills\n", "took 4 kills\n")
    assert not matches("a\n", "a\nb\n")
    assert not matches("a\n", "")


def documented_commands() -> dict[str, set[str]]:
    """The options that docs/cli.md names in the first column of the tables, by the command of the section."""
    sections = re.split(r"^## ", (ROOT / "docs/cli.md").read_text(), flags=re.MULTILINE)
    named = [section.split("\n", 1) for section in sections if section.startswith("`crashwindow ")]
    return {
        heading.strip("`").removeprefix("crashwindow ").strip(): {
            option
            for row in re.findall(r"^\| (`-[^|]*)\|", body, re.MULTILINE)
            for option in re.findall(r"(?<![\w-])--?[a-z][\w-]*", row)
        }
        for heading, body in named
    }


def actual_commands() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}

    def walk(command: object, path: tuple[str, ...]) -> None:
        children: dict[str, object] = getattr(command, "commands", {})
        for name, child in children.items():
            walk(child, (*path, name))
        if not children:
            parameters = getattr(command, "params", [])
            options = [parameter for parameter in parameters if parameter.param_type_name == "option"]
            found[" ".join(path)] = {name for option in options for name in (*option.opts, *option.secondary_opts)}

    walk(typer.main.get_command(app), ())
    return found


def test_every_command_and_option_is_documented_and_no_other() -> None:
    assert documented_commands() == actual_commands()


def test_every_check_and_window_is_documented() -> None:
    def first_column(heading: str) -> list[str]:
        section = (ROOT / "docs/harness.md").read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
        return re.findall(r"^\| `([a-z -]+)` \|", section, re.MULTILINE)

    assert first_column("What a run is held against") == [*CHECKS]
    assert first_column("Points") == [*Window]
    assert first_column("Verdicts") == [*Word]
    assert first_column("What a restart changes") == [*SOURCES]


def policy_row(policy: KeyPolicy) -> str:
    """The rules of one preset, as a row of the table in docs/fakes.md."""

    def spell(rule: Refusal | str) -> str:
        return (
            {"replay": "first answer", "new": "a new call", "wait": "waits"}.get(rule, rule)
            if isinstance(rule, str)
            else str(rule.status)
        )

    if not policy.deduplicates:
        return f"| `{policy.name}` | takes no keys | | | | |"
    window = "for ever" if policy.window is None else _duration(policy.window.total_seconds())
    replayed = "successes" if policy.replays == "success" else "all"
    again = replayed if policy.on_repeat == "replay" else spell(policy.on_repeat)
    return (
        f"| `{policy.name}` | `{policy.field}`{' (required)' if policy.required else ''} | {window} | {again} "
        f"| {spell(policy.on_mismatch)} | {spell(policy.in_flight)} |"
    )


def _duration(seconds: float) -> str:
    minutes = int(seconds // 60)
    return (
        f"{minutes} min" if minutes < 60 else f"{minutes // 60} h" if minutes <= 24 * 60 else f"{minutes // 1440} days"
    )


def test_every_preset_is_documented_with_its_rules() -> None:
    rows = re.findall(r"^\| `.*\|$", (ROOT / "docs/fakes.md").read_text().partition("### Presets")[2], re.MULTILINE)
    assert rows[: len(PRESETS)] == [policy_row(preset) for preset in PRESETS.values()]


def test_every_provider_of_the_server_is_documented_with_its_operations() -> None:
    section = (ROOT / "docs/server.md").read_text().partition("\n## Providers\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`[a-z`, ]+`) \| (.*?) \| (.*?) \|$", section, re.MULTILINE)
    named = {name: row[1] for row in rows for name in re.findall(r"`(\w+)`", row[0])}
    assert named.keys() == DIALECTS.keys()
    for name, operations in named.items():
        assert set(re.findall(r"`([a-z]\w*(?:\.\w+)?)`", operations)) <= set(DIALECTS[name].operations), name
    variables_named = {text for row in rows for text in re.findall(r"`([A-Z_]+)`", row[2])}
    assert variables_named - {"SMTP_HOST", "SMTP_PORT"} <= variables("http://127.0.0.1:1").keys()


def test_every_kind_of_fault_is_documented() -> None:
    section = (ROOT / "docs/fakes.md").read_text().partition("\n## Faults\n")[2]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [*get_args(Kind)]
