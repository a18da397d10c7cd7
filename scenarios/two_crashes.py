"""Right under every single crash, wrong under two: a guard against a second refund that itself forgets.

The bank takes no keys, so both halves ask it before they refund again. `buggy` asks for the reference of the first
attempt only, and refunds under another one after a restart: what the second life did, the third does not know.
"""

from __future__ import annotations

from uuid import uuid4

from durable_core import Run
from fakes import World


def buggy(run: Run, world: World, charge: str = "ch_1001", cents: int = 4200) -> str:
    """A restart looks for the first attempt, and makes a second one that nobody will ever look for."""
    sends = run.key("second") if _is_resumed(run) else run.key("first")
    return run.step("refund", lambda: _refund(world, charge, cents, looks_for=run.key("first"), sends=sends))


def fixed(run: Run, world: World, charge: str = "ch_1001", cents: int = 4200) -> str:
    """Every attempt carries the reference that every restart looks for."""
    sends = run.key("first")
    return run.step("refund", lambda: _refund(world, charge, cents, looks_for=run.key("first"), sends=sends))


def _is_resumed(run: Run) -> bool:
    """Whether an earlier life has begun this run: its mark is recorded, and is not ours."""
    mark = uuid4().hex
    return run.step("begin", lambda: mark) != mark


def _refund(world: World, charge: str, cents: int, *, looks_for: str, sends: str) -> str:
    bank = world.payments.under("none")
    found = bank.find_refund(looks_for)
    return found.id if found else bank.refund(charge=charge, cents=cents, reference=sends).id
