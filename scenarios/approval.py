"""A refund that a person has to approve: the run is suspended, whoever decides records the answer, the run goes on."""

from __future__ import annotations

from durable_core import Run
from fakes import World


def agent(run: Run, world: World, charge: str = "ch_1001", cents: int = 4200) -> str:
    """Ask, wait, and act on the answer. Explore it with `--deliver approval=true`."""
    reason = run.effect("explain", world.llm.complete, f"Why should {cents} cents of {charge} be refunded?")
    run.effect("ask", world.email.send, to="manager@example.com", subject="Refund?", body=reason.text)
    if not run.wait("approval", bool):
        return "declined"
    return run.effect("refund", world.payments.refund, charge=charge, cents=cents).id
