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
    other. The retry of an SDK is no turn of its own, unless what it repeats was refused before it got its turn.
    """

    _seen: Counter[tuple[int, str]] = field(default_factory=Counter)
    _due: set[tuple[int, str]] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def arrives(self, request: str, caller: Caller) -> None:
        """Note a request that is to be answered, if nothing refuses it first. `request` is its digest."""
        if not caller.retry:
            with self._lock:
                self._due.add((caller.life, request))

    def of(self, request: str, caller: Caller) -> int:
        """The turn of a request that is being answered, from 0."""
        place = (caller.life, request)
        with self._lock:
            if not caller.retry or place in self._due or not self._seen[place]:
                self._seen[place] += 1
            self._due.discard(place)
            return self._seen[place] - 1
