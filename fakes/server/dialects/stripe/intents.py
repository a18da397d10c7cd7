"""Stripe's payment intents, docs.stripe.com/api/payment_intents: a payment from its first mention to its capture."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from fakes.server.dialects.stripe import parameters as takes
from fakes.server.dialects.stripe.calls import Moment, Outcome, acts, gone, known, rejected
from fakes.server.dialects.stripe.confirming import confirmed, unexpected, with_method
from fakes.server.dialects.stripe.forms import read
from fakes.server.dialects.stripe.objects import Thing, captured, new_intent, number_of, released, text_of, updated
from fakes.server.dialects.stripe.payments import check_amount, check_method, target_of
from fakes.server.dialects.stripe.reading import Resource
from fakes.server.fields import Fields
from fakes.server.trouble import invalid
from fakes.server.wire import Asked, Desk, Request, Route

INTENTS = Resource(
    name="payment_intents",
    kind="payment_intent",
    id_param="intent",
    takes=takes.INTENT_RETRIEVE,
    filters=("customer",),
    searched=("amount", "created", "currency", "customer", "metadata", "status"),
)
_OPEN = ("requires_payment_method", "requires_confirmation", "requires_action")
_CANCELABLE = ("requires_payment_method", "requires_capture", "requires_confirmation", "requires_action", "processing")
_FIXED_LATER = ("amount", "currency", "customer", "payment_method", "payment_method_types", "setup_future_usage")
"""What cannot be changed any more once the money is on its way."""


def create(desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /v1/payment_intents; with `confirm=true` the payment is made at once."""
    fields = read(request, takes.INTENT_CREATE)
    check_amount(fields, fields.text("currency"))
    _check(desk, fields)
    if not fields.flag("confirm"):
        early = next((name for name in ("off_session", "error_on_requires_action") if fields.has(name)), None)
        if early is not None:
            raise invalid(f"You may only specify `{early}` when `confirm` is set to true.", param=early)

    def change(moment: Moment) -> Outcome:
        customer = fields.text("customer", "")
        if customer and moment.records.alive(customer) is None:
            return gone("customer", customer, "customer")
        intent = new_intent(f"pi_{moment.token}", moment.token, moment.now, fields)
        intent = with_method(intent, fields, moment)
        return confirmed(intent, fields, moment) if fields.flag("confirm") else Outcome((intent,))

    return acts(desk, request, fields, change, operation="payment_intents.create", target=target_of(fields.values))


def update(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """POST /v1/payment_intents/{id}."""
    fields = read(request, takes.INTENT_UPDATE)
    first = INTENTS.named(desk, found)
    _check(desk, fields)
    if fields.has("amount"):
        check_amount(fields, fields.text("currency", text_of(first, "currency")))

    def change(intent: Thing, moment: Moment) -> Outcome:
        fixed = next((name for name in _FIXED_LATER if name in fields.values), None)
        if fixed is not None and intent["status"] not in _OPEN:
            message = (
                f"This PaymentIntent's {fixed} could not be updated because it has a status of {intent['status']}."
            )
            return unexpected(f"{message} You may only update the {fixed} of {_one_of(_OPEN)}.", intent)
        return Outcome((with_method(updated(intent, fields), fields, moment),))

    return _acts_on(first, desk, request, fields, change, operation="payment_intents.update")


def confirm(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """POST /v1/payment_intents/{id}/confirm."""
    fields = read(request, takes.INTENT_CONFIRM)
    first = INTENTS.named(desk, found)
    _check(desk, fields)

    def change(intent: Thing, moment: Moment) -> Outcome:
        if intent["status"] not in _OPEN:
            done = intent["status"] in ("succeeded", "requires_capture")
            why = "it has already succeeded after being previously confirmed" if done else _has_status(intent)
            return unexpected(f"You cannot confirm this PaymentIntent because {why}.", intent)
        return confirmed(with_method(updated(intent, fields), fields, moment), fields, moment)

    return _acts_on(first, desk, request, fields, change, operation="payment_intents.confirm")


def capture(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """POST /v1/payment_intents/{id}/capture: all that was authorised, or less."""
    fields = read(request, takes.INTENT_CAPTURE)

    def change(intent: Thing, moment: Moment) -> Outcome:
        most = number_of(intent, "amount_capturable")
        amount = fields.number("amount_to_capture", most)
        if intent["status"] != "requires_capture":
            only = f"Only {_one_of(('requires_capture',))} may be captured."
            return unexpected(f"This PaymentIntent could not be captured because {_has_status(intent)}. {only}", intent)
        if not 1 <= amount <= most:
            message = f"The amount to capture is 1 to {most}, which is what was authorised; {amount} was asked for."
            return rejected(message, code="amount_too_large" if amount > most else None, param="amount_to_capture")
        intent = {**updated(intent, fields), "amount_capturable": 0, "amount_received": amount, "status": "succeeded"}
        return _with_charge(intent, moment, lambda charge: captured(charge, amount, f"txn_{moment.token}"))

    return _acts_on(INTENTS.named(desk, found), desk, request, fields, change, operation="payment_intents.capture")


def cancel(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """POST /v1/payment_intents/{id}/cancel. What was authorised is released."""
    fields = read(request, takes.INTENT_CANCEL)

    def change(intent: Thing, moment: Moment) -> Outcome:
        if intent["status"] not in _CANCELABLE:
            only = f"Only {_one_of(_CANCELABLE)} may be canceled."
            return unexpected(f"You cannot cancel this PaymentIntent because {_has_status(intent)}. {only}", intent)
        canceled = {"amount_capturable": 0, "canceled_at": moment.now, "next_action": None, "status": "canceled"}
        was_authorised = intent["status"] == "requires_capture"
        intent = {**updated(intent, fields), **canceled}
        return _with_charge(intent, moment, released) if was_authorised else Outcome((intent,))

    return _acts_on(INTENTS.named(desk, found), desk, request, fields, change, operation="payment_intents.cancel")


def increment(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """POST /v1/payment_intents/{id}/increment_authorization."""
    fields = read(request, takes.INTENT_INCREMENT)
    first = INTENTS.named(desk, found)
    check_amount(fields, text_of(first, "currency"))

    def change(intent: Thing, moment: Moment) -> Outcome:
        amount = fields.number("amount")
        if intent["status"] != "requires_capture":
            only = f"Only {_one_of(('requires_capture',))} may be incremented."
            return unexpected(f"You cannot increment this PaymentIntent because {_has_status(intent)}. {only}", intent)
        if amount <= number_of(intent, "amount"):
            message = f"The new amount must be above {intent['amount']}, which is authorised already; it is {amount}."
            return rejected(message, param="amount")
        intent = {**updated(intent, fields), "amount_capturable": amount}
        return _with_charge(intent, moment, lambda charge: {**charge, "amount": amount})

    return _acts_on(first, desk, request, fields, change, operation="payment_intents.increment_authorization")


def _check(desk: Desk, fields: Fields) -> None:
    check_method(fields)
    if fields.has("customer"):
        known(desk, ("customer",), fields.text("customer"), param="customer")


def _acts_on(
    first: Thing,
    desk: Desk,
    request: Request,
    fields: Fields,
    change: Callable[[Thing, Moment], Outcome],
    *,
    operation: str,
) -> Asked:
    """A call that changes the payment intent that was `first` found, as it will be once the call is worked on."""
    given = text_of(first, "id")

    def change_now(moment: Moment) -> Outcome:
        return change(moment.records.get(given) or first, moment)

    return acts(desk, request, fields, change_now, operation=operation, target=target_of(first))


def _with_charge(intent: Thing, moment: Moment, change: Callable[[Thing], Thing]) -> Outcome:
    charge = moment.records.get(text_of(intent, "latest_charge"))
    return Outcome((intent,) if charge is None else (intent, change(charge)))


def _has_status(intent: Thing) -> str:
    return f"it has a status of {intent['status']}"


def _one_of(statuses: Sequence[str]) -> str:
    return f"a PaymentIntent with one of the following statuses: {', '.join(statuses)}"


_ONE = "/v1/payment_intents/{id}"
ROUTES: Mapping[str, Route] = {
    "payment_intents.create": Route("POST", "/v1/payment_intents", create),
    "payment_intents.list": Route("GET", "/v1/payment_intents", INTENTS.page),
    "payment_intents.search": Route("GET", "/v1/payment_intents/search", INTENTS.search),
    "payment_intents.retrieve": Route("GET", _ONE, INTENTS.retrieve),
    "payment_intents.update": Route("POST", _ONE, update),
    "payment_intents.confirm": Route("POST", f"{_ONE}/confirm", confirm),
    "payment_intents.capture": Route("POST", f"{_ONE}/capture", capture),
    "payment_intents.cancel": Route("POST", f"{_ONE}/cancel", cancel),
    "payment_intents.increment_authorization": Route("POST", f"{_ONE}/increment_authorization", increment),
}
