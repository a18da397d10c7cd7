"""Stripe's keys, and lost answers: the SDK's module functions retry with one key, StripeClient does not."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import stripe

from fakes import Fault
from fakes.server.dialects import variables

Serve = Callable[..., Any]
PAID: Any = {"amount": 2000, "currency": "usd", "payment_method": "pm_card_visa", "confirm": True}
DECLINED: Any = PAID | {"payment_method": "pm_card_visa_chargeDeclinedInsufficientFunds"}
HELD: Any = PAID | {"capture_method": "manual"}


def client_of(address: Any) -> stripe.StripeClient:
    return stripe.StripeClient("sk_test_1", base_addresses={"api": address.url})


@pytest.fixture
def address(served: Serve) -> Any:
    return served()


@pytest.fixture
def client(address: Any) -> stripe.StripeClient:
    return client_of(address)


@pytest.fixture
def module(served: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    """A served site that the functions of the module call; their retries do not wait long."""

    def serve(**keywords: Any) -> Any:
        address = served(**keywords)
        names = variables(address.url)
        monkeypatch.setattr(stripe, "api_base", names["STRIPE_API_BASE"])
        monkeypatch.setattr(stripe, "api_key", names["STRIPE_API_KEY"])
        monkeypatch.setattr(stripe, "default_http_client", None)
        monkeypatch.setattr(stripe.HTTPClient, "INITIAL_DELAY", 0.01)
        return address

    return serve


def rejected(call: Callable[[], object]) -> Any:
    """What stands below `error` in the answer."""
    with pytest.raises(stripe.StripeError) as caught:
        call()
    return caught.value.json_body["error"]


def effects(address: Any) -> dict[str, int]:
    """What was done and how often, as `payment_intents.create cus_1`."""
    return {f"{operation} {target}": n for (_, operation, target), n in address.ledger.effects().items()}


def outcomes(address: Any) -> list[str]:
    return [row.outcome for row in address.ledger.rows()]


def key(text: str) -> Any:
    return {"idempotency_key": text}


def test_the_same_key_gets_the_same_answer_and_acts_once(address: Any, client: stripe.StripeClient) -> None:
    first = client.v1.payment_intents.create(PAID, key("k"))
    second = client.v1.payment_intents.create(PAID, key("k"))
    assert first == second
    assert second.last_response.headers["Idempotent-Replayed"] == "true"
    assert "Idempotent-Replayed" not in first.last_response.headers
    assert effects(address) == {"payment_intents.create 2000 usd": 1}


def test_the_answer_is_that_of_then_whatever_has_become_of_the_object(client: stripe.StripeClient) -> None:
    first = client.v1.payment_intents.create(HELD, key("k"))
    client.v1.payment_intents.capture(first.id)
    assert client.v1.payment_intents.create(HELD, key("k")).status == "requires_capture"
    customer = client.v1.customers.create({})
    for _ in range(2):
        assert client.v1.customers.delete(customer.id, options=key("gone")).deleted


def test_another_body_is_refused(client: stripe.StripeClient) -> None:
    client.v1.payment_intents.create(PAID, key("k"))
    with pytest.raises(stripe.IdempotencyError, match="can only be used with the same parameters") as caught:
        client.v1.payment_intents.create(PAID | {"amount": 3000}, key("k"))
    assert caught.value.http_status == 400


def test_a_key_too_long_is_refused(client: stripe.StripeClient) -> None:
    assert client.v1.payment_intents.create(PAID, key("k" * 255)).status == "succeeded"
    with pytest.raises(stripe.InvalidRequestError, match="takes up to 255"):
        client.v1.payment_intents.create(PAID, key("k" * 256))


def test_a_declined_card_is_kept_under_the_key(address: Any, client: stripe.StripeClient) -> None:
    errors = []
    for _ in range(2):
        with pytest.raises(stripe.CardError) as caught:
            client.v1.payment_intents.create(DECLINED, key("k"))
        errors.append(caught.value)
    assert errors[0].http_body == errors[1].http_body
    assert [error.headers.get("Idempotent-Replayed") for error in errors] == [None, "true"]
    assert outcomes(address) == ["failed", "deduplicated"]


def test_a_refusal_by_state_is_kept_under_the_key(client: stripe.StripeClient) -> None:
    intent = client.v1.payment_intents.create(HELD)
    refund = {"payment_intent": intent.id}
    rejected(lambda: client.v1.refunds.create(refund, key("k")))
    client.v1.payment_intents.capture(intent.id)
    rejected(lambda: client.v1.refunds.create(refund, key("k")))
    assert client.v1.refunds.create(refund, key("another")).amount == 2000


def test_a_wrong_request_is_not_kept(address: Any, client: stripe.StripeClient) -> None:
    for wrong in ({"amount": 90}, PAID | {"customer": "cus_nobody"}):
        rejected(lambda order=wrong: client.v1.payment_intents.create(order, key("k")))
    assert client.v1.payment_intents.create(PAID, key("k")).status == "succeeded"
    assert outcomes(address) == ["applied"]


def test_a_500_is_kept_and_not_tried_again(module: Serve) -> None:
    address = module(faults=[Fault.parse("stripe.payment_intents.create#1:server_error")])
    bodies = []
    for _ in range(2):
        with pytest.raises(stripe.APIError) as caught:
            stripe.PaymentIntent.create(**PAID, idempotency_key="k")
        assert caught.value.http_status == 500
        bodies.append(caught.value.http_body)
    assert bodies[0] == bodies[1]
    assert outcomes(address) == ["failed", "deduplicated"]


def test_a_key_in_flight_is_409(served: Serve) -> None:
    address = served(faults=[Fault.parse("stripe.payment_intents.create#1:slow=0.5")])
    done: list[Any] = []
    slow = threading.Thread(target=lambda: done.append(client_of(address).v1.payment_intents.create(PAID, key("k"))))
    slow.start()
    while not address.ledger.rows():
        time.sleep(0.005)
    with pytest.raises(stripe.APIError, match="another in-progress request using this Idempotent Key") as caught:
        client_of(address).v1.payment_intents.create(PAID, key("k"))
    slow.join()
    error = caught.value.json_body["error"]
    assert (caught.value.http_status, error["code"]) == (409, "idempotency_key_in_use")
    assert client_of(address).v1.payment_intents.create(PAID, key("k")) == done[0]
    assert effects(address) == {"payment_intents.create 2000 usd": 1}


def test_a_key_is_forgotten_after_a_day(served: Serve) -> None:
    now = [1_900_000_000.0]
    address = served(clock=lambda: now[0])
    client = client_of(address)
    first = client.v1.payment_intents.create(PAID, key("k"))
    assert first.created == now[0]
    now[0] += 86_399
    assert client.v1.payment_intents.create(PAID, key("k")) == first
    now[0] += 1
    assert client.v1.payment_intents.create(PAID, key("k")).id != first.id
    assert effects(address) == {"payment_intents.create 2000 usd": 2}


LOST = (Fault.parse("stripe.payment_intents.create#1:lost_after"),)


def test_the_functions_of_the_module_ask_again_with_their_key_and_act_once(module: Serve) -> None:
    address = module(faults=LOST)
    assert stripe.PaymentIntent.create(**PAID).status == "succeeded"
    assert effects(address) == {"payment_intents.create 2000 usd": 1}
    assert outcomes(address) == ["applied", "deduplicated"]


def test_a_client_leaves_it_to_its_program(served: Serve) -> None:
    address = served(faults=LOST)
    with pytest.raises(stripe.APIConnectionError):
        client_of(address).v1.payment_intents.create(PAID)
    assert effects(address) == {"payment_intents.create 2000 usd": 1}


def test_a_new_life_has_a_new_key_and_pays_again(served: Serve) -> None:
    address = served(faults=LOST)
    with suppress(stripe.APIConnectionError):
        client_of(address).v1.payment_intents.create(PAID | {"metadata": {"order": "7"}})
    client_of(address).v1.payment_intents.create(PAID | {"metadata": {"order": "7"}})
    assert effects(address) == {"payment_intents.create 7": 2}


def test_a_bad_gateway_is_asked_again(module: Serve) -> None:
    address = module(faults=[Fault.parse("stripe.charges.create#1:error_after_commit")])
    assert stripe.Charge.create(amount=500, currency="usd", source="tok_visa").paid
    assert effects(address) == {"charges.create 500 usd": 1}


def test_a_rate_limit_is_raised(served: Serve) -> None:
    address = served(faults=[Fault.parse("stripe.refunds.create#1:rate_limit=2")])
    paid = client_of(address).v1.payment_intents.create(PAID)
    with pytest.raises(stripe.RateLimitError) as caught:
        client_of(address).v1.refunds.create({"payment_intent": paid.id})
    assert caught.value.json_body["error"]["code"] == "rate_limit"


@pytest.mark.filterwarnings("ignore:Use .content=")  # the SDK's way with httpx
def test_the_async_functions_do_the_same(module: Serve) -> None:
    address = module(faults=LOST)

    async def pay() -> Any:
        intent = await stripe.PaymentIntent.create_async(**PAID)
        found = await stripe.PaymentIntent.retrieve_async(intent.id)
        await stripe.default_http_client.close_async()
        return found

    assert asyncio.run(pay()).status == "succeeded"
    assert effects(address) == {"payment_intents.create 2000 usd": 1}
