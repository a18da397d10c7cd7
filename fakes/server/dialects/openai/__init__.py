"""OpenAI: chat completions, responses, embeddings, models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from fakes.server.dialects.openai import chat, embeddings, models, responses
from fakes.server.trouble import Trouble
from fakes.server.wire import Answer, Request, Route, json_answer

_TYPES = {
    "authentication": "invalid_request_error",
    "rate_limit": "requests",
    "overloaded": "server_error",
    "server_error": "server_error",
}
_CODES = {
    "authentication": "invalid_api_key",
    "method": "method_not_supported",
    "rate_limit": "rate_limit_exceeded",
}
_PREFIXES = ("/v1/chat/", "/v1/responses", "/v1/embeddings", "/v1/models")


@dataclass(frozen=True, slots=True)
class OpenAI:
    """platform.openai.com/docs/api-reference. Takes no keys; every request is worked on and billed."""

    name: str = "openai"
    policy: str = "openai"
    hosts: tuple[str, ...] = ("api.openai.com",)
    operations: tuple[str, ...] = ("chat", "responses", "responses.get", "embeddings", "models")
    routes: tuple[Route, ...] = (
        *chat.ROUTES,
        *responses.ROUTES,
        *embeddings.ROUTES,
        *models.ROUTES,
    )

    def claims(self, request: Request) -> bool:
        """What it serves, and all else below /v1 that comes with a bearer token and that nobody before it claims."""
        return request.path.startswith(_PREFIXES) or (request.path.startswith("/v1/") and self.is_authorised(request))

    def is_authorised(self, request: Request) -> bool:
        """A bearer token."""
        return request.headers.get("authorization", "").lower().startswith("bearer ")

    def refuse(self, trouble: Trouble) -> Answer:
        """`{"error": {"message", "type", "param", "code"}}`."""
        kind = _TYPES.get(trouble.kind, "invalid_request_error")
        error = {
            "message": trouble.message,
            "type": kind,
            "param": trouble.param,
            "code": trouble.code or _CODES.get(trouble.kind),
        }
        headers = {} if trouble.retry_after is None else {"retry-after": f"{trouble.retry_after:g}"}
        if trouble.kind == "unscripted":
            headers["x-should-retry"] = "false"
        return json_answer({"error": error}, status=trouble.status, headers=headers)

    def variables(self, base: str) -> Mapping[str, str]:
        """What the openai SDKs and those built on them read."""
        return {
            "OPENAI_BASE_URL": f"{base}/v1",
            "OPENAI_API_BASE": f"{base}/v1",
            "OPENAI_API_KEY": "sk-crashwindow",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
        }
