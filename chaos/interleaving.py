"""Other orders of threads and tasks than the one they have by themselves, from a seed."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Callable, Coroutine
from contextvars import Context
from functools import partial

_LONGEST_PAUSE = 0.002
"""Seconds for which a thread is held back at a point: long against a step in memory, short against a life."""


def pausing(seed: int) -> Callable[[], None]:
    """What a thread does before it passes a point: wait for a while that the seed draws. Nothing for seed 0."""
    draw = random.Random(seed)  # noqa: S311 - a reproducible order, not a secret

    def pause() -> None:
        if seed and threading.active_count() > 1:
            time.sleep(draw.random() * _LONGEST_PAUSE)

    return pause


class ReorderingLoop(asyncio.SelectorEventLoop):
    """An event loop in which every other callback lets those behind it go first."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._draw = random.Random(seed)  # noqa: S311

    def call_soon(
        self, callback: Callable[..., object], *args: object, context: Context | None = None
    ) -> asyncio.Handle:
        """Call it in this turn of the loop, or in the next."""
        if self._draw.random() < 0.5:  # noqa: PLR2004 - a coin
            return super().call_later(0, callback, *args, context=context)
        return super().call_soon(callback, *args, context=context)


def run(seed: int, coroutine: Coroutine[object, object, object]) -> object:
    """`asyncio.run`, with tasks in an order of the seed; in their own order for seed 0."""
    with asyncio.Runner(loop_factory=partial(ReorderingLoop, seed) if seed else None) as runner:
        return runner.run(coroutine)
