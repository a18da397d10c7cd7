"""Commands for programs that are run: exec, and serve for trying them by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from chaos.commands.spelling import (
    Accept,
    Faults,
    Folder,
    Format,
    Jobs,
    Model,
    Output,
    Policies,
    Save,
    Seconds,
    Seed,
    end,
    errors,
    pairs,
)
from chaos.errors import OptionError
from chaos.options import read_seconds
from chaos.plan import Reach
from chaos.progress import progress_on


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
    with errors():
        from chaos.programs.execute import execute, program_options  # noqa: PLC0415 - with it comes a web server
        from chaos.programs.program import Program  # noqa: PLC0415

        program = Program(
            command=tuple(command),
            environment=pairs("--env", env),
            state=state,
            signal=signal.upper().removeprefix("SIG"),
            grace=read_seconds("--grace", grace),
            later=read_seconds("--later", later),
            tls=tls,
            warm=warm,
            syscalls=most if _is_at_syscalls(at) else 0,
            script=script,
            recorded=recorded,
        )
        options = program_options(
            accept=tuple(accept or ()),
            policies=pairs("--policy", policy),
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
            verdict = execute(program, options, progress)
        end(verdict, output)


def serve_command(
    port: Annotated[int, typer.Option("--port", help="Of the loopback interface; any free one by default.")] = 0,
    ledger: Annotated[Path | None, typer.Option("--ledger", help="File that keeps every call; memory if none.")] = None,
    script: Annotated[Path | None, typer.Option("--script", help="What models say, in order.")] = None,
    recorded: Annotated[Path | None, typer.Option("--recorded", help="Answers recorded elsewhere, as JSONL.")] = None,
    steady: Annotated[bool, typer.Option("--steady", help="Answer equal requests equally.")] = False,  # noqa: FBT002
    tls: Annotated[bool, typer.Option("--tls", help="Also a proxy, for SDKs without a base URL.")] = False,  # noqa: FBT002
    seed: Seed = 0,
    policy: Policies = None,
    fault: Faults = None,
) -> None:
    """Serve the providers' fakes, and print the variables that point SDKs at them."""
    with errors():
        from chaos.programs.execute import program_options, read_answers  # noqa: PLC0415 - with it comes a web server
        from chaos.programs.serve import serve  # noqa: PLC0415
        from fakes import Fault, Ledger, LedgerUnusable  # noqa: PLC0415
        from fakes.server.site import Site  # noqa: PLC0415

        options = program_options(policies=pairs("--policy", policy), faults=tuple(fault or ()))
        options.check()
        says, played = read_answers(script, recorded)
        try:
            rows = Ledger(ledger)
        except LedgerUnusable as error:
            raise OptionError(f"--ledger: {error}") from None
        with rows:
            site = Site(
                ledger=rows,
                policies=options.policies,
                faults=[Fault.parse(text) for text in options.faults],
                seed=seed,
                steady=steady,
                answers=says,
                recording=played,
            )
            serve(site, lambda text: print(text, flush=True), port=port, tls=tls)  # noqa: T201


def _is_at_syscalls(at: str | None) -> bool:
    if at not in (None, "calls", "syscalls"):
        raise OptionError(f"--at {at}: lives end at provider calls; --at syscalls ends them at system calls too")
    return at == "syscalls"
