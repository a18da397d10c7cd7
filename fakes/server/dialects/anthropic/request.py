"""What a request for an Anthropic message asks, and the requests that the real API refuses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from durable_core.fingerprint import fingerprint
from fakes.server.answers import Question, Tool
from fakes.server.conversation import Complaints, Turn, check_pairs
from fakes.server.fields import Fields
from fakes.server.trouble import invalid
from fakes.server.wire import Request

_VERSION = re.compile(r"\d{4}-\d\d-\d\d")
_STRICT_SINCE = "2026-10-21"
"""platform.claude.com/docs/en/api/migration-2026-10-21; versions are dates, and compare as texts."""

_REMOVED = ("temperature", "top_p", "top_k")
_ROLES = ("user", "assistant", "system")
_PLACES = {"tool_use": "assistant", "tool_result": "user"}
"""The only role whose messages may have such blocks."""

_COMPLAINTS = Complaints(
    unanswered="messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {id}. Each"
    " `tool_use` block must have a corresponding `tool_result` block in the next message.",
    unasked="messages.{at}.content.{which}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each"
    " `tool_result` block must have a corresponding `tool_use` block in the previous message.",
    doubled="messages.{at}.content.{which}: each tool_use must have a single result. Found multiple `tool_result`"
    " blocks with id: {id}",
)


def body_of(request: Request) -> Fields:
    """The body, with nothing in it that the version which the request names has not. Raises `Trouble`."""
    version = request.headers.get("anthropic-version")
    if version is None:
        raise invalid("anthropic-version: header is required")
    if not _VERSION.fullmatch(version):
        raise invalid(f'anthropic-version: "{version}" is not a valid version')
    body = request.json()
    if version >= _STRICT_SINCE:
        _check_strictly(body)
    return body


def _check_strictly(body: Fields) -> None:
    for name in _REMOVED:
        if name in body.values:
            raise invalid(f"{name}: Extra inputs are not permitted")
    for at, message in enumerate(body.objects("messages")):
        blocks = [] if isinstance(message.values.get("content"), str) else list(message.objects("content"))
        for which, block in enumerate(blocks):
            where, role = f"messages.{at}.content.{which}", message.values.get("role")
            if role == "assistant" and block.values.get("type") == "document":
                raise invalid(f"{where}: `document` blocks can only be in `user` messages")
            if role == "user" and _cites(block):
                raise invalid(f"{where}.citations: Extra inputs are not permitted")


def _cites(block: Fields) -> bool:
    if block.values.get("type") == "search_result":
        return any(map(_cites, block.objects("content")))
    return block.values.get("type") == "text" and len(block.items("citations")) > 0


def question_of(body: Fields) -> Question:
    """What the model is asked. Raises `Trouble`: 400, in the API's own words as far as they are known."""
    messages = list(body.objects("messages", required=True))
    if not messages:
        raise invalid("messages: at least one message is required")
    contents = [_content(message, at) for at, message in enumerate(messages)]
    _check_not_empty(messages, contents)
    _check_results(contents)
    tools = tuple(_tools(body))
    return Question(
        provider="anthropic",
        body=fingerprint(body.values),
        texts=[*_billed(body), *("".join(map(_text_of, content)) for content in contents)],
        tools=tools,
        must_call=_must_call(body.object("tool_choice"), tools),
        schema=_schema(body),
        stops=_stops(body),
    )


def _content(message: Fields, at: int) -> list[Fields]:
    """The blocks of a message, be it a plain text."""
    role = message.text("role")
    if role not in _ROLES:
        raise invalid(f"messages.{at}.role: Input should be {', '.join(map(repr, _ROLES))}")
    text = message.values.get("content")
    if isinstance(text, str):
        return [Fields({"type": "text", "text": text}, f"{message.where}content[0].")] if text else []
    content = list(message.objects("content", required=True))
    for which, block in enumerate(content):
        kind = block.text("type")
        if role != _PLACES.get(kind, role):
            raise invalid(
                f"messages.{at}.content.{which}: `{kind}` blocks can only be in `{_PLACES[kind]}` messages",
            )
    return content


def _check_not_empty(messages: list[Fields], contents: list[list[Fields]]) -> None:
    for at, content in enumerate(contents):
        is_optional = at == len(contents) - 1 and messages[at].text("role") == "assistant"
        if not content and not is_optional:
            raise invalid(
                f"messages.{at}: all messages must have non-empty content except for the optional final assistant"
                " message",
            )
        if any(block.text("type") == "text" and not block.text("text") for block in content):
            raise invalid("messages: text content blocks must be non-empty")


def _check_results(contents: list[list[Fields]]) -> None:
    """Each tool call has its one result among the blocks that the next message begins with, and each result a call."""
    turns = list(map(_turn, contents))
    check_pairs(turns, _COMPLAINTS, at_once=True)
    for at, (turn, content) in enumerate(zip(turns, contents, strict=True)):
        for which, block in enumerate(content[len(turn.answers) :], len(turn.answers)):
            if block.text("type") == "tool_result":
                raise invalid(_COMPLAINTS.unasked.format(at=at, which=which, id=block.text("tool_use_id")))
    ids = [asked for turn in turns for asked in turn.asks]
    if len(set(ids)) < len(ids):
        raise invalid("messages: `tool_use` ids must be unique")


def _turn(content: list[Fields]) -> Turn:
    """Results after another block do not count: "tool_result blocks must come first in the content array"."""
    answers = []
    for block in content:
        if block.text("type") != "tool_result":
            break
        answers.append(block.text("tool_use_id"))
    asks = tuple(block.text("id") for block in content if block.text("type") == "tool_use")
    return Turn(asks=asks, answers=tuple(answers))


def _billed(body: Fields) -> Iterator[str]:
    """What is billed besides the messages: the system prompt, a text or blocks, and the tools."""
    if body.has("system"):
        system = body.values["system"]
        yield system if isinstance(system, str) else "".join(map(_text_of, body.objects("system")))
    if body.has("tools"):
        yield json.dumps(body.items("tools"))


def _text_of(block: Fields) -> str:
    """What is billed of a block. Pictures and documents are billed by other rules, here not at all."""
    text = "".join(block.text(name, "") for name in ("text", "thinking", "name"))
    if block.has("input"):
        text += json.dumps(block.values["input"])
    content = block.values.get("content")
    if isinstance(content, list):
        return text + "".join(map(_text_of, block.objects("content")))
    return text + content if isinstance(content, str) else text


def _tools(body: Fields) -> Iterator[Tool]:
    """What can be asked of the client. Anthropic's own tools have a type, and a schema that no request tells."""
    for number, tool in enumerate(body.objects("tools")):
        if tool.text("type", "custom") == "custom":
            yield Tool(tool.text("name"), _input_schema(tool, number))
        elif tool.has("name"):
            yield Tool(tool.text("name"), {"type": "object"})


def _input_schema(tool: Fields, number: int) -> Mapping[str, object]:
    schema = tool.object("input_schema", required=True)
    where = f"tools.{number}.custom.input_schema"
    if schema.text("type") != "object":
        raise invalid(f"{where}.type: Input should be 'object'")
    if {"oneOf", "allOf", "anyOf"} & schema.values.keys():
        raise invalid(f"{where}: input_schema does not support oneOf, allOf, or anyOf at the top level")
    return schema.values


def _must_call(choice: Fields, tools: tuple[Tool, ...]) -> str | None:
    """The tool that `tool_choice` demands: by name, or any of them as the empty name."""
    kind = choice.text("type", "auto")
    if kind not in ("any", "tool"):
        return None
    if not tools:
        raise invalid("tool_choice: may only be specified while providing tools")
    name = choice.text("name") if kind == "tool" else ""
    if name and name not in {tool.name for tool in tools}:
        raise invalid(f"Tool '{name}' not found in provided tools")
    return name


def _schema(body: Fields) -> Mapping[str, object] | None:
    """The schema that the text has to fit; the field was called `output_format` while in beta."""
    wanted = body.object("output_config").object("format")
    if not wanted.has("type"):
        wanted = body.object("output_format")
    return wanted.object("schema", required=True).values if wanted.text("type", "") == "json_schema" else None


def _stops(body: Fields) -> tuple[str, ...]:
    stops = body.items("stop_sequences")
    for number, text in enumerate(stops):
        if not isinstance(text, str):
            raise invalid(f"stop_sequences.{number}: Input should be a valid string")
        if not text.strip():
            raise invalid("stop_sequences: each stop sequence must contain non-whitespace")
    return tuple(map(str, stops))
