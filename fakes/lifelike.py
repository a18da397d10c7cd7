"""Answers that look real and differ from call to call, as those of real providers do.

Faker takes tens of milliseconds to import and build, an answer a few microseconds to compose. So Faker is
asked once per process for a vocabulary, and every answer draws on it with a generator of its own: no
lock, no shared state, the same answer in every process and under every hash seed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random
from uuid import UUID

_SIZE = 96


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What sentences are made of."""

    companies: tuple[str, ...]
    cities: tuple[str, ...]
    people: tuple[str, ...]
    plans: tuple[str, ...]
    products: tuple[str, ...]


_drawn: list[Vocabulary] = []


def vocabulary() -> Vocabulary:
    """The process's vocabulary, drawn when it is first asked for."""
    if not _drawn:
        _drawn.append(draw_vocabulary())
    return _drawn[0]


def adopt_vocabulary(words: Vocabulary) -> None:
    """Use what another process has drawn: a parent that forks keeps Faker out of all its children."""
    _drawn[:] = [words]


def draw_vocabulary() -> Vocabulary:
    """Words from Faker, the same in every process."""
    from faker import Faker  # noqa: PLC0415 - half the import time of this package, and many a life needs none

    fake = Faker("en_US")
    fake.seed_instance(0)

    def draw(kind: str) -> tuple[str, ...]:
        return tuple(str(fake.format(kind)) for _ in range(_SIZE))

    return Vocabulary(draw("company"), draw("city"), draw("name"), draw("bs"), draw("catch_phrase"))


@dataclass(frozen=True, slots=True)
class Lifelike:
    """The source of answers: from call to call different, or `steady`, the same for the same request."""

    seed: int = 0
    steady: bool = False

    def token(self, number: int, body: str) -> str:
        """The distinguishing part of an id: the call's number in the ledger, or the request's digest."""
        return body if self.steady else str(number)

    def random(self, number: int, body: str) -> Random:
        """A generator for the answer to call `number` with that body digest."""
        return self.of_request(body) if self.steady else Random(f"{self.seed}/{body}/{number}")  # noqa: S311 - no secret

    def of_request(self, body: str) -> Random:
        """A generator for what is the same in every answer to a request."""
        # Seeding with text goes through SHA-512, not through hash(), so no hash seed matters.
        return Random(f"{self.seed}/{body}")  # noqa: S311 - no secret


def line(random: Random) -> str:
    """One line of text, such as a headline or a question."""
    words, pick = vocabulary(), random.choice
    match random.randrange(4):
        case 0:
            return f"How will {pick(words.companies)} {pick(words.plans)}?"
        case 1:
            return f"{pick(words.companies)} opens in {pick(words.cities)} to {pick(words.plans)}"
        case 2:
            return f"What {pick(words.people)} learned about {pick(words.products).lower()}"
        case _:
            return f"Where does {pick(words.cities)} need the {pick(words.products).lower()}?"


def sentence(random: Random) -> str:
    """One sentence with its full stop."""
    words, pick = vocabulary(), random.choice
    match random.randrange(3):
        case 0:
            return f"{pick(words.companies)} plans to {pick(words.plans)} in {pick(words.cities)}."
        case 1:
            return (
                f"{pick(words.people)} says that {pick(words.companies)} relies on the {pick(words.products).lower()}."
            )
        case _:
            return f"In {pick(words.cities)}, {pick(words.people)} wants to {pick(words.plans)}."


def paragraph(random: Random) -> str:
    """Three to five sentences."""
    return " ".join(sentence(random) for _ in range(random.randint(3, 5)))


def uuid(random: Random) -> str:
    """A random UUID, as ids are spelled."""
    return str(UUID(int=random.getrandbits(128), version=4))


def slug(text: str) -> str:
    """A title as it stands in a URL."""
    return "-".join(re.findall(r"[^\W_]+", text.lower()))
