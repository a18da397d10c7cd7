"""What differs from life to life, read outside of a step, one source an agent; each with a twin that is right.

Each decides by a value that a restart changes, so a resumed run goes another way than the one that died. Its twin
(`clock_recorded`, ...) makes that value a step, or does without it; `recorded` does all of it in one run.
"""

from __future__ import annotations

import os
import random
from datetime import UTC, datetime
from uuid import uuid4

from durable_core import Run
from fakes import World

READER = "reader@example.com"
_TOOLS: list[str] = []


def clock(run: Run, world: World) -> str:
    """The greeting depends on the day of the month."""
    return _letter(run, world, f"Today is {datetime.now(UTC):%d %B}")


def chance(run: Run, world: World) -> str:
    """The subject line is drawn anew in every life."""
    return _letter(run, world, random.choice(["Hello", "Good news", "A letter for you", "Hi", "News"]))  # noqa: S311


def identity(run: Run, world: World) -> str:
    """The letter carries a fresh id."""
    return _letter(run, world, f"Letter {uuid4()}")


def order(run: Run, world: World) -> str:
    """The order of a set decides which topic comes first."""
    return _letter(run, world, ", ".join({"sharks", "tides", "corals", "wrecks", "storms"}))


def surroundings(run: Run, world: World) -> str:
    """The host that sends is named in the letter."""
    return _letter(run, world, f"Sent from {os.environ.get('HOSTNAME')}")


def warm_cache(run: Run, world: World) -> str:
    """The list of tools is a step in a cold process, and none in a warm one."""
    if not _TOOLS:
        _TOOLS.extend(document.title for document in run.step("tools", world.search.query, "tools"))
    return _letter(run, world, "Tools")


def answers(run: Run, world: World) -> str:
    """The model is asked outside of any step, without its tokens being a step either."""
    return _letter(run, world, world.search.query("What is new?")[0].title)


def recorded(run: Run, world: World) -> str:
    """All of it is recorded, and replayed as it was."""
    day = run.now("day")
    subject = run.step("subject", random.choice, ["Hello", "Good news", "A letter for you"])
    topics = ", ".join(sorted({"sharks", "tides", "corals"}))
    tools = run.step("tools", world.search.query, "tools")
    host = run.step("host", lambda: os.environ.get("HOSTNAME"))
    return _letter(run, world, f"{subject} {day:%d %B} {topics} {run.uuid('letter')} {host} {tools[0].title}")


def clock_recorded(run: Run, world: World) -> str:
    """The day is a step."""
    return _letter(run, world, f"Today is {run.now('day'):%d %B}")


def chance_recorded(run: Run, world: World) -> str:
    """The choice is a step."""
    return _letter(run, world, run.step("subject", random.choice, ["Hello", "Good news", "A letter for you", "Hi"]))


def identity_recorded(run: Run, world: World) -> str:
    """The id is a step."""
    return _letter(run, world, f"Letter {run.uuid('id')}")


def order_recorded(run: Run, world: World) -> str:
    """The set is put in order."""
    return _letter(run, world, ", ".join(sorted({"sharks", "tides", "corals", "wrecks", "storms"})))


def surroundings_recorded(run: Run, world: World) -> str:
    """The host is a step."""
    return _letter(run, world, f"Sent from {run.step('host', lambda: os.environ.get('HOSTNAME'))}")


def warm_cache_recorded(run: Run, world: World) -> str:
    """The list of tools is a step in every process, warm or cold."""
    tools = [document.title for document in run.step("tools", world.search.query, "tools")]
    return _letter(run, world, f"Tools: {len(tools)}")


def answers_recorded(run: Run, world: World) -> str:
    """The look into the index is a step."""
    return _letter(run, world, run.step("news", world.search.query, "What is new?")[0].title)


def _letter(run: Run, world: World, text: str) -> str:
    run.effect("plan", world.llm.complete, "Write a letter")
    return run.effect("send", world.email.send, to=READER, body=text).id
