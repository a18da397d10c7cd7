"""A correct agent of which no two runs are alike: another plan, another length, other words, threads and tasks.

Nothing of this is a finding: a run is held against its own records, not against another run.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from durable_core import Run
from fakes import Completion, World

READER = "reader@example.com"


def agent(run: Run, world: World, topic: str = "tides") -> str:
    """The length of the plan is the model's, whether there is a foreword is chance, the date is the clock's."""
    plan = run.effect("plan", world.llm.complete, f"Plan a text about {topic}", lines=(2, 6))
    parts = [f"Written on {run.now('date'):%d %B %Y}"]
    if run.random("foreword") < 0.5:  # noqa: PLR2004 - a coin
        parts.append(run.effect("write:foreword", world.llm.complete, "Write a foreword").text)
    for index, heading in enumerate(plan.text.splitlines()):
        parts.append(run.effect(f"write:{index}", world.llm.complete, heading).text)
    run.effect("send", world.email.send, to=READER, subject=str(run.uuid("issue")), body="\n".join(parts))
    return parts[-1]


def threaded(run: Run, world: World, topic: str = "tides") -> str:
    """The sections are written by threads, in whatever order they come."""
    headings = run.effect("plan", world.llm.complete, f"Plan a text about {topic}", lines=(2, 6)).text.splitlines()

    def write(index: int) -> str:
        return run.effect(f"write:{index}", world.llm.complete, headings[index]).text

    with ThreadPoolExecutor(max_workers=3) as pool:
        parts = list(pool.map(write, range(len(headings))))
    run.effect("send", world.email.send, to=READER, body="\n".join(parts))
    return parts[-1]


async def gathered(run: Run, world: World, topic: str = "tides") -> str:
    """The sections are written by tasks, side by side."""

    async def ask(prompt: str, *, lines: int | tuple[int, int] | None = None, idempotency_key: str) -> Completion:
        await asyncio.sleep(0)
        return world.llm.complete(prompt, lines=lines, idempotency_key=idempotency_key)

    plan = await run.effect("plan", ask, f"Plan a text about {topic}", lines=(2, 6))
    writing = [run.effect(f"write:{index}", ask, heading) for index, heading in enumerate(plan.text.splitlines())]
    parts = [part.text for part in await asyncio.gather(*writing)]
    run.effect("send", world.email.send, to=READER, body="\n".join(parts))
    return parts[-1]
