"""Stripe, API v1: customers, payment intents, charges, refunds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from durable_core.fingerprint import fingerprint
from fakes.server.dialects.stripe import belongings, charges, customers, intents, refunds
from fakes.server.dialects.stripe.errors import error
from fakes.server.trouble import Trouble, retry_headers
from fakes.server.wire import Answer, Desk, Request, Route, json_answer

_PATHS = ("/v1/customers", "/v1/payment_intents", "/v1/charges", "/v1/refunds")
_NO_KEY = (
    "You did not provide an API key. You need to provide your API key in the Authorization header, using Bearer auth"
    " (e.g. 'Authorization: Bearer YOUR_SECRET_KEY'). See https://stripe.com/docs/api#authentication for details."
)
_OTHER_PARAMETERS = "Keys for idempotent requests can only be used with the same parameters they were first used with."
_IN_USE = (
    "There is currently another in-progress request using this Idempotent Key (that probably means you submitted twice,"
    " and the other request is still going through)."
)
_TYPES = {"declined": "card_error", "server_error": "api_error", "overloaded": "api_error", "unscripted": "api_error"}
_CODES = {"rate_limit": "rate_limit"}


def unrecognized(_desk: Desk, request: Request, _found: Mapping[str, str]) -> NoReturn:
    """Any other address."""
    raise Trouble(
        "not_found",
        404,
        f"Unrecognized request URL ({request.method}: {request.path}). If you are trying to list objects, remove the"
        " trailing slash. If you are trying to retrieve an object, make sure you passed a valid (non-empty) identifier"
        f" in your code. This fake of Stripe serves {', '.join(_PATHS)}, and not all that is below them.",
    )


_PARTS = (customers, belongings, intents, charges, refunds)
_ROUTES: Mapping[str, Route] = {name: route for part in _PARTS for name, route in part.ROUTES.items()}


@dataclass(frozen=True, slots=True)
class Stripe:
    """docs.stripe.com/api. Takes keys for 24 h, and gives the first answer again, be it a declined card or a 500."""

    name: str = "stripe"
    policy: str = "stripe"
    hosts: tuple[str, ...] = ("api.stripe.com",)
    operations: tuple[str, ...] = tuple(_ROUTES)
    routes: tuple[Route, ...] = (
        *_ROUTES.values(),
        *(Route(method, "/{rest:path}", unrecognized) for method in ("GET", "POST", "DELETE")),
    )

    def claims(self, request: Request) -> bool:
        """What says its API version, and the addresses of its objects."""
        return "stripe-version" in request.headers or request.path.startswith(_PATHS)

    def is_authorised(self, request: Request) -> bool:
        """A bearer token, or the key as the user of basic authentication."""
        return request.headers.get("authorization", "").lower().startswith(("bearer ", "basic "))

    def refuse(self, trouble: Trouble) -> Answer:
        """`{"error": {"type", "code", "message", "param", ...}}`."""
        shown = trouble.details.get("error") or _shown(trouble)
        headers = {"Request-Id": f"req_{fingerprint([trouble.status, trouble.message])}", **retry_headers(trouble)}
        if (trouble.kind, trouble.status) == ("server_error", 500) or trouble.kind == "unscripted":  # would come again
            headers["Stripe-Should-Retry"] = "false"
        if trouble.kind == "authentication":
            headers["WWW-Authenticate"] = 'Basic realm="Stripe"'
        return json_answer({"error": shown}, status=trouble.status, headers=headers)

    def variables(self, base: str) -> Mapping[str, str]:
        """What programs read by custom; Stripe's SDKs read none."""
        key = "sk_test_crashwindow"
        return {"STRIPE_API_BASE": base, "STRIPE_API_KEY": key, "STRIPE_SECRET_KEY": key}


def _shown(trouble: Trouble) -> Mapping[str, object]:
    if trouble.kind == "key":
        return _of_key(trouble)
    message = _NO_KEY if trouble.kind == "authentication" else trouble.message
    kind = _TYPES.get(trouble.kind, "invalid_request_error")
    return error(kind, message, code=trouble.code or _CODES.get(trouble.kind), param=trouble.param)


def _of_key(trouble: Trouble) -> Mapping[str, object]:
    """The refusal of a key, in Stripe's words and ours. Another policy than Stripe's has codes of its own."""
    if trouble.code == "idempotency_error":
        return error("idempotency_error", f"{_OTHER_PARAMETERS} {trouble.message}")
    words = f"{_IN_USE} {trouble.message}" if trouble.code == "idempotency_key_in_use" else trouble.message
    return error("invalid_request_error", words, code=trouble.code)
