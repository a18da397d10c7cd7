"""One life, inside its own process: build the world and the store it finds, run the agent, report."""

from __future__ import annotations

import asyncio
import os
import random
import sys
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path

from chaos.agent import Agent
from chaos.life import LifeSpec, Report
from chaos.points import Point
from chaos.watch import Watch, WatchedStore
from durable_core import OutcomeUnknown, Run, Suspended, open_store, resume
from durable_core.fingerprint import fingerprint
from fakes import World

_OURS = ("durable_core", "fakes", "chaos")
_SHOWN = 200
"""Characters of a result that are shown to people."""


def live(agent: Agent, spec: LifeSpec, send: Callable[[Report], None]) -> None:
    """Live one life to its end and send its report. Does not return when the life is killed."""
    random.seed(f"{spec.seed}:{spec.number}")
    redirect_output(Path(spec.folder) / "output.log")
    watch = Watch(spec, lambda trace: send(Report(outcome="killed", trace=trace)))
    runs: list[Run] = []
    with World(
        Path(spec.folder) / "ledger.db", seed=spec.seed, policies=spec.policies, steady=spec.steady, witness=watch
    ) as world:
        try:
            result = _run(agent, spec, watch, world, runs)
        except Suspended as waiting:
            report = Report(outcome="suspended", trace=tuple(watch.trace), waits_for=waiting.step_id)
        except OutcomeUnknown as unknown:
            report = Report(outcome="held", trace=tuple(watch.trace), waits_for=unknown.step_id)
        except BaseException as error:  # noqa: BLE001 - whatever an agent raises, SystemExit too, ends its life
            report = _raised(error, tuple(watch.trace))
        else:
            report = Report(
                outcome="finished",
                trace=tuple(watch.trace),
                result=fingerprint(result),
                shown=_shorten(repr(result)),
                unasked=tuple(sorted(runs[0].unasked)) if runs else (),
            )
    send(report)


def redirect_output(log: Path) -> None:
    """Let what the agent prints go to a file of the try, not into the output of the harness."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    os.close(descriptor)
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def _run(agent: Agent, spec: LifeSpec, watch: Watch, world: World, runs: list[Run]) -> object:
    """What the agent returns. Its `Run`, if it takes one, is added to `runs` for the report."""
    state = Path(spec.folder) / "state"
    state.mkdir(exist_ok=True)
    arguments = agent.arguments(world, spec.run_id, state)
    if not agent.takes_run:
        result = agent.function(**arguments)
        return asyncio.run(result) if isinstance(result, Coroutine) else result
    store = WatchedStore(open_store(spec.store), watch)
    noted = _noted_async(agent, runs) if agent.is_async else _noted(agent, runs)
    try:
        result = resume(store, spec.run_id, noted, **arguments)
        return asyncio.run(result) if isinstance(result, Coroutine) else result
    finally:
        store.close()


def _noted(agent: Agent, runs: list[Run]) -> Callable[..., object]:
    def noted(run: Run, **arguments: object) -> object:
        runs.append(run)
        return agent.function(run, **arguments)

    return noted


def _noted_async(agent: Agent, runs: list[Run]) -> Callable[..., object]:
    async def noted(run: Run, **arguments: object) -> object:
        runs.append(run)
        return await agent.function(run, **arguments)  # type: ignore[misc]  # a coroutine function

    return noted


def _raised(error: BaseException, trace: tuple[Point, ...]) -> Report:
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if Path(frame.filename).parent.name not in _OURS] or list(frames)
    where = f"{theirs[-1].filename}:{theirs[-1].lineno} in {theirs[-1].name}" if theirs else ""
    fact, _, _ = str(error).partition(". Likely causes")  # a finding names its own
    return Report(outcome="raised", trace=trace, error=f"{type(error).__name__}: {fact}", where=where)


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
