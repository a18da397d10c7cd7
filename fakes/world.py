"""All the providers of one agent, on one ledger."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Self, TypeVar

from fakes.email import Email
from fakes.faults import Fault
from fakes.ledger import Ledger
from fakes.lifelike import Lifelike
from fakes.llm import Llm
from fakes.names import check_names
from fakes.payments import Payments
from fakes.policy import KeyPolicy, policy
from fakes.provider import Provider, wall_clock
from fakes.search import Search
from fakes.witness import Unwatched, Witness

P = TypeVar("P", bound=Provider)

PROVIDERS: Mapping[str, type[Provider]] = MappingProxyType(
    {"llm": Llm, "search": Search, "email": Email, "payments": Payments}
)
_POLICIES: Mapping[str, str | KeyPolicy] = MappingProxyType({})


class World:
    """`llm`, `search`, `email`, `payments`, and the `ledger` that knows what was done.

    path      the ledger's file; None keeps it in memory, for use without kills. A World on an existing
              ledger continues it: it is the next life
    seed      another seed, other answers
    policies  how a provider treats keys, by provider name: a preset's name or a KeyPolicy; else "default"
    faults    what goes wrong, and when
    steady    an answer depends on the request alone, so that two runs can be compared word by word
    witness   who is told of every call; None: nobody
    clock     seconds since the epoch, for the windows of keys
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        seed: int = 0,
        policies: Mapping[str, str | KeyPolicy] = _POLICIES,
        faults: Sequence[Fault] = (),
        steady: bool = False,
        witness: Witness | None = None,
        clock: Callable[[], float] = wall_clock,
    ) -> None:
        check_names(policies, faults, {name: kind.operations for name, kind in PROVIDERS.items()})
        self.ledger = Ledger(path)
        witness = Unwatched(self.ledger.last_life + 1) if witness is None else witness

        def provider(kind: type[P], name: str) -> P:
            chosen = policies.get(name, "default")
            return kind(
                name=name,
                ledger=self.ledger,
                policy=policy(chosen) if isinstance(chosen, str) else chosen,
                lifelike=Lifelike(seed, steady),
                faults=tuple(fault for fault in faults if fault.provider == name),
                witness=witness,
                clock=clock,
            )

        self.llm = provider(Llm, "llm")
        self.search = provider(Search, "search")
        self.email = provider(Email, "email")
        self.payments = provider(Payments, "payments")

    def close(self) -> None:
        """Close the ledger; a file stays."""
        self.ledger.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
