"""A language model: it bills for tokens and never says the same thing twice."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random

from fakes.lifelike import line, paragraph
from fakes.provider import Provider, Work

_BYTES_PER_TOKEN = 4
_TOKENS_PER_MESSAGE = 4


@dataclass(frozen=True, slots=True)
class Completion:
    """A model's answer and what it cost, in tokens."""

    id: str
    text: str
    tokens_in: int
    tokens_out: int


@dataclass(frozen=True, kw_only=True)
class Llm(Provider):
    """`complete` answers a prompt. `model` is the ledger's target."""

    operations = ("complete",)
    name: str = "llm"
    model: str = "fake-1"

    def complete(
        self, prompt: str, *, lines: int | tuple[int, int] | None = None, idempotency_key: str | None = None
    ) -> Completion:
        """A paragraph; with `lines`, that many lines, or a number of them between two bounds."""
        fewest, most = (lines, lines) if isinstance(lines, int) else lines or (1, 1)
        if not 1 <= fewest <= most:
            raise ValueError(
                f"llm.complete: lines={lines!r} is no number of lines; give n or (fewest, most), from 1 up"
            )

        call = self.call("complete", self.model, "bills", idempotency_key, prompt=prompt, lines=lines)

        def work(number: int) -> Work:
            random = self.lifelike.random(number, call.body)
            text = paragraph(random) if lines is None else _lines(random, fewest, most)
            completion_id = f"cmpl_{self.lifelike.token(number, call.body)}"
            used = {"tokens_in": tokens(prompt), "tokens_out": tokens(text)}
            return Work(json.dumps({"id": completion_id, "text": text, **used}), **used)

        return Completion(**json.loads(self.perform(call, work).answer))


def tokens(text: str) -> int:
    """What one message of that text is billed: a token per four bytes, rounded up, plus a constant."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // _BYTES_PER_TOKEN) + _TOKENS_PER_MESSAGE


def _lines(random: Random, fewest: int, most: int) -> str:
    return "\n".join(line(random) for _ in range(random.randint(fewest, most)))
