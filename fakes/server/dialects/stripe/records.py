"""Stripe's objects, as the ledger knows them: each answer that changed some holds them as they were then."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from weakref import WeakKeyDictionary

from fakes.errors import CodedError, load_error
from fakes.ledger import Ledger, Row
from fakes.payments import DECLINED
from fakes.provider import Provider
from fakes.server.dialects.stripe.objects import Thing, new_customer, text_of
from fakes.server.fields import Fields


def entry(things: Iterable[Thing], turn: int) -> dict[str, object]:
    """What a row of the ledger keeps of a change: the objects as they are now, and the how-manieth change it is."""
    return {"objects": list(things), "turn": turn}


class Records:
    """All objects, as the ledger has them. It is read on from where it was left, so asking often is cheap.

    Changes are numbered, because a slow call ends after later ones: of two states of an object the one with the
    higher number counts, whatever the order of their rows. One customer is there that nobody made: `cus_declined`.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read_to = 0
        self._turn = 0
        self._things: dict[str, tuple[int, Thing]] = {DECLINED: (0, new_customer(DECLINED, 0, Fields({})))}
        self._born: defaultdict[str, dict[str, int]] = defaultdict(dict)

    def get(self, given: str) -> Thing | None:
        """The object with that id, as it is now; a deleted one says so."""
        return self._things.get(given, (0, None))[1]

    def alive(self, given: str) -> Thing | None:
        """The object with that id, unless it is deleted."""
        thing = self.get(given)
        return None if thing is None or thing.get("deleted") else thing

    def of(self, kind: str) -> list[Thing]:
        """The objects of a kind, newest first, without deleted ones."""
        with self._lock:
            born = self._born[kind]
            newest = sorted(born, key=born.__getitem__, reverse=True)
        things = (self._things[given][1] for given in newest)
        return [thing for thing in things if not thing.get("deleted")]

    @property
    def next_turn(self) -> int:
        """The number of the next change."""
        return self._turn + 1

    def read(self, ledger: Ledger, provider: str) -> None:
        """Take in what is new. Threads may do so at once: what is known already does no harm."""
        rows = ledger.rows(after=self._read_to)  # outside our lock, since a writer may come here holding the ledger's
        entries = [_entry_of(row) for row in rows if row.provider == provider and row.nature == "acts" and row.answer]
        settled = next((row.id - 1 for row in rows if row.outcome == "in progress"), rows[-1].id if rows else 0)
        with self._lock:
            for things, turn in entries:
                self._take(things, turn)
            self._read_to = max(self._read_to, settled)

    def _take(self, things: Sequence[Thing], turn: int) -> None:
        self._turn = max(self._turn, turn)
        for thing in things:
            given = text_of(thing, "id")
            if turn >= self._things.get(given, (0, None))[0]:
                self._things[given] = (turn, thing)
            born = self._born[text_of(thing, "object")]
            born[given] = min(turn, born.get(given, turn))


_books: WeakKeyDictionary[Ledger, Records] = WeakKeyDictionary()


def records_of(provider: Provider) -> Records:
    """The objects of a provider as of now."""
    records = _books.get(provider.ledger) or _books.setdefault(provider.ledger, Records())
    records.read(provider.ledger, provider.name)
    return records


def _entry_of(row: Row) -> tuple[Sequence[Thing], int]:
    """The objects in a row's answer, or in its saved error: a declined payment leaves its traces too."""
    kept: object
    if row.outcome == "applied":
        kept = json.loads(row.answer)
    else:
        error = load_error(row.answer)
        kept = error.details if isinstance(error, CodedError) else {}
    if not isinstance(kept, Mapping):  # a recorded answer
        return (), 0
    return kept.get("objects", ()), kept.get("turn", 0)
