"""OpenAI responses.

Every model name is good. `background` responses are complete at once; OpenAI's own tools are taken and never used, and
so are stored prompts. Only text is billed. Responses are kept in the ledger, and found there by id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from durable_core.fingerprint import fingerprint
from fakes.provider import Work
from fakes.server.answers import Question, Said
from fakes.server.dialects.openai.items import Item, check_items, read_items
from fakes.server.dialects.openai.messages import mentions_json
from fakes.server.dialects.openai.parameters import RESPONSES, check, check_choice, model_of
from fakes.server.dialects.openai.responses_stream import events
from fakes.server.dialects.openai.stored import continued_by, conversation_of, referred_to, response_with_id
from fakes.server.dialects.openai.tools import must_call, response_tools
from fakes.server.fields import Fields
from fakes.server.trouble import Trouble, invalid
from fakes.server.wire import Answer, Asked, Desk, Request, Route, event_stream, json_answer

_FORMATS = ("text", "json_object", "json_schema")
_MODEL = "gpt-5"
"""Where a request names none, as those with a stored prompt may."""
_ECHOED: Mapping[str, object] = {
    "access_programs": None,
    "background": False,
    "instructions": None,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "previous_response_id": None,
    "prompt": None,
    "prompt_cache_key": None,
    "prompt_cache_options": None,
    "prompt_cache_retention": None,
    "safety_identifier": None,
    "store": True,
    "temperature": 1.0,
    "tool_choice": "auto",
    "tools": [],
    "top_logprobs": 0,
    "top_p": 1.0,
    "truncation": "disabled",
    "user": None,
}
"""What a response says again of its request, with what stands there if the request does not say."""


def create(desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /v1/responses."""
    body = request.json()
    check(body, RESPONSES)
    model, streamed = model_of(body, _MODEL), body.flag("stream")
    items = read_items(body)
    question = _question(body, items)
    desk.answers.arrives(question, desk.caller)

    def work(number: int) -> Work:
        continued = continued_by(desk, body)
        referred = [referred_to(desk, item) for item in items if item.refers]
        check_items([item for item in items if not item.refers], [*(continued or {}).get("output", ()), *referred])
        earlier = continued["usage"]["total_tokens"] if continued else 0
        said = desk.answers.said(replace(question, earlier=earlier), number, desk.caller)
        token = desk.provider.lifelike.token(number, question.body)
        response = _response(body, model, said, token, int(desk.provider.clock()))
        return Work(json.dumps(response), tokens_in=said.tokens_in, tokens_out=said.tokens_out)

    return Asked(
        operation="responses",
        target=model,
        nature="bills",
        parameters=body.values,
        work=work,
        render=lambda answer: _rendered(answer, streamed=streamed),
    )


def retrieve(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """GET /v1/responses/{id}."""
    identifier = found["id"]

    def work(_number: int) -> Work:
        response = response_with_id(desk, identifier)
        if response is None:
            raise Trouble("not_found", 404, f"Response with id '{identifier}' not found.")
        return Work(json.dumps(response))

    return Asked(
        operation="responses.get",
        target=identifier,
        nature="reads",
        parameters=[identifier],
        work=work,
        render=lambda answer: _rendered(answer, streamed=request.query.get("stream") == "true"),
    )


ROUTES = (Route("POST", "/v1/responses", create), Route("GET", "/v1/responses/{id}", retrieve))


def _rendered(answer: str, *, streamed: bool) -> Answer:
    response = json.loads(answer)
    return event_stream(list(events(response))) if streamed else json_answer(response)


def _question(body: Fields, items: list[Item]) -> Question:
    texts = [text for text in (body.text("instructions", ""), *(item.text for item in items)) if text]
    tools = response_tools(body)
    wanted = body.object("text").object("format")
    kind = wanted.text("type") if wanted.values else "text"
    check_choice(kind, _FORMATS, f"{wanted.where}type")
    if kind == "json_object" and not mentions_json(texts):
        raise invalid(
            "Response input messages must contain the word 'json' in some form to use 'text.format' of type"
            " 'json_object'.",
            param="input",
        )
    if kind == "json_schema":
        wanted.text("name")
    return Question(
        provider="openai",
        body=fingerprint(body.values),
        texts=texts,
        tools=tools,
        must_call=must_call(body, tools),
        schema=wanted.object("schema", required=True).values if kind == "json_schema" else None,
        as_json=kind == "json_object",
        limit=body.number("max_output_tokens", 0) or None,
    )


def _response(body: Fields, model: str, said: Said, token: str, at: int) -> dict[str, Any]:
    cut = said.stop == "length"
    echoed = {name: body.values[name] if body.has(name) else default for name, default in _ECHOED.items()}
    conversation, tier = conversation_of(body), body.text("service_tier", "auto")
    return echoed | {
        "id": f"resp_{token}",
        "object": "response",
        "created_at": at,
        "completed_at": None if cut else at,
        "status": "incomplete" if cut else "completed",
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if cut else None,
        "model": model,
        "conversation": None if conversation is None else {"id": conversation},
        "output": _output(said, token),
        "reasoning": {"effort": None, "summary": None, **body.object("reasoning").values},
        "service_tier": "default" if tier == "auto" else tier,
        "text": {"format": {"type": "text"}, "verbosity": "medium", **body.object("text").values},
        "usage": _usage(said.tokens_in, said.tokens_out),
    }


def _output(said: Said, token: str) -> list[dict[str, object]]:
    status = "incomplete" if said.stop == "length" else "completed"
    content: dict[str, object] = {"type": "output_text", "text": said.text, "annotations": [], "logprobs": []}
    if said.stop == "refusal":
        content = {"type": "refusal", "refusal": said.text}
    output: list[dict[str, object]] = []
    if said.text or not said.calls:
        head = {"id": f"msg_{token}", "type": "message", "status": status, "role": "assistant"}
        output.append({**head, "content": [content]})
    for number, call in enumerate(said.calls):
        asked = {"id": f"fc_{token}_{number}", "type": "function_call", "status": "completed", "name": call.name}
        output.append({**asked, "arguments": call.arguments, "call_id": f"call_{token}_{number}"})
    return output


def _usage(tokens_in: int, tokens_out: int) -> dict[str, object]:
    return {
        "input_tokens": tokens_in,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": tokens_out,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": tokens_in + tokens_out,
    }
