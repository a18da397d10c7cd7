"""Sites that are served for the length of a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from openai import OpenAI

from fakes import Ledger
from fakes.server.listening import Listener
from fakes.server.site import Site


@dataclass(frozen=True, slots=True)
class Address:
    """A site that is served: where, on which ledger."""

    url: str
    ledger: Ledger
    site: Site


Serve = Callable[..., Address]
"""`served(faults=[...])` serves `Site(ledger=..., faults=[...])` on a ledger of its own, unless one is given."""


@pytest.fixture(scope="session")
def listener() -> Iterator[Listener]:
    with Listener() as listener:
        yield listener


@pytest.fixture
def served(listener: Listener) -> Iterator[Serve]:
    with ExitStack() as stack:

        def serve(*, ledger: Ledger | None = None, **keywords: Any) -> Address:
            kept = stack.enter_context(Ledger()) if ledger is None else ledger
            site = Site(ledger=kept, **keywords)
            return Address(stack.enter_context(listener.serving(site)), kept, site)

        yield serve


@pytest.fixture
def openai_client() -> Iterator[Callable[..., OpenAI]]:
    """`openai_client(address, **options)`; it does not retry, unless an option says so."""
    with ExitStack() as stack:

        def client(address: Address, **options: Any) -> OpenAI:
            told = {"base_url": f"{address.url}/v1", "api_key": "sk-any", "max_retries": 0}
            return stack.enter_context(OpenAI(**{**told, **options}))

        yield client
