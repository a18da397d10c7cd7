"""What a provider knows about a call, and who may watch it: the seam for a chaos harness."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Nature = Literal["acts", "bills", "reads"]
"""`acts` changes the world, `bills` costs tokens, `reads` may be repeated freely."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One request as the provider receives it. `body` is a digest of operation and parameters, without the key."""

    provider: str
    operation: str
    target: str
    body: str
    nature: Nature
    key: str | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls: the life of the run (1, 2, ...), the step if known, and the how-manieth retry of a client it is."""

    life: int = 1
    step: str | None = None
    retry: int = 0


class Witness(Protocol):
    """Sees every call at the two moments that matter. It may end the process in either."""

    def caller(self) -> Caller:
        """Who is calling, on this thread, now."""
        ...

    def before(self, call: Call) -> None:
        """The provider has not seen the call yet."""
        ...

    def applied(self, call: Call) -> None:
        """The ledger has the call as applied (or deduplicated); the caller has no answer yet."""
        ...


@dataclass(frozen=True, slots=True)
class Unwatched:
    """The witness of a world nobody watches: it knows the life, no steps, and does nothing."""

    life: int = 1

    def caller(self) -> Caller:
        """This life, no step."""
        return Caller(self.life)

    def before(self, call: Call) -> None:
        """Nothing."""

    def applied(self, call: Call) -> None:
        """Nothing."""
