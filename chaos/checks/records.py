"""Checks of what is at rest: the checkpoint grows with what is new, and holds no secret."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from chaos.checks.case import Case, Fact
from durable_core.entries import OUTCOMES

_SECRET_NAMES = re.compile(r"(API_?KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIAL)", re.IGNORECASE)
_SHORTEST_SECRET = 8
"""Characters: shorter values are words that stand in texts by chance."""

_NESTED = 5
"""Records in a row, each of which holds the one before, that make growth."""


def known_secrets() -> Mapping[str, str]:
    """The environment variables that are named like secrets, and long enough to be one."""
    return {
        name: value
        for name, value in os.environ.items()
        if _SECRET_NAMES.search(name) and len(value) >= _SHORTEST_SECRET
    }


def growth(case: Case) -> Iterator[Fact]:
    """A record holds what is new. Records that hold the ones before make a checkpoint grow with its square."""
    chains: dict[str, list[tuple[str, bytes]]] = {}
    for entry in case.run.entries:
        if entry.kind not in OUTCOMES:
            continue
        body = entry.payload.strip(b'[]{}"')
        chain = chains.setdefault(re.sub(r"\d+", "*", entry.step_id), [])
        if not (chain and chain[-1][1] and chain[-1][1] in body):
            chain.clear()
        chain.append((entry.step_id, body))
        if len(chain) >= _NESTED and len(body) > _NESTED * len(chain[0][1]) / 2:
            first, last = chain[0][0], chain[-1][0]
            total = sum(len(one.payload) for one in case.run.entries)
            yield Fact(
                check="checkpoint-growth",
                step=last,
                text=f"the checkpoint grows with the square of the run: each of the steps {first!r} to {last!r} "
                f"records again what the one before has recorded; {total:,} bytes in all",
                cause="the step returns the whole conversation or state, not what it adds",
                fix="return what is new, and put the whole together from the records",
                damage=total,
            )
            return


def secrets(case: Case) -> Iterator[Fact]:
    """No known secret is at rest."""
    for entry in case.run.entries:
        for name, value in case.secrets.items():
            if value.encode() in entry.payload:
                yield Fact(
                    check="secret-at-rest",
                    step=entry.step_id,
                    text=f"the value of {name} is in the {entry.kind} of step {entry.step_id!r}",
                    cause="the step returns, or fails with, something that holds a secret",
                    fix="leave it out of the result, or change the result before it is recorded: redact=...",
                )
                return
