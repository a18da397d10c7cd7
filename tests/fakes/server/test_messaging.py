"""Messages, sent by the SDKs of Slack and Twilio."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
import requests
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from twilio.base.exceptions import TwilioRestException
from twilio.rest import Client

from fakes import Fault

SMS = {"to": "+15557654321", "from_": "+15551234567", "body": "They swim."}


def slack_at(address: Any, base: str = "/") -> WebClient:
    return WebClient(token="xoxb-any", base_url=f"{address.url}{base}")


def twilio_at(address: Any) -> Client:
    client = Client("AC" + "0" * 32, "any")
    client.api.base_url = address.url
    return client


@pytest.mark.parametrize("base", ["/", "/api/", "/slack/", "/slack/api/"])
def test_slack_posts_wherever_the_base_url_ends(served: Callable[..., Any], base: str) -> None:
    address = served()
    answer = slack_at(address, base).chat_postMessage(channel="#sharks", text="They swim.")
    assert answer["ok"]
    assert answer["channel"].startswith("C")
    assert answer["ts"] == answer["message"]["ts"]
    assert answer["message"]["text"] == "They swim."
    assert address.ledger.effects() == {("slack", "chat.postMessage", "#sharks"): 1}


def test_slack_takes_a_form_and_leaves_the_id_of_a_channel_as_it_is(served: Callable[..., Any]) -> None:
    address = served()
    answer = requests.post(
        f"{address.url}/chat.postMessage",
        data={"channel": "C0123456789", "text": "They swim."},
        headers={"Authorization": "Bearer xoxb-any"},
        timeout=10,
    )
    assert answer.json()["channel"] == "C0123456789"
    assert address.ledger.effects() == {("slack", "chat.postMessage", "C0123456789"): 1}


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ({"channel": "", "text": "They swim."}, "channel_not_found"),
        ({"channel": "#sharks", "text": ""}, "no_text"),
        ({"channel": 5, "text": "They swim."}, "invalid_arguments"),
    ],
)
def test_slack_says_no_with_200(
    served: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, message: dict[str, Any], error: str
) -> None:
    monkeypatch.setenv("SKIP_SLACK_SDK_WARNING", "1")
    with pytest.raises(SlackApiError) as refusal:
        slack_at(served()).chat_postMessage(**message)
    assert (refusal.value.response.status_code, refusal.value.response["error"]) == (200, error)


def test_slack_knows_neither_strangers_nor_other_methods(served: Callable[..., Any]) -> None:
    address = served()
    with pytest.raises(SlackApiError, match="not_authed"):
        WebClient(base_url=f"{address.url}/").chat_postMessage(channel="#sharks", text="They swim.")
    with pytest.raises(SlackApiError, match="unknown_method"):
        slack_at(address, "/slack/").api_call("chat.postMassage")


def test_a_rate_limit_of_slack_is_429_in_whole_seconds(served: Callable[..., Any]) -> None:
    with pytest.raises(SlackApiError) as refusal:
        slack_at(served(faults=[Fault.parse("slack.*:rate_limit=1.5")])).chat_postMessage(channel="#sharks", text="hi")
    assert (refusal.value.response.status_code, refusal.value.response["error"]) == (429, "ratelimited")
    assert refusal.value.response.headers["Retry-After"] == "2"


def test_the_sdk_of_slack_retries_a_lost_answer_and_so_posts_twice(
    served: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL)
    address = served(faults=[Fault.parse("slack.chat.postMessage#1:lost_after")])
    slack_at(address).chat_postMessage(channel="#sharks", text="They swim.")
    assert address.ledger.effects() == {("slack", "chat.postMessage", "#sharks"): 2}


def test_twilio_sends_and_says_what_became_of_it(served: Callable[..., Any]) -> None:
    address = served()
    messages = twilio_at(address).messages
    sent = messages.create(**SMS)
    assert (sent.status, sent.to, sent.from_, sent.body) == ("queued", "+15557654321", "+15551234567", "They swim.")
    assert (sent.sid[:2], len(sent.sid), sent.num_segments) == ("SM", 34, "1")
    assert sent.date_created
    found = messages(sent.sid).fetch()
    assert (found.sid, found.status, found.body) == (sent.sid, "delivered", "They swim.")
    assert address.ledger.effects() == {("twilio", "messages.create", "+15557654321"): 1}


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"to": ""}, 21604),
        ({"to": "ada"}, 21211),
        ({"from_": ""}, 21603),
        ({"body": ""}, 21602),
        ({"body": "x" * 1601}, 21617),
    ],
)
def test_twilio_gives_each_refusal_its_number(served: Callable[..., Any], change: dict[str, str], code: int) -> None:
    address = served()
    with pytest.raises(TwilioRestException) as refusal:
        twilio_at(address).messages.create(**SMS | change)
    assert (refusal.value.status, refusal.value.code) == (400, code)
    assert not address.ledger.rows()


def test_twilio_does_not_know_a_message_that_was_never_sent(served: Callable[..., Any]) -> None:
    with pytest.raises(TwilioRestException, match="was not found") as refusal:
        twilio_at(served()).messages("SM" + "0" * 32).fetch()
    assert (refusal.value.status, refusal.value.code) == (404, 20404)


def test_an_answer_of_twilio_that_is_lost_raises_and_a_second_call_sends_twice(served: Callable[..., Any]) -> None:
    address = served(faults=[Fault.parse("twilio.messages.create#1:lost_after")])
    messages = twilio_at(address).messages
    with pytest.raises(requests.ConnectionError):
        messages.create(**SMS)
    messages.create(**SMS)
    assert address.ledger.effects() == {("twilio", "messages.create", "+15557654321"): 2}
