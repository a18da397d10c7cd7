"""An exchange at a shop, by Stripe and Resend: an order is paid for, refunded, and replaced by another; then a mail.

The Stripe SDK makes a key for every request, and keeps it while it retries. A resumed life makes another one.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass

import stripe

from scenarios.programs.checkpoint import Checkpoint, SqliteCheckpoint, key, no_key, once_recorded
from scenarios.programs.halves import run_half
from scenarios.programs.mail import send

CUSTOMER = "ada@example.com"
LAMP, LARGER_LAMP = 4200, 6900
"""In cents."""


def buggy() -> None:
    """Every step is recorded, and none has a key of its own: killed in between, a life charges again."""
    Desk(SqliteCheckpoint(), no_key).exchange()


def fixed() -> None:
    """The same with keys made of run and step."""
    Desk(SqliteCheckpoint(), key).exchange()


@dataclass(frozen=True, slots=True)
class Desk:
    """Where the exchange is made. `key_of` makes the idempotency key of a step, or None."""

    checkpoint: Checkpoint
    key_of: Callable[[str], str | None]

    def exchange(self) -> None:
        """Take the lamp back, and sell the larger one."""
        lamp = self._step("lamp", lambda key: charge("A-17", LAMP, key))
        self._step("refund", lambda key: refund(lamp, key))
        self._step("larger-lamp", lambda key: charge("A-18", LARGER_LAMP, key))
        text = f"Your lamp is refunded, and the larger one is on its way: {LARGER_LAMP} cents."
        self._step("tell", lambda key: send(CUSTOMER, "Your exchange", text, key=key))

    def _step(self, name: str, work: Callable[[str | None], str]) -> str:
        return once_recorded(self.checkpoint, name, lambda: work(self.key_of(name)))


def charge(order: str, cents: int, key: str | None) -> str:
    """The id of a payment for an order, by the customer's card."""
    return stripe.PaymentIntent.create(
        amount=cents,
        currency="usd",
        confirm=True,
        payment_method="pm_card_visa",
        automatic_payment_methods={"enabled": True, "allow_redirects": "never"},
        metadata={"order": order},
        receipt_email=CUSTOMER,
        idempotency_key=key,
    ).id


def refund(payment: str, key: str | None) -> str:
    """The id of the refund of a payment."""
    return stripe.Refund.create(payment_intent=payment, idempotency_key=key).id


if __name__ == "__main__":
    stripe.api_base = os.environ.get("STRIPE_API_BASE", stripe.api_base)
    stripe.api_key = os.environ["STRIPE_API_KEY"]
    run_half(buggy=buggy, fixed=fixed)
