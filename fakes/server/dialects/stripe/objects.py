"""Stripe's objects when they are new: docs.stripe.com/api, as of API version 2026-10-28."""

from __future__ import annotations

from collections.abc import Mapping

from fakes.server.dialects.stripe.cards import NO_ADDRESS, NO_BILLING_DETAILS, Decline
from fakes.server.fields import Fields

Thing = Mapping[str, object]
"""An object of Stripe's, as JSON: `{"id": "cus_7", "object": "customer", ...}`."""


def text_of(thing: Thing, name: str) -> str:
    """A field that holds text; empty where it is null or not there."""
    value = thing.get(name)
    return value if isinstance(value, str) else ""


def number_of(thing: Thing, name: str) -> int:
    """A field that holds a whole number; 0 where it is null or not there."""
    value = thing.get(name)
    return value if isinstance(value, int) else 0


def updated(thing: Thing, fields: Fields) -> Thing:
    """The object with the given values for the fields that it has. Metadata and other hashes are merged, key by key."""
    given = {
        name: _merged(thing[name] or (NO_ADDRESS if name == "address" else None), value)
        for name, value in fields.values.items()
        if name in thing
    }
    if "metadata" in given:
        given["metadata"] = _kept(given["metadata"])
    return {**thing, **given}


def _kept(metadata: object) -> Thing:
    """Metadata without the keys that were given empty, which is how one drops them."""
    return {name: text for name, text in metadata.items() if text != ""} if isinstance(metadata, Mapping) else {}


def _merged(old: object, new: object) -> object:
    return {**old, **new} if isinstance(old, Mapping) and isinstance(new, Mapping) else new


def new_customer(given: str, created: int, fields: Fields) -> Thing:
    """A customer."""
    empty: Thing = {
        "id": given,
        "object": "customer",
        "address": None,
        "balance": 0,
        "created": created,
        "currency": None,
        "default_source": None,
        "delinquent": False,
        "description": None,
        "discount": None,
        "email": None,
        "invoice_prefix": given.removeprefix("cus_")[:8].upper(),
        "invoice_settings": dict.fromkeys(("custom_fields", "default_payment_method", "footer", "rendering_options")),
        "livemode": False,
        "metadata": {},
        "name": None,
        "next_invoice_sequence": 1,
        "phone": None,
        "preferred_locales": [],
        "shipping": None,
        "tax_exempt": "none",
        "test_clock": None,
    }
    return updated(empty, fields)


def new_intent(given: str, secret: str, created: int, fields: Fields) -> Thing:
    """A payment intent that nothing was tried with yet."""
    types = fields.items("payment_method_types") or fields.items("allowed_payment_method_types")
    automatic = None if types else {"allow_redirects": "always", "enabled": True}
    empty: Thing = {
        "id": given,
        "object": "payment_intent",
        "amount": 0,
        "amount_capturable": 0,
        "amount_details": {"tip": {}},
        "amount_received": 0,
        "application": None,
        "application_fee_amount": None,
        "automatic_payment_methods": automatic,
        "canceled_at": None,
        "cancellation_reason": None,
        "capture_method": "automatic_async",
        "client_secret": f"{given}_secret_{secret}",
        "confirmation_method": "automatic",
        "created": created,
        "currency": None,
        "customer": None,
        "description": None,
        "last_payment_error": None,
        "latest_charge": None,
        "livemode": False,
        "metadata": {},
        "next_action": None,
        "on_behalf_of": None,
        "payment_method": None,
        "payment_method_configuration_details": None,
        "payment_method_options": {},
        "payment_method_types": list(types) or ["card", "link"],
        "processing": None,
        "receipt_email": None,
        "review": None,
        "setup_future_usage": None,
        "shipping": None,
        "source": None,
        "statement_descriptor": None,
        "statement_descriptor_suffix": None,
        "status": "requires_payment_method",
        "transfer_data": None,
        "transfer_group": None,
    }
    return updated(empty, fields)


_SHARED = (
    *("amount", "application_fee_amount", "currency", "customer", "description", "metadata", "on_behalf_of"),
    *("receipt_email", "shipping", "statement_descriptor", "statement_descriptor_suffix"),
    *("transfer_data", "transfer_group"),
)
"""Fields that a charge has from the payment intent that makes it, or from the call."""


def new_charge(given: str, created: int, method: str, card: Thing, payment: Thing) -> Thing:
    """A charge on a card, not captured yet. `payment` is the payment intent that makes it, or what the call gave."""
    empty: Thing = {
        "id": given,
        "object": "charge",
        "amount": 0,
        "amount_captured": 0,
        "amount_refunded": 0,
        "application": None,
        "application_fee": None,
        "application_fee_amount": None,
        "balance_transaction": None,
        "billing_details": NO_BILLING_DETAILS,
        "calculated_statement_descriptor": "CRASHWINDOW",
        "captured": False,
        "created": created,
        "currency": None,
        "customer": None,
        "description": None,
        "disputed": False,
        "failure_balance_transaction": None,
        "failure_code": None,
        "failure_message": None,
        "fraud_details": {},
        "livemode": False,
        "metadata": {},
        "on_behalf_of": None,
        "outcome": _outcome("authorized", None, "Payment complete."),
        "paid": True,
        "payment_intent": None,
        "payment_method": method,
        "payment_method_details": {"card": card, "type": "card"},
        "receipt_email": None,
        "receipt_number": None,
        "receipt_url": f"https://pay.stripe.com/receipts/{given}",
        "refunded": False,
        "review": None,
        "shipping": None,
        "source": None,
        "source_transfer": None,
        "statement_descriptor": None,
        "statement_descriptor_suffix": None,
        "status": "succeeded",
        "transfer_data": None,
        "transfer_group": None,
    }
    return updated(empty, Fields({name: payment[name] for name in _SHARED if name in payment}))


def captured(charge: Thing, amount: int, transaction: str) -> Thing:
    """The charge once it is captured. What was authorised beyond that is given back at once."""
    return {
        **charge,
        "amount_captured": amount,
        "amount_refunded": number_of(charge, "amount") - amount,
        "balance_transaction": transaction,
        "captured": True,
    }


def released(charge: Thing) -> Thing:
    """The charge once it is clear that it will not be captured."""
    return {**charge, "amount_refunded": charge["amount"], "refunded": True}


def failed(charge: Thing, no: Decline) -> Thing:
    """The charge if the bank says no."""
    message = "The bank did not return any further details with this decline."
    return {
        **charge,
        "failure_code": no.code,
        "failure_message": no.message,
        "outcome": _outcome("issuer_declined", no.reason, message),
        "paid": False,
        "receipt_url": None,
        "status": "failed",
    }


def _outcome(kind: str, reason: str | None, message: str) -> Thing:
    status = "approved_by_network" if kind == "authorized" else "declined_by_network"
    return {
        "network_status": status,
        "reason": reason,
        "risk_level": "normal",
        "risk_score": 32,
        "seller_message": message,
        "type": kind,
    }


def new_refund(given: str, created: int, charge: Thing, amount: int, fields: Fields) -> Thing:
    """A refund of a charge, done."""
    card: Thing = {"reference": None, "reference_status": "pending", "reference_type": None, "type": "refund"}
    empty: Thing = {
        "id": given,
        "object": "refund",
        "amount": amount,
        "balance_transaction": f"txn_{given}",
        "charge": charge["id"],
        "created": created,
        "currency": charge["currency"],
        "destination_details": {"card": card, "type": "card"},
        "metadata": {},
        "payment_intent": charge["payment_intent"],
        "reason": None,
        "receipt_number": None,
        "source_transfer_reversal": None,
        "status": "succeeded",
        "transfer_reversal": None,
    }
    return updated(
        empty, Fields({name: fields.values[name] for name in ("metadata", "reason") if name in fields.values})
    )


def new_balance_change(given: str, created: int, customer: str, balance: int, fields: Fields) -> Thing:
    """A change of what a customer owes, and what that is now."""
    empty: Thing = {
        "id": given,
        "object": "customer_balance_transaction",
        "amount": 0,
        "created": created,
        "credit_note": None,
        "currency": None,
        "customer": customer,
        "description": None,
        "ending_balance": balance,
        "invoice": None,
        "livemode": False,
        "metadata": {},
        "type": "adjustment",
    }
    return updated(empty, fields)


def new_tax_id(given: str, created: int, customer: str, fields: Fields) -> Thing:
    """A customer's tax id, not verified yet."""
    return {
        "id": given,
        "object": "tax_id",
        "country": fields.text("type")[:2].upper(),
        "created": created,
        "customer": customer,
        "livemode": False,
        "owner": {"customer": customer, "type": "customer"},
        "type": fields.text("type"),
        "value": fields.text("value"),
        "verification": {"status": "pending", "verified_address": None, "verified_name": None},
    }
