"""Mail over SMTP, sent by smtplib."""

from __future__ import annotations

import asyncio
import smtplib
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from pathlib import Path
from typing import Any

import pytest

from fakes import Fault, Ledger
from fakes.server import smtp
from fakes.server.certificates import Authority
from fakes.server.gate import Dropped
from fakes.server.listening import LOOPBACK, Listener
from fakes.server.site import Site
from fakes.server.smtp import serving_smtp
from fakes.witness import Call, Caller

SENT_ONCE = {("smtp", "send", "ada@example.com, cy@example.com"): 1}


class Office:
    """A site with a door for SMTP."""

    def __init__(self, port: int, ledger: Ledger) -> None:
        self.port = port
        self.ledger = ledger

    def connect(self) -> smtplib.SMTP:
        return smtplib.SMTP(LOOPBACK, self.port, timeout=10)

    def send(self) -> Mapping[str, Any]:
        with self.connect() as client:
            return client.send_message(letter())


class Watching:
    """A gate that notes the moments, and may lose the connection in one of them."""

    def __init__(self, lose_at: str = "") -> None:
        self.seen: list[str] = []
        self.lose_at = lose_at
        self.go = asyncio.Event()
        self.go.set()

    def caller(self, headers: Mapping[str, str]) -> Caller:
        return Caller(7, headers.get("x-step"))

    async def before(self, _call: Call) -> None:
        await self._note("before")

    async def applied(self, _call: Call) -> None:
        await self._note("applied")

    async def answered(self, _call: Call) -> None:
        await self._note("answered")

    async def _note(self, moment: str) -> None:
        self.seen.append(moment)
        await self.go.wait()
        if moment == self.lose_at:
            raise Dropped


def letter() -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Bcc"] = "Bob <bob@example.com>", "ada@example.com", "cy@example.com"
    message["Subject"], message["Date"], message["Message-ID"] = "Sharks", formatdate(), make_msgid()
    message["X-Step"] = "greet"
    message.set_content("They swim.\n.\nAnd bite.")
    message.add_attachment(b"fin", maintype="image", subtype="png")
    return message


def wait_until(holds: Callable[[], object]) -> None:
    end = time.monotonic() + 10
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


@pytest.fixture
def office(listener: Listener) -> Iterator[Callable[..., Office]]:
    with ExitStack() as stack:

        def open_(*, tls: ssl.SSLContext | None = None, **keywords: Any) -> Office:
            ledger = stack.enter_context(Ledger())
            site = Site(ledger=ledger, **keywords)
            stack.callback(site.close)
            return Office(stack.enter_context(listener.open(serving_smtp(site, tls=tls))), ledger)

        yield open_


def test_a_message_reaches_all_recipients_of_its_envelope(office: Callable[..., Office]) -> None:
    open_ = office()
    assert open_.send() == {}
    assert open_.ledger.effects() == SENT_ONCE


def test_any_name_and_password_are_good_and_a_connection_carries_many_messages(office: Callable[..., Office]) -> None:
    open_ = office()
    with open_.connect() as client:
        assert client.login("anybody", "any")[0] == 235
        for text in ("one", "two"):
            client.sendmail("bob@example.com", ["ada@example.com"], f"Subject: {text}\r\n\r\n{text}\r\n")
    assert open_.ledger.effects() == {("smtp", "send", "ada@example.com"): 2}


def test_two_messages_that_say_the_same_have_one_body_whatever_their_date_and_id(office: Callable[..., Office]) -> None:
    open_ = office()
    open_.send()
    open_.send()
    with open_.connect() as client:
        client.sendmail("bob@example.com", ["ada@example.com"], b"Subject: \xff\r\n\r\n\xfe\r\n")
    first, second, other = (row.body for row in open_.ledger.rows())
    assert first == second != other


@pytest.mark.parametrize(
    ("fault", "code", "hangs_up"),
    [("rate_limit=1", 450, False), ("unavailable", 421, True), ("server_error", 451, False)],
)
def test_a_fault_is_a_reply_that_asks_to_try_again(
    office: Callable[..., Office], fault: str, code: int, *, hangs_up: bool
) -> None:
    open_ = office(faults=[Fault.parse(f"smtp.send#1:{fault}")])
    with open_.connect() as client:
        with pytest.raises(smtplib.SMTPResponseException) as reply:
            client.send_message(letter())
        assert reply.value.smtp_code == code
        if hangs_up:
            with pytest.raises(smtplib.SMTPServerDisconnected):
                client.noop()
        else:
            client.send_message(letter())
    assert open_.ledger.effects().total() == (0 if hangs_up else 1)


@pytest.mark.parametrize(("fault", "sent"), [("lost_before", 0), ("lost_after", 1), ("cut=0", 1)])
def test_a_lost_connection_is_lost_after_the_final_dot(office: Callable[..., Office], fault: str, sent: int) -> None:
    open_ = office(faults=[Fault.parse(f"smtp.send#1:{fault}")])
    with pytest.raises((smtplib.SMTPServerDisconnected, ConnectionResetError)):
        open_.send()
    assert open_.ledger.effects().total() == sent
    open_.send()
    assert open_.ledger.effects().total() == sent + 1


def test_the_gate_sees_the_three_moments_and_the_headers(office: Callable[..., Office]) -> None:
    gate = Watching()
    open_ = office(gate=gate)
    open_.send()
    wait_until(lambda: len(gate.seen) == 3)
    assert gate.seen == ["before", "applied", "answered"]
    assert [(row.life, row.step) for row in open_.ledger.rows()] == [(7, "greet")]


@pytest.mark.parametrize(("moment", "sent"), [("before", 0), ("applied", 1)])
def test_the_gate_can_lose_the_connection_before_the_reply(
    office: Callable[..., Office], moment: str, sent: int
) -> None:
    open_ = office(gate=Watching(lose_at=moment))
    with pytest.raises((smtplib.SMTPServerDisconnected, ConnectionResetError)):
        open_.send()
    assert open_.ledger.effects().total() == sent


def test_the_gate_can_lose_the_connection_after_the_reply(office: Callable[..., Office]) -> None:
    open_ = office(gate=Watching(lose_at="answered"))
    with open_.connect() as client:
        assert client.send_message(letter()) == {}
        with pytest.raises((smtplib.SMTPServerDisconnected, ConnectionResetError)):
            client.noop()
    assert open_.ledger.effects() == SENT_ONCE


def test_a_message_that_was_read_is_sent_though_its_sender_is_gone(
    office: Callable[..., Office], listener: Listener
) -> None:
    gate = Watching()
    gate.go.clear()
    open_ = office(gate=gate)
    client = open_.connect()
    client.helo()
    client.mail("bob@example.com")
    client.rcpt("ada@example.com")
    client.docmd("DATA")
    client.send("Subject: Sharks\r\n\r\nThey swim.\r\n.\r\n")
    wait_until(lambda: gate.seen)
    client.close()
    time.sleep(0.05)
    listener.loop.call_soon_threadsafe(gate.go.set)
    wait_until(open_.ledger.effects)
    assert open_.ledger.effects() == {("smtp", "send", "ada@example.com"): 1}


def test_a_message_that_is_too_large_is_refused(office: Callable[..., Office], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(smtp, "MOST_BYTES", 100)
    open_ = office()
    with open_.connect() as client:
        client.helo()
        client.mail("bob@example.com")
        client.rcpt("ada@example.com")
        assert client.data("x\r\n" * 1_000)[0] == 552
        with pytest.raises(smtplib.SMTPResponseException):
            client.send_message(letter())
    assert not open_.ledger.rows()


def test_a_bug_of_ours_is_no_traceback_of_theirs(
    office: Callable[..., Office], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("secret")

    monkeypatch.setattr(smtp, "send", broken)
    with pytest.raises(smtplib.SMTPDataError, match=r"451, b'4\.3\.0 the fake failed: KeyError'"):
        office().send()
    assert "secret" in caplog.text


def test_what_is_not_smtp_gets_a_reply_in_smtp(office: Callable[..., Office]) -> None:
    with socket.create_connection((LOOPBACK, office().port), timeout=10) as client, client.makefile("rb") as replies:
        assert replies.readline().startswith(b"220 ")
        client.sendall(b"GET / HTTP/1.1\r\n\xff\xfe\r\nDATA\r\n" + b"x" * 5_000 + b"\r\n")
        assert [replies.readline()[:3] for _ in range(4)] == [b"500", b"500", b"503", b"500"]


def test_starttls_is_offered_to_those_who_trust_the_authority(office: Callable[..., Office], tmp_path: Path) -> None:
    authority = Authority()
    authority.write(tmp_path / "ca.pem")
    open_ = office(tls=authority.context_for("localhost"))
    with smtplib.SMTP("localhost", open_.port, timeout=10) as client:
        client.starttls(context=ssl.create_default_context(cafile=tmp_path / "ca.pem"))
        client.login("anybody", "any")
        client.send_message(letter())
    assert open_.ledger.effects() == SENT_ONCE


def test_connections_end_with_the_door(listener: Listener) -> None:
    with Ledger() as ledger:
        site = Site(ledger=ledger)
        with listener.open(serving_smtp(site)) as port:
            client = smtplib.SMTP(LOOPBACK, port, timeout=10)
            with pytest.raises(OSError, match="address already in use"), listener.open(serving_smtp(site, port)):
                pass
        with pytest.raises((smtplib.SMTPServerDisconnected, ConnectionResetError)):
            client.noop()
        client.close()
        site.close()
