"""A response piece by piece, as `stream` brings it: each event says its name, its number, and where it belongs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fakes.server.conversation import pieces_of, words_of
from fakes.server.wire import event

_Event = tuple[str, dict[str, object]]

_BEGUN: Mapping[str, object] = {
    "status": "in_progress",
    "completed_at": None,
    "incomplete_details": None,
    "output": [],
    "usage": None,
}
_KINDS = {"output_text": ("response.output_text", "text"), "refusal": ("response.refusal", "refusal")}
"""For each kind of content, what its events are called, and the field that grows."""


def events(response: dict[str, Any]) -> Iterator[bytes]:
    """The last event brings the response whole."""
    for number, (name, fields) in enumerate(_events(response)):
        yield event({"type": name, "sequence_number": number, **fields}, name)


def _events(response: dict[str, Any]) -> Iterator[_Event]:
    yield "response.created", {"response": {**response, **_BEGUN}}
    yield "response.in_progress", {"response": {**response, **_BEGUN}}
    for index, item in enumerate(response["output"]):
        empty: dict[str, object] = {"content": []} if item["type"] == "message" else {"arguments": ""}
        yield "response.output_item.added", {"output_index": index, "item": item | {"status": "in_progress"} | empty}
        where = {"item_id": item["id"], "output_index": index}
        yield from _message(item, where) if item["type"] == "message" else _call(item, where)
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield f"response.{response['status']}", {"response": response}


def _message(item: dict[str, Any], where: dict[str, object]) -> Iterator[_Event]:
    for index, part in enumerate(item["content"]):
        place = where | {"content_index": index}
        name, grows = _KINDS[part["type"]]
        likely: dict[str, object] = {"logprobs": []} if grows == "text" else {}
        yield "response.content_part.added", place | {"part": part | {grows: ""}}
        for words in words_of(part[grows]):
            yield f"{name}.delta", place | {"delta": words} | likely
        yield f"{name}.done", place | {grows: part[grows]} | likely
        yield "response.content_part.done", place | {"part": part}


def _call(item: dict[str, Any], where: dict[str, object]) -> Iterator[_Event]:
    for piece in pieces_of(item["arguments"]):
        yield "response.function_call_arguments.delta", where | {"delta": piece}
    yield "response.function_call_arguments.done", where | {"name": item["name"], "arguments": item["arguments"]}
