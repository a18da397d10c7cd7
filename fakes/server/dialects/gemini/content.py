"""Gemini's generated content, in one piece and as a stream, and the counting of its tokens."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from durable_core.fingerprint import fingerprint
from fakes.provider import Work
from fakes.server.answers import Question, Said, Stop, Tool, counted
from fakes.server.conversation import arguments_of, words_of
from fakes.server.fields import Fields
from fakes.server.trouble import invalid
from fakes.server.wire import Answer, Asked, Desk, Request, Route, event, event_stream, json_answer, to_json

_ROLES = ("user", "model", "function")
_UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the"
    " function call turn."
)
_CALL_MISPLACED = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
_RESPONSE_MISPLACED = "Please ensure that function response turn comes immediately after a function call turn."
_REASONS: Mapping[Stop, str] = {"stop": "STOP", "tool_calls": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}
_MOST_CANDIDATES = 8
_SPELLINGS = {
    "min_items": "minItems",
    "max_items": "maxItems",
    "min_length": "minLength",
    "max_length": "maxLength",
    "any_of": "anyOf",
}
"""Both are good in protocol buffers' JSON; the SDK sends the ones on the left."""


def generate(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """POST models/{model}:generateContent."""
    return _generated(desk, request, found["model"], json_answer)


def stream(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """POST models/{model}:streamGenerateContent: server-sent events with `alt=sse`, else one JSON array."""
    as_events = request.query.get("alt") == "sse"
    return _generated(desk, request, found["model"], _events if as_events else _array)


def count_tokens(_desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """POST models/{model}:countTokens: what the contents would be billed as input."""
    body = request.json()
    asked = body.object("generateContentRequest") if body.has("generateContentRequest") else body
    question = _question(asked, found["model"])

    def work(_number: int) -> Work:
        total = counted(Said(), question).tokens_in
        return Work(json.dumps({"totalTokens": total, "promptTokensDetails": _as_text(total)}))

    return Asked(
        operation="count_tokens",
        target=found["model"],
        nature="reads",
        parameters=[found["model"], body.values],
        work=work,
        render=lambda answer: json_answer(json.loads(answer)),
    )


ROUTES = tuple(
    Route("POST", f"/{version}/models/{{model}}:{method}", ask)
    for version in ("v1beta", "v1")
    for method, ask in (
        ("generateContent", generate),
        ("streamGenerateContent", stream),
        ("countTokens", count_tokens),
    )
)


def _generated(desk: Desk, request: Request, model: str, spell: Callable[[dict[str, Any]], Answer]) -> Asked:
    body = request.json()
    questions = _questions(body, model)
    for question in questions:
        desk.answers.arrives(question, desk.caller)

    def work(number: int) -> Work:
        said = [desk.answers.said(question, number, desk.caller) for question in questions]
        response = _response(said, desk.provider.lifelike.token(number, questions[0].body), model)
        usage = response["usageMetadata"]
        return Work(json.dumps(response), tokens_in=usage["promptTokenCount"], tokens_out=usage["candidatesTokenCount"])

    return Asked(
        operation="generate_content",
        target=model,
        nature="bills",
        parameters=[model, body.values],
        work=work,
        render=lambda answer: spell(json.loads(answer)),
    )


def _questions(body: Fields, model: str) -> list[Question]:
    """A question for each candidate: they differ in their digest, so each gets an answer of its own."""
    question, count = _question(body, model), body.object("generationConfig").number("candidateCount", 1)
    if not 1 <= count <= _MOST_CANDIDATES:
        raise invalid(f"Invalid value at 'generation_config.candidate_count': it is from 1 to {_MOST_CANDIDATES}")
    return [question, *(replace(question, body=f"{question.body}-{other}") for other in range(1, count))]


def _question(body: Fields, model: str) -> Question:
    contents = list(body.objects("contents"))
    if not contents:
        raise invalid("* GenerateContentRequest.contents: contents is not specified", param="contents")
    parts = [_parts(content) for content in contents]
    _check_turns(contents, parts)
    config, tools = body.object("generationConfig"), tuple(_tools(body))
    schema = config.object("responseJsonSchema").values or _plain(config.object("responseSchema").values)
    return Question(
        provider="gemini",
        body=fingerprint([model, body.values]),
        texts=[*_billed(body), *("".join(map(_text_of, content)) for content in parts)],
        tools=tools,
        must_call=_must_call(body.object("toolConfig").object("functionCallingConfig"), tools),
        schema=schema or None,
        as_json=config.text("responseMimeType", "") == "application/json",
        limit=config.number("maxOutputTokens", 0) or None,
        stops=tuple(str(text) for text in config.items("stopSequences") if text),
    )


def _billed(body: Fields) -> Iterator[str]:
    """What is billed besides the contents: the system instruction, and the tools."""
    if body.has("systemInstruction"):
        yield "".join(map(_text_of, body.object("systemInstruction").objects("parts")))
    if body.has("tools"):
        yield json.dumps(body.items("tools"))


def _parts(content: Fields) -> list[Fields]:
    if content.text("role", "user") not in _ROLES:
        raise invalid("Please use a valid role: user, model.", param=f"{content.where}role")
    parts = list(content.objects("parts"))
    if not parts:
        raise invalid(f"* GenerateContentRequest.{content.where}parts: contents.parts must not be empty.")
    for part in parts:
        if not part.values:
            missing = "required oneof field 'data' must have one initialized field"
            raise invalid(f"* GenerateContentRequest.{part.where}data: {missing}")
    return parts


def _check_turns(contents: list[Fields], parts: list[list[Fields]]) -> None:
    """A turn of calls is followed by a turn with as many responses; these have, for the most part, no ids."""
    asked, before = 0, "model"
    for content, turn in zip(contents, parts, strict=True):
        calls = sum(part.has("functionCall") for part in turn)
        responses = sum(part.has("functionResponse") for part in turn)
        if responses and not asked:
            raise invalid(_RESPONSE_MISPLACED, param="contents")
        if responses != asked:
            raise invalid(_UNEQUAL, param="contents")
        if calls and before == "model":
            raise invalid(_CALL_MISPLACED, param="contents")
        asked, before = calls, content.text("role", "user")
    if asked:
        raise invalid(_UNEQUAL, param="contents")


def _text_of(part: Fields) -> str:
    """What is billed of a part. Pictures and files are billed by other rules, here not at all."""
    text = part.text("text", "")
    for name in ("functionCall", "functionResponse"):
        if part.has(name):
            text += json.dumps(part.object(name).values)
    return text


def _tools(body: Fields) -> Iterator[Tool]:
    for tool in body.objects("tools"):
        for declared in tool.objects("functionDeclarations"):
            schema = declared.object("parametersJsonSchema").values or _plain(declared.object("parameters").values)
            yield Tool(declared.text("name"), schema or {"type": "object"})


def _plain(schema: Mapping[str, object]) -> dict[str, object]:
    """A schema in Google's spelling (`"type": "OBJECT"`, `"min_items": "2"`) in that of JSON schema."""
    return {_SPELLINGS.get(name, name): _plain_value(name, value) for name, value in schema.items()}


def _plain_value(name: str, value: object) -> object:
    if isinstance(value, dict) and name == "properties":
        return {key: _plain(field) for key, field in value.items() if isinstance(field, dict)}
    if isinstance(value, dict):
        return _plain(value)
    if isinstance(value, list):
        return [_plain(item) if isinstance(item, dict) else item for item in value]
    if isinstance(value, str) and name == "type":
        return value.lower()
    is_count = _SPELLINGS.get(name, name).startswith(("min", "max"))
    return int(value) if is_count and isinstance(value, str) and value.isdecimal() else value


def _must_call(config: Fields, tools: tuple[Tool, ...]) -> str | None:
    """The function that mode ANY demands: the first one that is allowed, or any of them as the empty name."""
    if config.text("mode", "AUTO").upper() != "ANY":
        return None
    if not tools:
        raise invalid("Function calling config is set without function_declarations.", param="toolConfig")
    allowed = [str(name) for name in config.items("allowedFunctionNames")]
    unknown = sorted(set(allowed) - {tool.name for tool in tools})
    if unknown:
        raise invalid(f"allowed_function_names has {unknown[0]!r}, which is not declared", param="toolConfig")
    return allowed[0] if allowed else ""


def _response(said: Sequence[Said], token: str, model: str) -> dict[str, Any]:
    tokens_in, tokens_out = said[0].tokens_in, sum(candidate.tokens_out for candidate in said)
    return {
        "candidates": [_candidate(candidate, token, index) for index, candidate in enumerate(said)],
        "usageMetadata": {
            "promptTokenCount": tokens_in,
            "candidatesTokenCount": tokens_out,
            "totalTokenCount": tokens_in + tokens_out,
            "promptTokensDetails": _as_text(tokens_in),
        },
        "modelVersion": model,
        "responseId": f"resp_{token}",
    }


def _candidate(said: Said, token: str, index: int) -> dict[str, object]:
    """A candidate. One that is blocked has no content, so what a script lets it say is the reason."""
    ends = {"finishReason": _REASONS[said.stop], "index": index}
    if said.stop == "refusal":
        return ends | {"finishMessage": said.text}
    parts: list[dict[str, object]] = [{"text": said.text}] if said.text or not said.calls else []
    for number, call in enumerate(said.calls):
        asked = {"id": f"call_{token}_{index}_{number}", "name": call.name, "args": arguments_of(call)}
        parts.append({"functionCall": asked})
    return {"content": {"parts": parts, "role": "model"}, **ends}


def _as_text(tokens: int) -> list[dict[str, object]]:
    return [{"modality": "TEXT", "tokenCount": tokens}]


def _events(response: dict[str, Any]) -> Answer:
    return event_stream([event(chunk) for chunk in _chunks(response)])


def _array(response: dict[str, Any]) -> Answer:
    chunks = list(_chunks(response))
    pieces = [(b",\r\n" if number else b"[") + to_json(chunk) for number, chunk in enumerate(chunks)]
    return Answer(pieces=(*pieces, b"]"))


def _chunks(response: dict[str, Any]) -> Iterator[dict[str, object]]:
    """The same response piece by piece; the last one of each candidate says why it ends, and each the whole usage."""
    for candidate in response["candidates"]:
        deltas = list(_deltas(candidate.get("content", {}).get("parts", [])))
        for delta in deltas[:-1]:
            begun = {"content": {"parts": [delta], "role": "model"}, "index": candidate["index"]}
            yield response | {"candidates": [begun]}
        last = {"content": {"parts": deltas[-1:], "role": "model"}} if deltas else {}
        yield response | {"candidates": [candidate | last]}


def _deltas(parts: list[dict[str, Any]]) -> Iterator[dict[str, object]]:
    """Texts in words; a function call always comes whole."""
    for part in parts:
        if part.get("text"):
            for words in words_of(part["text"]):
                yield {"text": words}
        else:
            yield part
