"""OpenAI chat completions as its SDK sees them: whole and streamed, what is refused, what the ledger has."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openai import (
    APIStatusError,
    AsyncOpenAI,
    BadRequestError,
    InternalServerError,
    NotFoundError,
    RateLimitError,
)
from pydantic import BaseModel

from fakes import Fault, Ledger
from fakes.server.script import Script
from fakes.server.site import Site
from fakes.server.wire import Request

USER: Any = [{"role": "user", "content": "Which cities are warm? Answer in JSON."}]
WEATHER: Any = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
    },
}
TWO_CALLS = {
    "text": "I look both up.",
    "tool_calls": [
        {"name": "weather", "arguments": {"city": "Oslo", "days": 3}},
        {"name": "weather", "arguments": {"city": "Reykjavík"}},
    ],
    "usage": {"tokens_in": 11, "tokens_out": 7},
}


def told(completion: BaseModel) -> dict[str, Any]:
    """A completion as data, without what differs from call to call: ids and times."""
    text = completion.model_dump_json(exclude={"id", "created", "object"}, exclude_none=True)
    data: dict[str, Any] = json.loads(re.sub(r"call_[0-9a-f]+_", "call_N_", text))
    return data


def test_a_completion_is_billed_once_and_says_its_usage(served: Any, openai_client: Any) -> None:
    address = served()
    said = openai_client(address).chat.completions.create(model="gpt-5", messages=USER)
    [row] = address.ledger.rows()
    assert (row.provider, row.operation, row.target, row.nature, row.outcome) == (
        *("openai", "chat", "gpt-5", "bills", "applied"),
    )
    assert (said.usage.prompt_tokens, said.usage.completion_tokens) == (row.tokens_in, row.tokens_out)
    assert said.choices[0].finish_reason == "stop"
    assert said.choices[0].message.content


def test_a_streamed_completion_assembles_to_the_one_in_one_piece(served: Any, openai_client: Any) -> None:
    client = openai_client(served(answers=Script.of([TWO_CALLS, TWO_CALLS])))
    asked: dict[str, Any] = {"model": "gpt-5", "messages": USER, "tools": [WEATHER]}
    whole = client.chat.completions.create(**asked)
    with client.chat.completions.stream(**asked, stream_options={"include_usage": True}) as stream:
        streamed = stream.get_final_completion()
    one, other = told(whole), told(streamed)
    del one["choices"][0]["message"]["annotations"]  # no piece has them
    for call in other["choices"][0]["message"]["tool_calls"]:
        del call["index"]  # only pieces have it
    assert one == other
    calls = whole.choices[0].message.tool_calls
    assert [json.loads(call.function.arguments)["city"] for call in calls] == ["Oslo", "Reykjavík"]
    assert len({call.id for call in calls}) == 2
    assert whole.choices[0].finish_reason == "tool_calls"
    assert whole.usage.model_dump(include={"prompt_tokens", "completion_tokens", "total_tokens"}) == {
        "prompt_tokens": 11,
        "completion_tokens": 7,
        "total_tokens": 18,
    }


def test_an_asynchronous_client_gets_the_same(served: Any) -> None:
    address = served(answers=Script.of(["One.", "Two words."]))

    async def ask() -> tuple[str | None, str]:
        async with AsyncOpenAI(base_url=f"{address.url}/v1", api_key="sk-any") as client:
            whole = await client.chat.completions.create(model="gpt-5", messages=USER)
            stream = await client.chat.completions.create(model="gpt-5", messages=USER, stream=True)
            pieces = [chunk.choices[0].delta.content or "" async for chunk in stream]
            return whole.choices[0].message.content, "|".join(pieces)

    assert asyncio.run(ask()) == ("One.", "|Two| words.|")


def test_a_stream_has_the_shape_of_the_real_one(served: Any) -> None:
    address = served(answers=Script.of([{"tool_calls": [{"name": "weather", "arguments": {"city": "Oslo"}}]}]))
    asked = {"model": "m", "messages": USER, "stream": True, "stream_options": {"include_usage": True}}
    answer = httpx2.post(
        f"{address.url}/v1/chat/completions", json=asked, headers={"authorization": "Bearer sk"}, trust_env=False
    )
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    *lines, done, rest = answer.text.split("\n\n")
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines]
    assert (done, rest) == ("data: [DONE]", "")
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] > 0
    assert all(chunk["usage"] is None for chunk in chunks[:-1])
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks[:-1]]
    assert deltas[0] == {"role": "assistant", "content": None, "refusal": None}
    first, *others = [delta["tool_calls"][0] for delta in deltas[1:-1]]
    assert (first["index"], first["type"], first["function"]) == (0, "function", {"name": "weather", "arguments": ""})
    assert all(set(other) == {"index", "function"} for other in others)
    assert json.loads("".join(other["function"]["arguments"] for other in others)) == {"city": "Oslo"}
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[:-1]] == [None] * (len(deltas) - 1) + [
        "tool_calls"
    ]


def test_each_of_n_choices_has_an_answer_of_its_own_and_all_are_billed(served: Any, openai_client: Any) -> None:
    address = served()
    said = openai_client(address).chat.completions.create(model="m", messages=USER, n=3)
    assert len({choice.message.content for choice in said.choices}) == 3
    one = openai_client(address).chat.completions.create(model="m", messages=USER)
    assert said.usage.prompt_tokens == one.usage.prompt_tokens
    assert said.usage.completion_tokens > 1.5 * one.usage.completion_tokens


def test_streamed_choices_take_turns_and_each_comes_whole(served: Any, openai_client: Any) -> None:
    client = openai_client(served(answers=Script.of(["a b c", "d e f"])))
    texts, order = {0: "", 1: ""}, []
    for chunk in client.chat.completions.create(model="m", messages=USER, n=2, stream=True):
        [choice] = chunk.choices
        order.append(choice.index)
        texts[choice.index] += choice.delta.content or ""
    assert texts == {0: "a b c", 1: "d e f"}
    assert order[:4] == [0, 1, 0, 1]


def test_an_answer_ends_at_the_limit(served: Any, openai_client: Any) -> None:
    said = openai_client(served()).chat.completions.create(model="m", messages=USER, max_completion_tokens=3)
    assert said.choices[0].finish_reason == "length"
    assert said.usage.completion_tokens == 3
    assert len(said.choices[0].message.content) <= 12


def test_an_answer_ends_before_a_stop(served: Any, openai_client: Any) -> None:
    said = openai_client(served()).chat.completions.create(model="m", messages=USER, stop=["~", " "])
    assert said.choices[0].finish_reason == "stop"
    assert " " not in said.choices[0].message.content


def test_a_demanded_tool_is_called_with_arguments_that_fit(served: Any, openai_client: Any) -> None:
    client = openai_client(served())
    by_name = {"type": "function", "function": {"name": "weather"}}
    allowed = {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [by_name]}}
    for choice in ("required", by_name, allowed):
        said = client.chat.completions.create(model="m", messages=USER, tools=[WEATHER], tool_choice=choice)
        [call] = said.choices[0].message.tool_calls
        arguments = json.loads(call.function.arguments)
        assert (call.function.name, type(arguments["city"]), type(arguments["days"])) == ("weather", str, int)
    said = client.chat.completions.create(model="m", messages=USER, tools=[WEATHER], tool_choice="auto")
    assert said.choices[0].message.tool_calls is None


class City(BaseModel):
    name: str
    population: int
    twins: list[City]
    twin: City | None


def test_a_structured_answer_fits_its_schema_even_one_that_contains_itself(served: Any, openai_client: Any) -> None:
    said = openai_client(served()).chat.completions.parse(model="m", messages=USER, response_format=City)
    assert isinstance(said.choices[0].message.parsed, City)


def test_json_mode_gives_an_object(served: Any, openai_client: Any) -> None:
    said = openai_client(served()).chat.completions.create(
        model="m", messages=USER, response_format={"type": "json_object"}
    )
    assert isinstance(json.loads(said.choices[0].message.content), dict)


def test_a_refusal_stands_in_its_own_field_whole_and_streamed(served: Any, openai_client: Any) -> None:
    client = openai_client(served(answers=Script.of([{"text": "I will not.", "stop": "refusal"}] * 2)))
    message = client.chat.completions.create(model="m", messages=USER).choices[0].message
    assert (message.content, message.refusal) == (None, "I will not.")
    chunks = list(client.chat.completions.create(model="m", messages=USER, stream=True))
    assert "".join(chunk.choices[0].delta.refusal or "" for chunk in chunks) == "I will not."


def asks(*ids: str) -> dict[str, Any]:
    calls = [{"id": id_, "type": "function", "function": {"name": "weather", "arguments": "{}"}} for id_ in ids]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(id_: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": id_, "content": "warm"}


@pytest.mark.parametrize(
    "messages",
    [
        [*USER, asks("a", "b"), result("b"), result("a")],
        [*USER, asks("a"), result("a"), asks("a"), result("a"), *USER],
        [{"role": "developer", "content": [{"type": "text", "text": "Be brief."}]}, *USER],
        [*USER, {"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "refusal", "refusal": "b"}]}],
        [*USER, {"role": "assistant", "audio": {"id": "audio_1"}}, *USER],
        [
            {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
            {"role": "function", "name": "f", "content": "1"},
        ],
        [
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "What is this?"},
                    {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}},
                    {"type": "input_audio", "input_audio": {"data": "", "format": "wav"}},
                    {"type": "file", "file": {"file_id": "file_1"}},
                ],
            }
        ],
    ],
)
def test_a_conversation_may_hold(served: Any, openai_client: Any, messages: Any) -> None:
    assert openai_client(served()).chat.completions.create(model="m", messages=messages).choices


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([*USER, asks("a", "b"), result("a")], "The following tool_call_ids did not have response messages: b"),
        ([*USER, asks("a"), *USER, result("a")], "The following tool_call_ids did not have response messages: a"),
        ([*USER, result("a")], "messages with role 'tool' must be a response to a preceeding message"),
        ([asks("a"), result("a"), *USER, result("b")], "messages with role 'tool' must be a response"),
        (
            [asks("a"), result("a"), result("a")],
            "Duplicate value for 'tool_call_id' of 'a', in messages[1] and messages[2]",
        ),
    ],
)
def test_a_tool_call_and_its_result_come_in_pairs(
    served: Any, openai_client: Any, messages: Any, complaint: str
) -> None:
    address = served()
    with pytest.raises(BadRequestError, match=re.escape(complaint)) as caught:
        openai_client(address).chat.completions.create(model="m", messages=messages)
    assert caught.value.param is not None
    assert caught.value.param.startswith("messages")
    assert address.ledger.rows() == []


@pytest.mark.parametrize(
    ("asked", "param", "code", "complaint"),
    [
        ({"messages": None}, "messages", "invalid_type", "expected an array"),
        ({"messages": []}, "messages", "empty_array", "minimum length 1"),
        ({"messages": "hi"}, "messages", "invalid_type", "expected an array, but got a string instead"),
        ({"messages": [1]}, "messages[0]", "invalid_type", "expected an object"),
        ({"messages": [{"role": "robot"}]}, "messages[0].role", "invalid_value", "'robot'. Supported values are: "),
        ({"messages": [{"role": "user"}]}, "messages[0].content", None, "expected a string, got null"),
        (
            {"messages": [{"role": "system", "content": [{"type": "image_url"}]}]},
            *("messages[0].content[0].type", "invalid_value", "Supported values are: 'text'."),
        ),
        (
            {"messages": [{"role": "assistant", "tool_calls": []}]},
            *("messages[0].tool_calls", "empty_array", "empty array"),
        ),
        ({"model": 5}, "model", "invalid_type", "expected a string, but got an integer instead"),
        ({"temperature": 2.5}, "temperature", "decimal_above_max_value", "a value <= 2, but got 2.5 instead"),
        ({"top_p": True}, "top_p", "invalid_type", "expected a decimal, but got a boolean instead"),
        ({"n": 0}, "n", "integer_below_min_value", "a value >= 1, but got 0 instead"),
        ({"n": 129}, "n", "integer_above_max_value", "a value <= 128"),
        ({"stop": ["a"] * 5}, "stop", "array_above_max_length", "maximum length 4, but got an array with length 5"),
        ({"stop": [1]}, "stop", "invalid_type", "an array of strings"),
        ({"tools": []}, "tools", "empty_array", "empty array"),
        ({"tools": [{"type": "robot"}]}, "tools[0].type", "invalid_value", "'function', and 'custom'"),
        (
            {"tools": [{"type": "function", "function": {"name": "a b"}}]},
            *("tools[0].function.name", "invalid_value", "'^[a-zA-Z0-9_-]+$'"),
        ),
        ({"tool_choice": "required"}, "tool_choice", None, "only allowed when 'tools' are specified"),
        (
            {"tools": [WEATHER], "tool_choice": {"type": "function", "function": {"name": "stocks"}}},
            *("tool_choice", None, "no function named 'stocks'"),
        ),
        ({"response_format": {"type": "yaml"}}, "response_format.type", "invalid_value", "'yaml'"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {}}},
            *("response_format.json_schema.name", "missing_required_parameter", "Missing required parameter"),
        ),
        (
            {"messages": [{"role": "user", "content": "hi"}], "response_format": {"type": "json_object"}},
            *("messages", None, "must contain the word 'json'"),
        ),
    ],
)
def test_a_malformed_parameter_is_refused_in_openais_words(
    served: Any, openai_client: Any, *, asked: dict[str, Any], param: str, code: str | None, complaint: str
) -> None:
    address = served()
    with pytest.raises(BadRequestError, match=re.escape(complaint)) as caught:
        openai_client(address).chat.completions.create(**{"model": "m", "messages": USER, **asked})
    assert (caught.value.param, caught.value.code, caught.value.type) == (param, code, "invalid_request_error")
    assert address.ledger.rows() == []


def test_an_unknown_parameter_is_refused(served: Any, openai_client: Any) -> None:
    with pytest.raises(BadRequestError, match="Unknown parameter: 'top_k'") as caught:
        openai_client(served()).chat.completions.create(model="m", messages=USER, extra_body={"top_k": 5})
    assert (caught.value.param, caught.value.code) == ("top_k", "unknown_parameter")


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"text"', b"\xff", b'{"model": NaN}', b"[" * 100_000])
def test_a_body_that_is_no_json_object_is_refused(served: Any, body: bytes) -> None:
    url = f"{served().url}/v1/chat/completions"
    answer = httpx2.post(url, content=body, headers={"authorization": "Bearer sk"}, trust_env=False)
    assert answer.status_code == 400
    assert set(answer.json()["error"]) == {"message", "type", "param", "code"}


def test_who_brings_no_key_is_not_let_in(served: Any) -> None:
    answer = httpx2.post(f"{served().url}/v1/chat/completions", json={}, trust_env=False)
    assert (answer.status_code, answer.json()["error"]["code"]) == (401, "invalid_api_key")


def test_what_is_not_served_is_not_found_in_openais_shape(served: Any, openai_client: Any) -> None:
    client = openai_client(served())
    with pytest.raises(NotFoundError, match="GET /v1/files"):
        client.files.list()
    with pytest.raises(APIStatusError, match="DELETE is not allowed") as caught:
        client.delete("/chat/completions", cast_to=object)
    assert (caught.value.status_code, caught.value.code) == (405, "method_not_supported")


@pytest.mark.parametrize(
    ("fault", "error", "code"),
    [
        ("rate_limit=2.5", RateLimitError, "rate_limit_exceeded"),
        ("unavailable", InternalServerError, None),
        ("server_error", InternalServerError, None),
        ("error_after_commit", InternalServerError, None),
    ],
)
def test_a_fault_is_spelled_as_openai_spells_it(
    served: Any, openai_client: Any, fault: str, error: type[APIStatusError], code: str | None
) -> None:
    address = served(faults=[Fault.parse(f"openai.chat#1:{fault}")])
    with pytest.raises(error) as caught:
        openai_client(address).chat.completions.create(model="m", messages=USER)
    assert (caught.value.code, caught.value.response.headers.get("retry-after")) == (
        code,
        "2.5" if "rate_limit" in fault else None,
    )


def test_a_lost_answer_makes_the_sdk_ask_again_and_both_are_billed(served: Any, openai_client: Any) -> None:
    address = served(faults=[Fault.parse("openai.chat#1:lost_after")])
    assert openai_client(address, max_retries=2).chat.completions.create(model="m", messages=USER).choices
    assert [(row.outcome, row.retry) for row in address.ledger.rows()] == [("applied", 0), ("applied", 1)]


def test_steady_answers_depend_on_the_request_alone(served: Any, openai_client: Any) -> None:
    said = [
        openai_client(served(steady=steady)).chat.completions.create(model="m", messages=USER).choices
        for steady in (True, True)
    ]
    assert said[0] == said[1]
    client = openai_client(served())
    first, second = (client.chat.completions.create(model="m", messages=USER) for _ in range(2))
    assert (first.id, first.choices) != (second.id, second.choices)


names = st.sampled_from(
    [
        *("role", "content", "type", "text", "tool_calls", "tool_call_id", "id", "call_id", "function", "name"),
        *("arguments", "output", "format", "json_schema", "schema", "mode", "tools", "item_reference", "input"),
    ]
)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=()), max_size=5)
    | st.sampled_from(["user", "assistant", "tool", "text", "function", "message", "function_call_output", "required"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=8,
)
parameters = st.sampled_from(
    [
        *("messages", "model", "n", "stop", "stream", "tools", "tool_choice", "response_format", "max_tokens", "input"),
        *("text", "previous_response_id", "conversation", "instructions", "encoding_format", "dimensions", "metadata"),
    ]
)


@settings(max_examples=100, deadline=None)
@given(
    path=st.sampled_from(["/v1/chat/completions", "/v1/responses", "/v1/embeddings"]),
    body=st.dictionaries(parameters, json_values, max_size=5)
    | st.builds(
        lambda messages, rest: {"model": "m", "messages": messages, "input": messages, **rest},
        st.lists(st.dictionaries(names, json_values, max_size=5), min_size=1, max_size=3),
        st.dictionaries(parameters, json_values, max_size=2),
    ),
)
def test_no_body_makes_the_fake_fail(path: str, body: dict[str, Any]) -> None:
    request = Request(method="POST", path=path, headers={"authorization": "Bearer sk"}, body=json.dumps(body).encode())
    with Ledger() as ledger:
        site = Site(ledger=ledger)
        try:
            answer = asyncio.run(site.serve(request)).answer
        finally:
            site.close()
    assert answer.status in (200, 400, 404)
    if answer.status != 200:
        assert json.loads(answer.pieces[0])["error"]["type"] == "invalid_request_error"
