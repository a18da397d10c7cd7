"""Scripts: which reply a question gets, in one life and in the next, and what happens when there is none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from openai import APIStatusError

from fakes import Fault
from fakes.server.answers import Question, Said, ToolCall, Unscripted
from fakes.server.gate import Open
from fakes.server.script import Script, ScriptUnreadable
from fakes.witness import Caller

USER: Any = [{"role": "user", "content": "How is the weather?"}]


def question(body: str, **fields: Any) -> Question:
    return Question(provider="openai", body=body, texts=[body], **fields)


def said(script: Script, body: str, *, life: int = 1, retry: int = 0) -> str:
    script.arrives(question(body), Caller(life, None, retry))
    return script.said(question(body), 1, Caller(life, None, retry)).text


def test_new_questions_get_the_replies_in_order() -> None:
    script = Script.of(["first", "second"])
    assert [said(script, "a"), said(script, "b")] == ["first", "second"]


def test_equal_questions_of_one_life_get_one_reply_after_the_other() -> None:
    script = Script.of(["first", "second"])
    assert [said(script, "a"), said(script, "a")] == ["first", "second"]


def test_a_resumed_life_gets_the_replies_that_the_one_before_got() -> None:
    script = Script.of(["first", "second", "third"])
    assert [said(script, "a"), said(script, "b"), said(script, "a")] == ["first", "second", "third"]
    assert [said(script, "a", life=2), said(script, "b", life=2), said(script, "a", life=2)] == [
        *("first", "second", "third"),
    ]


def test_a_resumed_life_that_asks_something_new_gets_the_next_reply() -> None:
    script = Script.of(["first", "second"])
    assert [said(script, "a"), said(script, "b", life=2), said(script, "b", life=3)] == ["first", "second", "second"]


def test_the_retry_of_an_sdk_gets_the_reply_that_was_lost() -> None:
    script = Script.of(["first", "second"])
    assert [said(script, "a"), said(script, "a", retry=1), said(script, "a", retry=2)] == ["first"] * 3
    assert said(script, "a") == "second"


def test_a_retry_gets_a_reply_of_its_own_when_its_first_try_was_refused() -> None:
    script = Script.of(["first", "second"])
    assert said(script, "a") == "first"
    script.arrives(question("a"), Caller(1))
    assert [said(script, "a", retry=1), said(script, "a", retry=2)] == ["second", "second"]


def test_two_providers_that_are_asked_the_same_get_two_replies() -> None:
    script = Script.of(["first", "second"])
    other = Question(provider="anthropic", body="a", texts=["a"])
    assert [said(script, "a"), script.said(other, 1, Caller()).text] == ["first", "second"]


def test_a_question_without_a_reply_is_a_miss_that_says_what_was_asked() -> None:
    script = Script.of(["first"], "script talk.json")
    said(script, "a")
    with pytest.raises(Unscripted, match=r"script talk\.json has 1 replies, and openai is asked question 2: 'b'; add"):
        said(script, "b")
    assert len(script.misses) == 1


def test_a_script_from_its_beginning_keeps_the_misses() -> None:
    script = Script.of(["first"])
    again = script.anew()
    assert [said(script, "a"), said(again, "b")] == ["first", "first"]
    with pytest.raises(Unscripted):
        said(again, "a")
    assert script.misses == again.misses != []


def test_a_reply_is_a_text_or_says_all_of_itself() -> None:
    full = {"text": "I look.", "tool_calls": [{"name": "weather", "arguments": {"city": "Oslo"}}, {"name": "stocks"}]}
    script = Script.of(["hello", {**full, "usage": {"tokens_in": 5, "tokens_out": 3}, "stop": "length"}])
    assert script.replies == [
        Said(text="hello"),
        Said(
            text="I look.",
            calls=(ToolCall("weather", '{"city": "Oslo"}'), ToolCall("stocks", "{}")),
            stop="length",
            tokens_in=5,
            tokens_out=3,
        ),
    ]


def test_arguments_may_be_any_text_even_no_json() -> None:
    [reply] = Script.of([{"tool_calls": [{"name": "weather", "arguments": '{"city": '}]}]).replies
    assert reply.calls[0].arguments == '{"city": '
    assert reply.stop == "tool_calls"


def test_a_reply_without_usage_is_counted_and_never_cut_off() -> None:
    script = Script.of(["a text of more than one token"])
    reply = script.said(question("how long is this?", limit=1, stops=["more"]), 1, Caller())
    assert (reply.text, reply.stop) == ("a text of more than one token", "stop")
    assert (reply.tokens_in, reply.tokens_out) == (9, 12)


@pytest.mark.parametrize("text", ['["first", {"text": "second"}]', '"first"\n\n{"text": "second"}\n'])
def test_a_file_is_a_list_or_an_object_a_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "talk.json").write_text(text)
    script = Script.read(tmp_path / "talk.json")
    assert [reply.text for reply in script.replies] == ["first", "second"]
    assert script.source.endswith("talk.json")


@pytest.mark.parametrize(
    ("replies", "complaint"),
    [
        ([5], "reply 1 is neither a text nor an object"),
        (["a", {"txt": "b"}], "reply 2 has 'txt'; there are text, tool_calls, usage, stop"),
        ([{"text": 5}], "reply 1 has a text that is none"),
        ([{"stop": "now"}], "reply 1 stops by 'now'; there are stop, tool_calls, length, refusal"),
        ([{"tool_calls": {"name": "a"}}], "tool_calls that are no list"),
        ([{"tool_calls": None}], "tool_calls that are no list"),
        ([{"tool_calls": [{"function": "a"}]}], "a tool call that is not {name, arguments}"),
        ([{"tool_calls": [{"name": "a", "args": {}}]}], "tool call 'a' has 'args'; there are name, arguments"),
        ([{"usage": {"input_tokens": 5}}], "usage has 'input_tokens'; there are tokens_in, tokens_out"),
        ([{"usage": {"tokens_in": 1.5}}], "not in whole numbers"),
        ([{"usage": {"tokens_in": -1}}], "not in whole numbers"),
        ([{"usage": 5}], "a usage that is not {tokens_in, tokens_out}"),
    ],
)
def test_a_script_that_cannot_be_used_says_where_and_why(replies: list[object], complaint: str) -> None:
    with pytest.raises(ScriptUnreadable) as caught:
        Script.of(replies)
    assert str(caught.value).startswith("the script, reply ")
    assert complaint in str(caught.value)


def test_a_file_that_cannot_be_read_says_so(tmp_path: Path) -> None:
    with pytest.raises(ScriptUnreadable, match="cannot be read"):
        Script.read(tmp_path / "none.json")
    (tmp_path / "talk.json").write_text("{")
    with pytest.raises(ScriptUnreadable, match="is no JSON"):
        Script.read(tmp_path / "talk.json")


def test_a_miss_reaches_the_client_at_once_and_loudly(served: Any, openai_client: Any) -> None:
    script = Script.of([])
    address = served(answers=script)
    with pytest.raises(APIStatusError, match="has 0 replies, and openai is asked question 1: 'How is") as caught:
        openai_client(address, max_retries=2).chat.completions.create(model="m", messages=USER)
    assert (caught.value.status_code, caught.value.response.headers["x-should-retry"]) == (501, "false")
    assert [row.outcome for row in address.ledger.rows()] == ["failed"]
    assert len(script.misses) == 1


@pytest.mark.parametrize("fault", ["rate_limit", "lost_before", "server_error", "lost_after", "error_after_commit"])
def test_whatever_goes_wrong_the_sdk_gets_each_reply_in_its_turn(served: Any, openai_client: Any, fault: str) -> None:
    address = served(answers=Script.of(["first", "second"]), faults=[Fault.parse(f"openai.chat#2:{fault}")])
    client = openai_client(address, max_retries=2)
    texts = [client.chat.completions.create(model="m", messages=USER).choices[0].message.content for _ in range(2)]
    assert texts == ["first", "second"]
    assert [row.retry for row in address.ledger.rows()] == [0, 0, 1]


def test_the_next_life_gets_what_this_one_got_whole_or_streamed(served: Any, openai_client: Any) -> None:
    script, texts = Script.of([{"tool_calls": [{"name": "weather"}]}, "Warm."]), []
    for life in (1, 2):
        client = openai_client(served(answers=script, gate=Open(life=life)))
        [call] = client.chat.completions.create(model="m", messages=USER).choices[0].message.tool_calls
        asked = {"id": "call_1", "type": "function", "function": {"name": call.function.name, "arguments": "{}"}}
        result = {"role": "tool", "tool_call_id": "call_1", "content": "warm"}
        talk = [*USER, {"role": "assistant", "content": None, "tool_calls": [asked]}, result]
        texts.append(client.chat.completions.create(model="m", messages=talk).choices[0].message.content)
    assert texts == ["Warm.", "Warm."]


def test_choices_take_a_reply_each(served: Any, openai_client: Any) -> None:
    client = openai_client(served(answers=Script.of(["first", "second", "third"])))
    both = client.chat.completions.create(model="m", messages=USER, n=2).choices
    assert [choice.message.content for choice in both] == ["first", "second"]
    assert client.responses.create(model="m", input="And?").output_text == "third"


def test_a_file_of_replies_is_served(served: Any, openai_client: Any, tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text(json.dumps({"text": "hello", "usage": {"tokens_in": 2, "tokens_out": 1}}))
    address = served(answers=Script.read(tmp_path / "talk.jsonl"))
    assert openai_client(address).responses.create(model="m", input="Hello.").usage.total_tokens == 3
    assert address.ledger.tokens() == (2, 1)
