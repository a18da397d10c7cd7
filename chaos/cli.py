"""The command line. Each command is a few lines over the function that does its work."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from chaos.agent import Agent, find_agent, read_input
from chaos.demo import demonstrate
from chaos.errors import HarnessError, OptionError
from chaos.kill import crash_points, kill, reproduce
from chaos.options import Options, read_seconds, read_sources
from chaos.plan import Reach
from chaos.points import parse_schedule
from chaos.progress import progress_on
from chaos.report import clean, show
from chaos.runs import run_table, runs_table
from chaos.sources import SOURCES
from chaos.verdict import Verdict
from chaos.verify import reproduce_in_images, verify
from durable_core import DurableError

app = typer.Typer(
    help="Kill durable agents in every crash window, and see what is paid or sent twice.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
runs = typer.Typer(help="Look into a store.", no_args_is_help=True)
app.add_typer(runs, name="runs")

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


@app.command()
def demo() -> None:
    """Show the crash-window bug, its story and its fix, with real kills."""
    with _errors():
        demonstrate(Console())


@app.command("kill")
def kill_command(
    agent: AgentName,
    arg: Args = None,
    store: StoreUrl = "sqlite",
    points: Annotated[
        list[str] | None, typer.Option("--points", help="Only these: a pattern (send@*) or a schedule. Repeatable.")
    ] = None,
    depth: Annotated[int, typer.Option("--depth", help="Crashes in a row that are all tried: 2 for every pair.")] = 1,
    random: Annotated[int, typer.Option("--random", help="Random schedules beyond that.")] = 0,
    seed: Seed = 0,
    accept: Accept = None,
    policy: Policies = None,
    fault: Faults = None,
    model: Model = None,
    deliver: Deliver = None,
    save: Save = None,
    launcher: Launcher = None,
    jobs: Jobs = None,
    life_seconds: Seconds = 60.0,
    folder: Folder = None,
    output: Output = Format.TEXT,
) -> None:
    """Kill the agent at every point by SIGKILL, resume it, and judge what it paid and sent."""
    with _errors():
        options = replace(
            _shared(accept, policy, fault, model, deliver, launcher, life_seconds, seed, folder),
            store=store,
            reach=Reach(points=tuple(points) if points else None, depth=depth, random=random),
            save=save,
            jobs=jobs,
        )
        found = _agent(agent, arg)
        with progress_on(Console(stderr=True), found.name) as progress:
            verdict = kill(found, options, progress)
        _end(verdict, output)


@app.command("verify")
def verify_command(
    agent: AgentName,
    arg: Args = None,
    max_images: Annotated[int | None, typer.Option("--max-images", help="Begin no more images than this.")] = None,
    max_crashes: Annotated[int | None, typer.Option("--max-crashes", help="Crashes in one sequence, at most.")] = None,
    budget: Annotated[str | None, typer.Option("--budget", help="Time for all of it, such as 30s or 2m.")] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Tell images apart by what was answered, too.")] = False,  # noqa: FBT002
    perturb: Annotated[
        str, typer.Option("--perturb", help=f"What differs between lives: all, none, or of {', '.join(SOURCES)}.")
    ] = "all",
    interleavings: Annotated[int, typer.Option("--interleavings", help="Further orders of threads and tasks.")] = 0,
    cross_check: Annotated[int, typer.Option("--cross-check", help="Images to compare with real kills.")] = 0,
    seed: Seed = 0,
    accept: Accept = None,
    policy: Policies = None,
    fault: Faults = None,
    model: Model = None,
    deliver: Deliver = None,
    save: Save = None,
    launcher: Launcher = None,
    jobs: Jobs = None,
    life_seconds: Seconds = 60.0,
    folder: Folder = None,
    output: Output = Format.TEXT,
) -> None:
    """Cover every sequence of crashes, by crash images; `safe` is said only when none was left out."""
    with _errors():
        options = replace(
            _shared(accept, policy, fault, model, deliver, launcher, life_seconds, seed, folder),
            save=save,
            jobs=jobs,
            exact=exact,
            perturb=read_sources(perturb),
            max_images=max_images,
            max_crashes=max_crashes,
            budget=None if budget is None else read_seconds("--budget", budget),
            interleavings=interleavings,
            cross_check=cross_check,
        )
        found = _agent(agent, arg)
        with progress_on(Console(stderr=True), found.name, "images") as progress:
            verdict = verify(found, options, progress)
        _end(verdict, output)


@app.command("exec", context_settings={"ignore_unknown_options": False})
def exec_command(
    command: Annotated[list[str], typer.Argument(metavar="-- COMMAND...", help="The program, with its arguments.")],
    points: Annotated[
        list[str] | None, typer.Option("--points", help="Only these: a pattern (*@applied) or a schedule. Repeatable.")
    ] = None,
    depth: Annotated[int, typer.Option("--depth", help="Crashes in a row that are all tried: 2 for every pair.")] = 1,
    random: Annotated[int, typer.Option("--random", help="Random schedules beyond that.")] = 0,
    at: Annotated[
        str | None, typer.Option("--at", help="syscalls: kill also wherever something is made durable.")
    ] = None,
    most: Annotated[int, typer.Option("--most", help="System calls to kill at; more are sampled by the seed.")] = 200,
    env: Annotated[list[str] | None, typer.Option("--env", help="NAME=VALUE for the program. Repeatable.")] = None,
    state: Annotated[Path | None, typer.Option("--state", help="Folder that {state} begins as a copy of.")] = None,
    signal: Annotated[str, typer.Option("--signal", help="By which a life is ended: KILL, TERM, INT, ...")] = "KILL",
    grace: Annotated[str, typer.Option("--grace", help="To end itself, after another signal than KILL.")] = "2s",
    later: Annotated[str, typer.Option("--later", help="By which each life begins later, for windows of keys.")] = "0s",
    tls: Annotated[bool, typer.Option("--tls", help="Catch SDKs without a base URL by a proxy.")] = False,  # noqa: FBT002
    warm: Annotated[bool, typer.Option("--warm", help="Fork a Python program that has imported its SDKs.")] = False,  # noqa: FBT002
    script: Annotated[Path | None, typer.Option("--script", help="What models say, in order.")] = None,
    recorded: Annotated[Path | None, typer.Option("--recorded", help="Answers recorded elsewhere, as JSONL.")] = None,
    seed: Seed = 0,
    accept: Accept = None,
    policy: Policies = None,
    fault: Faults = None,
    model: Model = None,
    save: Save = None,
    jobs: Jobs = None,
    life_seconds: Seconds = 60.0,
    folder: Folder = None,
    output: Output = Format.TEXT,
) -> None:
    """Kill any program at every provider call, start it again until it ends, and judge what it paid and sent."""
    with _errors():
        from chaos.programs.execute import execute, program_options  # noqa: PLC0415 - with it comes a web server
        from chaos.programs.program import Program  # noqa: PLC0415

        program = Program(
            command=tuple(command),
            environment=_pairs("--env", env),
            state=state,
            signal=signal.upper().removeprefix("SIG"),
            grace=read_seconds("--grace", grace),
            later=read_seconds("--later", later),
            tls=tls,
            warm=warm,
            syscalls=most if _is_at_syscalls(at) else 0,
        )
        options = program_options(
            accept=tuple(accept or ()),
            policies=_pairs("--policy", policy),
            faults=tuple(fault or ()),
            model=model,
            seconds=life_seconds,
            seed=seed,
            folder=folder,
            reach=Reach(points=tuple(points) if points else None, depth=depth, random=random),
            save=save,
            jobs=jobs,
        )
        with progress_on(Console(stderr=True), program.short) as progress:
            verdict = execute(program, options, progress, script=script, recording=recorded)
        _end(verdict, output)


def _is_at_syscalls(at: str | None) -> bool:
    if at not in (None, "calls", "syscalls"):
        raise OptionError(f"--at {at}: lives end at provider calls; --at syscalls ends them at system calls too")
    return at == "syscalls"


@app.command("reproduce")
def reproduce_command(
    agent: AgentName,
    schedule: Annotated[str, typer.Argument(help="Such as 'send@unrecorded > send@unrecorded'.")],
    arg: Args = None,
    store: StoreUrl = "sqlite",
    seed: Seed = 0,
    accept: Accept = None,
    policy: Policies = None,
    fault: Faults = None,
    model: Model = None,
    deliver: Deliver = None,
    launcher: Launcher = None,
    life_seconds: Seconds = 60.0,
    folder: Folder = None,
    perturb: Annotated[
        str | None, typer.Option("--perturb", help="What differs between lives; in crash images, not by real kills.")
    ] = None,
    output: Output = Format.TEXT,
) -> None:
    """Carry out one schedule again: by real kills, or in crash images where something is perturbed."""
    with _errors():
        options = replace(
            _shared(accept, policy, fault, model, deliver, launcher, life_seconds, seed, folder),
            store=store,
            perturb=read_sources(perturb or "none"),
        )
        again = reproduce if perturb is None else reproduce_in_images
        _end(again(_agent(agent, arg), parse_schedule(schedule), options), output)


@app.command()
def points(
    agent: AgentName,
    arg: Args = None,
    seed: Seed = 0,
    deliver: Deliver = None,
    launcher: Launcher = None,
    output: Output = Format.TEXT,
) -> None:
    """List what can be killed: the points that a run without a kill passes, in order."""
    with _errors():
        options = Options(seed=seed, deliver=_answers(deliver), launcher=launcher)
        found = [str(point) for point in crash_points(_agent(agent, arg), options)]
        lines = [json.dumps(found, ensure_ascii=False)] if output is Format.JSON else map(clean, found)
        print(*lines, sep="\n")  # noqa: T201


@runs.command("list")
def list_command(store: Annotated[str, typer.Argument(metavar="STORE", help="Such as sqlite:///runs.db.")]) -> None:
    """List the runs of a store."""
    with _errors():
        Console().print(runs_table(store))


@runs.command("show")
def show_command(
    store: Annotated[str, typer.Argument(metavar="STORE", help="Such as sqlite:///runs.db.")],
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id of the run.")],
) -> None:
    """Show what is recorded of one run."""
    with _errors():
        Console().print(run_table(store, run_id))


def main() -> None:
    """Run the command line."""
    app()


def _shared(
    accept: list[str] | None,
    policy: list[str] | None,
    fault: list[str] | None,
    model: str | None,
    deliver: list[str] | None,
    launcher: str | None,
    life_seconds: float,
    seed: int,
    folder: Path | None,
) -> Options:
    """The options that kill, verify and reproduce have in common."""
    return Options(
        accept=tuple(accept or ()),
        policies=_pairs("--policy", policy),
        faults=tuple(fault or ()),
        model=model,
        deliver=_answers(deliver),
        launcher=launcher,
        seconds=life_seconds,
        seed=seed,
        folder=folder,
    )


def _agent(name: str, texts: list[str] | None) -> Agent:
    return read_input(find_agent(name), texts or [])


def _end(verdict: Verdict, output: Format) -> None:
    if output is Format.JSON:
        print(json.dumps(verdict.as_json(), ensure_ascii=False, indent=2))  # noqa: T201 - for the machine
    else:
        show(verdict, Console())
    raise typer.Exit(verdict.exit_code)


def _pairs(option: str, texts: list[str] | None) -> Mapping[str, str]:
    pairs = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise OptionError(f"{option} {text!r} is not written as NAME=VALUE")
        pairs[name] = value
    return pairs


def _answers(texts: list[str] | None) -> Mapping[str, object]:
    answers: dict[str, object] = {}
    for step, text in _pairs("--deliver", texts).items():
        try:
            answers[step] = json.loads(text)
        except ValueError as error:
            raise OptionError(
                f"--deliver {step}={text}: the answer is not JSON ({error}); text is written as '\"yes\"'"
            ) from None
    return answers


@contextmanager
def _errors() -> Iterator[None]:
    """One line for what is wrong with the call or the set-up."""
    try:
        yield
    except (HarnessError, DurableError) as error:
        print(f"crashwindow: {clean(str(error))}", file=sys.stderr)  # noqa: T201
        raise typer.Exit(USAGE) from None
    except KeyboardInterrupt:
        print("crashwindow: interrupted", file=sys.stderr)  # noqa: T201
        raise typer.Exit(130) from None
