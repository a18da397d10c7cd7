"""One small agent for each check, which has to find it, and is its name. None of these is a way to write agents."""

from __future__ import annotations

import random
import time
from pathlib import Path
from uuid import uuid4

from durable_core import Run
from fakes import World

READER = "reader@example.com"


def duplicate_effect(run: Run, world: World) -> str:
    """The email has a key, but a new one in every life."""
    return run.effect("send", world.email.send, to=READER, body="Hello", idempotency_key=str(uuid4())).id


def phantom_effect(run: Run, world: World) -> str:
    """The step id comes from chance: a resumed life asks for another step than the one that has happened."""
    number = random.randrange(1_000_000)  # noqa: S311
    return run.effect(f"send:{number}", world.email.send, to=READER, body="Hello").id


def lost_effect(world: World, run_id: str, state: Path) -> str:
    """At most once: the email is noted as sent before it is."""
    note = state / f"{run_id}.sent"
    if not note.exists():
        note.touch()
        world.email.send(to=READER, body="Hello")
    return "sent"


def re_spent_tokens(run: Run, world: World) -> str:
    """The question to the model is no step, so every life asks it anew."""
    body = world.llm.complete("Write an email").text
    return run.effect("send", world.email.send, to=READER, body="Hello", subject=str(len(body) > 0)).id


def replay_differs(run: Run, world: World) -> str:
    """The result holds the time, which is no recorded step."""
    run.effect("send", world.email.send, to=READER, body="Hello")
    return f"sent at {time.time()}"


def other_outcome(world: World, run_id: str, state: Path) -> int:
    """The count of what was sent is kept in memory, and a resumed life counts from zero."""
    sent = 0
    for index in range(2):
        note = state / f"{run_id}.{index}"
        if not note.exists():
            world.email.send(to=READER, body=f"Part {index}", idempotency_key=f"{run_id}:{index}")
            note.touch()
            sent += 1
    return sent


def does_not_end(run: Run, world: World) -> str:
    """The email holds the time: the same key comes with another body, and the provider refuses it for ever."""
    return run.effect("send", world.email.send, to=READER, body=f"Sent at {time.time()}").id
