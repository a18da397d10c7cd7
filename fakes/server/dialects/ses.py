"""Amazon SES v2: SendEmail."""

from __future__ import annotations

import binascii
import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from durable_core.fingerprint import fingerprint
from fakes.lifelike import uuid
from fakes.provider import Work
from fakes.server.fields import Fields
from fakes.server.mail import address_of, parsed, recipients_in, substance_of, target_of
from fakes.server.trouble import Trouble, invalid, retry_headers
from fakes.server.wire import Answer, Asked, Desk, Request, Route, json_answer

_TYPES = {
    "invalid_request": "BadRequestException",
    "authentication": "MissingAuthenticationTokenException",
    "not_found": "UnknownOperationException",
    "method": "UnknownOperationException",
    "too_large": "RequestEntityTooLargeException",
    "rate_limit": "TooManyRequestsException",
    "overloaded": "ServiceUnavailable",
    "server_error": "InternalFailure",
}


def send(desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /v2/email/outbound-emails."""
    body = request.json()
    content = body.object("Content", required=True)
    recipients = list(_recipients(body))
    parameters = dict(body.values)
    match [name for name in ("Simple", "Raw", "Template") if content.has(name)]:
        case ["Raw"]:
            message = parsed(_raw(content))
            recipients = recipients or recipients_in(message)
            parameters["Content"] = substance_of(message)
        case ["Simple"]:
            _check(content.object("Simple"))
        case ["Template"]:
            pass
        case _:
            raise invalid("Content must hold exactly one of Simple, Raw and Template.")
    if not recipients:
        raise invalid("Missing final '@domain': there are no recipients.")
    digest = fingerprint(parameters)

    def work(number: int) -> Work:
        made = uuid(desk.provider.lifelike.random(number, digest))
        return Work(json.dumps({"MessageId": f"{int(desk.provider.clock() * 1000):016x}-{made}-000000"}))

    return Asked(
        operation="send_email",
        target=target_of(recipients),
        nature="acts",
        parameters=parameters,
        work=work,
        render=lambda stored: json_answer(json.loads(stored)),
    )


@dataclass(frozen=True, slots=True)
class Ses:
    """docs.aws.amazon.com/ses/latest/APIReference-V2. Takes no keys; every request sends."""

    name: str = "ses"
    policy: str = "ses"
    hosts: tuple[str, ...] = ("email.*.amazonaws.com",)
    operations: tuple[str, ...] = ("send_email",)
    routes: tuple[Route, ...] = (Route("POST", "/v2/email/outbound-emails", send),)

    def claims(self, request: Request) -> bool:
        """/v2/email/."""
        return request.path.startswith("/v2/email/")

    def is_authorised(self, request: Request) -> bool:
        """A signature, of whatever."""
        return request.headers.get("authorization", "").startswith("AWS4-HMAC-SHA256 ")

    def refuse(self, trouble: Trouble) -> Answer:
        """`{"message"}`, with the type of the error in a header."""
        kind = _TYPES.get(trouble.kind, "BadRequestException")
        headers = {"x-amzn-errortype": kind, **retry_headers(trouble)}
        status = 403 if trouble.kind == "authentication" else trouble.status
        return json_answer({"message": trouble.message}, status=status, headers=headers)

    def variables(self, base: str) -> Mapping[str, str]:
        """What every AWS SDK reads, for all its services: those that are not served here are told so."""
        return {
            "AWS_ENDPOINT_URL": base,
            "AWS_ACCESS_KEY_ID": "crashwindow",
            "AWS_SECRET_ACCESS_KEY": "crashwindow",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_REGION": "us-east-1",
        }


def _recipients(body: Fields) -> Iterator[str]:
    destination = body.object("Destination")
    for name in ("ToAddresses", "CcAddresses", "BccAddresses"):
        for one in destination.items(name):
            if not isinstance(one, str):
                raise destination.wrong(name, "an array of strings")
            yield address_of(one, f"{destination.where}{name}")


def _check(simple: Fields) -> None:
    simple.object("Subject", required=True).text("Data")
    body = simple.object("Body", required=True)
    if not (body.has("Text") or body.has("Html")):
        raise invalid("Content.Simple.Body must hold Text, Html or both.")
    for name in ("Text", "Html"):
        if body.has(name):
            body.object(name).text("Data")


def _raw(content: Fields) -> bytes:
    try:
        return b64decode(content.object("Raw").text("Data"), validate=True)
    except (binascii.Error, ValueError):
        raise invalid("Content.Raw.Data is not base64.") from None
