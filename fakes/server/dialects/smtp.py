"""SMTP: no HTTP at all, but calls, faults and a ledger like the others. An answer's status is the reply code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from durable_core.fingerprint import fingerprint
from fakes.provider import Work
from fakes.server.mail import parsed, substance_of, target_of
from fakes.server.trouble import Trouble
from fakes.server.wire import Answer, Asked, Desk, Request, Route

_REPLIES = {
    "rate_limit": (450, "4.7.1"),
    "overloaded": (421, "4.3.2"),
    "server_error": (451, "4.3.0"),
}
_REJECTED = (554, "5.6.0")


def send(desk: Desk, sender: str, recipients: Sequence[str], content: bytes) -> Asked:
    """One message, after the final dot."""
    parameters = [sender, list(recipients), substance_of(parsed(content))]
    digest = fingerprint(parameters)

    def work(number: int) -> Work:
        return Work(json.dumps({"id": f"{desk.provider.lifelike.random(number, digest).getrandbits(64):016X}"}))

    return Asked(
        operation="send",
        target=target_of(recipients),
        nature="acts",
        parameters=parameters,
        work=work,
        render=lambda stored: _reply(250, f"2.0.0 Ok: queued as {json.loads(stored)['id']}"),
    )


@dataclass(frozen=True, slots=True)
class Smtp:
    """RFC 5321, behind a door of its own: `fakes.server.smtp`. Takes no keys; every message is sent."""

    name: str = "smtp"
    policy: str = "smtp"
    hosts: tuple[str, ...] = ()
    operations: tuple[str, ...] = ("send",)
    routes: tuple[Route, ...] = ()

    def claims(self, request: Request) -> bool:  # noqa: ARG002 - HTTP is not for it
        """No request."""
        return False

    def is_authorised(self, request: Request) -> bool:  # noqa: ARG002 - HTTP is not for it
        """No request."""
        return False

    def refuse(self, trouble: Trouble) -> Answer:
        """450, 451 and 421 may be tried again; 554 may not."""
        code, enhanced = _REPLIES.get(trouble.kind, _REJECTED)
        return _reply(code, f"{enhanced} {trouble.message}")

    def variables(self, base: str) -> Mapping[str, str]:  # noqa: ARG002 - an address of HTTP
        """None: the port is known when the door is open."""
        return {}


def _reply(code: int, text: str) -> Answer:
    return Answer(status=code, pieces=(" ".join(text.split()).encode(errors="replace"),), content_type="text/plain")
