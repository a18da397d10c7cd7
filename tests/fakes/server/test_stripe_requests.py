"""What Stripe says to requests that are wrong, and what it sends with its answers."""

from __future__ import annotations

import base64
import json
import urllib.request
from collections.abc import Callable
from typing import Any
from urllib.error import HTTPError

import pytest
import stripe

Serve = Callable[..., Any]


def client_of(address: Any) -> stripe.StripeClient:
    return stripe.StripeClient("sk_test_1", base_addresses={"api": address.url})


@pytest.fixture
def address(served: Serve) -> Any:
    return served()


@pytest.fixture
def client(address: Any) -> stripe.StripeClient:
    return client_of(address)


def rejected(call: Callable[[], object]) -> Any:
    """What stands below `error` in the answer."""
    with pytest.raises(stripe.StripeError) as caught:
        call()
    return caught.value.json_body["error"]


@pytest.mark.parametrize(
    ("order", "code", "param", "message"),
    [
        ({}, "parameter_missing", "amount", "Missing required param: amount."),
        ({"amount": "ten"}, "parameter_invalid_integer", "amount", "Invalid integer: ten"),
        ({"amount": 10.5}, "parameter_invalid_integer", "amount", "Invalid integer: 10.5"),
        ({"amount": ""}, "parameter_invalid_empty", "amount", "You passed an empty string for 'amount'."),
        ({"amount": 0}, "parameter_invalid_integer", "amount", "must be greater than or equal to 1"),
        ({"amount": 49}, "amount_too_small", "amount", "Amount must be at least $0.50 usd"),
        ({"amount": 10**8}, "amount_too_large", "amount", "no more than $999,999.99 usd"),
        ({"amuont": 9}, "parameter_unknown", "amuont", "unknown parameter: amuont. Did you mean amount?"),
        ({"a": 1, "b": 1}, "parameter_unknown", "a", "Received unknown parameters: a, b"),
        ({"amount": 90, "currency": "dollars"}, None, "currency", "Invalid currency: dollars"),
        ({"amount": 90, "capture_method": "no"}, None, "capture_method", "must be one of automatic, automatic_a"),
        ({"amount": 90, "confirm": "maybe"}, None, "confirm", "Invalid boolean: maybe"),
        ({"amount": 90, "metadata": "x"}, None, "metadata", "Invalid object"),
        ({"amount": 90, "metadata": {"a": "x" * 501}}, None, "metadata[a]", "up to 500 characters"),
        ({"amount": 90, "expand": "customer"}, None, "expand", "Invalid array"),
        ({"amount": 90, "expand": ["color"]}, None, "expand", "This property cannot be expanded (color)."),
        ({"amount": 90, "customer": "cus_nobody"}, "resource_missing", "customer", "No such customer: 'cus_nobo"),
        ({"amount": 90, "payment_method": "visa"}, "resource_missing", "payment_method", "No such PaymentMethod"),
        ({"amount": 90, "receipt_email": "ada"}, "email_invalid", "receipt_email", "Invalid email address: ada"),
    ],
)
def test_a_wrong_parameter_is_named(
    client: stripe.StripeClient, order: Any, code: str | None, param: str, message: str
) -> None:
    given = ({"currency": "usd"} if "currency" not in order else {}) | order
    with pytest.raises(stripe.InvalidRequestError) as caught:
        client.v1.payment_intents.create(given)
    error = caught.value
    assert (error.http_status, error.code, error.param) == (400, code, param)
    assert message in str(error)
    assert error.json_body["error"]["type"] == "invalid_request_error"


def test_what_is_not_there_is_404(client: stripe.StripeClient) -> None:
    for find, kind in (
        (client.v1.customers.retrieve, "customer"),
        (client.v1.payment_intents.retrieve, "payment_intent"),
        (client.v1.charges.retrieve, "charge"),
        (client.v1.refunds.retrieve, "refund"),
    ):
        with pytest.raises(stripe.InvalidRequestError, match=f"No such {kind}: 'x_1'") as caught:
            find("x_1")
        assert (caught.value.http_status, caught.value.code) == (404, "resource_missing")


def test_an_address_that_is_not_served_is_named(client: stripe.StripeClient) -> None:
    with pytest.raises(stripe.InvalidRequestError, match=r"Unrecognized request URL \(GET: /v1/invoices\)"):
        client.v1.invoices.list()


def test_a_page_has_1_to_100(client: stripe.StripeClient) -> None:
    for limit in (0, 101):
        assert rejected(lambda n=limit: client.v1.charges.list({"limit": n}))["param"] == "limit"


def post(address: Any, body: bytes, **headers: str) -> tuple[int, Any, Any]:
    request = urllib.request.Request(f"{address.url}/v1/customers", body, headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, json.load(answer), answer.headers
    except HTTPError as error:
        with error:
            return error.code, json.load(error), error.headers


def test_a_key_may_be_sent_as_bearer_or_as_basic(address: Any) -> None:
    for given in ("Bearer sk_test_1", "Basic " + base64.b64encode(b"sk_test_1:").decode()):
        assert post(address, b"name=Ada", authorization=given)[0] == 200
    status, body, headers = post(address, b"name=Ada")
    assert (status, headers["WWW-Authenticate"]) == (401, 'Basic realm="Stripe"')
    assert body["error"]["message"].startswith("You did not provide an API key.")


def test_an_answer_has_an_id_and_echoes_key_and_version(address: Any) -> None:
    sent = {"authorization": "Bearer sk", "Idempotency-Key": "k", "Stripe-Version": "2024-06-20"}
    for body, expected in ((b"name=Ada", 200), (b"name=Bob", 400)):
        status, _, headers = post(address, body, **sent)
        assert (status, headers["Idempotency-Key"], headers["Stripe-Version"]) == (expected, "k", "2024-06-20")
        assert headers["Request-Id"].startswith("req_")


def test_arrays_may_be_sent_without_indices(address: Any) -> None:
    body = b"preferred_locales[]=de&preferred_locales[]=en&metadata[7]=x"
    _, customer, _ = post(address, body, authorization="Bearer sk")
    assert (customer["preferred_locales"], customer["metadata"]) == (["de", "en"], {"7": "x"})


def test_json_is_not_taken(address: Any) -> None:
    sent = {"authorization": "Bearer sk", "content-type": "application/json"}
    status, body, _ = post(address, b'{"name": "Ada"}', **sent)
    assert status == 400
    assert "check that your POST content type is application/x-www-form-urlencoded" in body["error"]["message"]
