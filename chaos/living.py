"""Running the agent in a life, and saying how that life ended."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Coroutine
from pathlib import Path

from chaos.agent import Agent
from chaos.interleaving import run
from chaos.life import LifeSpec, Report
from chaos.points import Point
from chaos.watch import Watch
from durable_core import OutcomeUnknown, Run, Store, Suspended, resume
from durable_core.fingerprint import fingerprint
from fakes import World

_OURS = ("durable_core", "fakes", "chaos")
_SHOWN = 200
"""Characters of a result that are shown to people."""


def ended(agent: Agent, spec: LifeSpec, store: Store | None, world: World, watch: Watch) -> Report:
    """Run the agent, and say how its life ended."""
    runs: list[Run] = []
    try:
        result = _run(agent, spec, store, world, runs)
    except Suspended as waiting:
        return Report(outcome="suspended", trace=tuple(watch.trace), waits_for=waiting.step_id)
    except OutcomeUnknown as unknown:
        return Report(outcome="held", trace=tuple(watch.trace), waits_for=unknown.step_id)
    except BaseException as error:  # noqa: BLE001 - whatever an agent raises, SystemExit too, ends its life
        return _raised(error, tuple(watch.trace))
    return Report(
        outcome="finished",
        trace=tuple(watch.trace),
        result=fingerprint(result),
        shown=_shorten(repr(result)),
        unasked=tuple(sorted(runs[0].unasked)) if runs else (),
    )


def redirect_output(log: Path) -> None:
    """Let what the agent prints go to a file of the try, not into the output of the harness."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    os.close(descriptor)
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def _run(agent: Agent, spec: LifeSpec, store: Store | None, world: World, runs: list[Run]) -> object:
    """What the agent returns. Its `Run`, if it takes one, is added to `runs`."""
    state = Path(spec.folder) / "state"
    arguments = agent.arguments(world, spec.run_id, state)
    if store is None:
        state.mkdir(exist_ok=True)
        result = agent.function(**arguments)
    else:
        noted = _noted_async(agent, runs) if agent.is_async else _noted(agent, runs)
        result = resume(store, spec.run_id, noted, **arguments)
    return run(spec.image.interleaving if spec.image else 0, result) if isinstance(result, Coroutine) else result


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
