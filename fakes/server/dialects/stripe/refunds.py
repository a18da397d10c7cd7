"""Stripe's refunds, docs.stripe.com/api/refunds. A charge knows what was given back, and never gives back more."""

from __future__ import annotations

from collections.abc import Mapping

from fakes.server.dialects.stripe import parameters as takes
from fakes.server.dialects.stripe.calls import Moment, Outcome, acts, known, rejected
from fakes.server.dialects.stripe.forms import read
from fakes.server.dialects.stripe.objects import Thing, new_refund, number_of, text_of, updated
from fakes.server.dialects.stripe.payments import money
from fakes.server.dialects.stripe.reading import Resource
from fakes.server.fields import Fields
from fakes.server.trouble import invalid
from fakes.server.wire import Asked, Desk, Request, Route

REFUNDS = Resource(name="refunds", kind="refund", filters=("charge", "payment_intent"))


def create(desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /v1/refunds: of a charge or of a payment intent's, all that is left or an amount of it."""
    fields = read(request, takes.REFUND_CREATE)
    name = next((name for name in ("charge", "payment_intent") if fields.has(name)), None)
    if name is None:
        raise invalid("One of the following params should be provided for this request: payment_intent or charge.")
    paid = known(desk, (name,), fields.text(name), param=name, status=404)
    if fields.has("amount") and fields.number("amount") < 1:
        raise invalid("Invalid positive integer", param="amount", code="parameter_invalid_integer")

    def change(moment: Moment) -> Outcome:
        now = moment.records.get(text_of(paid, "id")) or paid
        charge = now if name == "charge" else moment.records.get(text_of(now, "latest_charge"))
        if charge is None or not charge["paid"] or not (charge["captured"] or charge["payment_intent"] is None):
            what = "This PaymentIntent" if name == "payment_intent" else "This Charge"
            return rejected(f"{what} ({now['id']}) does not have a successful charge to refund.")
        return _refunded(charge, fields, moment)

    return acts(desk, request, fields, change, operation="refunds.create", target=fields.text(name))


def update(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """POST /v1/refunds/{id}."""
    fields = read(request, takes.REFUND_UPDATE)
    first = REFUNDS.named(desk, found)

    def change(moment: Moment) -> Outcome:
        return Outcome((updated(moment.records.get(found["id"]) or first, fields),))

    return acts(desk, request, fields, change, operation="refunds.update", target=text_of(first, "charge"))


def cancel(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """POST /v1/refunds/{id}/cancel. Only a refund that waits for the customer can be; those to cards never do."""
    fields = read(request, takes.EXPAND)
    first = REFUNDS.named(desk, found)

    def change(moment: Moment) -> Outcome:
        refund = moment.records.get(found["id"]) or first
        if refund["status"] != "requires_action":
            message = f"This refund cannot be canceled because it has a status of {refund['status']}. Only a refund"
            return rejected(f"{message} with one of the following statuses may be canceled: requires_action.")
        charge = moment.records.get(text_of(refund, "charge"))
        canceled = {**refund, "next_action": None, "status": "canceled"}
        if charge is None:
            return Outcome((canceled,))
        return Outcome((canceled, _given_back(charge, -number_of(refund, "amount"))))

    return acts(desk, request, fields, change, operation="refunds.cancel", target=text_of(first, "charge"))


def _refunded(charge: Thing, fields: Fields, moment: Moment) -> Outcome:
    left = number_of(charge, "amount") - number_of(charge, "amount_refunded")
    amount = fields.number("amount", left)
    currency = text_of(charge, "currency")
    if left == 0:
        return rejected(f"Charge {charge['id']} has already been refunded.", code="charge_already_refunded")
    if amount > left:
        message = f"Refund amount ({money(amount, currency)}) is greater than unrefunded amount on charge"
        return rejected(f"{message} ({money(left, currency)})", param="amount")
    refund = new_refund(f"re_{moment.token}", moment.now, charge, amount, fields)
    return Outcome((refund, _given_back(charge, amount)))


def _given_back(charge: Thing, amount: int) -> Thing:
    refunded = number_of(charge, "amount_refunded") + amount
    return {**charge, "amount_refunded": refunded, "refunded": refunded >= number_of(charge, "amount")}


ROUTES: Mapping[str, Route] = {
    "refunds.create": Route("POST", "/v1/refunds", create),
    "refunds.list": Route("GET", "/v1/refunds", REFUNDS.page),
    "refunds.retrieve": Route("GET", "/v1/refunds/{id}", REFUNDS.retrieve),
    "refunds.update": Route("POST", "/v1/refunds/{id}", update),
    "refunds.cancel": Route("POST", "/v1/refunds/{id}/cancel", cancel),
}
