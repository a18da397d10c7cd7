"""Whose turn it is: which of several answers a request gets, when lives ask again."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass, field

from fakes.witness import Caller


@dataclass(slots=True)
class Turns:
    """Counts equal requests within each life.

    A life that is resumed asks again what the one before has asked: its first request is the first again, and gets the
    same answer. Equal requests of one life are different turns of a conversation (a poll, say), and get one after the
    other. The retry of an SDK is no turn of its own.
    """

    _seen: Counter[tuple[int, str]] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, request: str, caller: Caller) -> int:
        """The turn of a request, from 0. `request` is its digest."""
        with self._lock:
            if not caller.retry or not self._seen[caller.life, request]:
                self._seen[caller.life, request] += 1
            return self._seen[caller.life, request] - 1
