"""One lost reply and no crash: what each SDK makes of it at its defaults."""

from __future__ import annotations

import os

import pytest

from fakes import Ledger
from scenarios.programs.lost_reply import SDKS, LostReply, Sdk, lose_replies, lose_reply, table


@pytest.fixture(scope="module")
def found() -> dict[str, LostReply]:
    before = dict(os.environ)
    replies = {one.sdk: one for one in lose_replies()}
    assert os.environ == before
    return replies


def test_every_sdk_is_named(found: dict[str, LostReply]) -> None:
    assert [*found] == [sdk.name for sdk in SDKS]


@pytest.mark.parametrize(
    ("sdk", "outcome"),
    [
        ("openai", "billed twice"),
        ("anthropic", "billed twice"),
        ("boto3 (SES v2)", "sent twice"),
        ("slack_sdk", "sent twice"),
    ],
)
def test_some_sdks_ask_again_and_it_happens_again(found: dict[str, LostReply], sdk: str, outcome: str) -> None:
    assert found[sdk] == LostReply(sdk, 2, 2, outcome)


def test_the_stripe_module_asks_again_with_the_key_that_it_made(found: dict[str, LostReply]) -> None:
    assert found["stripe (module)"] == LostReply("stripe (module)", 2, 1, "safe by key")


@pytest.mark.parametrize(
    ("sdk", "by_hand"),
    [
        ("google-genai", "billed twice"),
        ("stripe (client)", "charged twice"),
        ("stripe (client), key", "safe by key"),
        ("resend", "sent twice"),
        ("resend, key", "safe by key"),
        ("sendgrid", "sent twice"),
        ("smtplib", "sent twice"),
        ("twilio", "sent twice"),
        ("tavily", "searched twice"),
        ("exa", "searched twice"),
    ],
)
def test_others_raise_and_a_repeat_by_hand_acts_again_unless_it_has_a_key(
    found: dict[str, LostReply], sdk: str, by_hand: str
) -> None:
    one = found[sdk]
    assert (one.requests, one.happened, one.by_hand) == (1, 1, by_hand)
    assert one.outcome.startswith("raised ")


def test_an_sdk_that_is_not_installed_is_named() -> None:
    def call(_key: str | None) -> None:
        raise ModuleNotFoundError(name="of_nobody")

    with Ledger() as ledger:
        one = lose_reply(Sdk("of nobody", "openai.chat", "billed", call), ledger)
    assert one == LostReply("of nobody", 0, 0, "not installed: of_nobody")
    assert table([one]).row_count == 1
