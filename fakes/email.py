"""An email service: what it sends cannot be taken back, nor looked up."""

from __future__ import annotations

import json
from dataclasses import dataclass

from fakes.provider import Provider, Work


@dataclass(frozen=True, slots=True)
class Sent:
    """The receipt for one email."""

    id: str


@dataclass(frozen=True, kw_only=True)
class Email(Provider):
    """`send` sends. The ledger's target is the recipient."""

    operations = ("send",)
    name: str = "email"

    def send(self, *, to: str, body: str, subject: str = "", idempotency_key: str | None = None) -> Sent:
        """Send one email."""
        call = self.call("send", to, "acts", idempotency_key, to=to, subject=subject, body=body)

        def work(number: int) -> Work:
            return Work(json.dumps({"id": f"msg_{self.lifelike.token(number, call.body)}"}))

        return Sent(**json.loads(self.perform(call, work).answer))
