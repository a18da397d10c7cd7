"""A chat completion piece by piece, as `stream` brings it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, zip_longest
from typing import Any

from fakes.server.conversation import pieces_of, words_of
from fakes.server.wire import event

_KEPT = ("id", "created", "model", "service_tier", "system_fingerprint")
"""What each chunk has in common with the completion in one piece."""


def chunks(completion: dict[str, Any], *, with_usage: bool) -> Iterator[bytes]:
    """The choices take turns; with usage, one chunk without choices brings it at the end."""
    head = {name: completion[name] for name in _KEPT} | {"object": "chat.completion.chunk"}
    if with_usage:
        head["usage"] = None
    for part in chain.from_iterable(zip_longest(*map(_parts, completion["choices"]))):
        if part is not None:
            yield event(head | {"choices": [part]})
    if with_usage:
        yield event(head | {"choices": [], "usage": completion["usage"]})
    yield b"data: [DONE]\n\n"


def _parts(choice: dict[str, Any]) -> Iterator[dict[str, object]]:
    part = {"index": choice["index"], "logprobs": None, "finish_reason": None}
    for delta in _deltas(choice["message"]):
        yield part | {"delta": delta}
    yield part | {"delta": {}, "finish_reason": choice["finish_reason"]}


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, object]]:
    content, refusal = message["content"], message["refusal"]
    yield {"role": "assistant", "content": None if content is None else "", "refusal": None}
    for name, text in (("content", content), ("refusal", refusal)):
        for words in words_of(text or ""):
            yield {name: words}
    for index, call in enumerate(message.get("tool_calls", [])):
        function = call["function"]
        first = {"index": index, "id": call["id"], "type": "function"}
        yield {"tool_calls": [first | {"function": {"name": function["name"], "arguments": ""}}]}
        for piece in pieces_of(function["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
