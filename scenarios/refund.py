"""A refund through a bank that takes no idempotency keys.

`looked_up` is right: its intent is recorded before the refund, and a life that finds the intent without a result asks
the bank whether it happened. `held` is right too, and stops for a person instead. `blind` sends again.
"""

from __future__ import annotations

from durable_core import Run
from fakes import Refund, World

CUSTOMER = "customer@example.com"


def looked_up(run: Run, world: World, charge: str = "ch_1001", cents: int = 4200) -> str:
    """The bank is asked before anything is sent again; it keeps the reference of every refund."""
    bank = world.payments.under("none")
    refund = run.effect(
        "refund",
        bank.refund,
        charge=charge,
        cents=cents,
        reference=run.key("refund"),
        if_unknown=bank.find_refund,
    )
    _notify(run, world, refund)
    return refund.id


def held(run: Run, world: World, charge: str = "ch_1001", cents: int = 4200) -> str:
    """Nobody can be asked, so an unknown outcome waits for a person, who records it."""
    bank = world.payments.under("none")
    refund = run.effect("refund", bank.refund, charge=charge, cents=cents, if_unknown="hold")
    _notify(run, world, refund)
    return refund.id


def blind(run: Run, world: World, charge: str = "ch_1001", cents: int = 4200) -> str:
    """The key is passed, but the bank does not look at it."""
    bank = world.payments.under("none")
    refund = run.effect("refund", bank.refund, charge=charge, cents=cents)
    _notify(run, world, refund)
    return refund.id


def _notify(run: Run, world: World, refund: Refund) -> None:
    body = f"{refund.cents} cents are on the way"
    run.effect("notify", world.email.send, to=CUSTOMER, subject="Your refund", body=body)
