"""Agents as data: a small language for steps, effects, loops, branches, threads and tasks, and its interpreter.

Random programs of it are what the harness is tested with: with keys everywhere they are safe, whatever the model
answers; with one key taken away they are not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from durable_core import Run
from fakes import World

READER = "reader@example.com"


@dataclass(frozen=True, slots=True)
class Do:
    """One step: ask the model, search, send, charge, or read the clock. `keyed` says whether an effect has a key."""

    what: Literal["ask", "search", "send", "charge", "now"]
    keyed: bool = True


@dataclass(frozen=True, slots=True)
class Loop:
    """The body once for every line that the model answers."""

    body: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Branch:
    """One body or the other, by a recorded choice."""

    heads: tuple[Part, ...]
    tails: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Beside:
    """Each body in a thread or a task of its own."""

    by: Literal["threads", "tasks"]
    bodies: tuple[tuple[Do, ...], ...]


Part = Do | Loop | Branch | Beside


def carry_out(run: Run, world: World, program: Sequence[Part]) -> str:
    """Run a program; ids come from the place in it."""
    _all(run, world, program)
    return "done"


def _all(run: Run, world: World, parts: Sequence[Part]) -> None:
    for index, part in enumerate(parts):
        _one(run.scope(str(index)), world, part)


def _one(run: Run, world: World, part: Part) -> None:
    match part:
        case Do():
            _do(run, world, part)
        case Loop(body):
            for index, _ in enumerate(
                run.effect("plan", world.llm.complete, "How often?", lines=(1, 3)).text.splitlines()
            ):
                _all(run.scope(str(index)), world, body)
        case Branch(heads, tails):
            _all(run, world, heads if run.random("coin") < 0.5 else tails)  # noqa: PLR2004 - a coin
        case Beside("threads", bodies):
            with ThreadPoolExecutor() as pool:
                list(pool.map(lambda pair: _all(run.scope(str(pair[0])), world, pair[1]), enumerate(bodies)))
        case Beside(_, bodies):
            asyncio.run(_gather(run, world, bodies))


async def _gather(run: Run, world: World, bodies: Sequence[Sequence[Do]]) -> None:
    async def one(index: int, body: Sequence[Do]) -> None:
        for place, do in enumerate(body):
            await asyncio.sleep(0)
            _do(run.scope(f"{index}.{place}"), world, do)

    await asyncio.gather(*(one(index, body) for index, body in enumerate(bodies)))


def _do(run: Run, world: World, do: Do) -> None:
    carry = run.effect if do.keyed else run.step
    match do.what:
        case "ask":
            carry("ask", world.llm.complete, "What next?")
        case "search":
            run.step("search", world.search.query, "news")
        case "send":
            carry("send", world.email.send, to=READER, body="Hello")
        case "charge":
            carry("charge", world.payments.charge, customer="cus_1", cents=100)
        case "now":
            run.now("now")
