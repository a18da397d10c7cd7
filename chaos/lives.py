"""One life, inside its own process: on a real store, to be killed, or in a crash image, to be photographed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from chaos.agent import Agent
from chaos.errors import LaunchError
from chaos.faults import Struck, faulty, note_struck, provider_faults, struck_in
from chaos.life import ImageSpec, LifeSpec, Report
from chaos.living import ended, redirect_output
from chaos.points import Point
from chaos.stores import open_in
from chaos.watch import Watch, WatchedStore, die
from fakes import World


def live(agent: Agent, spec: LifeSpec, send: Callable[[Report], None]) -> None:
    """Live one life to its end and send its report. Does not return when the life is killed."""
    redirect_output(Path(spec.folder) / "output.log")
    send(_live_in_image(agent, spec, spec.image) if spec.image else _live_in_store(agent, spec, send))


def prepare_images() -> None:
    """Hold the agent's clock, before the agent is imported and before lives are forked."""
    from chaos.perturb import start_clock  # noqa: PLC0415 - as above

    start_clock()


def live_here(agent: Agent, spec: LifeSpec) -> Report:
    """A life of a crash image in this very process. `end_images` gives the process its clock back."""
    if spec.image is None:
        raise LaunchError("a kill needs a process of its own")
    return _live_in_image(agent, spec, spec.image)


def end_images() -> None:
    """Let the clock of this process go."""
    from chaos.perturb import stop_clock  # noqa: PLC0415 - as above

    stop_clock()


def _live_in_image(agent: Agent, spec: LifeSpec, image: ImageSpec) -> Report:
    from chaos.camera import live_in_image  # noqa: PLC0415 - with it comes freezegun, which no other life is forked with

    return live_in_image(agent, spec, image)


def _live_in_store(agent: Agent, spec: LifeSpec, send: Callable[[Report], None]) -> Report:
    """A life on a real store, killed at its point."""

    def passed(point: Point) -> None:
        if spec.kill_at in (point, len(watch.trace)):
            send(Report(outcome="killed", trace=tuple(watch.trace)))
            die()

    def strike(one: Struck) -> None:
        note_struck(spec.folder, spec.number, one)

    random.seed(f"{spec.seed}:random:{spec.number}")
    watch = Watch(spec.number, passed)
    ledger = Path(spec.folder) / "ledger.db"
    store = WatchedStore(open_in(spec.store, spec.folder), watch) if agent.takes_run else None
    before = [Struck(text) for _, text in struck_in(spec.folder)]
    watched = store and faulty(store, spec.faults, before, strike)
    faults = provider_faults(spec.faults)
    try:
        with World(
            ledger, seed=spec.seed, policies=spec.policies, faults=faults, steady=spec.steady, witness=watch
        ) as world:
            return ended(agent, spec, watched, world, watch)
    finally:
        if store is not None:
            store.close()
