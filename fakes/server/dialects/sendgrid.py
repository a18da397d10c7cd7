"""SendGrid v3: mail/send."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from durable_core.fingerprint import fingerprint
from fakes.provider import Work
from fakes.server.fields import Fields
from fakes.server.mail import address_of, target_of
from fakes.server.trouble import Trouble, invalid
from fakes.server.wire import Answer, Asked, Desk, Request, Route, json_answer

_HELP = "http://sendgrid.com/docs/API_Reference/Web_API_v3/Mail/errors.html"
_ID_BYTES = 16


def send(desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /v3/mail/send. The answer is empty; the message's id is in a header."""
    body = request.json()
    recipients = list(_recipients(body))
    _check(body)
    digest = fingerprint(body.values)

    def work(number: int) -> Work:
        made = desk.provider.lifelike.random(number, digest).randbytes(_ID_BYTES)
        return Work(json.dumps({"id": urlsafe_b64encode(made).decode().rstrip("=")}))

    def render(stored: str) -> Answer:
        return Answer(status=202, content_type="text/plain", headers={"X-Message-Id": json.loads(stored)["id"]})

    return Asked(
        operation="mail.send",
        target=target_of(recipients),
        nature="acts",
        parameters=body.values,
        work=work,
        render=render,
    )


@dataclass(frozen=True, slots=True)
class SendGrid:
    """docs.sendgrid.com/api-reference/mail-send. Takes no keys; every request sends."""

    name: str = "sendgrid"
    policy: str = "sendgrid"
    hosts: tuple[str, ...] = ("api.sendgrid.com", "api.*.sendgrid.com")
    operations: tuple[str, ...] = ("mail.send",)
    routes: tuple[Route, ...] = (Route("POST", "/v3/mail/send", send),)

    def claims(self, request: Request) -> bool:
        """/v3/mail/."""
        return request.path.startswith("/v3/mail/")

    def is_authorised(self, request: Request) -> bool:
        """A bearer token."""
        return request.headers.get("authorization", "").lower().startswith("bearer ")

    def refuse(self, trouble: Trouble) -> Answer:
        """`{"errors": [{"message", "field", "help"}]}`."""
        error = {
            "message": trouble.message,
            "field": trouble.param,
            "help": f"{_HELP}#message.{trouble.param}" if trouble.param else None,
        }
        return json_answer({"errors": [error]}, status=trouble.status)

    def variables(self, base: str) -> Mapping[str, str]:
        """The SDK reads the key. The host is for the agent to pass on: `SendGridAPIClient(host=...)`."""
        return {"SENDGRID_API_KEY": "SG.crashwindow", "SENDGRID_HOST": base}


def _recipients(body: Fields) -> Iterator[str]:
    """All that a request reaches, over all its personalizations, each of which is an email of its own."""
    personalizations = list(body.objects("personalizations"))
    if not personalizations:
        raise invalid(
            "The personalizations field is required and must have at least one personalization.",
            param="personalizations",
        )
    for one in personalizations:
        if not one.items("to"):
            raise invalid(
                "The to array is required for all personalization objects, and must have at least one email object"
                " with a valid email address.",
                param=f"{one.where}to",
            )
        for name in ("to", "cc", "bcc"):
            for person in one.objects(name):
                yield address_of(person.text("email"), f"{person.where}email")


def _check(body: Fields) -> None:
    if not body.has("from"):
        raise invalid("The from object must be provided for every email send.", param="from.email")
    address_of(body.object("from").text("email"), "from.email")
    if body.has("template_id"):
        return
    if not body.has("subject") and not all(one.has("subject") for one in body.objects("personalizations")):
        raise invalid("The subject is required. You can get around this by using a template.", param="subject")
    if not body.items("content"):
        raise invalid("The content array is required, unless a template_id is given.", param="content")
    for part in body.objects("content"):
        part.text("type")
        part.text("value")
