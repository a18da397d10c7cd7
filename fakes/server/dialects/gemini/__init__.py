"""Gemini: the generation of content, and the counting of its tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fakes.server.dialects.gemini import content
from fakes.server.trouble import Trouble
from fakes.server.wire import Answer, Request, Route, json_answer

_METHODS = (":generateContent", ":streamGenerateContent", ":countTokens")
_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    413: "INVALID_ARGUMENT",
    429: "RESOURCE_EXHAUSTED",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
}
"""Of google.rpc.Code, by HTTP status; all others are INTERNAL or INVALID_ARGUMENT."""

_OVERLOADED = 503
"""How this provider says what others say by 529."""


@dataclass(frozen=True, slots=True)
class Gemini:
    """ai.google.dev/api. Takes no keys; every request is worked on and billed."""

    name: str = "gemini"
    policy: str = "gemini"
    hosts: tuple[str, ...] = ("generativelanguage.googleapis.com",)
    operations: tuple[str, ...] = ("generate_content", "count_tokens")
    routes: tuple[Route, ...] = content.ROUTES

    def claims(self, request: Request) -> bool:
        """A method of a model, and all that carries a key in Google's header."""
        return request.path.endswith(_METHODS) or "x-goog-api-key" in request.headers

    def is_authorised(self, request: Request) -> bool:
        """An API key in its header or in the query, or a bearer token."""
        bearer = request.headers.get("authorization", "").lower().startswith("bearer ")
        return bearer or bool(request.headers.get("x-goog-api-key") or request.query.get("key"))

    def refuse(self, trouble: Trouble) -> Answer:
        """`{"error": {"code", "message", "status"}}`. When to call again stands in the details, not in a header."""
        status = _OVERLOADED if trouble.kind == "overloaded" else trouble.status
        error: dict[str, object] = {"code": status, "message": trouble.message, "status": _status(status)}
        if trouble.retry_after is not None:
            delay = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{trouble.retry_after:g}s"}
            error["details"] = [delay]
        return json_answer({"error": error}, status=status)

    def variables(self, base: str) -> Mapping[str, str]:
        """What google-genai and those built on it read."""
        return {
            "GOOGLE_GEMINI_BASE_URL": base,
            "GEMINI_API_KEY": "crashwindow",
        }


def _status(status: int) -> str:
    return _STATUSES.get(status, "INTERNAL" if status >= 500 else "INVALID_ARGUMENT")  # noqa: PLR2004 - HTTP's own line
