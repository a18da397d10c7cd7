"""The wire formats of real providers, a module each; which of them a request is meant for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from types import MappingProxyType

from fakes.server.dialects.openai import OpenAI
from fakes.server.wire import Dialect, Request

_ALL: tuple[Dialect, ...] = (OpenAI(),)

DIALECTS: Mapping[str, Dialect] = MappingProxyType({dialect.name: dialect for dialect in _ALL})


def dialect_of(request: Request) -> tuple[Dialect | None, Request]:
    """Whom a request is meant for, and the request as that provider sees it.

    The provider's name in front of the path decides; then the host, for requests that a proxy has caught; then what
    the path and the headers look like.
    """
    first, slash, rest = request.path.removeprefix("/").partition("/")
    if slash and first in DIALECTS:
        return DIALECTS[first], replace(request, path=f"/{rest}")
    host = request.headers.get("host", "").partition(":")[0].lower()
    for dialect in _ALL:
        if any(fnmatchcase(host, pattern) for pattern in dialect.hosts):
            return dialect, request
    return next((dialect for dialect in _ALL if dialect.claims(request)), None), request


def variables(base: str) -> dict[str, str]:
    """Environment variables that point every SDK which has one at `base`, and give it a key that is none."""
    return {name: value for dialect in _ALL for name, value in dialect.variables(base).items()}
