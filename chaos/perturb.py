"""Perturbation: what a real restart changes besides the durable state, each source by itself.

`clock` days later; `random` another seed; `uuid` other bytes from the system; `hash` another PYTHONHASHSEED; `answers`
another answer of the model to the same question; `search` a drifted index; `environment` another host name; `cache` a
process that has run before: the first life is warm, all others are cold. A source that is not chosen is the same in
every life.
"""

from __future__ import annotations

import os
import random
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from itertools import count

import freezegun
import freezegun.api
from freezegun.api import FakeDate, FakeDatetime
from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema

from chaos.faults import provider_faults
from chaos.life import LifeSpec
from chaos.sources import Noted
from chaos.unseen import watching
from fakes import Witness, World
from fakes.lifelike import Lifelike

DAYS_BETWEEN_LIVES = 3
_EPOCH = datetime(2026, 1, 15, 9, 30, tzinfo=UTC)
"""When the first life begins, for the agent. A fixed day, so that a finding is the same tomorrow."""

_LOOK = timedelta(seconds=0.1)
"""By which a clock that is not perturbed steps on; long enough that a loop which waits for a time comes to its end."""

_DRAWS = ("random", "randint", "randrange", "choice", "choices", "sample", "shuffle", "uniform", "gauss", "getrandbits")


class Clock:
    """The agent's clock, held by freezegun. It ticks; providers, the harness and event loops keep the real time.

    freezegun looks through all modules when it starts, so it is started once per process, before lives are forked.
    """

    def __init__(self) -> None:
        for fake, real in ((FakeDatetime, datetime), (FakeDate, date)):  # an agent may annotate with what it imports
            fake.__get_pydantic_core_schema__ = partial(_schema_of, real)  # type: ignore[attr-defined]
        ignore = ["fakes", "chaos.warm", "chaos.verify"]
        freezer = freezegun.freeze_time(_EPOCH, tick=True, real_asyncio=True, ignore=ignore)
        self._freezer = freezer
        self._time = freezer.start()

    def move(self, lives: int) -> None:
        """Set the clock to that many restarts later."""
        self._time.move_to(_EPOCH + lives * timedelta(days=DAYS_BETWEEN_LIVES))

    def stop(self) -> None:
        """Give everybody the real time back."""
        self._freezer.stop()


def _schema_of(real: type, _: object, handler: GetCoreSchemaHandler) -> CoreSchema:
    """Tell pydantic that freezegun's stand-in is the type it stands in for."""
    return handler(real)


_clock: list[Clock] = []


def start_clock() -> None:
    """Hold the clock of this process, and of all that it forks."""
    if not _clock:
        _clock.append(Clock())


def stop_clock() -> None:
    """Let the clock of this process go."""
    if _clock:
        _clock.pop().stop()


@contextmanager
def perturbed(spec: LifeSpec, sources: tuple[str, ...]) -> Iterator[Noted]:
    """The surroundings of one life: each chosen source as this life finds it, every other as the first life did."""
    noted = Noted()

    def life(source: str) -> int:
        return spec.number if source in sources else 1

    start_clock()
    _clock[0].move(life("clock") - 1)
    with (
        _clock_of(noted, ticks="clock" in sources),
        _drawing(noted, f"{spec.seed}:random:{life('random')}"),
        _system_bytes(noted, f"{spec.seed}:uuid:{life('uuid')}"),
        _environment(noted, f"host-{life('environment')}"),
        watching(noted),
    ):
        yield noted


def world_of(spec: LifeSpec, sources: tuple[str, ...], witness: Witness) -> World:
    """The providers in memory: model and index answer equally, or as differently as real ones do."""
    faults = provider_faults(spec.faults)
    world = World(seed=spec.seed, policies=spec.policies, faults=faults, witness=witness)
    world.llm = replace(world.llm, lifelike=Lifelike(spec.seed, steady="answers" not in sources))
    world.search = replace(world.search, lifelike=Lifelike(spec.seed, steady="search" not in sources))
    return world


@contextmanager
def _clock_of(noted: Noted, *, ticks: bool) -> Iterator[None]:
    """The clock ticks; or it steps on by a fixed time with every look of the agent, and is the same in every life."""
    factories = freezegun.api.freeze_factories
    held = factories[-1]
    looks = count()

    def read() -> datetime:
        if noted.read("clock") and not ticks:
            return _EPOCH.replace(tzinfo=None) + next(looks) * _LOOK
        now: datetime = held()
        return now

    factories[-1] = read  # type: ignore[call-overload]  # freezegun calls it, and nothing else
    try:
        yield
    finally:
        factories[-1] = held


@contextmanager
def _drawing(noted: Noted, seed: str) -> Iterator[None]:
    state = random.getstate()
    random.seed(seed)
    with _replaced(random, {name: _noting(noted, "random", getattr(random, name)) for name in _DRAWS}):
        yield
    random.setstate(state)


@contextmanager
def _system_bytes(noted: Noted, seed: str) -> Iterator[None]:
    """`os.urandom` and what is made of it, reproducible and noted."""
    stream = random.Random(seed)  # noqa: S311 - it stands for what the system would give, in a test

    def urandom(size: int) -> bytes:
        noted.read("uuid")
        return stream.randbytes(size)

    def uuid4() -> uuid.UUID:
        noted.read("uuid")
        return uuid.UUID(bytes=stream.randbytes(16), version=4)

    with (
        _replaced(os, {"urandom": urandom}),
        _replaced(random, {"_urandom": urandom}),
        _replaced(uuid, {"uuid4": uuid4}),
    ):
        yield


@contextmanager
def _environment(noted: Noted, host: str) -> Iterator[None]:
    before = os.environ.get("HOSTNAME")
    os.environ["HOSTNAME"] = host
    kind = type(os.environ)
    with _replaced(kind, {"__getitem__": _noting(noted, "environment", kind.__getitem__)}):
        yield
    if before is None:
        del os.environ["HOSTNAME"]
    else:
        os.environ["HOSTNAME"] = before


def _noting(noted: Noted, source: str, function: Callable[..., object]) -> Callable[..., object]:
    def read(*args: object, **kwargs: object) -> object:
        noted.read(source)
        return function(*args, **kwargs)

    return read


@contextmanager
def _replaced(where: object, names: dict[str, Callable[..., object]]) -> Iterator[None]:
    before = {name: getattr(where, name) for name in names}
    for name, function in names.items():
        setattr(where, name, function)
    try:
        yield
    finally:
        for name, function in before.items():
            setattr(where, name, function)
