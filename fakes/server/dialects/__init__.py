"""The wire formats of real providers, a module each; which of them a request is meant for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from types import MappingProxyType

from fakes.server.dialects.anthropic import Anthropic
from fakes.server.dialects.exa import Exa
from fakes.server.dialects.gemini import Gemini
from fakes.server.dialects.openai import OpenAI
from fakes.server.dialects.resend import Resend
from fakes.server.dialects.sendgrid import SendGrid
from fakes.server.dialects.ses import Ses
from fakes.server.dialects.slack import Slack
from fakes.server.dialects.smtp import Smtp
from fakes.server.dialects.stripe import Stripe
from fakes.server.dialects.tavily import Tavily
from fakes.server.dialects.twilio import Twilio
from fakes.server.wire import Dialect, Request

_ALL: tuple[Dialect, ...] = (
    Anthropic(),
    Gemini(),
    Resend(),
    SendGrid(),
    Ses(),
    Exa(),
    Tavily(),
    Slack(),
    Twilio(),
    Stripe(),
    OpenAI(),
)
"""Over HTTP, in the order in which they are asked whether a request is theirs."""

DIALECTS: Mapping[str, Dialect] = MappingProxyType({dialect.name: dialect for dialect in (*_ALL, Smtp())})


def dialect_of(request: Request) -> tuple[Dialect | None, Request]:
    """Whom a request is meant for, and the request as that provider sees it.

    The provider's name in front of the path decides; then the host, for requests that a proxy has caught; then what
    the path and the headers look like.
    """
    first, slash, rest = request.path.removeprefix("/").partition("/")
    if slash and first in DIALECTS and DIALECTS[first].routes:
        return DIALECTS[first], replace(request, path=f"/{rest}")
    host = request.headers.get("host", "").partition(":")[0].lower()
    by_host = dialect_at(host)
    return by_host or next((dialect for dialect in _ALL if dialect.claims(request)), None), request


@lru_cache(maxsize=256)
def dialect_at(host: str) -> Dialect | None:
    """The provider that really listens on a host, if it is one of these."""
    known = (dialect for dialect in _ALL if any(fnmatchcase(host, pattern) for pattern in dialect.hosts))
    return next(known, None)


def variables(base: str) -> dict[str, str]:
    """Environment variables that point every SDK which has one at `base`, and give it a key that is none."""
    return {name: value for dialect in _ALL for name, value in dialect.variables(base).items()}
