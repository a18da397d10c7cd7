"""Resend: emails one by one and in batches, and what became of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from durable_core.fingerprint import fingerprint
from fakes.lifelike import uuid
from fakes.provider import Work
from fakes.server.fields import Fields
from fakes.server.mail import address_of, target_of
from fakes.server.trouble import Trouble, invalid, retry_headers
from fakes.server.wire import Answer, Asked, Desk, Request, Route, json_answer, to_json

_NAMES = {
    "invalid_request": "validation_error",
    "authentication": "missing_api_key",
    "not_found": "not_found",
    "method": "method_not_allowed",
    "too_large": "validation_error",
    "rate_limit": "rate_limit_exceeded",
    "overloaded": "internal_server_error",
    "server_error": "internal_server_error",
}
_MOST_RECIPIENTS = 50
_MOST_IN_A_BATCH = 100
_SHOWN = ("subject", "html", "text", "scheduled_at", "tags", "headers")


def send(desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /emails."""
    body = request.json()
    email = _email(body)
    digest = fingerprint(body.values)

    def work(number: int) -> Work:
        return Work(_stored([email], desk, number, digest))

    return Asked(
        operation="emails.send",
        target=target_of(_recipients(email)),
        nature="acts",
        parameters=body.values,
        work=work,
        render=lambda stored: json_answer({"id": json.loads(stored)[0]["id"]}),
    )


def send_batch(desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /emails/batch."""
    bodies = list(request.json_objects())
    if not 1 <= len(bodies) <= _MOST_IN_A_BATCH:
        raise invalid(f"The batch must hold 1 to {_MOST_IN_A_BATCH} emails, not {len(bodies)}.", param="batch")
    emails = [_email(body) for body in bodies]
    parameters = [body.values for body in bodies]
    digest = fingerprint(parameters)

    def work(number: int) -> Work:
        return Work(_stored(emails, desk, number, digest))

    def render(stored: str) -> Answer:
        return json_answer({"data": [{"id": email["id"]} for email in json.loads(stored)]})

    return Asked(
        operation="emails.batch",
        target=target_of(address for email in emails for address in _recipients(email)),
        nature="acts",
        parameters=parameters,
        work=work,
        render=render,
    )


def get(desk: Desk, _request: Request, found: Mapping[str, str]) -> Asked:
    """GET /emails/{id}."""

    def work(_number: int) -> Work:
        sent = (email for email in _sent(desk) if email["id"] == found["id"])
        return Work(json.dumps(next(sent, None)))

    def render(stored: str) -> Answer:
        email = json.loads(stored)
        return refusal(Trouble("not_found", 404, "Email not found")) if email is None else json_answer(email)

    return Asked(
        operation="emails.get", target=found["id"], nature="reads", parameters=dict(found), work=work, render=render
    )


def refusal(trouble: Trouble) -> Answer:
    """`{"statusCode", "name", "message"}`. A field that is wrong is 422, a body that cannot be read 400."""
    status = 422 if trouble.kind == "invalid_request" and trouble.param else trouble.status
    name, message = _NAMES.get(trouble.kind) or trouble.code or trouble.kind, trouble.message
    if trouble.code == "missing_required_parameter":
        name, message = "missing_required_field", f"Missing `{trouble.param}` field."
    error = {"statusCode": status, "name": name, "message": message}
    return json_answer(error, status=status, headers=retry_headers(trouble))


@dataclass(frozen=True, slots=True)
class Resend:
    """resend.com/docs/api-reference. Takes keys, and gives the first answer again for 24 hours."""

    name: str = "resend"
    policy: str = "resend"
    hosts: tuple[str, ...] = ("api.resend.com",)
    operations: tuple[str, ...] = ("emails.send", "emails.batch", "emails.get")
    routes: tuple[Route, ...] = (
        Route("POST", "/emails", send),
        Route("POST", "/emails/batch", send_batch),
        Route("GET", "/emails/{id}", get),
    )

    def claims(self, request: Request) -> bool:
        """/emails and what is below."""
        return request.path == "/emails" or request.path.startswith("/emails/")

    def is_authorised(self, request: Request) -> bool:
        """A bearer token."""
        return request.headers.get("authorization", "").lower().startswith("bearer ")

    def refuse(self, trouble: Trouble) -> Answer:
        """`{"statusCode", "name", "message"}`."""
        return refusal(trouble)

    def variables(self, base: str) -> Mapping[str, str]:
        """What the resend SDKs read."""
        return {"RESEND_API_URL": base, "RESEND_API_KEY": "re_crashwindow"}


def _email(body: Fields) -> dict[str, object]:
    """One email as it is kept: without what nobody asks for again, such as attachments."""
    address_of(body.text("from"), "from")
    people = {name: list(_addresses(body, name)) for name in ("to", "cc", "bcc", "reply_to")}
    if not 1 <= len(people["to"]) <= _MOST_RECIPIENTS:
        raise invalid(f"The `to` field must hold 1 to {_MOST_RECIPIENTS} addresses.", param="to")
    if not body.has("template"):
        body.text("subject")
        if not (body.has("html") or body.has("text")):
            raise invalid("Missing `html` or `text` field.", param="html` or `text", code="missing_required_parameter")
    shown = {name: body.values.get(name) for name in _SHOWN}
    return {"from": body.text("from"), **people, **shown}


def _addresses(body: Fields, name: str) -> Iterator[str]:
    """The addresses of a field, which is one or an array of them, as they were written."""
    given = body.values.get(name)
    if given is None and name != "to":
        return
    for one in given if isinstance(given, list) else [given]:
        if not isinstance(one, str):
            raise body.wrong(name, "a string or an array of strings")
        address_of(one, name)
        yield one


def _recipients(email: Mapping[str, object]) -> Iterator[str]:
    for name in ("to", "cc", "bcc"):
        people = email[name]
        yield from (address_of(one, name) for one in people) if isinstance(people, list) else ()


def _stored(emails: list[dict[str, object]], desk: Desk, number: int, digest: str) -> str:
    random = desk.provider.lifelike.random(number, digest)
    made = datetime.fromtimestamp(desk.provider.clock(), UTC).isoformat(" ", "microseconds")
    sent = [
        {
            "object": "email",
            "id": identifier,
            "message_id": f"<{identifier}@resend.dev>",
            "created_at": made,
            "last_event": "delivered",
            **email,
        }
        for identifier, email in ((uuid(random), email) for email in emails)
    ]
    return to_json(sent).decode()


def _sent(desk: Desk) -> Iterator[dict[str, object]]:
    provider = desk.provider
    for operation in ("emails.send", "emails.batch"):
        for row in provider.ledger.applied(provider.name, operation):
            yield from json.loads(row.answer)
