"""A request that gets an error for an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from fakes.errors import CardDeclined, CodedError, ProviderError, RateLimited, Rejected

TroubleKind = Literal[
    "invalid_request",
    "authentication",
    "not_found",
    "method",
    "too_large",
    "key",
    "declined",
    "rate_limit",
    "overloaded",
    "server_error",
    "unscripted",
]


class Trouble(Exception):
    """A request that gets an error for an answer; each dialect spells it as its provider does.

    `code` is the provider's own word for it where one was given, `param` the field that is wrong, `retry_after` in
    seconds, `details` what the dialect itself has added.
    """

    def __init__(
        self,
        kind: TroubleKind,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after: float | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.retry_after = retry_after
        self.details = details or {}


def invalid(message: str, *, param: str | None = None, code: str | None = None) -> Trouble:
    """400: the request cannot be what was meant."""
    return Trouble("invalid_request", 400, message, param=param, code=code)


def retry_headers(trouble: Trouble) -> Mapping[str, str]:
    """When to call again, for a provider that says so; in seconds."""
    return {} if trouble.retry_after is None else {"retry-after": f"{trouble.retry_after:g}"}


def trouble_of(error: ProviderError) -> Trouble:
    """What a fake has raised, as an answer. A lost connection is none, and is the server's to carry out."""
    status = error.status or 500
    match error:
        case RateLimited():
            return Trouble("rate_limit", status, str(error), retry_after=error.retry_after)
        case CardDeclined():
            return Trouble("declined", status, str(error), code=error.code, details=error.details)
        case Rejected():
            return Trouble("invalid_request", status, str(error), code=error.code, details=error.details)
        case CodedError():
            return Trouble("key", status, str(error), code=error.code)
        case _:
            return Trouble("overloaded" if status in _OVERLOADED else "server_error", status, str(error))


_OVERLOADED = (503, 529)
