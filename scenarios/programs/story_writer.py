"""A writer on the SDK of Anthropic, by streams: a story in four sections, each told what came before.

Anthropic takes no keys: the fixed half is safe by `--accept in-flight`, as the section that is on its way when it is
killed is paid for again. The buggy half pays for all of them.
"""

from __future__ import annotations

import json
from functools import partial

from anthropic import Anthropic
from anthropic.types import MessageParam

from scenarios.programs.checkpoint import SqliteCheckpoint, once_recorded
from scenarios.programs.halves import run_half

MODEL = "claude-haiku-4-5"
SECTIONS = ("the harbour", "the storm", "the lighthouse", "the morning")


def buggy() -> None:
    """The story is recorded when it is written: a crash in its last section starts over from the first."""
    client = Anthropic()

    def whole() -> str:
        story: list[str] = []
        for about in SECTIONS:
            story.append(write(client, about, story))
        return json.dumps(story)

    once_recorded(SqliteCheckpoint(), "story", whole)


def fixed() -> None:
    """Each finished section is recorded."""
    checkpoint, client = SqliteCheckpoint(), Anthropic()
    story: list[str] = []
    for about in SECTIONS:
        story.append(once_recorded(checkpoint, f"section:{len(story)}", partial(write, client, about, story)))


def write(client: Anthropic, about: str, story: list[str]) -> str:
    """The next section of a story."""
    messages: list[MessageParam] = [{"role": "user", "content": _prompt(about, story)}]
    with client.messages.stream(model=MODEL, max_tokens=400, messages=messages) as stream:
        return "".join(stream.text_stream)


def _prompt(about: str, story: list[str]) -> str:
    so_far = "\n\n".join(story) or "Nothing yet."
    return f"Write the next section of a story, about {about}. So far:\n\n{so_far}"


if __name__ == "__main__":
    run_half(buggy=buggy, fixed=fixed)
