"""What the ledger has of calls to Stripe, and that all its objects are made of that."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import stripe

from fakes import Fault, Ledger
from fakes.policy import policy
from fakes.provider import Provider
from fakes.server.dialects import DIALECTS
from fakes.server.dialects.stripe.records import records_of

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


def rejected(call: Callable[[], object]) -> Any:
    """What stands below `error` in the answer."""
    with pytest.raises(stripe.StripeError) as caught:
        call()
    return caught.value.json_body["error"]


def effects(address: Any) -> dict[str, int]:
    """What was done and how often, as `payment_intents.create cus_1`."""
    return {f"{operation} {target}": n for (_, operation, target), n in address.ledger.effects().items()}


def key(text: str) -> Any:
    return {"idempotency_key": text}


def test_targets_say_whom_and_what_for(address: Any, client: stripe.StripeClient) -> None:
    customer = client.v1.customers.create({"email": "ada@example.com"})
    intent = client.v1.payment_intents.create(HELD | {"customer": customer.id})
    client.v1.payment_intents.capture(intent.id)
    client.v1.refunds.create({"payment_intent": intent.id})
    client.v1.charges.create({"amount": 90, "currency": "usd", "source": "tok_visa", "description": "A lamp"})
    assert effects(address) == {
        "customers.create ada@example.com": 1,
        f"payment_intents.create {customer.id}": 1,
        f"payment_intents.capture {customer.id}": 1,
        f"refunds.create {intent.id}": 1,
        "charges.create A lamp": 1,
    }


def test_what_only_reads_is_no_effect(address: Any, client: stripe.StripeClient) -> None:
    client.v1.charges.list()
    assert [(row.operation, row.nature, row.answer) for row in address.ledger.rows()] == [("charges.list", "reads", "")]


def test_two_steady_runs_are_equal_to_the_word(served: Serve) -> None:
    runs = []
    for _ in range(2):
        address = served(steady=True, clock=lambda: 1_900_000_000.0)
        client = client_of(address)
        intent = client.v1.payment_intents.create(PAID)
        refunds = [client.v1.refunds.create({"payment_intent": intent.id, "amount": 700}) for _ in range(2)]
        assert client.v1.charges.retrieve(str(intent.latest_charge)).amount_refunded == 1400
        runs.append((intent, refunds, effects(address)))
    assert runs[0] == runs[1]


def test_a_restarted_server_knows_everything(served: Serve, tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db") as ledger:
        client = client_of(served(ledger=ledger))
        customer = client.v1.customers.create({"email": "ada@example.com"})
        intent = client.v1.payment_intents.create(PAID | {"customer": customer.id}, key("k"))
        client.v1.refunds.create({"payment_intent": intent.id, "amount": 500})
        declined = rejected(lambda: client.v1.payment_intents.create(DECLINED))["payment_intent"]["id"]
    with Ledger(tmp_path / "ledger.db") as ledger:
        client = client_of(served(ledger=ledger))
        assert client.v1.customers.retrieve(customer.id) == customer
        assert client.v1.payment_intents.create(PAID | {"customer": customer.id}, key("k")) == intent
        assert client.v1.charges.retrieve(str(intent.latest_charge)).amount_refunded == 500
        assert [one.id for one in client.v1.payment_intents.list()] == [declined, intent.id]
        assert client.v1.refunds.create({"payment_intent": intent.id}).amount == 1500


def test_a_slow_change_does_not_undo_those_made_meanwhile(served: Serve, tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db") as ledger:
        address = served(ledger=ledger, faults=[Fault.parse("stripe.customers.update#1:slow=0.3")])
        customer = client_of(address).v1.customers.create({})
        slow = threading.Thread(target=lambda: client_of(address).v1.customers.update(customer.id, {"name": "Ada"}))
        slow.start()
        while len(ledger.rows()) < 2:
            time.sleep(0.005)
        client_of(address).v1.customers.update(customer.id, {"phone": "1"})
        slow.join()
    with Ledger(tmp_path / "ledger.db") as ledger:
        found = client_of(served(ledger=ledger)).v1.customers.retrieve(customer.id)
        assert (found.name, found.phone) == ("Ada", "1")


def test_a_ledger_that_nobody_has_any_more_is_not_kept() -> None:
    ledger = Ledger()
    assert records_of(Provider(name="stripe", ledger=ledger, policy=policy("stripe"))).of("charge") == []
    gone = weakref.ref(ledger)
    ledger.close()
    del ledger
    gc.collect()
    assert gone() is None


def test_operations_can_be_named_in_faults() -> None:
    for operation in DIALECTS["stripe"].operations:
        assert Fault.parse(f"stripe.{operation}#1:lost_after").operation == operation
