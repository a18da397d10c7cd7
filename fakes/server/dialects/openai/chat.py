"""OpenAI chat completions.

Every model name is good. Audio, files and pictures are taken and not billed; `functions`, which tools have replaced,
are taken and never called; `logprobs` come back as null.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from durable_core.fingerprint import fingerprint
from fakes.provider import Work
from fakes.server.answers import Question, Said
from fakes.server.dialects.openai.chat_stream import chunks
from fakes.server.dialects.openai.messages import mentions_json, read_messages
from fakes.server.dialects.openai.parameters import CHAT, check, check_choice, model_of, too_long
from fakes.server.dialects.openai.tools import chat_tools, must_call
from fakes.server.fields import Fields
from fakes.server.trouble import invalid
from fakes.server.wire import Answer, Asked, Desk, Request, Route, event_stream, to_json

_FORMATS = ("text", "json_object", "json_schema")
_MOST_STOPS = 4


def create(desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /v1/chat/completions."""
    body = request.json()
    check(body, CHAT)
    model = model_of(body)
    streamed, with_usage = body.flag("stream"), body.object("stream_options").flag("include_usage")
    questions = _questions(body)
    for question in questions:
        desk.answers.arrives(question, desk.caller)

    def work(number: int) -> Work:
        said = [desk.answers.said(question, number, desk.caller) for question in questions]
        token = desk.provider.lifelike.token(number, questions[0].body)
        tokens_in, tokens_out = said[0].tokens_in, sum(choice.tokens_out for choice in said)
        completion = {
            "id": f"chatcmpl-{token}",
            "object": "chat.completion",
            "created": int(desk.provider.clock()),
            "model": model,
            "choices": _choices(said, token),
            "usage": _usage(tokens_in, tokens_out),
            "service_tier": "default",
            "system_fingerprint": "fp_crashwindow",
        }
        return Work(to_json(completion).decode(), tokens_in=tokens_in, tokens_out=tokens_out)

    def render(answer: str) -> Answer:
        if streamed:
            return event_stream(list(chunks(json.loads(answer), with_usage=with_usage)))
        return Answer(pieces=(answer.encode(),))

    digest = questions[0].body  # of all parameters
    return Asked(operation="chat", target=model, nature="bills", parameters=digest, work=work, render=render)


ROUTES = (Route("POST", "/v1/chat/completions", create),)


def _questions(body: Fields) -> list[Question]:
    """A question for each of the `n` choices: they differ in their digest, so each gets an answer of its own."""
    texts = read_messages(body)
    tools = chat_tools(body)
    schema, as_json = _format(body.object("response_format"), texts)
    question = Question(
        provider="openai",
        body=fingerprint(body.values),
        texts=texts,
        tools=tools,
        must_call=must_call(body, tools),
        schema=schema,
        as_json=as_json,
        limit=body.number("max_completion_tokens", 0) or body.number("max_tokens", 0) or None,
        stops=_stops(body),
    )
    others = [replace(question, body=f"{question.body}-{choice}") for choice in range(1, body.number("n", 1))]
    return [question, *others]


def _format(wanted: Fields, texts: Sequence[str]) -> tuple[Mapping[str, object] | None, bool]:
    """The schema that the text has to fit, and whether it has to be any JSON object."""
    kind = wanted.text("type") if wanted.values else "text"
    check_choice(kind, _FORMATS, f"{wanted.where}type")
    if kind == "json_object" and not mentions_json(texts):
        raise invalid(
            "'messages' must contain the word 'json' in some form, to use 'response_format' of type 'json_object'.",
            param="messages",
        )
    if kind != "json_schema":
        return None, kind == "json_object"
    named = wanted.object("json_schema", required=True)
    named.text("name")
    return named.object("schema").values, False


def _stops(body: Fields) -> tuple[str, ...]:
    stop = body.values.get("stop")
    if isinstance(stop, str):
        return (stop,) if stop else ()
    stops = body.items("stop")
    if len(stops) > _MOST_STOPS:
        raise too_long("stop", _MOST_STOPS, len(stops))
    if not all(isinstance(text, str) and text for text in stops):
        raise body.wrong("stop", "an array of strings")
    return tuple(map(str, stops))


def _choices(said: Sequence[Said], token: str) -> list[dict[str, object]]:
    return [
        {
            "index": index,
            "message": _message(choice, f"{token}_{index}" if index else token),
            "logprobs": None,
            "finish_reason": "stop" if choice.stop == "refusal" else choice.stop,
        }
        for index, choice in enumerate(said)
    ]


def _message(said: Said, token: str) -> dict[str, object]:
    refused = said.stop == "refusal"
    message: dict[str, object] = {
        "role": "assistant",
        "content": None if refused or (said.calls and not said.text) else said.text,
        "refusal": said.text if refused else None,
        "annotations": [],
    }
    if said.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{token}_{n}",
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for n, call in enumerate(said.calls)
        ]
    return message


def _usage(tokens_in: int, tokens_out: int) -> dict[str, object]:
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
