"""OpenAI chat completions, in one piece and as a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from durable_core.fingerprint import fingerprint
from fakes.provider import Work
from fakes.server.answers import Question, Said, Tool
from fakes.server.conversation import Complaints, Turn, check_pairs, words_of
from fakes.server.wire import Answer, Asked, Desk, Fields, Request, Route, event, event_stream, invalid, json_answer

_ROLES = ("developer", "system", "user", "assistant", "tool", "function")
_COMPLAINTS = Complaints(
    unanswered="An assistant message with 'tool_calls' must be followed by tool messages responding to each"
    " 'tool_call_id'. The following tool_call_ids did not have response messages: {id}",
    unasked="Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls':"
    " '{id}' is none.",
    doubled="Invalid parameter: Duplicate tool response for the tool_call_id '{id}'.",
)
_ARGUMENT_BYTES = 12
"""Of a tool call's arguments, in one piece of a stream."""


def create(desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /v1/chat/completions."""
    body = request.json()
    model, choices = body.text("model"), body.number("n", 1)
    streamed, with_usage = body.flag("stream"), body.object("stream_options").flag("include_usage")
    question = _question(body)

    def work(number: int) -> Work:
        said = desk.answers.said(question, number, desk.caller)
        token = desk.provider.lifelike.token(number, question.body)
        answer = _completion(said, token, model, int(desk.provider.clock()), choices)
        return Work(json.dumps(answer), tokens_in=said.tokens_in, tokens_out=said.tokens_out * choices)

    def render(answer: str) -> Answer:
        completion = json.loads(answer)
        return event_stream(list(_chunks(completion, with_usage=with_usage))) if streamed else json_answer(completion)

    return Asked(operation="chat", target=model, nature="bills", parameters=body.values, work=work, render=render)


ROUTES = (Route("POST", "/v1/chat/completions", create),)


def _question(body: Fields) -> Question:
    messages = list(body.objects("messages", required=True))
    if not messages:
        raise invalid("Invalid 'messages': empty array. Expected an array with minimum length 1.", param="messages")
    check_pairs(map(_turn, messages), _COMPLAINTS, at_once=False)
    kind = body.object("response_format").text("type", "text")
    return Question(
        provider="openai",
        body=fingerprint(body.values),
        texts=[text for message in messages for text in _texts(message)],
        tools=tuple(_tools(body)),
        must_call=_must_call(body),
        schema=body.object("response_format").object("json_schema").object("schema").values
        if kind == "json_schema"
        else None,
        as_json=kind == "json_object",
        limit=body.number("max_completion_tokens", 0) or body.number("max_tokens", 0) or None,
    )


def _turn(message: Fields) -> Turn:
    role = message.text("role")
    if role not in _ROLES:
        raise invalid(
            f"Invalid value: '{role}'. Supported values are: {', '.join(map(repr, _ROLES))}.",
            param=f"{message.where}role",
            code="invalid_value",
        )
    if role == "tool":
        return Turn(answers=(message.text("tool_call_id"),))
    return Turn(asks=tuple(call.text("id") for call in message.objects("tool_calls")))


def _texts(message: Fields) -> Iterator[str]:
    """All that is billed of a message: its text, whatever form it comes in, and its tool calls."""
    content = message.values.get("content")
    parts = [part.text("text", "") for part in message.objects("content")] if isinstance(content, list) else [content]
    calls = (call.object("function") for call in message.objects("tool_calls"))
    yield " ".join(part for part in parts if isinstance(part, str)) + "".join(
        call.text("name", "") + call.text("arguments", "") for call in calls
    )


def _tools(body: Fields) -> Iterator[Tool]:
    for tool in body.objects("tools"):
        if tool.text("type", "function") == "function":
            function = tool.object("function", required=True)
            yield Tool(function.text("name"), function.object("parameters").values)


def _must_call(body: Fields) -> str | None:
    """The tool that `tool_choice` demands: by name, or any of them as the empty name."""
    choice = body.values.get("tool_choice")
    if isinstance(choice, dict):
        return body.object("tool_choice").object("function").text("name", "")
    return "" if choice == "required" else None


def _completion(said: Said, token: str, model: str, created: int, choices: int) -> dict[str, object]:
    calls = [
        {"id": f"call_{token}_{n}", "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for n, call in enumerate(said.calls)
    ]
    message: dict[str, object] = {
        "role": "assistant",
        "content": said.text or (None if calls else ""),
        "refusal": said.text if said.stop == "refusal" else None,
        "annotations": [],
    }
    if calls:
        message["tool_calls"] = calls
    reason = {"refusal": "stop"}.get(said.stop, said.stop)
    return {
        "id": f"chatcmpl-{token}",
        "object": "chat.completion",
        "created": created,
        "model": model,
        "choices": [
            {"index": index, "message": message, "logprobs": None, "finish_reason": reason} for index in range(choices)
        ],
        "usage": usage(said.tokens_in, said.tokens_out * choices),
        "service_tier": "default",
        "system_fingerprint": "fp_crashwindow",
    }


def usage(tokens_in: int, tokens_out: int) -> dict[str, object]:
    """Usage as chat completions spell it."""
    return {
        "prompt_tokens": tokens_in,
        "completion_tokens": tokens_out,
        "total_tokens": tokens_in + tokens_out,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def _chunks(completion: dict[str, Any], *, with_usage: bool) -> Iterator[bytes]:
    """The same completion piece by piece. With usage, one chunk without choices brings it at the end."""
    head = {name: completion[name] for name in ("id", "created", "model", "service_tier", "system_fingerprint")}
    head["object"] = "chat.completion.chunk"
    if with_usage:
        head["usage"] = None
    for choice in completion["choices"]:
        index = choice["index"]
        for delta in _deltas(choice["message"]):
            yield event(head | {"choices": [_part(index, delta, None)]})
        yield event(head | {"choices": [_part(index, {}, choice["finish_reason"])]})
    if with_usage:
        yield event(head | {"choices": [], "usage": completion["usage"]})
    yield b"data: [DONE]\n\n"


def _part(index: int, delta: object, reason: str | None) -> dict[str, object]:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, object]]:
    calls = message.get("tool_calls", [])
    content = message["content"]
    yield {"role": "assistant", "content": "" if content is not None else None, "refusal": None}
    for words in words_of(content or ""):
        yield {"content": words}
    for index, call in enumerate(calls):
        function = call["function"]
        first = {"index": index, "id": call["id"], "type": "function"}
        yield {"tool_calls": [first | {"function": {"name": function["name"], "arguments": ""}}]}
        for piece in pieces_of(function["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def pieces_of(arguments: str) -> list[str]:
    """The arguments of a tool call in the pieces that a stream brings them in."""
    return [arguments[start : start + _ARGUMENT_BYTES] for start in range(0, len(arguments), _ARGUMENT_BYTES)]
