"""A newsletter: plan, look for news, write the sections, send one email.

`keyed` is right. `unkeyed` sends without an idempotency key: its crash window is open. `restart` has no checkpoint at
all: whatever dies starts over from zero.
"""

from __future__ import annotations

from durable_core import Run
from fakes import Completion, Document, World

READER = "reader@example.com"


def keyed(run: Run, world: World, topic: str = "sharks") -> str:
    """Every step is recorded, and every effect carries a key made of run and step."""
    body = _write(run, world, topic)
    run.effect("send", world.email.send, to=READER, subject=topic, body=body)
    return "sent"


def unkeyed(run: Run, world: World, topic: str = "sharks") -> str:
    """The email is recorded too, but goes out without a key: a crash before its record sends it twice."""
    body = _write(run, world, topic)
    run.step("send", world.email.send, to=READER, subject=topic, body=body)
    return "sent"


def restart(world: World, topic: str = "sharks") -> str:
    """The plain version: no records, no keys."""
    plan = world.llm.complete(_plan_prompt(topic), lines=3)
    news = world.search.query(topic)
    parts = [world.llm.complete(_section_prompt(section, news)) for section in plan.text.splitlines()]
    world.email.send(to=READER, subject=topic, body=_body(parts))
    return "sent"


def _write(run: Run, world: World, topic: str) -> str:
    plan = run.effect("plan", world.llm.complete, _plan_prompt(topic), lines=3)
    news = run.step("news", world.search.query, topic)
    parts = [
        run.effect(f"write:{index}", world.llm.complete, _section_prompt(section, news))
        for index, section in enumerate(plan.text.splitlines())
    ]
    return _body(parts)


def _plan_prompt(topic: str) -> str:
    return f"Plan a newsletter about {topic}: one heading a line."


def _section_prompt(section: str, news: list[Document]) -> str:
    sources = "\n".join(f"{document.title}: {document.snippet}" for document in news)
    return f"Write the section '{section}' from these sources:\n{sources}"


def _body(parts: list[Completion]) -> str:
    return "\n\n".join(part.text for part in parts)
