"""How Stripe's objects are found: lists and searches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import stripe

from fakes.server.dialects.stripe.search import query
from fakes.server.trouble import Trouble

Serve = Callable[..., Any]
PAID: Any = {"amount": 2000, "currency": "usd", "payment_method": "pm_card_visa", "confirm": True}


def client_of(address: Any) -> stripe.StripeClient:
    return stripe.StripeClient("sk_test_1", base_addresses={"api": address.url})


@pytest.fixture
def client(served: Serve) -> stripe.StripeClient:
    return client_of(served())


def test_lists_are_paged_newest_first(client: stripe.StripeClient) -> None:
    intents = client.v1.payment_intents
    made = [intents.create({"amount": amount, "currency": "usd"}).id for amount in range(100, 105)]
    newest = made[::-1]
    page = intents.list({"limit": 2})
    assert ([one.id for one in page.data], page.has_more) == (newest[:2], True)
    assert [one.id for one in page.auto_paging_iter()] == newest
    page = intents.list({"limit": 2, "starting_after": newest[2]})
    assert ([one.id for one in page.data], page.has_more) == (newest[3:], False)
    page = intents.list({"limit": 2, "ending_before": newest[3]})
    assert ([one.id for one in page.data], page.has_more) == (newest[1:3], True)


def test_lists_keep_what_was_asked_for(client: stripe.StripeClient) -> None:
    ada = client.v1.customers.create({"email": "ada@example.com"})
    client.v1.customers.create({"email": "bob@example.com"})
    assert [one.id for one in client.v1.customers.list({"email": "ada@example.com"})] == [ada.id]
    paid = client.v1.payment_intents.create(PAID | {"customer": ada.id})
    client.v1.payment_intents.create(PAID)
    found = client.v1.payment_intents.list({"customer": ada.id, "expand": ["data.customer"]})
    assert [(one.id, one.customer) for one in found] == [(paid.id, ada)]
    assert [one.id for one in client.v1.charges.list({"payment_intent": paid.id})] == [paid.latest_charge]
    refund = client.v1.refunds.create({"payment_intent": paid.id})
    assert [one.id for one in client.v1.refunds.list({"charge": str(paid.latest_charge)})] == [refund.id]
    assert client.v1.customers.list({"created": {"gt": ada.created + 1000}}).data == []


def test_a_search_finds_by_metadata(client: stripe.StripeClient) -> None:
    paid = client.v1.payment_intents.create(PAID | {"metadata": {"order": "it's 7"}})
    client.v1.payment_intents.create(PAID)
    found = client.v1.payment_intents.search({"query": r"status:'succeeded' AND metadata['order']:'it\'s 7'"})
    assert [one.id for one in found.data] == [paid.id]


def test_searches_are_paged(client: stripe.StripeClient) -> None:
    made = [client.v1.payment_intents.create(PAID).id for _ in range(5)]
    found = client.v1.payment_intents.search({"query": "amount>1999", "limit": 2})
    assert (len(found.data), found.has_more) == (2, True)
    assert [one.id for one in found.auto_paging_iter()] == made[::-1]


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("amount>5", True),
        ("amount<=5", False),
        ("status:'PAID'", True),
        ("-status:'paid'", False),
        ("status~'ai'", True),
        ("status:null", False),
        ("-status:null", True),
        ('metadata["a"]:"b"', True),
        ("metadata['a.b']:'c'", True),
        ("amount>5 status:'open'", False),
        ("amount>5 OR status:'open'", True),
        ("amount>500 OR status:'open'", False),
    ],
)
def test_the_search_language_compares(text: str, hits: bool) -> None:  # noqa: FBT001 - a column
    thing = {"amount": 10, "status": "paid", "metadata": {"a": "b", "a.b": "c"}}
    assert query(text, ("amount", "status", "metadata"), "charges")(thing) is hits


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "We were unable to parse your search query"),
        ("status", "We were unable to parse your search query"),
        ("status:'paid' AND", "We were unable to parse your search query"),
        ("amount>'much'", "We were unable to parse your search query"),
        ("status:'" + "\\" * 5000, "We were unable to parse your search query"),
        ("color:'red'", "Field `color` is an unsupported search field for resource `charges`"),
        ("status:'a' AND status:'b' OR status:'c'", "cannot combine AND and OR"),
    ],
)
def test_a_query_that_cannot_be_read_is_told_so(text: str, message: str) -> None:
    with pytest.raises(Trouble, match=message):
        query(text, ("amount", "status"), "charges")
