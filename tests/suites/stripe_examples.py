"""The objects that the tests of Stripe's SDK name. Each request finds them as it needs them.

A payment intent that is to be captured waits for that, and one that is to be confirmed waits for that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from fakes import Call, Caller
from fakes.server.dialects.stripe.cards import card_of, new_source
from fakes.server.dialects.stripe.objects import (
    Thing,
    captured,
    new_balance_change,
    new_charge,
    new_customer,
    new_intent,
    new_refund,
    new_tax_id,
)
from fakes.server.dialects.stripe.records import entry
from fakes.server.fields import Fields
from fakes.server.site import Served, Site
from fakes.server.wire import Request

_NAMES = ("xxxxxxxxxxxxx", "123", "xyz")
_MONEY = Fields({"amount": 2000, "currency": "usd"})
_TAX_ID = Fields({"type": "eu_vat", "value": "DE123456789"})


class Examples(Site):
    """A site on which the objects of the examples are made anew before each request."""

    async def serve(self, request: Request) -> Served:
        """As any site does."""
        call = Call(provider="stripe", operation="examples", target="all", body="", nature="acts")
        examples = [thing for name in _NAMES for thing in _examples(name, request.path)]
        with self.ledger.transaction():
            row = self.ledger.add(call, Caller(), "in progress", at=0)
            self.ledger.settle(row, "applied", answer=json.dumps(entry(examples, row)))
        return await super().serve(request)


def _examples(name: str, path: str) -> Iterator[Thing]:
    """Those whose ids end in a name, as a request to a path needs them."""
    held = path.endswith(("/capture", "/increment_authorization"))
    charge = new_charge(f"ch_{name}", 0, "pm_card_visa", card_of("visa"), _MONEY.values)
    yield charge if held else captured(charge, 2000, "txn_1")
    intent = {**new_intent(f"pi_{name}", "1", 0, _MONEY), "payment_method": "pm_card_visa"}
    yield {**intent, "status": "requires_capture" if held else "requires_confirmation", "amount_capturable": 2000}
    refund = new_refund(f"re_{name}", 0, charge, 500, Fields({}))
    yield {**refund, "status": "requires_action" if path.endswith("/cancel") else "succeeded"}
    customer = f"cus_{name}"
    yield new_customer(customer, 0, Fields({}))
    yield new_source(name, "tok_visa", customer)
    yield new_source(name, "btok_us", customer)
    yield new_balance_change(f"cbtxn_{name}", 0, customer, 0, _MONEY)
    yield new_tax_id(f"txi_{name}", 0, customer, _TAX_ID)
