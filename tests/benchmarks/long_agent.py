"""An agent of any length, for what verifying costs: a plan, then notices, each a recorded effect with a key."""

from __future__ import annotations

from durable_core import Run
from fakes import World


def agent(run: Run, world: World, steps: int = 61) -> int:
    """As many steps as asked for, the plan included. Nothing is lost and nothing is paid twice, wherever it dies."""
    plan = run.effect("plan", world.llm.complete, "Whom do we tell, and what?", lines=1)
    for number in range(1, steps):
        run.effect(f"notice:{number}", world.email.send, to=f"reader-{number}@example.com", body=plan.text)
    return steps
