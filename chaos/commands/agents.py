"""Commands for agents that are called: kill, verify, reproduce, points, and the demo."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from chaos.agent import Agent, find_agent, read_input
from chaos.commands.spelling import (
    Accept,
    AgentName,
    Args,
    Deliver,
    Faults,
    Folder,
    Format,
    Jobs,
    Launcher,
    Model,
    Output,
    Policies,
    Save,
    Seconds,
    Seed,
    StoreUrl,
    answers,
    end,
    errors,
    pairs,
)
from chaos.demo import demonstrate
from chaos.kill import crash_points, kill, reproduce
from chaos.options import Options, read_seconds, read_sources
from chaos.plan import Reach
from chaos.points import parse_schedule
from chaos.progress import progress_on
from chaos.report import clean
from chaos.sources import SOURCES
from chaos.verify import reproduce_in_images, verify


def demo() -> None:
    """Show the crash-window bug, its story and its fix, with real kills."""
    with errors():
        demonstrate(Console())


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
    with errors():
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
        end(verdict, output)


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
    with errors():
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
        end(verdict, output)


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
    with errors():
        options = replace(
            _shared(accept, policy, fault, model, deliver, launcher, life_seconds, seed, folder),
            store=store,
            perturb=read_sources(perturb or "none"),
        )
        again = reproduce if perturb is None else reproduce_in_images
        end(again(_agent(agent, arg), parse_schedule(schedule), options), output)


def points(
    agent: AgentName,
    arg: Args = None,
    seed: Seed = 0,
    deliver: Deliver = None,
    launcher: Launcher = None,
    output: Output = Format.TEXT,
) -> None:
    """List what can be killed: the points that a run without a kill passes, in order."""
    with errors():
        options = Options(seed=seed, deliver=answers(deliver), launcher=launcher)
        found = [str(point) for point in crash_points(_agent(agent, arg), options)]
        lines = [json.dumps(found, ensure_ascii=False)] if output is Format.JSON else map(clean, found)
        print(*lines, sep="\n")  # noqa: T201


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
        policies=pairs("--policy", policy),
        faults=tuple(fault or ()),
        model=model,
        deliver=answers(deliver),
        launcher=launcher,
        seconds=life_seconds,
        seed=seed,
        folder=folder,
    )


def _agent(name: str, texts: list[str] | None) -> Agent:
    return read_input(find_agent(name), texts or [])
