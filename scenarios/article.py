"""Code that knows nothing of us: a JSON checkpoint, a `step` and an email, as people write them by hand.

`unkeyed` leaves the crash window open between what a provider did and the checkpoint's record of it. `keyed` closes
it: whatever acts or bills carries a key made of run and step. The harness gives both a folder that survives their
lives (`state`) and the id of the run (`run_id`), because they name these parameters.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from fakes import World

READER = "reader@example.com"


class Checkpoint:
    """The finished steps of one run in one JSON file, replaced as a whole after every step."""

    def __init__(self, run_id: str, folder: Path) -> None:
        self.file = folder / f"{run_id}.json"
        self.done: dict[str, str] = json.loads(self.file.read_text()) if self.file.exists() else {}

    def step(self, step_id: str, work: Callable[[], str]) -> str:
        """The recorded result of the step, or that of `work`, recorded."""
        if step_id not in self.done:
            self.done[step_id] = work()
            draft = self.file.with_suffix(".tmp")
            draft.write_text(json.dumps(self.done))
            os.replace(draft, self.file)  # noqa: PTH105 - as it is written everywhere
        return self.done[step_id]


def unkeyed(world: World, run_id: str, state: Path, topic: str = "sharks") -> str:
    """The checkpoint alone: each step is recorded after it has happened."""
    checkpoint = Checkpoint(run_id, state)
    plan = checkpoint.step("plan", lambda: world.llm.complete(f"Plan a text about {topic}", lines=3).text)
    parts = [
        checkpoint.step(f"write:{index}", lambda heading=heading: world.llm.complete(heading).text)  # type: ignore[misc]
        for index, heading in enumerate(plan.splitlines())
    ]
    return checkpoint.step("send", lambda: world.email.send(to=READER, body="\n".join(parts)).id)


def keyed(world: World, run_id: str, state: Path, topic: str = "sharks") -> str:
    """The same, with a key for everything that acts or bills."""
    checkpoint = Checkpoint(run_id, state)

    def ask(step_id: str, prompt: str, lines: int | None = None) -> str:
        key = f"{run_id}:{step_id}"
        return checkpoint.step(step_id, lambda: world.llm.complete(prompt, lines=lines, idempotency_key=key).text)

    plan = ask("plan", f"Plan a text about {topic}", lines=3)
    parts = [ask(f"write:{index}", heading) for index, heading in enumerate(plan.splitlines())]
    body = "\n".join(parts)
    return checkpoint.step("send", lambda: world.email.send(to=READER, body=body, idempotency_key=f"{run_id}:send").id)
