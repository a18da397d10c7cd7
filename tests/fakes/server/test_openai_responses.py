"""OpenAI responses as its SDK sees them: whole and streamed, continued, looked up, refused."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

import pytest
from openai import AsyncOpenAI, BadRequestError, NotFoundError
from pydantic import BaseModel

from fakes.server.script import Script

WEATHER: Any = {
    "type": "function",
    "name": "weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
TWO_CALLS = {
    "text": "I look both up.",
    "tool_calls": [
        {"name": "weather", "arguments": {"city": "Oslo"}},
        {"name": "weather", "arguments": {"city": "Reykjavík"}},
    ],
    "usage": {"tokens_in": 11, "tokens_out": 7},
}


def told(response: BaseModel) -> dict[str, Any]:
    """A response as data, without what differs from call to call: ids and times."""
    text = re.sub(r"(resp|msg|fc|call)_[0-9a-f]+", r"\1_N", response.model_dump_json(exclude_none=True))
    data: dict[str, Any] = json.loads(text)
    return {name: value for name, value in data.items() if name not in ("created_at", "completed_at")}


def result(call_id: str) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": "warm"}


def call(call_id: str, **fields: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "weather", "arguments": "{}", **fields}


def test_a_response_is_billed_once_and_says_its_usage(served: Any, openai_client: Any) -> None:
    address = served()
    said = openai_client(address).responses.create(model="gpt-5", instructions="Be brief.", input="Hello.")
    [row] = address.ledger.rows()
    assert (row.operation, row.target, row.nature, row.outcome) == ("responses", "gpt-5", "bills", "applied")
    assert (said.usage.input_tokens, said.usage.output_tokens) == (row.tokens_in, row.tokens_out)
    assert (said.status, said.instructions) == ("completed", "Be brief.")
    assert said.output_text


def test_a_streamed_response_assembles_to_the_one_in_one_piece(served: Any, openai_client: Any) -> None:
    client = openai_client(served(answers=Script.of([TWO_CALLS] * 3)))
    asked: dict[str, Any] = {"model": "gpt-5", "input": "Where is it warm?", "tools": [WEATHER]}
    whole = client.responses.create(**asked)
    with client.responses.stream(**asked) as stream:
        assembled = stream.get_final_response()
    *_, last = client.responses.create(**asked, stream=True)
    assert told(last.response) == told(whole)
    assert assembled.output_text == whole.output_text == "I look both up."
    calls = [item for item in assembled.output if item.type == "function_call"]
    assert [json.loads(item.arguments) for item in calls] == [{"city": "Oslo"}, {"city": "Reykjavík"}]
    assert len({item.call_id for item in calls}) == len({item.id for item in calls}) == 2
    assert (assembled.usage.input_tokens, assembled.usage.output_tokens) == (11, 7)


def test_events_come_in_order_each_with_its_number_and_its_place(served: Any, openai_client: Any) -> None:
    reply = {"text": "One two", "tool_calls": [{"name": "weather", "arguments": {}}]}
    client = openai_client(served(answers=Script.of([reply])))
    events = list(client.responses.create(model="m", input="Hello.", stream=True))
    assert [event.type.removeprefix("response.") for event in events] == [
        *("created", "in_progress"),
        *("output_item.added", "content_part.added", "output_text.delta", "output_text.delta", "output_text.done"),
        *("content_part.done", "output_item.done"),
        *("output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"),
        "completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    begun, message, done = events[0].response, events[2].item, events[-1].response
    assert (begun.status, begun.output, begun.usage) == ("in_progress", [], None)
    assert (message.status, message.content) == ("in_progress", [])
    assert "".join(event.delta for event in events if event.type == "response.output_text.delta") == "One two"
    assert {event.item_id for event in events if hasattr(event, "item_id")} == {item.id for item in done.output}
    assert done.status == "completed"


def test_an_asynchronous_client_gets_the_same(served: Any) -> None:
    address = served(answers=Script.of(["One.", "Two."]))

    async def ask() -> list[str]:
        async with AsyncOpenAI(base_url=f"{address.url}/v1", api_key="sk-any") as client:
            whole = await client.responses.create(model="m", input="Hello.")
            stream = await client.responses.create(model="m", input="Hello.", stream=True)
            done = [event.response.output_text async for event in stream if event.type == "response.completed"]
            return [whole.output_text, *done]

    assert asyncio.run(ask()) == ["One.", "Two."]


def test_an_answer_at_its_limit_is_incomplete_whole_and_streamed(served: Any, openai_client: Any) -> None:
    client = openai_client(served())
    said = client.responses.create(model="m", input="Hello.", max_output_tokens=16)
    *_, last = client.responses.create(model="m", input="Hello.", max_output_tokens=16, stream=True)
    assert last.type == "response.incomplete"
    for response in (said, last.response):
        assert (response.status, response.incomplete_details.reason) == ("incomplete", "max_output_tokens")
        assert response.usage.output_tokens == 16


def test_a_refusal_is_content_of_its_own_kind(served: Any, openai_client: Any) -> None:
    client = openai_client(served(answers=Script.of([{"text": "I will not.", "stop": "refusal"}] * 2)))
    [item] = client.responses.create(model="m", input="Hello.").output
    assert (item.content[0].type, item.content[0].refusal) == ("refusal", "I will not.")
    events = list(client.responses.create(model="m", input="Hello.", stream=True))
    assert "".join(event.delta for event in events if event.type == "response.refusal.delta") == "I will not."


class City(BaseModel):
    name: str
    twins: list[City]


def test_a_structured_answer_fits_its_schema(served: Any, openai_client: Any) -> None:
    said = openai_client(served()).responses.parse(model="m", input="Which city?", text_format=City)
    assert isinstance(said.output_parsed, City)


def test_a_demanded_tool_is_called(served: Any, openai_client: Any) -> None:
    client = openai_client(served())
    by_name = {"type": "function", "name": "weather"}
    for choice in ("required", by_name, {"type": "allowed_tools", "mode": "required", "tools": [by_name]}):
        said = client.responses.create(model="m", input="Hello.", tools=[WEATHER], tool_choice=choice)
        assert [(item.type, item.name) for item in said.output] == [("function_call", "weather")]
    hosted = client.responses.create(model="m", input="Hello.", tools=[WEATHER, {"type": "web_search"}])
    assert hosted.output_text


def test_a_tool_result_continues_the_response_that_asked_for_it(served: Any, openai_client: Any) -> None:
    client = openai_client(served(answers=Script.of([TWO_CALLS, "Both are warm."])))
    first = client.responses.create(model="m", input="Where is it warm?", tools=[WEATHER])
    calls = [item.call_id for item in first.output if item.type == "function_call"]
    second = client.responses.create(
        model="m", previous_response_id=first.id, input=[*map(result, calls), {"role": "user", "content": "And?"}]
    )
    assert (second.output_text, second.previous_response_id) == ("Both are warm.", first.id)


def test_what_is_continued_is_billed_as_input_again(served: Any, openai_client: Any) -> None:
    client = openai_client(served())
    first = client.responses.create(model="m", input="Hello.")
    second = client.responses.create(model="m", input="Hello.", previous_response_id=first.id)
    assert second.usage.input_tokens == first.usage.input_tokens + first.usage.total_tokens


def test_a_conversation_remembers_its_last_response(served: Any, openai_client: Any) -> None:
    client = openai_client(served(answers=Script.of([{"tool_calls": [{"name": "weather"}]}, "Warm."])))
    first = client.responses.create(model="m", input="Hello.", conversation="conv_1")
    assert first.conversation.id == "conv_1"
    with pytest.raises(BadRequestError, match="No tool output found"):
        client.responses.create(model="m", input="Hello.", conversation={"id": "conv_1"})
    said = client.responses.create(model="m", input=[result(first.output[0].call_id)], conversation="conv_1")
    assert said.output_text == "Warm."


def test_the_whole_conversation_may_come_as_input(served: Any, openai_client: Any) -> None:
    client = openai_client(served())
    said = client.responses.create(
        model="m",
        input=[
            {"role": "developer", "content": "Be brief."},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Where is it warm?"}]},
            {"type": "reasoning", "id": "rs_1", "summary": []},
            call("a", id="fc_1"),
            call("b"),
            {"role": "assistant", "content": [{"type": "output_text", "text": "I look.", "annotations": []}]},
            result("b"),
            {**result("a"), "output": [{"type": "input_text", "text": "cold"}]},
            {"type": "custom_tool_call", "call_id": "c", "name": "grep", "input": "x"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "y"},
        ],
    )
    assert said.output_text


def test_an_item_may_be_referred_to_by_its_id(served: Any, openai_client: Any) -> None:
    client = openai_client(served(answers=Script.of([{"tool_calls": [{"name": "weather"}]}, "Warm."])))
    [asked] = client.responses.create(model="m", input="Hello.").output
    reference = {"type": "item_reference", "id": asked.id}
    assert client.responses.create(model="m", input=[reference, result(asked.call_id)]).output_text == "Warm."
    with pytest.raises(NotFoundError, match="Item with id 'fc_none' not found"):
        client.responses.create(model="m", input=[{"type": "item_reference", "id": "fc_none"}])


@pytest.mark.parametrize(
    ("items", "complaint"),
    [
        ([result("a")], "No tool call found for function call output with call_id a."),
        ([call("a"), call("b"), result("a")], "No tool output found for function call b."),
        ([call("a"), result("a"), result("a")], "Duplicate function_call_output for call_id 'a'"),
        ([result("a"), call("a")], "No tool call found for function call output with call_id a."),
        (
            [call("a", id="fc_1"), result("a"), call("b", id="fc_1"), result("b")],
            "Duplicate item found with id fc_1. Remove duplicate items from your input and try again.",
        ),
    ],
)
def test_a_tool_call_and_its_result_come_in_pairs(served: Any, openai_client: Any, items: Any, complaint: str) -> None:
    address = served()
    with pytest.raises(BadRequestError, match=re.escape(complaint)) as caught:
        openai_client(address).responses.create(model="m", input=items)
    assert caught.value.param == "input"
    assert address.ledger.tokens() == (0, 0)


def test_a_call_that_is_continued_has_to_be_answered_and_not_repeated(served: Any, openai_client: Any) -> None:
    client = openai_client(served(answers=Script.of([{"tool_calls": [{"name": "weather"}]}])))
    first = client.responses.create(model="m", input="Hello.")
    [asked] = first.output
    with pytest.raises(BadRequestError, match=f"No tool output found for function call {asked.call_id}"):
        client.responses.create(model="m", input="And?", previous_response_id=first.id)
    again = [asked.model_dump(exclude_none=True), result(asked.call_id)]
    with pytest.raises(BadRequestError, match=f"Duplicate item found with id {asked.id}"):
        client.responses.create(model="m", input=again, previous_response_id=first.id)


def test_a_response_that_nobody_kept_cannot_be_continued(served: Any, openai_client: Any) -> None:
    client = openai_client(served())
    unkept = client.responses.create(model="m", input="Hello.", store=False)
    for identifier in ("resp_none", unkept.id):
        with pytest.raises(BadRequestError, match=f"'{identifier}' not found") as caught:
            client.responses.create(model="m", input="Hello.", previous_response_id=identifier)
        assert (caught.value.param, caught.value.code) == ("previous_response_id", "previous_response_not_found")


def test_a_response_is_looked_up_by_its_id_whole_and_streamed(served: Any, openai_client: Any) -> None:
    address = served()
    client = openai_client(address)
    others = [client.responses.create(model="m", input=f"Hello {n}.") for n in range(3)]
    assert client.responses.retrieve(others[1].id) == others[1]
    *_, last = client.responses.retrieve(others[1].id, stream=True)
    assert last.response == others[1]
    assert [row.nature for row in address.ledger.rows()] == ["bills"] * 3 + ["reads"] * 2
    with pytest.raises(NotFoundError, match="Response with id 'resp_none' not found"):
        client.responses.retrieve("resp_none")


def test_a_later_life_finds_what_an_earlier_one_was_given(served: Any, openai_client: Any) -> None:
    earlier = served()
    kept = openai_client(earlier).responses.create(model="m", input="Hello.")
    later = served(ledger=earlier.ledger)
    assert openai_client(later).responses.retrieve(kept.id).output_text == kept.output_text


@pytest.mark.parametrize(
    ("asked", "param", "code", "complaint"),
    [
        ({"input": [{"role": "robot", "content": ""}]}, "input[0].role", "invalid_value", "'robot'"),
        ({"input": [{"type": "robot"}]}, "input[0].type", "invalid_value", "'robot'"),
        ({"input": [{}]}, "input[0].type", "missing_required_parameter", "Missing required parameter"),
        ({"input": [{"role": "user"}]}, "input[0].content", "missing_required_parameter", "Missing"),
        ({"input": [{"role": "user", "content": 5}]}, "input[0].content", "invalid_type", "got an integer instead"),
        (
            {"input": [{"role": "user", "content": [{"type": "text", "text": ""}]}]},
            *("input[0].content[0].type", "invalid_value", "Supported values are: 'input_text', "),
        ),
        ({"input": [call("a", id="call_a")]}, "input[0].id", "invalid_value", "Expected an ID that begins with 'fc'"),
        ({"input": [call("")]}, "input[0].call_id", "empty_string", "minimum length 1"),
        ({"max_output_tokens": 5}, "max_output_tokens", "integer_below_min_value", "a value >= 16, but got 5 instead"),
        ({"messages": []}, "messages", "unknown_parameter", "Unknown parameter: 'messages'"),
        ({"tool_choice": "weather"}, "tool_choice", "invalid_value", "'none', 'auto', and 'required'"),
        ({"tools": [{"type": "function"}]}, "tools[0].name", "missing_required_parameter", "Missing"),
        ({"text": {"format": {"type": "yaml"}}}, "text.format.type", "invalid_value", "'yaml'"),
        ({"text": {"format": {"type": "json_schema", "name": "x"}}}, "text.format.schema", None, "Missing"),
        ({"text": {"format": {"type": "json_object"}}}, "input", None, "must contain the word 'json'"),
    ],
)
def test_a_malformed_parameter_is_refused_in_openais_words(
    served: Any, openai_client: Any, *, asked: dict[str, Any], param: str, code: str | None, complaint: str
) -> None:
    with pytest.raises(BadRequestError, match=re.escape(complaint)) as caught:
        openai_client(served()).post("/responses", body={"model": "m", "input": "Hello.", **asked}, cast_to=object)
    assert caught.value.param == param
    assert code is None or caught.value.code == code
