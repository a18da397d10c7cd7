"""Running the agent in a life, and saying how that life ended."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from pathlib import Path

from chaos.agent import Agent
from chaos.life import LifeSpec, Report
from chaos.watch import Watch
from durable_core import DurableError, OutcomeUnknown, Run, Store, Suspended, resume
from durable_core.fingerprint import fingerprint
from fakes import World

_OURS = ("durable_core", "fakes", "chaos")
_SHOWN = 200
"""Characters of a result that are shown to people."""


@dataclass(slots=True)
class _Seen:
    """What can be seen of the agent's own function."""

    run: Run | None = None
    swallowed: str = ""

    def returned(self) -> None:
        """The agent has come to its end: nothing may have stopped this life before."""
        try:
            if self.run is not None:
                self.run.check()
        except DurableError as error:
            self.swallowed = type(error).__name__


def ended(agent: Agent, spec: LifeSpec, store: Store | None, world: World, watch: Watch) -> Report:
    """Run the agent, and say how its life ended."""
    seen = _Seen()
    try:
        result = _run(agent, spec, store, world, seen)
    except Suspended as waiting:
        report = Report(outcome="suspended", waits_for=waiting.step_id)
    except OutcomeUnknown as unknown:
        report = Report(outcome="held", waits_for=unknown.step_id)
    except BaseException as error:  # noqa: BLE001 - whatever an agent raises, SystemExit too, ends its life
        report = _raised(error)
    else:
        unasked = sorted(seen.run.unasked) if seen.run else ()
        return Report(
            outcome="finished",
            trace=tuple(watch.trace),
            result=fingerprint(result),
            shown=_shorten(repr(result)),
            unasked=tuple(unasked),
        )
    return replace(report, trace=tuple(watch.trace), swallowed=seen.swallowed)


def redirect_output(log: Path) -> None:
    """Let what the agent prints go to a file of the try, not into the output of the harness."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    os.close(descriptor)
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def _run(agent: Agent, spec: LifeSpec, store: Store | None, world: World, seen: _Seen) -> object:
    """What the agent returns."""
    state = Path(spec.folder) / "state"
    arguments = agent.arguments(world, spec.run_id, state)
    if store is None:
        state.mkdir(exist_ok=True)
        result = agent.function(**arguments)
    else:
        watched = _watched_async(agent, seen) if agent.is_async else _watched(agent, seen)
        result = resume(store, spec.run_id, watched, **arguments)
    if not isinstance(result, Coroutine):
        return result
    from chaos.interleaving import run  # noqa: PLC0415 - with it comes asyncio, which few lives need

    return run(spec.image.interleaving if spec.image else 0, result)


def _watched(agent: Agent, seen: _Seen) -> Callable[..., object]:
    def watched(run: Run, **arguments: object) -> object:
        seen.run = run
        result = agent.function(run, **arguments)
        seen.returned()
        return result

    return watched


def _watched_async(agent: Agent, seen: _Seen) -> Callable[..., object]:
    async def watched(run: Run, **arguments: object) -> object:
        seen.run = run
        result = await agent.function(run, **arguments)  # type: ignore[misc]  # a coroutine function
        seen.returned()
        return result

    return watched


def _raised(error: BaseException) -> Report:
    frames = traceback.extract_tb(error.__traceback__)
    theirs = [frame for frame in frames if Path(frame.filename).parent.name not in _OURS] or list(frames)
    where = f"{theirs[-1].filename}:{theirs[-1].lineno} in {theirs[-1].name}" if theirs else ""
    fact, _, _ = str(error).partition(". Likely causes")  # a finding names its own
    return Report(outcome="raised", error=f"{type(error).__name__}: {fact}", where=where)


def _shorten(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
