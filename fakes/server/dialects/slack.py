"""Slack: chat.postMessage."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from durable_core.fingerprint import fingerprint
from fakes.provider import Work
from fakes.server.fields import Fields
from fakes.server.trouble import Trouble, invalid
from fakes.server.wire import Answer, Asked, Desk, Request, Route, json_answer

_OWN_WORDS = frozenset({"channel_not_found", "no_text"})
_WORDS = {
    "authentication": "not_authed",
    "not_found": "unknown_method",
    "method": "unknown_method",
    "too_large": "request_too_large",
    "rate_limit": "ratelimited",
    "overloaded": "service_unavailable",
    "server_error": "internal_error",
    "unscripted": "unscripted",
}
_CHANNEL_ID = re.compile(r"[CDGU][A-Z0-9]{8,}")
_MESSAGES = ("text", "markdown_text", "blocks", "attachments")


def post_message(desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /chat.postMessage, as JSON or as a form."""
    body = _body(request)
    channel = body.text("channel", "")
    if not channel:
        raise invalid("there is no channel", code="channel_not_found")
    text = body.text("text", "")
    if not any(body.values.get(name) for name in _MESSAGES):
        raise invalid("text, blocks and attachments are empty", code="no_text")
    digest = fingerprint(body.values)

    def work(number: int) -> Work:
        random = desk.provider.lifelike.random(number, digest)
        stamp = f"{int(desk.provider.clock())}.{random.randrange(1_000_000):06}"
        message = {"type": "message", "subtype": "bot_message", "text": text, "ts": stamp, "bot_id": "B0CRASHWND"}
        return Work(json.dumps({"ok": True, "channel": _channel_id(channel), "ts": stamp, "message": message}))

    return Asked(
        operation="chat.postMessage",
        target=channel,
        nature="acts",
        parameters=body.values,
        work=work,
        render=lambda answer: json_answer(json.loads(answer)),
    )


@dataclass(frozen=True, slots=True)
class Slack:
    """docs.slack.dev/reference/methods. Takes no keys; every request posts."""

    name: str = "slack"
    policy: str = "slack"
    hosts: tuple[str, ...] = ("slack.com", "www.slack.com")
    operations: tuple[str, ...] = ("chat.postMessage",)
    routes: tuple[Route, ...] = (
        Route("POST", "/chat.postMessage", post_message),
        Route("POST", "/api/chat.postMessage", post_message),
    )

    def claims(self, request: Request) -> bool:
        """The methods of chat, with and without /api."""
        return request.path.startswith(("/chat.", "/api/chat."))

    def is_authorised(self, request: Request) -> bool:
        """A bearer token."""
        return request.headers.get("authorization", "").lower().startswith("bearer ")

    def refuse(self, trouble: Trouble) -> Answer:
        """`{"ok": false, "error"}`; what the caller did wrong is 200 but for a rate limit."""
        word = trouble.code if trouble.code in _OWN_WORDS else _WORDS.get(trouble.kind, "invalid_arguments")
        error: dict[str, object] = {"ok": False, "error": word}
        if word == "invalid_arguments":
            error["response_metadata"] = {"messages": [f"[ERROR] {trouble.message}"]}
        is_told = trouble.kind in ("rate_limit", "too_large", "overloaded", "server_error", "unscripted")
        # Clients read whole seconds.
        headers = {} if trouble.retry_after is None else {"retry-after": str(math.ceil(trouble.retry_after))}
        return json_answer(error, status=trouble.status if is_told else 200, headers=headers)

    def variables(self, base: str) -> Mapping[str, str]:
        """SDKs read none. They are for the agent to pass on: `WebClient(token=..., base_url=...)`."""
        return {"SLACK_BASE_URL": f"{base}/", "SLACK_BOT_TOKEN": "xoxb-crashwindow"}


def _body(request: Request) -> Fields:
    if request.headers.get("content-type", "").lower().startswith("application/json"):
        return request.json()
    return Fields(request.form())


def _channel_id(channel: str) -> str:
    """A channel may be named; the answer has its id."""
    return channel if _CHANNEL_ID.fullmatch(channel) else f"C{fingerprint(channel).upper()[:10]}"
