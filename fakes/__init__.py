"""Fake providers that behave like real ones, keys and failures included, and a ledger that no kill can erase.

with World("ledger.db", seed=7, faults=[Fault.parse("email.send#1:lost_after")]) as world:
    plan = world.llm.complete("Plan a newsletter about sharks", lines=(3, 5), idempotency_key="plan")
    with suppress(ConnectionLost):
        world.email.send(to="ada@example.com", body=plan.text, idempotency_key="send")
    world.email.send(to="ada@example.com", body=plan.text, idempotency_key="send")
    assert world.ledger.effects() == {("email", "send", "ada@example.com"): 1}
"""

from fakes.email import Email, Sent
from fakes.errors import (
    CardDeclined,
    CodedError,
    ConnectionLost,
    KeyAlreadyUsed,
    KeyInFlight,
    KeyMismatch,
    KeyRequired,
    KeyTooLong,
    MalformedAnswer,
    ProviderError,
    RateLimited,
    ServerError,
    UnknownName,
)
from fakes.faults import Fault
from fakes.ledger import Ledger, LedgerUnusable, Row
from fakes.llm import Completion, Llm
from fakes.payments import Charge, Payments, Refund
from fakes.policy import PRESETS, KeyPolicy, Refusal, policy
from fakes.provider import Provider, Reply, Work
from fakes.search import Document, Search
from fakes.witness import Call, Caller, Unwatched, Witness
from fakes.world import World

__all__ = [
    "PRESETS",
    "Call",
    "Caller",
    "CardDeclined",
    "Charge",
    "CodedError",
    "Completion",
    "ConnectionLost",
    "Document",
    "Email",
    "Fault",
    "KeyAlreadyUsed",
    "KeyInFlight",
    "KeyMismatch",
    "KeyPolicy",
    "KeyRequired",
    "KeyTooLong",
    "Ledger",
    "LedgerUnusable",
    "Llm",
    "MalformedAnswer",
    "Payments",
    "Provider",
    "ProviderError",
    "RateLimited",
    "Refund",
    "Refusal",
    "Reply",
    "Row",
    "Search",
    "Sent",
    "ServerError",
    "UnknownName",
    "Unwatched",
    "Witness",
    "Work",
    "World",
    "policy",
]
