"""Stripe's objects, by its own SDK: what becomes of payments, charges, refunds, customers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import stripe

Serve = Callable[..., Any]
PAID: Any = {"amount": 2000, "currency": "usd", "payment_method": "pm_card_visa", "confirm": True}
DECLINED: Any = PAID | {"payment_method": "pm_card_visa_chargeDeclinedInsufficientFunds"}
HELD: Any = PAID | {"capture_method": "manual"}


def client_of(address: Any) -> stripe.StripeClient:
    return stripe.StripeClient("sk_test_1", base_addresses={"api": address.url})


@pytest.fixture
def client(served: Serve) -> stripe.StripeClient:
    return client_of(served())


def rejected(call: Callable[[], object]) -> Any:
    """What stands below `error` in the answer."""
    with pytest.raises(stripe.StripeError) as caught:
        call()
    return caught.value.json_body["error"]


def test_one_that_is_confirmed_at_once_is_paid_and_has_a_charge(client: stripe.StripeClient) -> None:
    intent = client.v1.payment_intents.create(PAID | {"expand": ["latest_charge"]})
    assert (intent.status, intent.amount_received, intent.livemode) == ("succeeded", 2000, False)
    charge: Any = intent.latest_charge
    assert (charge.paid, charge.captured, charge.amount, charge.payment_intent) == (True, True, 2000, intent.id)
    assert client.v1.charges.retrieve(charge.id).payment_method_details.card.last4 == "4242"


def test_one_is_paid_step_by_step(client: stripe.StripeClient) -> None:
    intents = client.v1.payment_intents
    intent = intents.create({"amount": 2000, "currency": "USD"})
    assert (intent.status, intent.currency, intent.latest_charge) == ("requires_payment_method", "usd", None)
    assert intent.client_secret.startswith(f"{intent.id}_secret_")
    intent = intents.update(intent.id, {"payment_method": "pm_card_visa", "amount": 3000})
    assert (intent.status, intent.amount) == ("requires_confirmation", 3000)
    intent = intents.confirm(intent.id)
    assert (intent.status, intent.amount_received) == ("succeeded", 3000)
    assert intents.retrieve(intent.id) == intent


def test_one_is_captured_later_and_in_part(client: stripe.StripeClient) -> None:
    intents = client.v1.payment_intents
    intent = intents.create(HELD)
    assert (intent.status, intent.amount_capturable, intent.amount_received) == ("requires_capture", 2000, 0)
    intents.increment_authorization(intent.id, {"amount": 2500})
    intent = intents.capture(intent.id, {"amount_to_capture": 1500})
    assert (intent.status, intent.amount_capturable, intent.amount_received) == ("succeeded", 0, 1500)
    charge = client.v1.charges.retrieve(str(intent.latest_charge))
    assert (charge.amount, charge.amount_captured, charge.amount_refunded) == (2500, 1500, 1000)


def test_canceling_one_releases_what_was_held(client: stripe.StripeClient) -> None:
    intent = client.v1.payment_intents.create(HELD)
    canceled = client.v1.payment_intents.cancel(intent.id, {"cancellation_reason": "duplicate"})
    assert (canceled.status, canceled.cancellation_reason) == ("canceled", "duplicate")
    assert client.v1.charges.retrieve(str(intent.latest_charge)).refunded


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("confirm", "You cannot confirm this PaymentIntent because it has already succeeded"),
        ("capture", "could not be captured because it has a status of succeeded. Only a PaymentIntent with one"),
        ("cancel", "You cannot cancel this PaymentIntent because it has a status of succeeded"),
    ],
)
def test_what_the_status_does_not_allow_is_refused(client: stripe.StripeClient, call: str, message: str) -> None:
    intent = client.v1.payment_intents.create(PAID)
    error = rejected(lambda: getattr(client.v1.payment_intents, call)(intent.id))
    assert message in error["message"]
    assert (error["code"], error["payment_intent"]["id"]) == ("payment_intent_unexpected_state", intent.id)


def test_the_amount_of_a_paid_one_is_fixed_and_its_metadata_is_not(client: stripe.StripeClient) -> None:
    intents = client.v1.payment_intents
    intent = intents.create(PAID | {"metadata": {"order": "7", "shop": "a"}})
    error = rejected(lambda: intents.update(intent.id, {"amount": 3000}))
    assert "This PaymentIntent's amount could not be updated" in error["message"]
    changed = intents.update(intent.id, {"metadata": {"shop": "", "by": "ada"}})
    assert changed.metadata.to_dict() == {"order": "7", "by": "ada"}


def test_a_payment_that_the_customer_has_to_confirm_waits(client: stripe.StripeClient) -> None:
    asks = PAID | {"payment_method": "pm_card_authenticationRequired"}
    intent: Any = client.v1.payment_intents.create(asks)
    assert (intent.status, intent.next_action.type) == ("requires_action", "use_stripe_sdk")
    error = rejected(lambda: client.v1.payment_intents.create(asks | {"off_session": True}))
    assert error["code"] == "authentication_required"


def test_one_without_anything_to_pay_with_cannot_be_confirmed(client: stripe.StripeClient) -> None:
    error = rejected(lambda: client.v1.payment_intents.create({"amount": 90, "currency": "usd", "confirm": True}))
    assert "because it's missing a payment method" in error["message"]


def test_one_is_made_with_a_token_and_captured_later(client: stripe.StripeClient) -> None:
    charges = client.v1.charges
    charge = charges.create({"amount": 500, "currency": "eur", "source": "tok_mastercard", "capture": False})
    assert (charge.captured, charge.amount_captured, charge.status) == (False, 0, "succeeded")
    charge = charges.capture(charge.id)
    assert (charge.captured, charge.amount_captured) == (True, 500)
    assert rejected(lambda: charges.capture(charge.id))["code"] == "charge_already_captured"
    assert charges.update(charge.id, {"description": "A lamp"}).description == "A lamp"


def test_a_customer_is_charged_by_the_card_that_was_added(client: stripe.StripeClient) -> None:
    customer = client.v1.customers.create({"source": "tok_amex"})
    charge: Any = client.v1.charges.create({"amount": 500, "currency": "eur", "customer": customer.id})
    assert (charge.customer, charge.payment_method) == (customer.id, customer.default_source)
    assert charge.payment_method_details.card.last4 == "8431"


def test_a_customer_without_a_card_cannot_be_charged(client: stripe.StripeClient) -> None:
    customer = client.v1.customers.create({})
    order = {"amount": 500, "currency": "eur", "customer": customer.id}
    assert rejected(lambda: client.v1.charges.create(order))["code"] == "missing"


def test_somebody_has_to_pay(client: stripe.StripeClient) -> None:
    error = rejected(lambda: client.v1.charges.create({"amount": 500, "currency": "eur"}))
    assert error["message"] == "Must provide source or customer."


def test_a_charge_knows_what_was_given_back(client: stripe.StripeClient) -> None:
    intent = client.v1.payment_intents.create(PAID)
    first = client.v1.refunds.create({"payment_intent": intent.id, "amount": 500, "reason": "duplicate"})
    assert (first.amount, first.charge, first.status) == (500, intent.latest_charge, "succeeded")
    charge = client.v1.charges.retrieve(str(intent.latest_charge))
    assert (charge.amount_refunded, charge.refunded) == (500, False)
    rest = client.v1.refunds.create({"charge": charge.id})
    assert rest.amount == 1500
    charge = client.v1.charges.retrieve(charge.id, {"expand": ["refunds"]})
    assert (charge.amount_refunded, charge.refunded) == (2000, True)
    assert [refund.id for refund in (charge.refunds or stripe.ListObject()).data] == [rest.id, first.id]


def test_nothing_is_given_back_twice(client: stripe.StripeClient) -> None:
    refunds = client.v1.refunds
    intent = client.v1.payment_intents.create(PAID)
    error = rejected(lambda: refunds.create({"payment_intent": intent.id, "amount": 2001}))
    assert error["message"] == "Refund amount ($20.01) is greater than unrefunded amount on charge ($20.00)"
    refunds.create({"payment_intent": intent.id})
    error = rejected(lambda: refunds.create({"payment_intent": intent.id}))
    assert error["code"] == "charge_already_refunded"


def test_what_was_not_paid_is_not_given_back(client: stripe.StripeClient) -> None:
    for order in (HELD, {"amount": 2000, "currency": "usd"}):
        intent = client.v1.payment_intents.create(order)
        error = rejected(lambda given=intent.id: client.v1.refunds.create({"payment_intent": given}))
        assert "does not have a successful charge to refund" in error["message"]


def test_a_refund_that_is_done_cannot_be_canceled(client: stripe.StripeClient) -> None:
    intent = client.v1.payment_intents.create(PAID)
    refund = client.v1.refunds.create({"payment_intent": intent.id})
    assert "has a status of succeeded" in rejected(lambda: client.v1.refunds.cancel(refund.id))["message"]


def test_one_is_made_changed_and_deleted(client: stripe.StripeClient) -> None:
    customers = client.v1.customers
    made = customers.create({"email": "ada@example.com", "address": {"city": "Bern"}, "metadata": {"plan": "a"}})
    assert (made.address or stripe.StripeObject()).to_dict()["line1"] is None
    changed: Any = customers.update(made.id, {"name": "Ada", "email": "", "address": {"line1": "Gasse 1"}})
    assert (changed.email, changed.address.city, changed.address.line1) == (None, "Bern", "Gasse 1")
    assert customers.retrieve(made.id) == changed
    assert customers.delete(made.id).deleted
    assert customers.retrieve(made.id).deleted
    assert customers.list().data == []
    assert rejected(lambda: customers.update(made.id, {"name": "Bob"}))["code"] == "resource_missing"
    order = PAID | {"customer": made.id}
    assert rejected(lambda: client.v1.payment_intents.create(order))["param"] == "customer"


def test_cards_tax_ids_and_the_balance_are_below_it(client: stripe.StripeClient) -> None:
    customers = client.v1.customers
    ada = customers.create({"payment_method": "pm_card_visa"})
    card = customers.payment_sources.create(ada.id, {"source": "tok_amex"})
    bank = customers.payment_sources.create(ada.id, {"source": "btok_us_verified"})
    card = customers.payment_sources.update(ada.id, card.id, {"name": "Ada"})
    assert [one.id for one in customers.payment_sources.list(ada.id, {"object": "card"})] == [card.id]
    assert customers.retrieve(ada.id, {"expand": ["sources"]}).sources.data == [card, bank]
    assert customers.retrieve(ada.id).default_source == card.id
    assert customers.payment_sources.delete(ada.id, card.id).deleted
    assert customers.retrieve(ada.id).default_source is None
    assert [one.type for one in customers.payment_methods.list(ada.id)] == ["card"]
    customers.balance_transactions.create(ada.id, {"amount": -500, "currency": "usd"})
    assert customers.balance_transactions.list(ada.id).data[0].ending_balance == -500
    assert customers.retrieve(ada.id).balance == -500
    tax_id = customers.tax_ids.create(ada.id, {"type": "eu_vat", "value": "DE123456789"})
    assert customers.tax_ids.retrieve(ada.id, tax_id.id) == tax_id
    assert customers.tax_ids.delete(ada.id, tax_id.id).deleted


def test_what_belongs_to_another_is_not_found(client: stripe.StripeClient) -> None:
    customers = client.v1.customers
    ada, bob = customers.create({"source": "tok_visa"}), customers.create({})
    error = rejected(lambda: customers.payment_sources.retrieve(bob.id, str(ada.default_source)))
    assert error["code"] == "resource_missing"


def test_the_error_says_why_and_the_payment_waits_for_another_card(client: stripe.StripeClient) -> None:
    with pytest.raises(stripe.CardError, match=r"Your card has insufficient funds\.") as caught:
        client.v1.payment_intents.create(DECLINED)
    error = caught.value.json_body["error"]
    assert (caught.value.http_status, error["type"], error["code"]) == (402, "card_error", "card_declined")
    assert error["decline_code"] == "insufficient_funds"
    intent = client.v1.payment_intents.retrieve(error["payment_intent"]["id"])
    assert (intent.status, intent.payment_method) == ("requires_payment_method", None)
    charge = client.v1.charges.retrieve(error["charge"])
    assert (charge.status, charge.paid, charge.failure_code) == ("failed", False, "card_declined")
    assert client.v1.payment_intents.confirm(intent.id, {"payment_method": "pm_card_visa"}).status == "succeeded"


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("tok_chargeDeclined", "generic_decline"),
        ("tok_chargeDeclinedInsufficientFunds", "insufficient_funds"),
        ("tok_visa_chargeDeclinedStolenCard", "stolen_card"),
        ("tok_chargeCustomerFail", "generic_decline"),
    ],
)
def test_tokens_are_declined_as_their_names_say(client: stripe.StripeClient, token: str, reason: str) -> None:
    error = rejected(lambda: client.v1.charges.create({"amount": 500, "currency": "usd", "source": token}))
    assert error["decline_code"] == reason
    assert client.v1.charges.retrieve(error["charge"]).status == "failed"


def test_a_card_may_be_declined_when_it_is_added_or_only_when_it_is_charged(client: stripe.StripeClient) -> None:
    error = rejected(lambda: client.v1.customers.create({"source": "tok_chargeDeclined"}))
    assert error["type"] == "card_error"
    customer = client.v1.customers.create({"source": "tok_chargeCustomerFail"})
    order = {"amount": 500, "currency": "usd", "customer": customer.id}
    assert rejected(lambda: client.v1.charges.create(order))["code"] == "card_declined"


def test_one_customer_is_there_and_always_declined(client: stripe.StripeClient) -> None:
    order = {"amount": 500, "currency": "usd", "customer": "cus_declined"}
    assert rejected(lambda: client.v1.charges.create(order))["decline_code"] == "insufficient_funds"
    error = rejected(lambda: client.v1.payment_intents.create(PAID | {"customer": "cus_declined"}))
    assert error["decline_code"] == "insufficient_funds"
    assert client.v1.customers.list().data == []
