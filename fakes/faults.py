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

Kind = Literal["rate_limit", "lost_before", "slow", "server_error", "error_after_commit", "lost_after", "malformed"]
"""In the order in which a call meets them.

rate_limit          429 before anything; `seconds` is its retry-after
lost_before         the connection is lost on the way there: the provider never sees the call
slow                the work takes `seconds` longer; the key is in progress meanwhile
server_error        the work ends in a 500, nothing applied; a provider that replays errors keeps it
error_after_commit  applied, and its answer saved; then a gateway answers 502 instead
lost_after          applied; the connection is lost on the way back
malformed           applied; the answer arrives cut
"""

BEFORE: frozenset[Kind] = frozenset({"rate_limit", "lost_before"})
AFTER: frozenset[Kind] = frozenset({"error_after_commit", "lost_after", "malformed"})

_TEXT = re.compile(
    r"(?P<provider>[\w-]+)\.(?P<operation>\*|[\w.-]+)(?:#(?P<nth>\d+))?:(?P<kind>\w+)(?:=(?P<seconds>\S+))?"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """`email.send#2:lost_after`, `llm.*:slow=0.2`: provider, operation, which call, what, seconds.

    `operation` "*" means any. `nth` counts the calls of that operation in the ledger from 1, whatever
    life made them and whatever became of them; 0 means every call.
    """

    provider: str
    operation: str = "*"
    nth: int = 0
    kind: Kind
    seconds: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise UnknownName("kind of fault", self.kind, get_args(Kind))
        if self.nth < 0 or not (math.isfinite(self.seconds) and self.seconds >= 0):
            raise ValueError(f"fault {self}: nth and seconds count up from 0; nth 0 means every call")
        if _TEXT.fullmatch(str(self)) is None:
            raise ValueError(f"fault {self}: provider and operation are words of letters, digits, '_', '-'")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The fault that `str` spells so; ValueError says what is wrong with the text."""
        match = _TEXT.fullmatch(text.strip())
        if match is None:
            raise ValueError(
                f"fault {text!r} cannot be read; write provider.operation#nth:kind=seconds,"
                " as in 'email.send#2:lost_after' or 'llm.*:slow=0.2'"
            )
        provider, operation, nth, kind, seconds = match.groups()
        try:
            duration = float(seconds or 0)
        except ValueError:
            raise ValueError(
                f"fault {text!r}: {seconds!r} is not a number of seconds; write for example slow=0.2"
            ) from None
        return cls(provider=provider, operation=operation, nth=int(nth or 0), kind=kind, seconds=duration)  # type: ignore[arg-type]  # __post_init__ checks it

    def __str__(self) -> str:
        nth = f"#{self.nth}" if self.nth else ""
        seconds = f"={self.seconds!r}" if self.seconds else ""
        return f"{self.provider}.{self.operation}{nth}:{self.kind}{seconds}"

    def concerns(self, call: Call) -> bool:
        """Whether the call is one of those that `nth` counts."""
        return self.provider == call.provider and self.operation in ("*", call.operation)

    def error(self, call: Call) -> ProviderError:
        """What the caller gets. Lost before and lost after read the same: a caller cannot tell them apart."""
        error, status, text = _ERRORS[self.kind]
        message = f"{call.provider}.{call.operation}: {text.format(seconds=self.seconds)}"
        raised = error(message, provider=call.provider, operation=call.operation, status=status)
        if isinstance(raised, RateLimited):
            raised.retry_after = self.seconds
        return raised


_UNSURE = "whether it took effect is unknown here; call again with the same idempotency key, or look it up"
_LOST = f"the connection was lost before an answer came; {_UNSURE}"
_ERRORS: Mapping[Kind, tuple[type[ProviderError], int | None, str]] = {
    "rate_limit": (RateLimited, 429, "429, too many requests; nothing was done; call again after {seconds:g} s"),
    "lost_before": (ConnectionLost, None, _LOST),
    "server_error": (ServerError, 500, f"500, internal error; {_UNSURE}"),
    "error_after_commit": (ServerError, 502, f"502, bad gateway; {_UNSURE}"),
    "lost_after": (ConnectionLost, None, _LOST),
    "malformed": (MalformedAnswer, 200, f"200, but the answer breaks off in the middle; {_UNSURE}"),
}
