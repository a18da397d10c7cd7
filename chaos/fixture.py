"""What a test is given as `chaos`: the harness, with findings as failures."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from chaos.agent import Agent, name_of
from chaos.errors import HarnessError
from chaos.kill import kill
from chaos.options import Options
from chaos.plan import Reach
from chaos.report import verdict_text
from chaos.verdict import Verdict, Word


@dataclass(frozen=True, slots=True)
class Chaos:
    """The pytest fixture `chaos`. `jobs`: tries at a time; None shares the cores among the workers of pytest-xdist."""

    jobs: int | None = None

    def kill(
        self,
        agent: Callable[..., object],
        *input: object,  # noqa: A002 - the word of design and CLI
        store: str = "sqlite",
        points: Sequence[str] | None = None,
        depth: int = 1,
        random: int = 0,
        seed: int = 0,
        accept: Sequence[str] = (),
        policies: Mapping[str, str] | None = None,
        deliver: Mapping[str, object] | None = None,
        launcher: str | None = None,
        seconds: float = 60.0,
        folder: Path | None = None,
    ) -> Verdict:
        """Kill the agent at its crash points by SIGKILL, resume it, and fail the test on any finding.

        Args:
            agent: a function whose first parameter is a `Run`, or any function that takes a `World`.
            *input: the rest of its parameters.
            store: `sqlite` or `file`, made anew for every try, or a store's URL.
            points: patterns of points (`send@*`) or schedules (`send@unrecorded > send@unrecorded`); every point if
                None.
            depth: crashes in a row that are all tried.
            random: random schedules beyond that.
            seed: of the fakes and of random schedules.
            accept: what is accepted by name: `in-flight`.
            policies: how providers treat keys: `{"llm": "none"}`.
            deliver: answers for what the run waits for, by step id.
            launcher: `fork` or `spawn`.
            seconds: after which a life counts as hung.
            folder: where tries keep their files.

        Returns:
            The verdict: `safe within bounds`, since single crashes are not every sequence of them.

        Raises:
            pytest.fail.Exception: the verdict is `unsafe` or `inconclusive`, or the call itself is wrong.
        """
        __tracebackhide__ = True
        name = name_of(agent) or f"{agent.__module__}:{getattr(agent, '__qualname__', type(agent).__qualname__)}"
        try:
            options = Options(
                store=store,
                reach=Reach(points=tuple(points) if points is not None else None, depth=depth, random=random),
                accept=tuple(accept),
                policies=policies or {},
                deliver=deliver or {},
                launcher=launcher,
                jobs=_fair_share() if self.jobs is None else self.jobs,
                seconds=seconds,
                seed=seed,
                folder=folder,
            )
            verdict = kill(Agent(name, agent, input), options)
        except HarnessError as error:
            pytest.fail(f"crashwindow: {error}", pytrace=False)
        if verdict.word in (Word.UNSAFE, Word.INCONCLUSIVE):
            pytest.fail(verdict_text(verdict), pytrace=False)
        return verdict


def _fair_share() -> int:
    """Cores for one worker of pytest-xdist; all of them without it."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return max(1, (os.cpu_count() or 1) // workers)
