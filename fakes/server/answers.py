"""What the models behind the server say: lifelike by default, or by a script."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal, Protocol

from fakes.lifelike import Lifelike, line, paragraph
from fakes.llm import tokens
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
    """

    provider: str
    body: str
    texts: Sequence[str]
    tools: Sequence[Tool] = ()
    must_call: str | None = None
    schema: Mapping[str, object] | None = None
    as_json: bool = False
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model asks for; `arguments` is JSON text."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a model says, whatever the dialect."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    stop: Stop = "stop"
    tokens_in: int = 0
    tokens_out: int = 0


class Answers(Protocol):
    """Where answers come from."""

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
        return counted(Said(text=text, calls=calls, stop="tool_calls" if calls else "stop"), question)


def counted(said: Said, question: Question) -> Said:
    """The same with its usage: a token per four bytes and a constant per message; cut off at the limit."""
    tokens_in = sum(map(tokens, question.texts)) or 1
    tokens_out = sum(map(tokens, (said.text, *(call.arguments for call in said.calls))))
    if question.limit is not None and tokens_out > question.limit and not said.calls:
        kept = said.text.encode()[: max(question.limit, 1) * 4].decode(errors="ignore")
        return Said(text=kept, stop="length", tokens_in=tokens_in, tokens_out=max(question.limit, 1))
    return Said(text=said.text, calls=said.calls, stop=said.stop, tokens_in=tokens_in, tokens_out=tokens_out)


def sample(schema: object, random: Random, *, root: object = None, depth: int = 0) -> object:  # noqa: C901, PLR0911, PLR0912 - a type a line
    """A value that fits a JSON schema, as far as tools use it: types, enums, unions, references, lengths, bounds."""
    root = schema if root is None else root
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return line(random)
    if "$ref" in schema:
        return sample(_resolve(root, str(schema["$ref"])), random, root=root, depth=depth + 1)
    if "const" in schema:
        return schema["const"]
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return schema["enum"][0]
    for union in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(union), list) and schema[union]:
            return sample(schema[union][0], random, root=root, depth=depth + 1)
    kind = schema.get("type")
    match kind[0] if isinstance(kind, list) and kind else kind:
        case "string":
            return _words(schema, random)
        case "integer":
            return int(_bounded(schema, random.randint(1, 100)))
        case "number":
            return _bounded(schema, random.randint(1, 1000) / 10)
        case "boolean":
            return random.random() < 0.5  # noqa: PLR2004 - a coin
        case "null":
            return None
        case "array":
            count = max(1, int(schema.get("minItems", 1)))
            return [sample(schema.get("items", {}), random, root=root, depth=depth + 1) for _ in range(count)]
        case "object" | None if isinstance(schema.get("properties"), Mapping) or kind == "object":
            fields = schema.get("properties", {})
            return {name: sample(of, random, root=root, depth=depth + 1) for name, of in fields.items()}
        case _:
            return line(random)


_DEEPEST = 12


def _words(schema: Mapping[str, object], random: Random) -> str:
    known = {"date": "2026-11-30", "date-time": "2026-11-30T12:00:00Z", "email": "ada@example.com"}
    known |= {"uri": "https://example.com/", "uuid": "00000000-0000-4000-8000-000000000000"}
    text = known.get(str(schema.get("format")), line(random))
    longest = schema.get("maxLength")
    return text[:longest] if isinstance(longest, int) else text


def _bounded(schema: Mapping[str, object], value: float) -> float:
    low, high = schema.get("minimum"), schema.get("maximum")
    if isinstance(low, int | float):
        value = max(value, low)
    return min(value, high) if isinstance(high, int | float) else value


def _resolve(root: object, reference: str) -> object:
    found = root
    for part in reference.removeprefix("#/").split("/"):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
