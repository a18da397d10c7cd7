"""Emails over HTTP, sent by the SDKs of Resend, SendGrid and SES."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from email.message import EmailMessage
from typing import Any

import boto3
import pytest
import resend
from botocore.exceptions import ClientError
from python_http_client.exceptions import BadRequestsError, InternalServerError
from resend.exceptions import ResendError
from sendgrid import SendGridAPIClient
from sendgrid.helpers.mail import Mail, Personalization, To

from fakes import Fault
from fakes.server.dialects import variables

LETTER = {"from": "Bob <bob@example.com>", "to": "ada@example.com", "subject": "Sharks", "text": "They swim."}
SIMPLE = {"Simple": {"Subject": {"Data": "Sharks"}, "Body": {"Text": {"Data": "They swim."}}}}


@pytest.fixture
def mail(served: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """A served site that the SDKs of this process are pointed at, as their environment variables do."""

    def serve(**keywords: Any) -> Any:
        address = served(**keywords)
        names = variables(address.url)
        for name, value in names.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(resend, "api_url", names["RESEND_API_URL"])
        monkeypatch.setattr(resend, "api_key", names["RESEND_API_KEY"])
        return address

    return serve


def lost_after(operation: str) -> list[Fault]:
    return [Fault.parse(f"{operation}#1:lost_after")]


def ses() -> Any:
    return boto3.client("sesv2")


def sendgrid_to(address: Any) -> SendGridAPIClient:
    return SendGridAPIClient(host=address.url)


def test_resend_sends_and_says_what_became_of_it(mail: Callable[..., Any]) -> None:
    address = mail()
    sent = resend.Emails.send(LETTER | {"cc": ["Cy <cy@example.com>"], "bcc": "di@example.com"})
    found = resend.Emails.get(sent["id"])
    assert (found["to"], found["cc"], found["subject"]) == (["ada@example.com"], ["Cy <cy@example.com>"], "Sharks")
    assert found["last_event"] == "delivered"
    assert address.ledger.effects() == {("resend", "emails.send", "ada@example.com, cy@example.com, di@example.com"): 1}


def test_resend_sends_a_batch_as_one_request_and_finds_each_of_it(mail: Callable[..., Any]) -> None:
    address = mail()
    sent = resend.Batch.send([LETTER, LETTER | {"to": ["cy@example.com", "ada@example.com"]}])
    ids = [email["id"] for email in sent["data"]]
    assert len(set(ids)) == 2
    assert [resend.Emails.get(one)["to"] for one in ids] == [["ada@example.com"], ["cy@example.com", "ada@example.com"]]
    assert address.ledger.effects() == {("resend", "emails.batch", "ada@example.com, cy@example.com"): 1}


def test_an_answer_of_resend_that_is_lost_raises_and_a_second_call_acts_once_only_with_the_key(
    mail: Callable[..., Any],
) -> None:
    for options, times in (({"idempotency_key": "k"}, 1), ({}, 2)):
        address = mail(faults=lost_after("resend.emails.send"))
        with pytest.raises(ResendError, match="Request failed"):
            resend.Emails.send(LETTER, options)
        again = resend.Emails.send(LETTER, options)
        assert address.ledger.effects().total() == times
        assert resend.Emails.get(again["id"])["subject"] == "Sharks"


def test_resend_refuses_a_key_with_another_body_and_a_key_that_is_too_long(mail: Callable[..., Any]) -> None:
    mail()
    resend.Emails.send(LETTER, {"idempotency_key": "k"})
    with pytest.raises(ResendError) as mismatch:
        resend.Emails.send(LETTER | {"subject": "Whales"}, {"idempotency_key": "k"})
    with pytest.raises(ResendError) as too_long:
        resend.Emails.send(LETTER, {"idempotency_key": "k" * 257})
    found = [(error.value.code, error.value.error_type) for error in (mismatch, too_long)]
    assert found == [(409, "invalid_idempotent_request"), (400, "invalid_idempotency_key")]


def test_resend_refuses_a_key_whose_first_call_is_in_flight(mail: Callable[..., Any]) -> None:
    address = mail(faults=[Fault.parse("resend.emails.send#1:slow=0.5")])
    first = threading.Thread(target=resend.Emails.send, args=(LETTER, {"idempotency_key": "k"}))
    first.start()
    while not address.ledger.rows():
        time.sleep(0.005)
    with pytest.raises(ResendError) as error:
        resend.Emails.send(LETTER, {"idempotency_key": "k"})
    first.join()
    assert (error.value.code, error.value.error_type) == (409, "concurrent_idempotent_requests")


@pytest.mark.parametrize(
    ("change", "code", "name"),
    [
        ({"from": None}, 422, "missing_required_field"),
        ({"subject": None}, 422, "missing_required_field"),
        ({"text": None}, 422, "missing_required_field"),
        ({"to": []}, 422, "validation_error"),
        ({"to": "ada"}, 422, "validation_error"),
        ({"to": "ada@example.com, cy@example.com"}, 422, "validation_error"),
        ({"to": [1]}, 422, "validation_error"),
    ],
)
def test_resend_refuses_an_email_that_cannot_be_sent(
    mail: Callable[..., Any], change: dict[str, Any], code: int, name: str
) -> None:
    address = mail()
    letter = {field: value for field, value in (LETTER | change).items() if value is not None}
    with pytest.raises(ResendError) as error:
        resend.Emails.send(letter)
    assert (error.value.code, error.value.error_type) == (code, name)
    assert not address.ledger.rows()


def test_resend_does_not_know_an_email_that_was_never_sent(mail: Callable[..., Any]) -> None:
    mail()
    with pytest.raises(ResendError, match="Email not found") as error:
        resend.Emails.get("00000000-0000-4000-8000-000000000000")
    assert error.value.code == 404


def test_resend_says_when_to_call_again(mail: Callable[..., Any]) -> None:
    mail(faults=[Fault.parse("resend.*:rate_limit=3")])
    with pytest.raises(ResendError) as error:
        resend.Emails.send(LETTER)
    assert (error.value.code, error.value.error_type) == (429, "rate_limit_exceeded")
    assert error.value.headers["retry-after"] == "3"


def test_sendgrid_accepts_an_email_without_a_body_in_the_answer(mail: Callable[..., Any]) -> None:
    address = mail()
    answer = sendgrid_to(address).send(Mail("bob@example.com", "ada@example.com", "Sharks", "They swim."))
    assert (answer.status_code, answer.body) == (202, b"")
    assert len(answer.headers["X-Message-Id"]) == 22
    assert address.ledger.effects() == {("sendgrid", "mail.send", "ada@example.com"): 1}


def test_sendgrid_reaches_the_recipients_of_all_personalizations(mail: Callable[..., Any]) -> None:
    address = mail()
    letter = Mail("bob@example.com", subject="Sharks", plain_text_content="They swim.")
    for name in ("cy", "ada"):  # the SDK puts the last one first
        one = Personalization()
        one.add_to(To(f"{name}@example.com"))
        letter.add_personalization(one)
    sendgrid_to(address).send(letter)
    assert [*address.ledger.effects()] == [("sendgrid", "mail.send", "ada@example.com, cy@example.com")]


def test_sendgrid_names_the_field_that_is_wrong(mail: Callable[..., Any]) -> None:
    address = mail()
    good = Mail("bob@example.com", "ada@example.com", "Sharks", "They swim.").get()
    for field, value, named in (
        ("personalizations", [], "personalizations"),
        ("personalizations", [{"to": []}], "personalizations[0].to"),
        ("personalizations", [{"to": [{"email": "ada"}]}], "personalizations[0].to[0].email"),
        ("from", None, "from.email"),
        ("subject", None, "subject"),
        ("content", [], "content"),
    ):
        with pytest.raises(BadRequestsError) as error:
            sendgrid_to(address).send(good | {field: value})
        assert error.value.to_dict["errors"][0]["field"] == named


def test_an_answer_of_sendgrid_that_is_lost_raises_and_a_second_call_acts_twice(mail: Callable[..., Any]) -> None:
    address = mail(faults=lost_after("sendgrid.mail.send"))
    letter = Mail("bob@example.com", "ada@example.com", "Sharks", "They swim.")
    with pytest.raises(OSError, match=r"closed|reset"):
        sendgrid_to(address).send(letter)
    sendgrid_to(address).send(letter)
    assert address.ledger.effects() == {("sendgrid", "mail.send", "ada@example.com"): 2}


def test_an_internal_error_of_sendgrid_sends_nothing(mail: Callable[..., Any]) -> None:
    address = mail(faults=[Fault.parse("sendgrid.mail.send:server_error")])
    with pytest.raises(InternalServerError):
        sendgrid_to(address).send(Mail("bob@example.com", "ada@example.com", "Sharks", "They swim."))
    assert not address.ledger.effects()


def test_ses_sends_to_all_of_the_destination(mail: Callable[..., Any]) -> None:
    address = mail()
    destination = {"ToAddresses": ["Ada <ada@example.com>"], "BccAddresses": ["cy@example.com"]}
    sent = ses().send_email(FromEmailAddress="bob@example.com", Destination=destination, Content=SIMPLE)
    assert sent["MessageId"].endswith("-000000")
    assert address.ledger.effects() == {("ses", "send_email", "ada@example.com, cy@example.com"): 1}


def test_ses_finds_the_recipients_of_a_raw_message_in_it_and_a_new_boundary_makes_no_new_body(
    mail: Callable[..., Any],
) -> None:
    address = mail()
    for _ in range(2):
        letter = EmailMessage()
        letter["To"], letter["Subject"] = "Ada <ada@example.com>", "Sharks"
        letter.set_content("They swim.")
        letter.add_attachment(b"fin", maintype="image", subtype="png")
        ses().send_email(Content={"Raw": {"Data": letter.as_bytes()}})
    assert address.ledger.effects() == {("ses", "send_email", "ada@example.com"): 2}
    assert len({row.body for row in address.ledger.rows()}) == 1


def test_the_sdk_of_ses_retries_a_lost_answer_and_so_sends_twice(mail: Callable[..., Any]) -> None:
    address = mail(faults=lost_after("ses.send_email"))
    ses().send_email(Destination={"ToAddresses": ["ada@example.com"]}, Content=SIMPLE)
    assert address.ledger.effects() == {("ses", "send_email", "ada@example.com"): 2}
    assert [row.retry for row in address.ledger.rows()] == [0, 1]


def test_ses_is_throttled_and_the_sdk_waits_and_retries(mail: Callable[..., Any]) -> None:
    address = mail(faults=[Fault.parse("ses.send_email#1:rate_limit=1")])
    ses().send_email(Destination={"ToAddresses": ["ada@example.com"]}, Content=SIMPLE)
    assert [row.outcome for row in address.ledger.rows()] == ["refused", "applied"]


@pytest.mark.parametrize(
    "request_",
    [
        {"Content": {}},
        {"Content": SIMPLE},
        {"Content": SIMPLE, "Destination": {"ToAddresses": ["ada"]}},
        {"Content": SIMPLE | {"Raw": {"Data": b"x"}}, "Destination": {"ToAddresses": ["ada@example.com"]}},
        {
            "Content": {"Simple": {"Subject": {"Data": "s"}, "Body": {}}},
            "Destination": {"ToAddresses": ["a@example.com"]},
        },
    ],
)
def test_ses_refuses_an_email_that_cannot_be_sent(mail: Callable[..., Any], request_: dict[str, Any]) -> None:
    address = mail()
    with pytest.raises(ClientError) as error:
        ses().send_email(**request_)
    assert error.value.response["Error"]["Code"] == "BadRequestException"
    assert not address.ledger.rows()
