"""A payment service: it moves money, and can be asked what it did."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from fakes.errors import CardDeclined
from fakes.provider import Provider, Work
from fakes.witness import Call

DECLINED = "cus_declined"
"""The customer whose card is always declined."""


@dataclass(frozen=True, slots=True)
class Charge:
    """Money taken from a customer."""

    id: str
    customer: str
    cents: int
    reference: str


@dataclass(frozen=True, slots=True)
class Refund:
    """Money given back for a charge."""

    id: str
    charge: str
    cents: int
    reference: str


@dataclass(frozen=True, kw_only=True)
class Payments(Provider):
    """Charges and refunds. The ledger's target is the customer, or the charge that is refunded.

    `reference` is the caller's own name for the payment. It does not deduplicate; it can be looked up.
    """

    operations = ("charge", "refund", "find_charge", "find_refund")
    name: str = "payments"

    def charge(self, *, customer: str, cents: int, reference: str = "", idempotency_key: str | None = None) -> Charge:
        """Take money. Raises CardDeclined for the customer `cus_declined`."""
        order = {"customer": customer, "cents": cents, "reference": reference}
        call = self.call("charge", customer, "acts", idempotency_key, **order)

        def work(number: int) -> Work:
            if customer == DECLINED:
                raise _declined(call)
            return self._receipt("ch", number, call, order)

        return Charge(**json.loads(self.perform(call, work).answer))

    def refund(self, *, charge: str, cents: int, reference: str = "", idempotency_key: str | None = None) -> Refund:
        """Give money back."""
        order = {"charge": charge, "cents": cents, "reference": reference}
        call = self.call("refund", charge, "acts", idempotency_key, **order)
        reply = self.perform(call, lambda number: self._receipt("re", number, call, order))
        return Refund(**json.loads(reply.answer))

    def find_charge(self, reference: str) -> Charge | None:
        """The first charge made with that reference, or None if none was."""
        found = self._find("charge", reference)
        return None if found is None else Charge(**json.loads(found))

    def find_refund(self, reference: str) -> Refund | None:
        """The first refund made with that reference, or None if none was."""
        found = self._find("refund", reference)
        return None if found is None else Refund(**json.loads(found))

    def _receipt(self, prefix: str, number: int, call: Call, order: Mapping[str, object]) -> Work:
        return Work(json.dumps({"id": f"{prefix}_{self.lifelike.token(number, call.body)}", **order}))

    def _find(self, operation: str, reference: str) -> str | None:
        """The receipt as JSON."""
        call = self.call(f"find_{operation}", reference, "reads", None, reference=reference)

        def work(_number: int) -> Work:
            receipts = (row.answer for row in self.ledger.applied(self.name, operation))
            return Work(next((text for text in receipts if json.loads(text)["reference"] == reference), "null"))

        answer = self.perform(call, work).answer
        return None if answer == "null" else answer


def _declined(call: Call) -> CardDeclined:
    return CardDeclined(
        f"payments.charge: 402 insufficient_funds: the card of {call.target!r} was declined; nothing was charged;"
        " use another card",
        provider=call.provider,
        operation=call.operation,
        status=402,
        code="insufficient_funds",
    )
