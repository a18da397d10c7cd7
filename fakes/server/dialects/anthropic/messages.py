"""Anthropic messages, in one piece and as a stream, and the counting of their tokens."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from fakes.provider import Work
from fakes.server.answers import Said, Stop, counted
from fakes.server.conversation import arguments_of, pieces_of, words_of
from fakes.server.dialects.anthropic.request import body_of, question_of
from fakes.server.trouble import invalid
from fakes.server.wire import Answer, Asked, Desk, Request, Route, event, event_stream, json_answer

_REASONS: Mapping[Stop, str] = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "refusal": "refusal",
}


def create(desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /v1/messages."""
    body = body_of(request)
    model, limit, streamed = body.text("model"), body.number("max_tokens"), body.flag("stream")
    if limit < 0:
        raise invalid("max_tokens: Input should be greater than or equal to 0")
    question = replace(question_of(body), limit=limit)
    desk.answers.arrives(question, desk.caller)

    def work(number: int) -> Work:
        said = desk.answers.said(question, number, desk.caller)
        message = _message(said, desk.provider.lifelike.token(number, question.body), model)
        return Work(json.dumps(message), tokens_in=said.tokens_in, tokens_out=said.tokens_out)

    def render(answer: str) -> Answer:
        message = json.loads(answer)
        made = event_stream(list(_events(message))) if streamed else json_answer(message)
        return _identified(made, message["id"])

    return Asked(operation="messages", target=model, nature="bills", parameters=body.values, work=work, render=render)


def count_tokens(_desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /v1/messages/count_tokens: what the messages would be billed as input."""
    body = body_of(request)
    model, question = body.text("model"), question_of(body)

    def work(_number: int) -> Work:
        return Work(json.dumps({"input_tokens": counted(Said(), question).tokens_in}))

    return Asked(
        operation="count_tokens",
        target=model,
        nature="reads",
        parameters=body.values,
        work=work,
        render=lambda answer: _identified(json_answer(json.loads(answer)), question.body),
    )


ROUTES = (Route("POST", "/v1/messages", create), Route("POST", "/v1/messages/count_tokens", count_tokens))


def _identified(answer: Answer, of: str) -> Answer:
    return replace(answer, headers={"request-id": f"req_{of.removeprefix('msg_')}"})


def _message(said: Said, token: str, model: str) -> dict[str, object]:
    content: list[dict[str, object]] = [{"type": "text", "text": said.text}] if said.text else []
    for number, call in enumerate(said.calls):
        tool_use = {"type": "tool_use", "id": f"toolu_{token}_{number}", "name": call.name}
        content.append(tool_use | {"input": arguments_of(call)})
    refused = {"type": "refusal", "category": None, "explanation": None}
    return {
        "id": f"msg_{token}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": _REASONS[said.stop] if said.stopped_by is None else "stop_sequence",
        "stop_sequence": said.stopped_by,
        "stop_details": refused if said.stop == "refusal" else None,
        "usage": {
            "input_tokens": said.tokens_in,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
            "output_tokens": said.tokens_out,
            "service_tier": "standard",
        },
    }


def _events(message: dict[str, Any]) -> Iterator[bytes]:
    """The same message piece by piece; counts in the last delta are totals."""
    usage = message["usage"]
    ends = {name: message[name] for name in ("stop_reason", "stop_sequence", "stop_details")}
    begun = message | dict.fromkeys(ends) | {"content": [], "usage": usage | {"output_tokens": 1}}
    yield _event("message_start", message=begun)
    for index, block in enumerate(message["content"]):
        empty, deltas = _deltas(block)
        yield _event("content_block_start", index=index, content_block=empty)
        if index == 0:
            yield _event("ping")
        for delta in deltas:
            yield _event("content_block_delta", index=index, delta=delta)
        yield _event("content_block_stop", index=index)
    totals = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")
    yield _event("message_delta", delta=ends, usage={name: usage[name] for name in totals})
    yield _event("message_stop")


def _event(kind: str, **fields: object) -> bytes:
    return event({"type": kind, **fields}, kind)


def _deltas(block: dict[str, Any]) -> tuple[dict[str, object], list[dict[str, str]]]:
    """A block as it begins, and what is added to it one by one."""
    if block["type"] == "text":
        return block | {"text": ""}, [{"type": "text_delta", "text": words} for words in words_of(block["text"])]
    pieces = ["", *pieces_of(json.dumps(block["input"], ensure_ascii=False))]
    return block | {"input": {}}, [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
