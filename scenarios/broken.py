"""One small agent for each check, which has to find it, and is its name. None of these is a way to write agents."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from uuid import uuid4

from chaos.wrapped import WrappedStore
from durable_core import Lease, Run, Store, open_store
from durable_core.entries import Entry
from fakes import World

READER = "reader@example.com"


def duplicate_effect(run: Run, world: World) -> str:
    """The email is a step, and carries no key."""
    return run.step("send", world.email.send, to=READER, body="Hello").id


def unstable_key(run: Run, world: World) -> str:
    """The email has a key, but a new one in every life."""
    key = str(uuid4())
    return run.step("send", lambda: world.email.send(to=READER, body="Hello", idempotency_key=key).id)


def unstable_step_id(run: Run, world: World) -> str:
    """The step id comes from chance: a resumed life asks for another step than the one that has happened."""
    number = random.randrange(1_000_000)  # noqa: S311
    return run.effect(f"send:{number}", world.email.send, to=READER, body="Hello").id


def phantom_effect(run: Run, world: World) -> str:
    """Only the life that began the run sends; a resumed one takes it for done."""
    mark = uuid4().hex
    if run.step("begin", lambda: mark) == mark:
        run.effect("send", world.email.send, to=READER, body="Hello")
    return "sent"


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


def one_key_two_bodies(run: Run, world: World) -> str:
    """The email holds the time: the same key comes with another body, and the provider refuses it for ever."""
    return run.effect("send", world.email.send, to=READER, body=f"Sent at {time.time()}").id


def key_collision(run: Run, world: World) -> str:
    """The key is made of the step alone, so the second run's email counts as the first one's."""
    return run.effect("send", world.email.send, to=READER, body="Hello", idempotency_key="send").id


def executed_again(run: Run, world: World) -> str:
    """Nothing is wrong here; `forgetful` is the store that breaks it."""
    run.effect("ask", world.llm.complete, "Write an email")
    return run.effect("send", world.email.send, to=READER, body="Hello").id


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


def does_not_end(world: World, run_id: str, state: Path) -> str:
    """A lock file outlives who made it, so a resumed life finds the run taken, for ever."""
    lock = state / f"{run_id}.lock"
    if lock.exists():
        raise RuntimeError("another process is at it")
    lock.touch()
    world.email.send(to=READER, body="Hello", idempotency_key=f"{run_id}:send")
    lock.unlink()
    return "sent"


def swallowed_signal(run: Run, world: World) -> str:
    """A broad except takes what suspends the run for an error of the step."""
    run.effect("ask", world.email.send, to=READER, body="May I?")
    try:
        run.wait("answer")
    except Exception:  # noqa: BLE001 - that is the fault
        return "no answer"
    return "answered"


def not_as_expected(run: Run, world: World) -> str:
    """Two different emails, where its author wants one."""
    run.effect("send:0", world.email.send, to=READER, body="Hello")
    return run.effect("send:1", world.email.send, to=READER, body="Hello again").id


def checkpoint_growth(run: Run, world: World) -> str:
    """Every step returns the whole conversation."""
    history: list[str] = []
    for index in range(8):
        answer = run.effect(f"ask:{index}", world.llm.complete, f"Question {index}").text
        history = run.step(f"note:{index}", lambda known=history, new=answer: [*known, new])
    return run.effect("send", world.email.send, to=READER, body="\n".join(history)).id


def secret_at_rest(run: Run, world: World) -> str:
    """The settings are recorded as they are, with the API key of the mail provider (`MAIL_API_KEY`)."""
    settings = run.step("settings", lambda: {"host": "mail.example.com", "key": os.environ.get("MAIL_API_KEY", "")})
    return run.effect("send", world.email.send, to=READER, body=settings["host"]).id


class _Forgetful(WrappedStore):
    """A store that takes records and does not give all of them back."""

    def entries(self, run_id: str) -> list[Entry]:
        """All but the last record."""
        kept = self.inner.entries(run_id)
        return kept if any(entry.kind == "finish" for entry in kept) else kept[:2]

    def append(self, run_id: str, entry: Entry, lease: Lease | None) -> None:
        """Written, and forgotten when it is asked for; a second record is taken for the first."""
        if entry.step_id not in {known.step_id for known in self.inner.entries(run_id)} or entry.kind == "finish":
            self.inner.append(run_id, entry, lease)


def forgetful(folder: Path) -> Store:
    """A store for `--store scenarios.broken:forgetful`."""
    return _Forgetful(open_store(f"sqlite:///{folder}/runs.db"))
