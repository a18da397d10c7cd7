"""The agent of the comparison for crashwindow: the same four steps and the same four halves, on a `Run`."""

from __future__ import annotations

from uuid import uuid4

from durable_core import Run
from fakes import World

READER = "reader@example.com"


def keyed(run: Run, world: World) -> None:
    """Right: every step is recorded, every effect carries a key."""
    _prepare(run, world)
    run.effect("write", world.llm.complete, "write")
    run.effect("send", world.email.send, to=READER, body="news")


def unkeyed(run: Run, world: World) -> None:
    """The mail goes out without a key."""
    _prepare(run, world)
    run.effect("write", world.llm.complete, "write")
    run.step("send", world.email.send, to=READER, body="news")


def respent(run: Run, world: World) -> None:
    """The model is asked outside of any step."""
    _prepare(run, world)
    world.llm.complete("write")
    run.effect("send", world.email.send, to=READER, body="news")


def forgets(run: Run, world: World) -> None:
    """Right under every single crash, wrong under two. Mail has no look-up here, so it is a refund."""
    mark = uuid4().hex
    resumed = run.step("begin", lambda: mark) != mark
    _prepare(run, world)
    run.effect("write", world.llm.complete, "write")
    run.step("refund", lambda: _refund(world, run.key("first"), run.key("second") if resumed else run.key("first")))


def _prepare(run: Run, world: World) -> None:
    run.effect("plan", world.llm.complete, "plan")
    run.step("research", world.search.query, "sharks")


def _refund(world: World, looks_for: str, sends: str) -> str:
    bank = world.payments.under("none")
    found = bank.find_refund(looks_for)
    return found.id if found else bank.refund(charge="ch_1001", cents=4200, reference=sends).id
