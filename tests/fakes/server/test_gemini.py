"""Google's own SDK against the fake."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from google.genai import Client, errors, types
from pydantic import BaseModel

from fakes import Fault
from fakes.server.dialects import variables
from fakes.server.script import Script

MODEL = "gemini-3-flash"
WEATHER = {
    "name": "weather",
    "parameters": {
        "type": "OBJECT",
        "properties": {
            "city": {"type": "STRING", "enum": ["Paris"]},
            "days": {"type": "ARRAY", "items": {"type": "INTEGER", "maximum": 3}, "minItems": "2"},
        },
    },
}
TOOLS = [{"function_declarations": [WEATHER]}]
TWO_CALLS = {
    "text": "Let me see.",
    "tool_calls": [
        {"name": "weather", "arguments": {"city": "Paris, the one in France", "days": [2]}},
        {"name": "weather", "arguments": {"city": "Łódź"}},
    ],
}
HELLO = {"role": "user", "parts": [{"text": "Hello"}]}
CALL = {"role": "model", "parts": [{"functionCall": {"name": "weather", "args": {}}}]}
RESPONSE = {"functionResponse": {"name": "weather", "response": {"sky": "sunny"}}}
NO_CALLS: Any = {"automatic_function_calling": {"disable": True}}


@contextmanager
def client_of(served: Callable[..., Any], tries: int = 1, **keywords: Any) -> Iterator[tuple[Client, Any]]:
    address = served(**keywords)
    retry = {"attempts": tries, "initial_delay": 0.001, "jitter": 0.001}
    options = {"base_url": address.url} | ({"retry_options": retry} if tries > 1 else {})
    client = Client(api_key="crashwindow", http_options=options)
    yield client, address.ledger
    client.close()


def generate(client: Client, contents: Any = "Hello", **config: Any) -> types.GenerateContentResponse:
    return client.models.generate_content(model=MODEL, contents=contents, config=config | NO_CALLS)


def post(url: str, method: str = "generateContent", version: str = "v1beta", **keywords: Any) -> httpx2.Response:
    keywords = {"headers": {"x-goog-api-key": "k"}, "json": {"contents": [HELLO]}} | keywords
    return httpx2.post(f"{url}/{version}/models/{MODEL}:{method}", **keywords)


def test_a_response_has_all_that_a_real_one_has(served: Any) -> None:
    with client_of(served) as (client, ledger):
        response = generate(client, system_instruction="Be short.")
        assert response.text
        (candidate,) = response.candidates
        assert (candidate.content.role, candidate.finish_reason, candidate.index) == ("model", "STOP", 0)
        assert response.model_version == MODEL
        assert response.response_id
        usage = response.usage_metadata
        assert usage.total_token_count == usage.prompt_token_count + usage.candidates_token_count
        (row,) = ledger.rows()
        assert (row.provider, row.operation, row.target, row.nature) == ("gemini", "generate_content", MODEL, "bills")
        assert (row.tokens_in, row.tokens_out) == (usage.prompt_token_count, usage.candidates_token_count)


def test_the_variables_lead_the_sdk_to_the_fake(served: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    address = served()
    for name, value in variables(address.url).items():
        monkeypatch.setenv(name, value)
    client = Client()
    assert generate(client).text
    client.close()
    assert address.ledger.rows()[0].outcome == "applied"


@pytest.mark.parametrize("version", ["v1", "v1beta"])
def test_both_versions_are_served_and_the_key_may_stand_in_the_query(served: Any, version: str) -> None:
    url = served().url
    assert post(url, version=version).status_code == 200
    assert post(url, version=version, headers={}, params={"key": "k"}).status_code == 200


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning")  # google-genai's own
def test_the_async_client_gets_the_same(served: Any) -> None:
    address = served(answers=Script.of(["Good morning.", "Good morning."]))

    async def both() -> tuple[str, str]:
        async with Client(api_key="k", http_options={"base_url": address.url}).aio as client:
            whole = await client.models.generate_content(model=MODEL, contents="Hello")
            chunks = await client.models.generate_content_stream(model=MODEL, contents="Hello")
            return whole.text, "".join([chunk.text async for chunk in chunks])

    assert asyncio.run(both()) == ("Good morning.", "Good morning.")


@pytest.mark.parametrize(
    "reply", ["Word by word,  with\nspaces ", TWO_CALLS, "", {"text": "Not this.", "stop": "refusal"}]
)
def test_a_stream_brings_the_response_that_comes_whole_otherwise(served: Any, reply: Any) -> None:
    with client_of(served, answers=Script.of([reply, reply])) as (client, _):
        whole = generate(client)
        chunks = list(client.models.generate_content_stream(model=MODEL, contents="Hello", config=NO_CALLS))
        assert assembled(chunks) == assembled([whole])
        assert [chunk.candidates[0].finish_reason for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
        assert chunks[-1].candidates[0].finish_reason == whole.candidates[0].finish_reason
        assert {chunk.usage_metadata.total_token_count for chunk in chunks} == {whole.usage_metadata.total_token_count}


def assembled(chunks: list[types.GenerateContentResponse]) -> tuple[str, list[Any]]:
    """The text, and the function calls without their ids."""
    contents = [chunk.candidates[0].content for chunk in chunks]
    parts = [part for content in contents if content for part in content.parts or ()]
    calls = [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]
    return "".join(part.text for part in parts if part.text), calls


def test_a_stream_without_events_is_one_json_array(served: Any) -> None:
    url = served(answers=Script.of(["one two three"] * 2)).url
    (whole,) = post(url).json()["candidates"]
    answer = post(url, "streamGenerateContent")
    assert answer.headers["content-type"] == "application/json"
    parts = [chunk["candidates"][0]["content"]["parts"] for chunk in answer.json()]
    assert parts == [[{"text": "one"}], [{"text": " two"}], [{"text": " three"}]]
    assert whole["content"]["parts"] == [{"text": "one two three"}]


def test_two_function_calls_in_one_response_have_their_whole_arguments(served: Any) -> None:
    with client_of(served, answers=Script.of([TWO_CALLS])) as (client, _):
        chunks = client.models.generate_content_stream(model=MODEL, contents="Hello", config=NO_CALLS)
        first, second = [call for chunk in chunks for call in chunk.function_calls or ()]
        assert first.args == {"city": "Paris, the one in France", "days": [2]}
        assert second.args == {"city": "Łódź"}
        assert first.id != second.id


def test_a_function_is_called_by_the_sdk_and_its_result_sent_back(served: Any) -> None:
    asked = []

    def weather(city: str) -> str:
        """The weather in a city."""
        asked.append(city)
        return "sunny"

    calls = {"tool_calls": [{"name": "weather", "arguments": {"city": city}} for city in ("Paris", "Łódź")]}
    with client_of(served, answers=Script.of([calls, "Sunny in both."])) as (client, ledger):
        response = client.models.generate_content(model=MODEL, contents="Hello", config={"tools": [weather]})
        assert response.text == "Sunny in both."
        assert asked == ["Paris", "Łódź"]
        assert len(ledger.rows()) == 2


@pytest.mark.parametrize("allowed", [{}, {"allowed_function_names": ["weather"]}])
def test_a_function_that_has_to_be_called_is_called_with_arguments_that_fit(served: Any, allowed: Any) -> None:
    with client_of(served) as (client, _):
        must: Any = {"function_calling_config": {"mode": "ANY"} | allowed}
        response = generate(client, tools=TOOLS, tool_config=must)
        (call,) = response.function_calls
        assert (call.name, call.args["city"], len(call.args["days"])) == ("weather", "Paris", 2)
        assert max(call.args["days"]) <= 3
        assert response.candidates[0].finish_reason == "STOP"


def test_a_function_that_may_be_called_is_not(served: Any) -> None:
    with client_of(served) as (client, _):
        assert generate(client, tools=TOOLS).function_calls is None


class Place(BaseModel):
    city: str
    people: int


@pytest.mark.parametrize("schema", [{"response_schema": Place}, {"response_json_schema": Place.model_json_schema()}])
def test_an_answer_fits_the_schema_that_it_has_to_fit(served: Any, schema: Any) -> None:
    with client_of(served) as (client, _):
        response = generate(client, response_mime_type="application/json", **schema)
        assert Place.model_validate_json(response.text)


def test_an_answer_is_json_when_it_has_to_be(served: Any) -> None:
    with client_of(served) as (client, _):
        assert generate(client, response_mime_type="application/json").text.startswith("{")


def test_an_answer_ends_at_the_most_tokens(served: Any) -> None:
    with client_of(served) as (client, _):
        response = generate(client, max_output_tokens=5)
        assert response.candidates[0].finish_reason == "MAX_TOKENS"
        assert response.usage_metadata.candidates_token_count == 5


def test_a_refusal_has_no_content(served: Any) -> None:
    answer = post(served(answers=Script.of([{"text": "Not this.", "stop": "refusal"}])).url).json()
    assert answer["candidates"] == [{"finishReason": "SAFETY", "index": 0, "finishMessage": "Not this."}]


def test_several_candidates_differ_and_are_billed_each(served: Any) -> None:
    with client_of(served, answers=Script.of(["One.", "Two.", "Three."])) as (client, ledger):
        response = generate(client, candidate_count=3)
        assert [candidate.index for candidate in response.candidates] == [0, 1, 2]
        texts = [candidate.content.parts[0].text for candidate in response.candidates]
        assert texts == ["One.", "Two.", "Three."]
        assert response.usage_metadata.candidates_token_count == ledger.rows()[0].tokens_out == 5 + 5 + 6


def test_an_answer_ends_before_a_stop_sequence(served: Any) -> None:
    with client_of(served) as (client, _):
        response = generate(client, stop_sequences=["e", "a"])
        assert not {"a", "e"} & set(response.text)
        assert response.candidates[0].finish_reason == "STOP"


def test_counting_tokens_says_what_contents_will_be_billed_and_bills_nothing(served: Any) -> None:
    with client_of(served) as (client, ledger):
        counted = client.models.count_tokens(model=MODEL, contents="Hello").total_tokens
        assert generate(client).usage_metadata.prompt_token_count == counted
        assert [(row.operation, row.nature, row.tokens_in) for row in ledger.rows()] == [
            ("count_tokens", "reads", 0),
            ("generate_content", "bills", counted),
        ]
    url = served().url
    asked = {"contents": [HELLO], "systemInstruction": {"parts": [{"text": "Be short."}]}}
    longer = post(url, "countTokens", json={"generateContentRequest": asked}).json()["totalTokens"]
    assert longer > counted


UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the"
    " function call turn."
)
MISPLACED = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
UNINITIALIZED = (
    "* GenerateContentRequest.contents[0].parts[0].data: required oneof field 'data' must have one initialized field"
)


@pytest.mark.parametrize(
    ("turns", "complaint"),
    [
        ([HELLO, CALL], UNEQUAL),
        ([HELLO, CALL, HELLO], UNEQUAL),
        ([HELLO, CALL, {"role": "user", "parts": [RESPONSE, RESPONSE]}], UNEQUAL),
        ([HELLO, {"role": "model", "parts": CALL["parts"] * 2}, {"role": "user", "parts": [RESPONSE]}], UNEQUAL),
        (
            [{"role": "user", "parts": [RESPONSE]}],
            "Please ensure that function response turn comes immediately after a function call turn.",
        ),
        (
            [CALL, {"role": "user", "parts": [RESPONSE]}],
            MISPLACED,
        ),
        ([], "* GenerateContentRequest.contents: contents is not specified"),
        ([{"parts": []}], "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty."),
        (
            [{"parts": [{}]}],
            UNINITIALIZED,
        ),
        ([{"role": "assistant", "parts": [{"text": "x"}]}], "Please use a valid role: user, model."),
    ],
)
def test_a_conversation_that_the_api_refuses_is_refused_in_its_words(served: Any, turns: Any, complaint: str) -> None:
    address = served()
    answer = post(address.url, json={"contents": turns})
    assert answer.status_code == 400
    assert answer.json() == {"error": {"code": 400, "message": complaint, "status": "INVALID_ARGUMENT"}}
    assert address.ledger.rows() == []


def test_a_function_call_with_its_response_is_taken(served: Any) -> None:
    turns = [HELLO, CALL, {"role": "user", "parts": [RESPONSE, {"text": "and?"}]}]
    assert post(served().url, json={"contents": turns}).status_code == 200


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        ({"toolConfig": {"functionCallingConfig": {"mode": "ANY"}}}, "without function_declarations"),
        (
            {
                "tools": [{"functionDeclarations": [WEATHER]}],
                "toolConfig": {"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["time"]}},
            },
            "allowed_function_names has 'time', which is not declared",
        ),
        ({"generationConfig": {"candidateCount": 0}}, "generation_config.candidate_count"),
    ],
)
def test_what_cannot_be_meant_is_refused(served: Any, config: Any, complaint: str) -> None:
    assert complaint in post(served().url, json={"contents": [HELLO]} | config).json()["error"]["message"]


def test_errors_have_the_shape_of_real_ones(served: Any) -> None:
    url = served().url
    nobody = post(url, headers={})
    assert (nobody.status_code, nobody.json()["error"]["status"]) == (401, "UNAUTHENTICATED")
    missing = post(url, "embedContent")
    assert (missing.status_code, missing.json()["error"]["status"]) == (404, "NOT_FOUND")


@pytest.mark.parametrize(
    ("kind", "error", "code", "status"),
    [
        ("rate_limit=2.5", errors.ClientError, 429, "RESOURCE_EXHAUSTED"),
        ("overloaded", errors.ServerError, 503, "UNAVAILABLE"),
        ("unavailable", errors.ServerError, 503, "UNAVAILABLE"),
        ("server_error", errors.ServerError, 500, "INTERNAL"),
    ],
)
def test_an_error_that_passes_is_retried_only_where_the_client_is_told_to(
    served: Any, kind: str, error: type[errors.APIError], code: int, status: str
) -> None:
    fault = Fault.parse(f"gemini.generate_content#1:{kind}")
    with client_of(served, faults=[fault]) as (client, ledger):
        with pytest.raises(error) as caught:
            generate(client)
        assert (caught.value.code, caught.value.status) == (code, status)
        details = caught.value.details["error"].get("details", [{}])
        assert details[0].get("retryDelay") == ("2.5s" if code == 429 else None)
        assert len(ledger.rows()) == 1
    with client_of(served, tries=2, faults=[fault]) as (client, ledger):
        assert generate(client).text
        assert [row.outcome == "applied" for row in ledger.rows()] == [False, True]


def test_an_answer_that_gets_lost_is_billed_twice_since_there_are_no_keys(served: Any) -> None:
    fault = Fault.parse("gemini.generate_content#1:lost_after")
    with client_of(served, faults=[fault]) as (client, ledger):
        with pytest.raises(httpx2.RemoteProtocolError):
            generate(client)
        assert generate(client).text
        assert [row.outcome for row in ledger.rows()] == ["applied", "applied"]


def test_a_script_that_is_at_its_end_is_no_answer(served: Any) -> None:
    with client_of(served, answers=Script.of([])) as (client, _):
        with pytest.raises(errors.ServerError, match="the script has 0 replies") as caught:
            generate(client)
        assert (caught.value.code, caught.value.status) == (501, "UNIMPLEMENTED")
