"""Twilio: messages, sent and looked up."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime

from durable_core.fingerprint import fingerprint
from fakes.provider import Work
from fakes.server.trouble import Trouble, invalid, retry_headers
from fakes.server.wire import Answer, Asked, Desk, Request, Route, json_answer

_CODES = {
    "invalid_request": 20001,
    "authentication": 20003,
    "method": 20004,
    "not_found": 20404,
    "too_large": 20413,
    "key": 20409,
    "rate_limit": 20429,
    "overloaded": 20503,
    "server_error": 20500,
}
"""Twilio's numbers for errors, where a request has none of its own. twilio.com/docs/api/errors"""

_NUMBER = re.compile(r"(?:[a-z]+:)?\+?[0-9][0-9 ().-]{2,24}|(?:messenger|client|discord):\S+")
_MOST_CHARACTERS = 1600
_SEGMENT = 153
_API = "2010-04-01"


def create(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """POST /2010-04-01/Accounts/{sid}/Messages.json."""
    form = request.form()
    _check(form)
    digest = fingerprint([found["account"], form])

    def work(number: int) -> Work:
        random = desk.provider.lifelike.random(number, digest)
        sid = f"{'MM' if 'MediaUrl' in form else 'SM'}{random.getrandbits(128):032x}"
        date = format_datetime(datetime.fromtimestamp(desk.provider.clock(), UTC))
        return Work(json.dumps(_message(sid, found["account"], form, date)))

    return Asked(
        operation="messages.create",
        target=form["To"],
        nature="acts",
        parameters=[found["account"], form],
        work=work,
        render=lambda answer: json_answer(json.loads(answer), status=201),
    )


def fetch(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """GET /2010-04-01/Accounts/{sid}/Messages/{sid}.json."""
    provider = desk.provider

    def work(_number: int) -> Work:
        sent = (json.loads(row.answer) for row in provider.ledger.applied(provider.name, "messages.create"))
        return Work(json.dumps(next((message for message in sent if message["sid"] == found["sid"]), None)))

    def render(answer: str) -> Answer:
        message = json.loads(answer)
        if message is None:
            return refusal(Trouble("not_found", 404, f"The requested resource {request.path} was not found"))
        return json_answer(message | {"status": "delivered", "date_sent": message["date_created"]})

    return Asked(
        operation="messages.fetch",
        target=found["sid"],
        nature="reads",
        parameters=dict(found),
        work=work,
        render=render,
    )


def refusal(trouble: Trouble) -> Answer:
    """`{"code", "message", "more_info", "status"}`."""
    own = trouble.code or ""
    code = int(own) if own.isdecimal() else _CODES.get(trouble.kind, 20500)
    error = {
        "code": code,
        "message": trouble.message,
        "more_info": f"https://www.twilio.com/docs/errors/{code}",
        "status": trouble.status,
    }
    return json_answer(error, status=trouble.status, headers=retry_headers(trouble))


@dataclass(frozen=True, slots=True)
class Twilio:
    """twilio.com/docs/messaging/api. Takes no keys; every request sends."""

    name: str = "twilio"
    policy: str = "twilio"
    hosts: tuple[str, ...] = ("api.twilio.com", "api.*.twilio.com")
    operations: tuple[str, ...] = ("messages.create", "messages.fetch")
    routes: tuple[Route, ...] = (
        Route("POST", f"/{_API}/Accounts/{{account}}/Messages.json", create),
        Route("GET", f"/{_API}/Accounts/{{account}}/Messages/{{sid}}.json", fetch),
    )

    def claims(self, request: Request) -> bool:
        """/2010-04-01/."""
        return request.path.startswith(f"/{_API}/")

    def is_authorised(self, request: Request) -> bool:
        """A name and a password."""
        return request.headers.get("authorization", "").lower().startswith("basic ")

    def refuse(self, trouble: Trouble) -> Answer:
        """`{"code", "message", "more_info", "status"}`."""
        return refusal(trouble)

    def variables(self, base: str) -> Mapping[str, str]:
        """The SDK reads the account. The URL is for the agent to set: `client.api.base_url = ...`."""
        return {
            "TWILIO_BASE_URL": base,
            "TWILIO_ACCOUNT_SID": f"AC{'c0ffee' * 5}00",
            "TWILIO_AUTH_TOKEN": "crashwindow",
        }


def _check(form: Mapping[str, str]) -> None:
    to, body = form.get("To", ""), form.get("Body", "")
    if not to:
        raise invalid("A 'To' phone number is required.", code="21604")
    if _NUMBER.fullmatch(to) is None:
        raise invalid(f"Invalid 'To' Phone Number: {to}", code="21211")
    if not (form.get("From") or form.get("MessagingServiceSid")):
        raise invalid("A 'From' phone number is required.", code="21603")
    if not (body or form.get("MediaUrl") or form.get("ContentSid")):
        raise invalid("Message body is required.", code="21602")
    if len(body) > _MOST_CHARACTERS:
        raise invalid(f"The concatenated message body exceeds the {_MOST_CHARACTERS} character limit.", code="21617")


def _message(sid: str, account: str, form: Mapping[str, str], date: str) -> dict[str, object]:
    uri = f"/{_API}/Accounts/{account}/Messages/{sid}"
    body, media = form.get("Body", ""), "1" if form.get("MediaUrl") else "0"
    return {
        "account_sid": account,
        "api_version": _API,
        "body": body,
        "date_created": date,
        "date_sent": None,
        "date_updated": date,
        "direction": "outbound-api",
        "error_code": None,
        "error_message": None,
        "from": form.get("From"),
        "messaging_service_sid": form.get("MessagingServiceSid"),
        "num_media": media,
        "num_segments": str(-(-len(body) // _SEGMENT) or 1),
        "price": None,
        "price_unit": "USD",
        "sid": sid,
        "status": "queued" if form.get("From") else "accepted",
        "subresource_uris": {"media": f"{uri}/Media.json"},
        "to": form["To"],
        "uri": f"{uri}.json",
    }
