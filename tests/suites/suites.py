"""Which suites there are, and what each asks of the fakes before it can say anything about them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from stripe_examples import Examples

from fakes import Call, Caller, Ledger
from fakes.server.site import Served, Site
from fakes.server.wire import Request


def plain_site(ledger: Ledger) -> Site:
    """The fakes as they are for everybody."""
    return Site(ledger=ledger)


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """The tests of one SDK.

    Attributes:
        name: of the distribution, and of the suite.
        tests: arguments to pytest.
        environment: how the tests find the server; `{url}` and `{port}` stand for where it is.
        aim: so many of them have to pass.
        requires: what is to be installed; the distribution itself, if empty.
        site: the providers that the tests meet.
        note: how those differ from the fakes as they are; said with the result.
    """

    name: str
    tests: tuple[str, ...]
    environment: Mapping[str, str]
    aim: int
    requires: tuple[str, ...] = ()
    site: Callable[[Ledger], Site] = plain_site
    note: str = ""


def _openai_site(ledger: Ledger) -> Site:
    """What the generated tests take for granted, and what neither OpenAI nor its fake does by itself."""
    kept = {"id": "previous_response_id", "store": True, "conversation": None, "output": []}
    answer = json.dumps({**kept, "usage": {"total_tokens": 0}})
    call = Call(provider="openai", operation="responses", target="gpt-5", body="", nature="bills")
    ledger.settle(ledger.add(call, Caller(), "in progress", at=0), "applied", answer=answer)
    return _FloatEmbeddings(ledger=ledger)


class _FloatEmbeddings(Site):
    """Embeddings come as numbers, although the SDK asks for base64: a strict client checks them before it decodes."""

    async def serve(self, request: Request) -> Served:
        if request.path.endswith("/embeddings"):
            asked = {**json.loads(request.body), "encoding_format": "float"}
            request = replace(request, body=json.dumps(asked).encode())
        return await super().serve(request)


_STRIPE = (
    "(test_customers or test_payment_intents or test_charges or test_refunds or TestCustomer or TestCharge)"
    " and not service"
)
"""The four resources that are served; without the tests of services, which answer themselves."""

SUITES = (
    Suite(
        name="anthropic",
        requires=("anthropic[aiohttp]", "http-snapshot[httpx]"),
        tests=("tests/api_resources/test_messages.py", "tests/api_resources/beta/test_messages.py"),
        environment={"TEST_API_BASE_URL": "{url}"},
        aim=125,
    ),
    Suite(
        name="openai",
        requires=("openai[aiohttp]",),
        tests=(
            *("-k", "create"),
            "tests/api_resources/chat/test_completions.py",
            "tests/api_resources/test_responses.py",
            "tests/api_resources/test_embeddings.py",
            "tests/api_resources/test_models.py",
        ),
        environment={"TEST_API_BASE_URL": "{url}/v1"},
        aim=95,
        site=_openai_site,
        note="there is a response called previous_response_id, and embeddings come as numbers",
    ),
    Suite(
        name="stripe",
        requires=("stripe[async]", "pytest-mock"),
        tests=(
            *("-k", _STRIPE),
            "tests/test_generated_examples.py",
            "tests/api_resources/test_customer.py",
            "tests/api_resources/test_charge.py",
            "tests/api_resources/test_customer_balance_transaction.py",
        ),
        environment={"STRIPE_MOCK_PORT": "{port}"},
        aim=139,
        site=lambda ledger: Examples(ledger=ledger),
        note="each request finds cus_123, pi_xxxxxxxxxxxxx and the like in the state that it needs",
    ),
)
