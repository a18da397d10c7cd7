"""Faults as data: which call of which provider goes wrong, and how."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, Self, get_args

from fakes.errors import (
    ConnectionLost,
    MalformedAnswer,
    ProviderError,
    RateLimited,
    ServerError,
    UnknownName,
)
from fakes.witness import Call

Kind = Literal[
    "rate_limit",
    "overloaded",
    "unavailable",
    "lost_before",
    "key_expired",
    "slow",
    "server_error",
    "error_after_commit",
    "lost_after",
    "malformed",
    "cut",
]
"""In the order in which a call meets them.

rate_limit          429 before anything; the amount is its retry-after, in seconds
overloaded          529 before anything, as Anthropic says it
unavailable         503 before anything
lost_before         the connection is lost on the way there: the provider never sees the call
key_expired         the provider does not remember the key any more, as after its window
slow                the work takes as many seconds longer; the key is in progress meanwhile
server_error        the work ends in a 500, nothing applied; a provider that replays errors keeps it
error_after_commit  applied, and its answer saved; then a gateway answers 502 instead
lost_after          applied; the connection is lost on the way back
malformed           applied; the answer arrives cut, and the connection ends well
cut                 applied; the connection is lost after that many pieces of a streamed answer
"""

BEFORE: frozenset[Kind] = frozenset({"rate_limit", "overloaded", "unavailable", "lost_before"})
AFTER: frozenset[Kind] = frozenset({"error_after_commit", "lost_after", "malformed", "cut"})

_TEXT = re.compile(
    r"(?P<provider>[\w-]+)\.(?P<operation>\*|[\w.-]+)(?:#(?P<nth>\d+))?:(?P<kind>\w+)(?:=(?P<amount>\S+))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """`email.send#2:lost_after`, `llm.*:slow=0.2`: provider, operation, which call, what, how much of it.

    `operation` "*" means any. `nth` counts the calls of that operation in the ledger from 1, whatever
    life made them and whatever became of them; 0 means every call.
    """

    provider: str
    operation: str = "*"
    nth: int = 0
    kind: Kind
    amount: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise UnknownName("kind of fault", self.kind, get_args(Kind))
        if self.nth < 0 or not (math.isfinite(self.amount) and self.amount >= 0):
            raise ValueError(f"fault {self}: nth and the amount count up from 0; nth 0 means every call")
        if _TEXT.fullmatch(str(self)) is None:
            raise ValueError(f"fault {self}: provider and operation are words of letters, digits, '_', '-'")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The fault that `str` spells so; ValueError says what is wrong with the text."""
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            raise ValueError(
                f"fault {text!r} cannot be read; write provider.operation#nth:kind=amount,"
                " as in 'email.send#2:lost_after' or 'llm.*:slow=0.2'"
            )
        provider, operation, nth, kind, amount = match.groups()
        try:
            number = float(amount or 0)
        except ValueError:
            raise ValueError(f"fault {text!r}: {amount!r} is not a number; write for example slow=0.2") from None
        return cls(provider=provider, operation=operation, nth=int(nth or 0), kind=kind, amount=number)  # type: ignore[arg-type]  # __post_init__ checks it

    def __str__(self) -> str:
        nth = f"#{self.nth}" if self.nth else ""
        amount = f"={self.amount!r}".removesuffix(".0") if self.amount else ""
        return f"{self.provider}.{self.operation}{nth}:{self.kind}{amount}"

    def concerns(self, call: Call) -> bool:
        """Whether the call is one of those that `nth` counts."""
        return self.provider == call.provider and self.operation in ("*", call.operation)

    def error(self, call: Call) -> ProviderError:
        """What the caller gets. Lost before and lost after read the same: a caller cannot tell them apart."""
        error, status, text = _ERRORS[self.kind]
        message = f"{call.provider}.{call.operation}: {text.format(amount=self.amount)}"
        raised = error(message, provider=call.provider, operation=call.operation, status=status)
        if isinstance(raised, RateLimited):
            raised.retry_after = self.amount
        return raised


_UNSURE = "whether it took effect is unknown here; call again with the same idempotency key, or look it up"
_LOST = f"the connection was lost before an answer came; {_UNSURE}"
_ERRORS: Mapping[Kind, tuple[type[ProviderError], int | None, str]] = {
    "rate_limit": (RateLimited, 429, "429, too many requests; nothing was done; call again after {amount:g} s"),
    "overloaded": (ServerError, 529, "529, overloaded; nothing was done; call again later"),
    "unavailable": (ServerError, 503, "503, unavailable; nothing was done; call again later"),
    "lost_before": (ConnectionLost, None, _LOST),
    "server_error": (ServerError, 500, f"500, internal error; {_UNSURE}"),
    "error_after_commit": (ServerError, 502, f"502, bad gateway; {_UNSURE}"),
    "lost_after": (ConnectionLost, None, _LOST),
    "cut": (ConnectionLost, None, _LOST),
    "malformed": (MalformedAnswer, 200, f"200, but the answer breaks off in the middle; {_UNSURE}"),
}
