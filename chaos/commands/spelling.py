"""How options are spelled, read and answered: what commands have in common."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from chaos.errors import HarnessError, OptionError
from chaos.report import clean, show
from chaos.verdict import Verdict
from durable_core import DurableError

USAGE = 2
"""Exit code of a wrong name, a wrong option or a broken set-up."""


class Format(StrEnum):
    """How a verdict is printed."""

    TEXT = "text"
    JSON = "json"


AgentName = Annotated[str, typer.Argument(metavar="MODULE:ATTRIBUTE", help="The agent, such as my_agent:newsletter.")]
Args = Annotated[list[str] | None, typer.Option("--arg", help="Input of the agent, in order. Repeatable.")]
StoreUrl = Annotated[str, typer.Option("--store", help="sqlite or file, made anew for every try, or a store's URL.")]
Accept = Annotated[list[str] | None, typer.Option("--accept", help="Accept by name: in-flight. Repeatable.")]
Policies = Annotated[
    list[str] | None, typer.Option("--policy", help="How a provider treats keys: email=resend, llm=none. Repeatable.")
]
Deliver = Annotated[
    list[str] | None, typer.Option("--deliver", help="Answer a wait: STEP=JSON, such as approval=true. Repeatable.")
]
Faults = Annotated[
    list[str] | None,
    typer.Option(
        "--fault", help="Goes wrong beside crashes: email.send#1:lost_after, store.append#2:fails. Repeatable."
    ),
]
Model = Annotated[
    str | None, typer.Option("--model", help="Tell re-spent tokens in money, at the prices of this model.")
]
Save = Annotated[
    Path | None, typer.Option("--save", help="File of schedules that have found something; carried out first.")
]
Launcher = Annotated[
    str | None, typer.Option("--launcher", help="fork (from a warm parent) or spawn (fresh interpreters).")
]
Jobs = Annotated[int | None, typer.Option("--jobs", "-j", help="Tries at a time. One per core by default.")]
Seconds = Annotated[float, typer.Option("--life-seconds", help="After which a life counts as hung.")]
Seed = Annotated[int, typer.Option("--seed", help="Of the fakes, and of random schedules.")]
Folder = Annotated[Path | None, typer.Option("--dir", help="Where tries keep their files. Memory by default.")]
Output = Annotated[Format, typer.Option("--format", help="For people or for machines.")]


def end(verdict: Verdict, output: Format) -> None:
    """Show the verdict, and leave with its exit code."""
    if output is Format.JSON:
        print(json.dumps(verdict.as_json(), ensure_ascii=False, indent=2))  # noqa: T201 - for the machine
    else:
        show(verdict, Console())
    raise typer.Exit(verdict.exit_code)


def pairs(option: str, texts: list[str] | None) -> Mapping[str, str]:
    """NAME=VALUE options. Raises `OptionError` on anything else."""
    found = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise OptionError(f"{option} {text!r} is not written as NAME=VALUE")
        found[name] = value
    return found


def answers(texts: list[str] | None) -> Mapping[str, object]:
    """STEP=JSON options. Raises `OptionError` on anything else."""
    found: dict[str, object] = {}
    for step, text in pairs("--deliver", texts).items():
        try:
            found[step] = json.loads(text)
        except ValueError as error:
            raise OptionError(
                f"--deliver {step}={text}: the answer is not JSON ({error}); text is written as '\"yes\"'"
            ) from None
    return found


@contextmanager
def errors() -> Iterator[None]:
    """One line for what is wrong with the call or the set-up."""
    try:
        yield
    except (HarnessError, DurableError) as error:
        print(f"crashwindow: {clean(str(error))}", file=sys.stderr)  # noqa: T201
        raise typer.Exit(USAGE) from None
    except KeyboardInterrupt:
        print("crashwindow: interrupted", file=sys.stderr)  # noqa: T201
        raise typer.Exit(130) from None
