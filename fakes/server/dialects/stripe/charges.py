"""Stripe's charges, docs.stripe.com/api/charges: those of payment intents, and those that old programs still make."""

from __future__ import annotations

from collections.abc import Mapping

from fakes.payments import DECLINED
from fakes.server.dialects.stripe import parameters as takes
from fakes.server.dialects.stripe.calls import Moment, Outcome, acts, gone, known, rejected
from fakes.server.dialects.stripe.errors import error
from fakes.server.dialects.stripe.forms import read
from fakes.server.dialects.stripe.objects import captured, failed, new_charge, number_of, text_of, updated
from fakes.server.dialects.stripe.payments import (
    bank_says,
    card_behind,
    card_error,
    check_amount,
    check_method,
    target_of,
)
from fakes.server.dialects.stripe.reading import Resource
from fakes.server.fields import Fields
from fakes.server.trouble import invalid
from fakes.server.wire import Asked, Desk, Request, Route

CHARGES = Resource(
    name="charges",
    kind="charge",
    filters=("customer", "payment_intent", "transfer_group"),
    searched=(
        *("amount", "created", "currency", "customer", "disputed", "metadata", "refunded", "status"),
        *(f"payment_method_details.card.{name}" for name in ("brand", "exp_month", "exp_year", "fingerprint", "last4")),
    ),
)


def create(desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /v1/charges; captured at once unless `capture=false`."""
    fields = read(request, takes.CHARGE_CREATE)
    check_amount(fields, fields.text("currency"))
    check_method(fields)
    if fields.has("customer"):
        known(desk, ("customer",), fields.text("customer"), param="customer")
    elif not fields.has("source"):
        raise invalid("Must provide source or customer.", code="parameter_missing")

    def change(moment: Moment) -> Outcome:
        customer = fields.text("customer", "")
        if customer and moment.records.alive(customer) is None:
            return gone("customer", customer, "customer")
        method = _method(fields, moment)
        if not method:
            message = f"Cannot charge a customer that has no active card: {customer}"
            return Outcome(error=error("card_error", message, code="missing", param="card"))
        card = card_behind(moment.records, method)
        charge = new_charge(f"ch_{moment.token}", moment.now, method, card, fields.values)
        no = bank_says(moment.records, customer, method)
        if no is not None:
            return Outcome((failed(charge, no),), card_error(no, charge=charge["id"]))
        amount = number_of(charge, "amount")
        at_once = fields.flag("capture", default=True)
        return Outcome((captured(charge, amount, f"txn_{moment.token}") if at_once else charge,))

    return acts(desk, request, fields, change, operation="charges.create", target=target_of(fields.values))


def update(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """POST /v1/charges/{id}."""
    fields = read(request, takes.CHARGE_UPDATE)
    first = CHARGES.named(desk, found)

    def change(moment: Moment) -> Outcome:
        return Outcome((updated(moment.records.get(found["id"]) or first, fields),))

    return acts(desk, request, fields, change, operation="charges.update", target=target_of(first))


def capture(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """POST /v1/charges/{id}/capture: all that was authorised, or less."""
    fields = read(request, takes.CHARGE_CAPTURE)
    first = CHARGES.named(desk, found)

    def change(moment: Moment) -> Outcome:
        charge = moment.records.get(found["id"]) or first
        most = number_of(charge, "amount")
        amount = fields.number("amount", most)
        if charge["payment_intent"] is not None:
            return rejected(f"Charge {charge['id']} is one of {charge['payment_intent']}; capture that payment intent.")
        if charge["captured"]:
            return rejected(f"Charge {charge['id']} has already been captured.", code="charge_already_captured")
        if charge["refunded"]:
            return rejected(f"Charge {charge['id']} has already been refunded.", code="charge_already_refunded")
        if not 1 <= amount <= most:
            message = f"The amount to capture is 1 to {most}, which is what was authorised; {amount} was asked for."
            return rejected(message, code="amount_too_large" if amount > most else None, param="amount")
        given = Fields({name: value for name, value in fields.values.items() if name != "amount"})
        return Outcome((captured(updated(charge, given), amount, f"txn_{moment.token}"),))

    return acts(desk, request, fields, change, operation="charges.capture", target=target_of(first))


def _method(fields: Fields, moment: Moment) -> str:
    """What is charged: the source that was given, or the customer's default one. `cus_declined` has a card."""
    customer = fields.text("customer", "")
    default = text_of(moment.records.get(customer) or {}, "default_source")
    return fields.text("source", "") or default or ("card_declined" if customer == DECLINED else "")


ROUTES: Mapping[str, Route] = {
    "charges.create": Route("POST", "/v1/charges", create),
    "charges.list": Route("GET", "/v1/charges", CHARGES.page),
    "charges.search": Route("GET", "/v1/charges/search", CHARGES.search),
    "charges.retrieve": Route("GET", "/v1/charges/{id}", CHARGES.retrieve),
    "charges.update": Route("POST", "/v1/charges/{id}", update),
    "charges.capture": Route("POST", "/v1/charges/{id}/capture", capture),
}
