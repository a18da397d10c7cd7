"""Anthropic's own SDK against the fake."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import Anthropic, AsyncAnthropic
from pydantic import BaseModel

from fakes import Fault
from fakes.server.dialects import variables
from fakes.server.script import Script

MODEL = "claude-opus-5-5"
HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
WEATHER = {
    "name": "weather",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string", "enum": ["Paris"]}, "days": {"type": "integer", "maximum": 3}},
    },
}
TWO_CALLS = {
    "text": "Let me see.",
    "tool_calls": [
        {"name": "weather", "arguments": {"city": "Paris, the one in France", "days": 2}},
        {"name": "weather", "arguments": {"city": "Łódź"}},
    ],
}
ASKED = {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}]}
CITING = {"type": "text", "text": "x", "citations": [{}]}
RESULT = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "sunny"}


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("anthropic._base_client.INITIAL_RETRY_DELAY", 0.001)


@contextmanager
def client_of(served: Callable[..., Any], retries: int = 2, **keywords: Any) -> Iterator[tuple[Anthropic, Any]]:
    address = served(**keywords)
    with Anthropic(base_url=address.url, api_key="sk-ant-1", max_retries=retries) as client:
        yield client, address.ledger


def create(client: Anthropic, **keywords: Any) -> Any:
    return client.messages.create(**{"model": MODEL, "max_tokens": 1024, "messages": HELLO} | keywords)


def refusal(client: Anthropic, messages: list[Any], **keywords: Any) -> str:
    with pytest.raises(anthropic.BadRequestError) as caught:
        create(client, messages=messages, **keywords)
    return str(caught.value.api_message)


def test_a_message_has_all_that_a_real_one_has(served: Any) -> None:
    with client_of(served) as (client, ledger):
        message = create(client, system="Be short.")
        assert (message.type, message.role, message.model) == ("message", "assistant", MODEL)
        assert message.content[0].text
        assert (message.stop_reason, message.stop_sequence) == ("end_turn", None)
        assert (message.usage.cache_read_input_tokens, message.usage.service_tier) == (0, "standard")
        assert message._request_id == message.id.replace("msg_", "req_")
        (row,) = ledger.rows()
        assert (row.provider, row.operation, row.target, row.nature) == ("anthropic", "messages", MODEL, "bills")
        assert (row.tokens_in, row.tokens_out) == (message.usage.input_tokens, message.usage.output_tokens)


def test_the_variables_lead_the_sdk_to_the_fake(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    address = served()
    for name, value in variables(address.url).items():
        monkeypatch.setenv(name, value)
    with Anthropic() as client:
        assert create(client).content
    assert address.ledger.rows()[0].outcome == "applied"


def test_the_async_client_gets_the_same(served: Any) -> None:
    address = served(answers=Script.of(["Good morning.", "Good morning."]))

    async def both() -> tuple[Any, Any]:
        async with AsyncAnthropic(base_url=address.url, api_key="sk-ant-1") as client:
            whole = await client.messages.create(model=MODEL, max_tokens=9, messages=HELLO)
            async with client.messages.stream(model=MODEL, max_tokens=9, messages=HELLO) as stream:
                return whole, await stream.get_final_message()

    whole, streamed = asyncio.run(both())
    assert whole.content[0].text == streamed.content[0].text == "Good morning."
    assert [row.outcome for row in address.ledger.rows()] == ["applied", "applied"]


@pytest.mark.parametrize("reply", ["Word by word,  with\nspaces ", TWO_CALLS, {"text": "", "stop": "stop"}])
def test_a_stream_brings_the_message_that_comes_whole_otherwise(served: Any, reply: Any) -> None:
    with client_of(served, answers=Script.of([reply, reply])) as (client, ledger):
        whole = create(client)
        with client.messages.stream(model=MODEL, max_tokens=1024, messages=HELLO) as stream:
            streamed = stream.get_final_message()
        ids = {"id", "parsed_output"}
        assert without(streamed.model_dump(), ids) == without(whole.model_dump(), ids)
        assert [row.tokens_out for row in ledger.rows()] == [whole.usage.output_tokens] * 2


def without(value: Any, names: set[str]) -> Any:
    if isinstance(value, dict):
        return {name: without(item, names) for name, item in value.items() if name not in names}
    return [without(item, names) for item in value] if isinstance(value, list) else value


def test_a_stream_has_the_events_in_their_order_and_a_ping(served: Any) -> None:
    address = served(answers=Script.of([{"text": "Hi", "tool_calls": [{"name": "weather", "arguments": {}}]}]))
    body = {"model": MODEL, "max_tokens": 9, "messages": HELLO, "stream": True}
    answer = post(address.url, json=body)
    names = [line.removeprefix("event: ") for line in answer.text.splitlines() if line.startswith("event: ")]
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    assert names == [
        "message_start",
        "content_block_start",
        "ping",
        "content_block_delta",
        "content_block_stop",
        *block[:1],
        *["content_block_delta"] * 2,
        *block[2:],
        "message_delta",
        "message_stop",
    ]
    assert answer.headers["content-type"].startswith("text/event-stream")


def test_two_tool_calls_in_one_message_have_their_whole_arguments(served: Any) -> None:
    with client_of(served, answers=Script.of([TWO_CALLS])) as (client, _):
        with client.messages.stream(model=MODEL, max_tokens=1024, messages=HELLO) as stream:
            text, first, second = stream.get_final_message().content
        assert text.text == "Let me see."
        assert (first.input, second.input) == (
            {"city": "Paris, the one in France", "days": 2},
            {"city": "Łódź"},
        )
        assert first.id != second.id


def test_a_conversation_with_a_tool_goes_on_after_its_result(served: Any) -> None:
    with client_of(served, answers=Script.of([TWO_CALLS, "Sunny in both."])) as (client, _):
        asked = create(client, tools=[WEATHER])
        assert asked.stop_reason == "tool_use"
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": [{"type": "text", "text": "sunny"}]}
            for block in asked.content
            if block.type == "tool_use"
        ]
        turns = [*HELLO, {"role": "assistant", "content": asked.content}, {"role": "user", "content": results}]
        assert create(client, messages=turns, tools=[WEATHER]).content[0].text == "Sunny in both."


@pytest.mark.parametrize("choice", [{"type": "any"}, {"type": "tool", "name": "weather"}])
def test_a_tool_that_has_to_be_called_is_called_with_arguments_that_fit(served: Any, choice: Any) -> None:
    with client_of(served) as (client, _):
        (block,) = create(client, tools=[WEATHER], tool_choice=choice).content
        assert (block.name, block.input["city"]) == ("weather", "Paris")
        assert block.input["days"] <= 3


def test_a_tool_of_anthropics_own_has_a_schema_that_no_request_tells(served: Any) -> None:
    with client_of(served) as (client, _):
        tools = [{"type": "bash_20250124", "name": "bash"}, {"type": "mcp_toolset", "mcp_server_name": "files"}]
        (block,) = create(client, tools=tools, tool_choice={"type": "tool", "name": "bash"}).content
        assert (block.name, block.input) == ("bash", {})


@pytest.mark.parametrize("choice", [{"type": "auto"}, {"type": "none"}])
def test_a_tool_that_may_be_called_is_not(served: Any, choice: Any) -> None:
    with client_of(served) as (client, _):
        assert create(client, tools=[WEATHER], tool_choice=choice).stop_reason == "end_turn"


def test_an_answer_fits_the_schema_that_it_has_to_fit(served: Any) -> None:
    class Place(BaseModel):
        city: str
        people: int

    with client_of(served) as (client, _):
        message = client.messages.parse(model=MODEL, max_tokens=99, messages=HELLO, output_format=Place)
        assert isinstance(message.parsed_output, Place)
        beta = client.beta.messages.parse(model=MODEL, max_tokens=99, messages=HELLO, output_format=Place)
        assert isinstance(beta.parsed_output, Place)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [("Yes.", "end_turn"), (TWO_CALLS, "tool_use"), ({"text": "No.", "stop": "refusal"}, "refusal")],
)
def test_a_script_says_why_a_message_ends(served: Any, reply: Any, reason: str) -> None:
    with client_of(served, answers=Script.of([reply])) as (client, _):
        message = create(client)
        assert message.stop_reason == reason
        assert (message.stop_details is not None) == (reason == "refusal")


def test_an_answer_ends_at_max_tokens(served: Any) -> None:
    with client_of(served) as (client, _):
        message = create(client, max_tokens=5)
        assert (message.stop_reason, message.usage.output_tokens) == ("max_tokens", 5)


def test_an_answer_ends_before_a_stop_sequence_and_says_which(served: Any) -> None:
    with client_of(served) as (client, _):
        message = create(client, stop_sequences=["qqq", "e"])
        assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "e")
        assert "e" not in message.content[0].text


def test_counting_tokens_says_what_a_message_will_be_billed_and_bills_nothing(served: Any) -> None:
    with client_of(served) as (client, ledger):
        asked: Any = {"model": MODEL, "messages": HELLO, "system": "Be short.", "tools": [WEATHER]}
        counted = client.messages.count_tokens(**asked).input_tokens
        assert create(client, **asked).usage.input_tokens == counted
        assert [(row.operation, row.nature, row.tokens_in) for row in ledger.rows()] == [
            ("count_tokens", "reads", 0),
            ("messages", "bills", counted),
        ]


def test_blocks_are_billed_by_their_text_and_pictures_are_not(served: Any) -> None:
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "A" * 4000}}
    turns = [
        {"role": "user", "content": [{"type": "text", "text": "a" * 400}, picture]},
        {
            "role": "assistant",
            "content": [{"type": "thinking", "thinking": "b" * 400, "signature": "s"}, *ASKED["content"]],
        },
        {"role": "user", "content": [RESULT | {"content": [{"type": "text", "text": "c" * 400}]}]},
    ]
    with client_of(served) as (client, _):
        assert 300 < client.messages.count_tokens(model=MODEL, messages=turns).input_tokens < 330


def test_a_tool_call_needs_its_result_in_the_next_message(served: Any) -> None:
    complaint = (
        "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: toolu_1. Each `tool_use`"
        " block must have a corresponding `tool_result` block in the next message."
    )
    text = {"type": "text", "text": "wait"}
    with client_of(served) as (client, ledger):
        assert refusal(client, [*HELLO, ASKED]) == complaint
        assert refusal(client, [*HELLO, ASKED, *HELLO]) == complaint
        assert refusal(client, [*HELLO, ASKED, {"role": "user", "content": [text, RESULT]}]) == complaint
        assert create(client, messages=[*HELLO, ASKED, {"role": "user", "content": [RESULT, text]}]).content
        assert len(ledger.rows()) == 1


def test_a_result_needs_its_tool_call_in_the_message_before(served: Any) -> None:
    late = {"role": "user", "content": [{"type": "text", "text": "so"}, RESULT]}
    with client_of(served) as (client, _):
        assert refusal(client, [{"role": "user", "content": [RESULT]}]) == (
            "messages.0.content.0: unexpected `tool_use_id` found in `tool_result` blocks: toolu_1. Each `tool_result`"
            " block must have a corresponding `tool_use` block in the previous message."
        )
        assert refusal(client, [late]).startswith("messages.0.content.1: unexpected `tool_use_id`")


def test_a_tool_call_has_one_result_only(served: Any) -> None:
    with client_of(served) as (client, _):
        assert refusal(client, [*HELLO, ASKED, {"role": "user", "content": [RESULT, RESULT]}]) == (
            "messages.2.content.1: each tool_use must have a single result. Found multiple `tool_result` blocks with"
            " id: toolu_1"
        )


def test_ids_of_tool_calls_are_not_used_again(served: Any) -> None:
    answered = [ASKED, {"role": "user", "content": [RESULT]}]
    with client_of(served) as (client, _):
        assert refusal(client, [*HELLO, *answered, *answered]) == "messages: `tool_use` ids must be unique"


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"messages": []}, "messages: at least one message is required"),
        ({"messages": [{"role": "user"}]}, "messages.0.content: Field required"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages.0: all messages must have non-empty content"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages.0.role: Input should be 'user', 'assistant'"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
            "messages: text content blocks must be non-empty",
        ),
        (
            {"messages": [{"role": "user", "content": ASKED["content"]}]},
            "messages.0.content.0: `tool_use` blocks can only be in `assistant` messages",
        ),
        ({"max_tokens": -1}, "max_tokens: Input should be greater than or equal to 0"),
        ({"model": 5}, "Invalid type for 'model': expected a string."),
        ({"tool_choice": {"type": "any"}}, "tool_choice: may only be specified while providing tools"),
        (
            {"tools": [WEATHER], "tool_choice": {"type": "tool", "name": "time"}},
            "Tool 'time' not found in provided tools",
        ),
        ({"stop_sequences": [1]}, "stop_sequences.0: Input should be a valid string"),
        ({"stop_sequences": [" "]}, "stop_sequences: each stop sequence must contain non-whitespace"),
        ({"tools": [{"name": "x"}]}, "tools.0.input_schema: Field required"),
        (
            {"tools": [{"name": "x", "input_schema": {"type": "string"}}]},
            "tools.0.custom.input_schema.type: Input should be 'object'",
        ),
        (
            {"tools": [{"name": "x", "input_schema": {"type": "object", "anyOf": []}}]},
            "tools.0.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf",
        ),
    ],
)
def test_a_request_that_the_api_refuses_is_refused_in_its_words(served: Any, changed: Any, complaint: str) -> None:
    with client_of(served) as (client, _):
        assert refusal(client, **{"messages": HELLO} | changed).startswith(complaint)


def test_a_missing_field_is_named(served: Any) -> None:
    answer = post(served().url, json={"model": MODEL, "messages": HELLO})
    assert answer.json()["error"] == {"type": "invalid_request_error", "message": "max_tokens: Field required"}


def test_the_last_message_may_be_an_empty_one_of_the_assistant(served: Any) -> None:
    with client_of(served) as (client, _):
        assert create(client, messages=[*HELLO, {"role": "assistant", "content": ""}]).content


def post(
    url: str, *, version: str | None = "2026-10-21", path: str = "/v1/messages", **keywords: Any
) -> httpx2.Response:
    headers = {"x-api-key": "sk-ant-1"} | ({"anthropic-version": version} if version else {})
    return httpx2.post(url + path, headers=headers, **keywords)


def test_a_request_names_the_version_that_it_is_written_for(served: Any) -> None:
    url, body = served().url, {"model": MODEL, "max_tokens": 9, "messages": HELLO}
    assert post(url, json=body).status_code == 200
    assert post(url, json=body, version=None).json()["error"] == {
        "type": "invalid_request_error",
        "message": "anthropic-version: header is required",
    }
    assert post(url, json=body, version="latest").status_code == 400


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ({"temperature": 1.0}, "temperature: Extra inputs are not permitted"),
        (
            {"messages": [*HELLO, {"role": "assistant", "content": [{"type": "document", "source": {}}]}, *HELLO]},
            "messages.1.content.0: `document` blocks can only be in `user` messages",
        ),
        (
            {"messages": [{"role": "user", "content": [CITING]}]},
            "messages.0.content.0.citations: Extra inputs are not permitted",
        ),
        (
            {"messages": [{"role": "user", "content": [{"type": "search_result", "content": [CITING]}]}]},
            "messages.0.content.0.citations: Extra inputs are not permitted",
        ),
    ],
)
def test_what_a_version_has_removed_an_older_one_still_takes(served: Any, body: Any, complaint: str) -> None:
    url, body = served().url, {"model": MODEL, "max_tokens": 9, "messages": HELLO} | body
    assert post(url, json=body).json()["error"]["message"] == complaint
    assert post(url, json=body, version="2023-06-01").status_code == 200


def test_errors_have_the_shape_and_the_request_id_of_real_ones(served: Any) -> None:
    url = served().url
    missing = post(url, json={}, path="/v1/messages/batches")
    assert missing.status_code == 404
    assert missing.json()["type"] == "error"
    assert missing.json()["error"]["type"] == "not_found_error"
    assert missing.json()["request_id"] == missing.headers["request-id"]
    nobody = httpx2.post(f"{url}/v1/messages", json={}, headers={"anthropic-version": "2026-10-21"})
    assert (nobody.status_code, nobody.json()["error"]["type"]) == (401, "authentication_error")
    large = post(url, content=b" " * (40 * 1024 * 1024 + 1))
    assert (large.status_code, large.json()["error"]["type"]) == (413, "request_too_large")


@pytest.mark.parametrize(
    ("kind", "status", "type_"),
    [
        ("rate_limit=0.01", 429, "rate_limit_error"),
        ("overloaded", 529, "overloaded_error"),
        ("unavailable", 503, "api_error"),
        ("server_error", 500, "api_error"),
    ],
)
def test_an_error_that_passes_is_retried_and_the_ledger_tells_the_retry(
    served: Any, kind: str, status: int, type_: str
) -> None:
    fault = Fault.parse(f"anthropic.messages#1:{kind}")
    with client_of(served, faults=[fault]) as (client, ledger):
        assert create(client).content
        assert [(row.retry, row.outcome == "applied") for row in ledger.rows()] == [(0, False), (1, True)]
    with client_of(served, retries=0, faults=[fault]) as (client, _):
        with pytest.raises(anthropic.APIStatusError) as caught:
            create(client)
        assert (caught.value.status_code, caught.value.type) == (status, type_)
        assert caught.value.request_id
        assert caught.value.response.headers.get("retry-after") == ("0.01" if status == 429 else None)


def test_an_error_that_stays_is_tried_three_times(served: Any) -> None:
    with client_of(served, faults=[Fault.parse("anthropic.*:overloaded")]) as (client, ledger):
        with pytest.raises(anthropic.InternalServerError):
            create(client)
        assert [row.retry for row in ledger.rows()] == [0, 1, 2]


def test_an_answer_that_gets_lost_is_billed_twice_since_there_are_no_keys(served: Any) -> None:
    with client_of(served, faults=[Fault.parse("anthropic.messages#1:lost_after")]) as (client, ledger):
        usage = create(client, extra_headers={"Idempotency-Key": "k"}).usage
        assert [(row.outcome, row.retry) for row in ledger.rows()] == [("applied", 0), ("applied", 1)]
        assert ledger.tokens()[0] == 2 * usage.input_tokens


def test_a_stream_that_breaks_is_billed_for_what_came_and_not_tried_again(served: Any) -> None:
    faults = [Fault.parse("anthropic.messages#1:cut=6")]
    with client_of(served, answers=Script.of(["one two three four five six"]), faults=faults) as (client, ledger):
        texts = []
        with (
            client.messages.stream(model=MODEL, max_tokens=1024, messages=HELLO) as stream,
            pytest.raises(httpx2.RemoteProtocolError, match="peer closed connection"),
        ):
            texts.extend(stream.text_stream)
        assert "".join(texts) == "one two three"
        (row,) = ledger.rows()
        assert 0 < row.tokens_out < 11


def test_a_question_that_is_refused_at_first_keeps_its_turn_in_the_script(served: Any) -> None:
    faults = [Fault.parse("anthropic.messages#1:overloaded")]
    with client_of(served, answers=Script.of(["one", "two"]), faults=faults) as (client, _):
        assert [create(client).content[0].text for _ in range(2)] == ["one", "two"]


def test_a_script_that_is_at_its_end_is_not_retried(served: Any) -> None:
    with client_of(served, answers=Script.of([])) as (client, ledger):
        with pytest.raises(anthropic.APIStatusError, match="the script has 0 replies") as caught:
            create(client)
        assert caught.value.status_code == 501
        assert len(ledger.rows()) == 1
