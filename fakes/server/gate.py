"""Who watches the calls over HTTP, and may end their caller: the seam for a chaos harness."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from fakes.witness import Call, Caller


class Dropped(Exception):
    """The connection is to be lost at once, without an answer."""


class Gate(Protocol):
    """Sees every call at the three moments that matter. Each may raise `Dropped`."""

    def caller(self, headers: Mapping[str, str]) -> Caller:
        """Who sends a request with these headers."""

    async def before(self, call: Call) -> None:
        """The provider has not seen the call yet."""

    async def applied(self, call: Call) -> None:
        """The ledger has the call as applied (or deduplicated); nothing is answered yet."""

    async def answered(self, call: Call) -> None:
        """The last byte of the answer is with the kernel."""


@dataclass(frozen=True, slots=True)
class Open:
    """The gate of a server that nobody watches."""

    life: int = 1

    def caller(self, headers: Mapping[str, str]) -> Caller:
        """This life, no step; which retry it is, the SDK says."""
        return Caller(self.life, None, retry_of(headers))

    async def before(self, call: Call) -> None:
        """Nothing."""

    async def applied(self, call: Call) -> None:
        """Nothing."""

    async def answered(self, call: Call) -> None:
        """Nothing."""


def retry_of(headers: Mapping[str, str]) -> int:
    """Which retry of its SDK a request is, where the SDK says so: those of OpenAI and Anthropic, and of AWS."""
    count = headers.get("x-stainless-retry-count", "")
    if count.isdecimal():
        return int(count)
    for part in headers.get("amz-sdk-request", "").split(";"):
        name, _, value = part.strip().partition("=")
        if name == "attempt" and value.isdecimal():
            return max(int(value) - 1, 0)
    return 0
