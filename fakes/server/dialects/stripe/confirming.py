"""The moment of truth of a payment intent: the bank is asked, and there is a charge, for better or worse."""

from __future__ import annotations

from fakes.server.dialects.stripe.calls import Moment, Outcome, rejected
from fakes.server.dialects.stripe.cards import AUTHENTICATION_REQUIRED, Decline, asks_for_authentication, payment_method
from fakes.server.dialects.stripe.errors import error
from fakes.server.dialects.stripe.objects import Thing, captured, failed, new_charge, number_of, text_of
from fakes.server.dialects.stripe.payments import bank_says, card_behind, card_error
from fakes.server.fields import Fields

UNEXPECTED_STATE = "payment_intent_unexpected_state"
_NO_METHOD = (
    "You cannot confirm this PaymentIntent because it's missing a payment method. You can either update the"
    " PaymentIntent with a payment method and then confirm it again, or confirm it again directly with a payment method"
    " or ConfirmationToken."
)


def unexpected(message: str, intent: Thing) -> Outcome:
    """The refusal of what the status of a payment intent does not allow."""
    return Outcome(error=error("invalid_request_error", message, code=UNEXPECTED_STATE, payment_intent=intent))


def with_method(intent: Thing, fields: Fields, moment: Moment) -> Thing:
    """The payment intent with what it is to be paid with, if the call says that."""
    method = fields.optional("payment_method") or fields.optional("source")
    if method is None and fields.has("payment_method_data"):
        method = f"pm_{moment.token}"
    if method is None:
        return intent
    status = "requires_confirmation" if intent["status"] == "requires_payment_method" else intent["status"]
    return {**intent, "payment_method": method, "status": status}


def confirmed(intent: Thing, fields: Fields, moment: Moment) -> Outcome:
    """The payment intent after the attempt to pay, and its charge. Declined, it waits for another payment method."""
    customer = moment.records.get(text_of(intent, "customer")) or {}
    method = text_of(intent, "payment_method") or text_of(customer, "default_source")
    if not method:
        return rejected(_NO_METHOD, code=UNEXPECTED_STATE)
    intent = {**intent, "payment_method": method, "next_action": None}
    no = bank_says(moment.records, text_of(intent, "customer"), method)
    if no is None and asks_for_authentication(method):
        if not (fields.flag("error_on_requires_action") or fields.text("off_session", "false") != "false"):
            return Outcome(({**intent, "status": "requires_action", "next_action": _authentication(fields)},))
        no = AUTHENTICATION_REQUIRED
    card = card_behind(moment.records, method)
    charge = {**new_charge(f"ch_{moment.token}", moment.now, method, card, intent), "payment_intent": intent["id"]}
    intent = {**intent, "latest_charge": charge["id"]}
    return _paid(intent, charge, moment) if no is None else _declined(intent, charge, no)


def _paid(intent: Thing, charge: Thing, moment: Moment) -> Outcome:
    amount = number_of(intent, "amount")
    intent = {**intent, "last_payment_error": None}
    if intent["capture_method"] == "manual":
        return Outcome(({**intent, "amount_capturable": amount, "status": "requires_capture"}, charge))
    paid = {**intent, "amount_received": amount, "status": "succeeded"}
    return Outcome((paid, captured(charge, amount, f"txn_{moment.token}")))


def _declined(intent: Thing, charge: Thing, no: Decline) -> Outcome:
    name = text_of(intent, "payment_method")
    method = payment_method(name, name, intent["customer"], number_of(intent, "created"))
    shown = card_error(no, charge=charge["id"], payment_method=method)
    waiting = {"last_payment_error": shown, "payment_method": None, "status": "requires_payment_method"}
    intent = {**intent, **waiting}
    return Outcome((intent, failed(charge, no)), {**shown, "payment_intent": intent})


def _authentication(fields: Fields) -> Thing:
    """What the customer has to do. Nobody does it here: the payment waits until it is confirmed with another card."""
    if fields.has("return_url"):
        redirect = {"return_url": fields.text("return_url"), "url": "https://hooks.stripe.com/3d_secure_2/hosted"}
        return {"type": "redirect_to_url", "redirect_to_url": redirect}
    return {"type": "use_stripe_sdk", "use_stripe_sdk": {"type": "three_d_secure_redirect"}}
