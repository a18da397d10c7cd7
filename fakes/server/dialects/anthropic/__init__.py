"""Anthropic: messages, and the counting of their tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from durable_core.fingerprint import fingerprint
from fakes.server.dialects.anthropic import messages
from fakes.server.trouble import Trouble, retry_headers
from fakes.server.wire import Answer, Request, Route, json_answer

_TYPES = {
    "authentication": "authentication_error",
    "not_found": "not_found_error",
    "too_large": "request_too_large",
    "rate_limit": "rate_limit_error",
    "server_error": "api_error",
    "unscripted": "api_error",
}
_OVERLOADED = 529
"""The only status that goes with `overloaded_error`; a 503 comes from a gateway, and is an `api_error`."""


@dataclass(frozen=True, slots=True)
class Anthropic:
    """docs.claude.com/en/api. Takes no keys; every request is worked on and billed."""

    name: str = "anthropic"
    policy: str = "anthropic"
    hosts: tuple[str, ...] = ("api.anthropic.com",)
    operations: tuple[str, ...] = ("messages", "count_tokens")
    routes: tuple[Route, ...] = messages.ROUTES

    def claims(self, request: Request) -> bool:
        """Messages, and all that names a version of this API."""
        return request.path.startswith("/v1/messages") or "anthropic-version" in request.headers

    def is_authorised(self, request: Request) -> bool:
        """An API key in a header of its own, or a bearer token."""
        bearer = request.headers.get("authorization", "").lower().startswith("bearer ")
        return bearer or bool(request.headers.get("x-api-key"))

    def refuse(self, trouble: Trouble) -> Answer:
        """`{"type": "error", "error": {"type", "message"}, "request_id"}`."""
        message = _message(trouble)
        request_id = f"req_{fingerprint([trouble.status, message])}"
        error = {"type": _type(trouble), "message": message}
        headers = {"request-id": request_id, **retry_headers(trouble)}
        if trouble.kind == "unscripted":
            headers["x-should-retry"] = "false"
        body = {"type": "error", "error": error, "request_id": request_id}
        return json_answer(body, status=trouble.status, headers=headers)

    def variables(self, base: str) -> Mapping[str, str]:
        """What the anthropic SDKs and those built on them read."""
        return {"ANTHROPIC_BASE_URL": base, "ANTHROPIC_API_KEY": "sk-ant-crashwindow"}


def _type(trouble: Trouble) -> str:
    if trouble.kind == "overloaded":
        return "overloaded_error" if trouble.status == _OVERLOADED else "api_error"
    return _TYPES.get(trouble.kind, "invalid_request_error")


def _message(trouble: Trouble) -> str:
    """The trouble in words. A missing field is told by its path, `messages.0.role`, as here."""
    if trouble.code == "missing_required_parameter" and trouble.param is not None:
        path = re.sub(r"\[(\d+)\]", r".\1", trouble.param)
        return f"{path}: Field required"
    return trouble.message
