"""OpenAI's list of models: some that are well known. Any other is there as well if it is asked for by name."""

from __future__ import annotations

import json
from collections.abc import Mapping

from fakes.provider import Work
from fakes.server.dialects.openai.parameters import no_model
from fakes.server.wire import Asked, Desk, Request, Route, json_answer

_KNOWN = ("gpt-4.1", "gpt-4.1-mini", "gpt-4o", "gpt-4o-mini", "gpt-5", "gpt-5-mini", "o3", "o4-mini")
_EMBEDDING = ("text-embedding-3-large", "text-embedding-3-small")
_CREATED = 1735689600
"""2025-01-01; of all of them."""


def list_models(_desk: Desk, _request: Request, _found: Mapping[str, str]) -> Asked:
    """GET /v1/models."""
    return _asked("*", {"object": "list", "data": [_model(name) for name in (*_KNOWN, *_EMBEDDING)]})


def retrieve(_desk: Desk, _request: Request, found: Mapping[str, str]) -> Asked:
    """GET /v1/models/{id}."""
    name = found["id"]
    if not name.isprintable():
        raise no_model(name)
    return _asked(name, _model(name))


ROUTES = (Route("GET", "/v1/models", list_models), Route("GET", "/v1/models/{id:path}", retrieve))


def _asked(target: str, answer: object) -> Asked:
    return Asked(
        operation="models",
        target=target,
        nature="reads",
        parameters=[target],
        work=lambda _number: Work(json.dumps(answer)),
        render=lambda stored: json_answer(json.loads(stored)),
    )


def _model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": _CREATED, "owned_by": "openai"}
