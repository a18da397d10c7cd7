"""Recordings: equal requests get their recorded answers in order, byte for byte; a miss fails."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from openai import APIStatusError, BadRequestError

from fakes import Fault
from fakes.server.gate import Open
from fakes.server.recorded import Recording, RecordingUnreadable, usage_in

ASKED = {"model": "m", "messages": [{"role": "user", "content": "Hello."}]}
HEADERS = {"authorization": "Bearer sk"}


def completion(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-recorded",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
    }


def line(response: object, body: object = ASKED, path: str = "/v1/chat/completions", **more: object) -> str:
    return json.dumps({"request": {"method": "POST", "path": path, "body": body}, "response": response, **more})


@pytest.fixture
def recorded(tmp_path: Path) -> Any:
    """`recorded(*lines)` is the recording of a file with these lines."""

    def recording(*lines: str, volatile: frozenset[str] = frozenset()) -> Recording:
        path = tmp_path / "talk.jsonl"
        path.write_text("\n".join(lines), encoding="utf-8")
        return Recording.read(path, volatile)

    return recording


def text_of(client: Any, **more: Any) -> str:
    text: str = client.chat.completions.create(**{**ASKED, **more}).choices[0].message.content
    return text


def test_equal_requests_get_their_answers_in_order_and_are_billed_as_recorded(
    served: Any, openai_client: Any, recorded: Any
) -> None:
    address = served(recording=recorded(line({"body": completion("One.")}), line({"body": completion("Two.")})))
    client = openai_client(address)
    assert [text_of(client), text_of(client)] == ["One.", "Two."]
    assert address.ledger.tokens() == (10, 4)


def test_a_request_that_was_not_recorded_is_a_miss(served: Any, openai_client: Any, recorded: Any) -> None:
    recording = recorded(line({"body": completion("One.")}))
    address = served(recording=recording)
    client = openai_client(address, max_retries=2)
    assert text_of(client) == "One."
    for more in ({}, {"temperature": 1}):
        with pytest.raises(APIStatusError, match="answers to POST /v1/chat/completions with that body") as caught:
            text_of(client, **more)
        assert (caught.value.status_code, caught.value.response.headers["x-should-retry"]) == (501, "false")
    assert [miss.split(" has ")[1][:9] for miss in recording.misses] == ["1 answers", "0 answers"]
    assert [row.outcome for row in address.ledger.rows()] == ["applied", "failed", "failed"]


def test_volatile_fields_make_no_difference(served: Any, openai_client: Any, recorded: Any) -> None:
    recording = recorded(line({"body": completion("One.")}, {**ASKED, "user": "a"}), volatile=frozenset({"user"}))
    assert text_of(openai_client(served(recording=recording)), user="b") == "One."


def test_the_next_life_gets_what_this_one_got(served: Any, openai_client: Any, recorded: Any) -> None:
    recording = recorded(line({"body": completion("One.")}), line({"body": completion("Two.")}))
    for life in (1, 2):
        client = openai_client(served(recording=recording, gate=Open(life=life)))
        assert [text_of(client), text_of(client)] == ["One.", "Two."]
    assert recording.misses == []


@pytest.mark.parametrize("fault", ["rate_limit", "lost_before", "lost_after"])
def test_the_retry_of_an_sdk_gets_the_answer_of_its_turn(
    served: Any, openai_client: Any, recorded: Any, fault: str
) -> None:
    recording = recorded(line({"body": completion("One.")}), line({"body": completion("Two.")}))
    address = served(recording=recording, faults=[Fault.parse(f"openai.chat#2:{fault}")])
    client = openai_client(address, max_retries=1)
    assert [text_of(client), text_of(client)] == ["One.", "Two."]


def test_a_recording_from_its_beginning_keeps_the_misses(recorded: Any) -> None:
    recording = recorded(line({"body": completion("One.")}))
    recording.misses.append("a miss")
    again = recording.anew()
    assert (again.answers, again.misses) == (recording.answers, ["a miss"])


def test_a_stream_comes_back_byte_for_byte_in_its_pieces(served: Any, recorded: Any) -> None:
    chunks = [{"choices": [{"delta": {"content": "Hé"}}]}, {"choices": [], "usage": {"prompt_tokens": 3}}]
    text = "".join(f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    address = served(recording=recorded(line({"body": text}, {**ASKED, "stream": True})))
    url = f"{address.url}/v1/chat/completions"
    answer = httpx2.post(url, json={**ASKED, "stream": True}, headers=HEADERS, trust_env=False)
    assert (answer.text, answer.headers["content-type"]) == (text, "text/event-stream")
    assert answer.headers["transfer-encoding"] == "chunked"
    assert address.ledger.tokens() == (3, 0)


def test_an_error_comes_back_as_it_was(served: Any, openai_client: Any, recorded: Any) -> None:
    error = {"error": {"message": "Too hot.", "type": "invalid_request_error", "param": "temperature", "code": "hot"}}
    address = served(recording=recorded(line({"status": 400, "body": error})))
    with pytest.raises(BadRequestError, match=r"Too hot\.") as caught:
        text_of(openai_client(address))
    assert (caught.value.param, caught.value.code) == ("temperature", "hot")


def test_a_recorded_conversation_may_refer_to_what_only_the_recording_knows(
    served: Any, openai_client: Any, recorded: Any
) -> None:
    body = {"model": "m", "input": "And?", "previous_response_id": "resp_real"}
    response = {"id": "resp_2", "object": "response", "output": [], "usage": {"input_tokens": 4, "output_tokens": 1}}
    address = served(recording=recorded(line({"body": response}, body, "/v1/responses")))
    assert openai_client(address).responses.create(**body).id == "resp_2"
    assert address.ledger.tokens() == (4, 1)


def test_a_query_is_part_of_the_request(served: Any, recorded: Any) -> None:
    lines = [
        json.dumps({"request": {"method": "GET", "path": path}, "response": {"body": {"id": path}}})
        for path in ("v1/models?after=a&limit=1", "v1/models?after=b", "/v1/models")
    ]
    url = f"{served(recording=recorded(*lines)).url}/v1/models"
    for query in ("?limit=1&after=a", "?after=b", ""):
        answer = httpx2.get(f"{url}{query}", headers=HEADERS, trust_env=False)
        assert answer.json()["id"].count("=") == query.count("=")


@pytest.mark.parametrize(
    "text", ["{", "5", "{}", '{"request": {}, "response": {"body": ""}}', line({"status": "bad", "body": ""})]
)
def test_a_line_that_is_no_recorded_answer_is_named(recorded: Any, text: str) -> None:
    with pytest.raises(RecordingUnreadable, match=r"talk\.jsonl, line 3 is no recorded answer .*; write {\"request\""):
        recorded(line({"body": ""}), "", text)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingUnreadable, match=r"recording .*none\.jsonl cannot be read"):
        Recording.read(tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("text", "usage"),
    [
        ('{"usage": {"prompt_tokens": 5, "completion_tokens": 2}}', (5, 2)),
        ('{"usage": {"input_tokens": 5, "output_tokens": 2}}', (5, 2)),
        ('{"usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2}}', (5, 2)),
        ('data: {"response": {"usage": {"input_tokens": 5, "output_tokens": 2}}}\n\ndata: [DONE]\n\n', (5, 2)),
        ('data: {"message": {"usage": {"input_tokens": 5}}}\n\ndata: {"usage": {"output_tokens": 2}}\n\n', (5, 2)),
        ('{"id": "re_1"}', (0, 0)),
        ("no JSON", (0, 0)),
        ("[1]", (0, 0)),
    ],
)
def test_usage_is_read_from_every_providers_answers(text: str, usage: tuple[int, int]) -> None:
    assert usage_in(text) == usage
