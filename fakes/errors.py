"""What a call to a provider can raise, and the error for a name that nobody knows.

Everything an error knows stands in `args` and `__dict__`, so it can be recorded and rebuilt:
`error = cls.__new__(cls); error.args = ...; error.__dict__.update(...)` has the same text.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Mapping
from types import MappingProxyType


class UnknownName(ValueError):
    """A policy, provider, operation or kind of fault that does not exist; the message names the nearest one."""

    def __init__(self, what: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(name, names, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]!r}? " if near else ""
        super().__init__(f"{what} {name!r} does not exist; {hint}Known: {', '.join(names)}")


class ProviderError(Exception):
    """A call that did not bring an answer back. `status` is the HTTP status, None if no answer came at all."""

    def __init__(self, message: str, *, provider: str = "", operation: str = "", status: int | None = None) -> None:
        super().__init__(message)
        self.provider = provider
        self.operation = operation
        self.status = status


class RateLimited(ProviderError):
    """Too many calls; nothing happened. Call again after `retry_after` seconds."""

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        operation: str = "",
        status: int | None = 429,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(message, provider=provider, operation=operation, status=status)
        self.retry_after = retry_after


class ServerError(ProviderError):
    """A 5xx. The effect may have happened or not; only the provider knows."""


class ConnectionLost(ProviderError):
    """No answer came. The effect may have happened or not; only the provider knows."""


class MalformedAnswer(ProviderError):
    """An answer came that cannot be read. The effect has most likely happened."""


class CodedError(ProviderError):
    """An error with the provider's own code for it, such as `insufficient_funds`; `details` are JSON-like."""

    details: Mapping[str, object] = MappingProxyType({})

    def __init__(
        self,
        message: str,
        *,
        provider: str = "",
        operation: str = "",
        status: int | None = None,
        code: str = "",
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message, provider=provider, operation=operation, status=status)
        self.code = code
        if details is not None:
            self.details = details


class CardDeclined(CodedError):
    """The bank said no. Final for this payment; a retry gets the same."""


class Rejected(CodedError):
    """The provider began to work on the call and said no, such as to a refund of what is refunded already."""


class KeyMismatch(CodedError):
    """The key was used before with another body."""


class KeyInFlight(CodedError):
    """The first call with this key has not ended yet. It is pending, not failed: wait and ask again."""


class KeyAlreadyUsed(CodedError):
    """The provider has processed this key and says so instead of giving the first answer again."""


class KeyRequired(CodedError):
    """The provider takes no such call without a key."""


class KeyTooLong(CodedError):
    """The key is longer than the provider takes."""


class GivenAgain(Exception):
    """The cause of an error that is an earlier call's, given again because its key was used again."""


def dump_error(error: ProviderError) -> str:
    """An error as text, for a provider that replays errors; `load_error` rebuilds it."""
    return json.dumps([type(error).__name__, error.args, error.__dict__])


def load_error(text: str) -> ProviderError:
    """The error that `dump_error` spelled. Its class must be one of this module."""
    name, args, state = json.loads(text)
    cls: type[ProviderError] = globals()[name]
    error = cls.__new__(cls)
    error.args = tuple(args)
    error.__dict__.update(state)
    return error
