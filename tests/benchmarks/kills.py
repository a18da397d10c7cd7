"""Kills a second: lives forked from a warm parent, against a fresh interpreter for every life.

Counted are real SIGKILLs, each followed by a resume that ends the run and by a replay of it. The clock runs while the
plan is carried out: folders of tries, processes, the kill, resume and replay, reading checkpoint and ledger, judging,
cleaning up. Not counted is what happens once: starting the launcher, importing the agent, the run without a kill.
A respawned interpreter starts and imports in every life; that is what it is. A kill costs it the same at every point,
nearly, so it is killed at some of them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from figures import Figure, Sizes, turn_by_turn

from chaos.agent import find_agent
from chaos.exploring import exploring
from chaos.options import Options
from chaos.plan import Reach
from chaos.verdict import Word

NEWSLETTER = "scenarios.newsletter:keyed"
RESEARCH = "scenarios.research:agent"
STORES = {"sqlite": "SQLite", "file": "file store"}
RATIO = 20
RATE = 50


def kill_figures(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """The newsletter on both stores with both launchers, on disk and in memory; the research agent on both stores."""
    measures = {}
    for store in STORES:
        measures[f"fork {store}"] = partial(kills_per_second, NEWSLETTER, store, sizes.points, folder)
        measures[f"spawn {store}"] = partial(kills_per_second, NEWSLETTER, store, sizes.spawned, folder, "spawn")
        measures[f"memory {store}"] = partial(kills_per_second, NEWSLETTER, store, sizes.points, None)
        measures[f"research {store}"] = partial(kills_per_second, RESEARCH, store, sizes.research, folder)
    rates = turn_by_turn(sizes.repeats, measures)
    for store, name in STORES.items():
        forked, spawned = rates[f"fork {store}"], rates[f"spawn {store}"]
        yield Figure(
            name=f"newsletter killed and resumed, {name}",
            value=forked,
            unit="kills/s",
            baseline="a fresh interpreter for every life",
            baseline_value=spawned,
            aim=f"≥ {RATIO} x, ≥ {RATE}/s",
            met=forked >= RATIO * spawned and forked >= RATE,
        )
        yield Figure(
            name=f"newsletter killed and resumed, {name}, in memory",
            value=rates[f"memory {store}"],
            unit="kills/s",
            baseline="a fresh interpreter for every life, on disk",
            baseline_value=spawned,
        )
        yield Figure(
            name=f"61-step research agent, every point, {name}", value=rates[f"research {store}"], unit="kills/s"
        )


def kills_per_second(
    agent: str, store: str, points: tuple[str, ...] | None, folder: Path | None, launcher: str = "fork"
) -> float:
    """Explore once. `folder` None is memory, where the system offers it."""
    options = Options(store=store, reach=Reach(points=points), launcher=launcher, folder=folder)
    with exploring(find_agent(agent), options) as found:
        began = time.perf_counter()
        found.explore(lambda *_: None)
        seconds = time.perf_counter() - began
        verdict = found.verdict(seconds)
    if verdict.word is not Word.WITHIN_BOUNDS or not verdict.kills:
        why = "; ".join((*verdict.reasons, *(str(finding) for finding in verdict.findings))) or "no kill"
        raise SystemExit(f"{agent} on {store} by {launcher}: {verdict.word}, so nothing was measured: {why}")
    return verdict.kills / seconds
