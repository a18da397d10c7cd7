"""What the models behind the server say: lifelike by default, or by a script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol

from fakes.lifelike import Lifelike, line, paragraph
from fakes.llm import tokens
from fakes.server.samples import sample
from fakes.witness import Caller

Stop = Literal["stop", "tool_calls", "length", "refusal"]


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call: its name, and the JSON schema of its arguments."""

    name: str
    schema: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a model is asked, whatever the dialect.

    Attributes:
        provider: who is asked.
        body: digest of the request.
        texts: all that is billed as input, a message each.
        tools: what it may call.
        must_call: the tool that it has to call; any of them if empty; None if it need not.
        schema: JSON schema that the text has to fit.
        as_json: the text has to be a JSON object.
        limit: most tokens of the answer.
        stops: texts before which the answer ends.
        earlier: tokens of the conversation so far that the provider itself remembers, billed as input again.
    """

    provider: str
    body: str
    texts: Sequence[str]
    tools: Sequence[Tool] = ()
    must_call: str | None = None
    schema: Mapping[str, object] | None = None
    as_json: bool = False
    limit: int | None = None
    stops: Sequence[str] = ()
    earlier: int = 0


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for; `arguments` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a model says, whatever the dialect; `stopped_by` is the stop of the question before which it ends."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    stop: Stop = "stop"
    tokens_in: int = 0
    tokens_out: int = 0
    stopped_by: str | None = None


class Answers(Protocol):
    """Where answers come from."""

    def arrives(self, question: Question, caller: Caller) -> None:
        """A question has come in. It may be refused before it is answered, and be asked again by the caller's SDK."""

    def said(self, question: Question, number: int, caller: Caller) -> Said:
        """The answer to the call with that number in the ledger.

        Raises:
            Unscripted: there is none.
        """


class Unscripted(Exception):
    """A model was asked for more than its script says. Never answered from elsewhere."""


@dataclass(frozen=True, slots=True)
class Freely:
    """Lifelike answers. A tool is called when the request demands it; its arguments fit their schema."""

    lifelike: Lifelike = field(default_factory=Lifelike)

    def arrives(self, question: Question, caller: Caller) -> None:
        """No answer depends on those before it."""

    def said(self, question: Question, number: int, caller: Caller) -> Said:  # noqa: ARG002 - the same for everybody
        """A paragraph, JSON that fits the schema, or the demanded tool call."""
        random = self.lifelike.random(number, question.body)
        calls: tuple[ToolCall, ...] = ()
        text = ""
        if question.must_call is not None and question.tools:
            named = [tool for tool in question.tools if tool.name == question.must_call] or question.tools[:1]
            calls = (ToolCall(named[0].name, json.dumps(sample(named[0].schema, random))),)
        elif question.schema is not None:
            text = json.dumps(sample(question.schema, random))
        else:
            text = json.dumps({"answer": line(random)}) if question.as_json else paragraph(random)
        text, stopped_by = _before(question.stops, text)
        said = Said(text=text, calls=calls, stop="tool_calls" if calls else "stop", stopped_by=stopped_by)
        return counted(said, question)


def counted(said: Said, question: Question) -> Said:
    """The same with its usage: a token per four bytes and a constant per message; cut off at the limit."""
    tokens_in = question.earlier + sum(map(tokens, question.texts)) or 1
    tokens_out = sum(map(tokens, (said.text, *(call.arguments for call in said.calls))))
    if question.limit is not None and tokens_out > question.limit and not said.calls:
        kept = said.text.encode()[: max(question.limit, 1) * 4].decode(errors="ignore")
        return Said(text=kept, stop="length", tokens_in=tokens_in, tokens_out=max(question.limit, 1))
    return replace(said, tokens_in=tokens_in, tokens_out=tokens_out)


def _before(stops: Sequence[str], text: str) -> tuple[str, str | None]:
    """As much of a text as stands before the first of the stops, and which that is."""
    first = None
    for stop in stops:
        before, found, _ = text.partition(stop)
        if found:
            text, first = before, stop
    return text, first
