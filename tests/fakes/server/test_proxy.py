"""The TLS proxy: SDKs that are given no URL reach the fakes through it, and nobody else."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import stat
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest

from fakes import Fault, Ledger
from fakes.server.dialects import DIALECTS, variables
from fakes.server.listening import LOOPBACK, Listener
from fakes.server.proxy import Proxy, proxying
from fakes.server.site import Site

EVERY_SDK = """
import boto3, openai, resend
from exa_py import Exa
from sendgrid import SendGridAPIClient
from sendgrid.helpers.mail import Mail
from slack_sdk import WebClient
from tavily import TavilyClient
from twilio.rest import Client

resend.api_key = "re_any"
for _ in range(2):
    resend.Emails.send({"from": "b@example.com", "to": "a@example.com", "subject": "s", "text": "t"})
SendGridAPIClient("SG.any").send(Mail("b@example.com", "a@example.com", "s", "t"))
boto3.client("sesv2").send_email(
    Destination={"ToAddresses": ["a@example.com"]},
    Content={"Simple": {"Subject": {"Data": "s"}, "Body": {"Text": {"Data": "t"}}}},
)
TavilyClient("tvly-any").search("sharks")
Exa("any").search("sharks")
WebClient("xoxb-any").chat_postMessage(channel="#sharks", text="t")
Client("AC" + "0" * 32, "any").messages.create(to="+15557654321", from_="+15551234567", body="t")
with openai.OpenAI(api_key="sk-any") as client:
    client.chat.completions.create(model="gpt-5-mini", messages=[{"role": "user", "content": "hi"}])
    for _ in client.chat.completions.create(
        model="gpt-5-mini", messages=[{"role": "user", "content": "hi"}], stream=True
    ):
        pass
"""
SEND_TWICE = """
import resend

resend.api_key = "re_any"
letter = {"from": "b@example.com", "to": "a@example.com", "subject": "s", "text": "t"}
try:
    resend.Emails.send(letter, {"idempotency_key": "k"})
except resend.exceptions.ResendError as error:
    print(error)
resend.Emails.send(letter, {"idempotency_key": "k"})
"""
STRIPE = """
import os, stripe

stripe.api_key = "sk_test_any"
stripe.max_network_retries = 0
try:
    stripe.Customer.create(email="ada@example.com")
except stripe.APIConnectionError as error:
    print("CERTIFICATE_VERIFY_FAILED" in str(error))
stripe.ca_bundle_path = os.environ["SSL_CERT_FILE"]
stripe.Customer.create(email="ada@example.com")
"""


class Standing:
    """A proxy that stands, and the ledger of its site."""

    def __init__(self, proxy: Proxy, ledger: Ledger) -> None:
        self.proxy = proxy
        self.ledger = ledger

    def run(self, program: str) -> str:
        """What a program prints that has no more than the proxy's environment."""
        kept = {name: value for name, value in os.environ.items() if name not in variables("")}
        aws = {name: value for name, value in variables("").items() if name.startswith("AWS") and "URL" not in name}
        ran = subprocess.run(
            [sys.executable, "-c", program],
            env=kept | aws | dict(self.proxy.variables()),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def connect(self) -> socket.socket:
        return socket.create_connection((LOOPBACK, int(self.proxy.address.rpartition(":")[2])), timeout=10)

    def ask(self, head: bytes) -> str:
        """What a client is told that does not get a tunnel."""
        with self.connect() as client:
            client.sendall(head)
            with client.makefile("rb") as answer:
                return answer.read().decode()

    def trusting(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.proxy.authority_file)


@pytest.fixture
def standing(listener: Listener, tmp_path: Path) -> Iterator[Callable[..., Standing]]:
    with ExitStack() as stack:

        def stand(**keywords: Any) -> Standing:
            ledger = stack.enter_context(Ledger())
            site = Site(ledger=ledger, **keywords)
            stack.callback(site.close)
            return Standing(stack.enter_context(listener.open(proxying(site, tmp_path))), ledger)

        yield stand


def test_sdks_without_a_base_url_reach_the_fakes(standing: Callable[..., Standing]) -> None:
    stands = standing()
    stands.run(EVERY_SDK)
    assert [row.provider for row in stands.ledger.rows()] == [
        *("resend", "resend", "sendgrid", "ses", "tavily", "exa", "slack", "twilio", "openai", "openai"),
    ]


def test_the_sdk_of_stripe_brings_authorities_of_its_own_which_one_line_replaces(
    standing: Callable[..., Standing],
) -> None:
    stands = standing()
    assert stands.run(STRIPE) == "True\n"
    assert [row.provider for row in stands.ledger.rows()] == ["stripe"]


def test_an_answer_is_lost_through_the_proxy_too(standing: Callable[..., Standing]) -> None:
    stands = standing(faults=[Fault.parse("resend.*#1:lost_after")])
    assert "Request failed" in stands.run(SEND_TWICE)
    assert stands.ledger.effects() == {("resend", "emails.send", "a@example.com"): 1}


def test_one_connection_carries_many_requests_and_speaks_http_1(standing: Callable[..., Standing]) -> None:
    stands = standing()
    context = stands.trusting()
    context.set_alpn_protocols(["h2", "http/1.1"])
    request = (
        b"POST /search HTTP/1.1\r\nHost: api.tavily.com\r\nAuthorization: Bearer any\r\nContent-Length: 13\r\n\r\n"
    )
    with stands.connect() as plain:
        plain.sendall(b"CONNECT api.tavily.com:443 HTTP/1.1\r\nHost: api.tavily.com:443\r\n\r\n")
        assert plain.recv(100) == b"HTTP/1.1 200 Connection established\r\n\r\n"
        with context.wrap_socket(plain, server_hostname="api.tavily.com") as client, client.makefile("rb") as answers:
            assert client.selected_alpn_protocol() == "http/1.1"
            for _ in range(3):
                client.sendall(request + b'{"query":"q"}')
                assert answers.readline() == b"HTTP/1.1 200 OK\r\n"
                heads = dict(line.decode().strip().split(": ") for line in iter(answers.readline, b"\r\n"))
                assert json.loads(answers.read(int(heads["Content-Length"])))["query"] == "q"
    assert len(stands.ledger.rows()) == 3


def test_a_request_may_come_in_one_piece_with_the_end_of_the_handshake(tmp_path: Path) -> None:
    """Under asyncio's own loop, which hands such a request over before anybody knows of the handshake's end."""

    def ask(stands: Standing) -> None:
        arrived, leaving = ssl.MemoryBIO(), ssl.MemoryBIO()
        client = stands.trusting().wrap_bio(arrived, leaving, server_hostname="api.openai.com")
        with stands.connect() as plain:

            def when_it_can(step: Callable[[], Any]) -> Any:
                while True:
                    try:
                        return step()
                    except ssl.SSLWantReadError:
                        plain.sendall(leaving.read())
                        arrived.write(plain.recv(65_536))

            plain.sendall(b"CONNECT api.openai.com:443 HTTP/1.1\r\n\r\n")
            plain.recv(100)
            when_it_can(client.do_handshake)
            client.write(b"GET /v1/models HTTP/1.1\r\nHost: api.openai.com\r\n\r\n")
            assert leaving.pending > 100  # both
            assert when_it_can(lambda: client.read(100)).startswith(b"HTTP/1.1 401 ")

    async def stand() -> None:
        with Ledger() as ledger:
            site = Site(ledger=ledger)
            async with proxying(site, tmp_path) as proxy:
                await asyncio.to_thread(ask, Standing(proxy, ledger))
            site.close()

    asyncio.run(stand())


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"CONNECT example.com:443 HTTP/1.1\r\n\r\n", "502 example.com is no provider that is served here"),
        (b"CONNECT api.openai.com.example.com:443 HTTP/1.1\r\n\r\n", "502 api.openai.com.example.com is no provider"),
        (b"GET http://api.openai.com/v1/models HTTP/1.1\r\n\r\n", "502 api.openai.com was asked for in plain HTTP"),
        (b"GET / HTTP/1.1\r\n\r\n", "400 this proxy takes CONNECT host:port and nothing else"),
        (b"CONNECT api.openai.com HTTP/1.1\r\n\r\n", "400 this proxy takes CONNECT"),
        (b"CONNECT api.openai.com:443\r\n\r\n", "400 this proxy takes CONNECT"),
        (b"CONNECT a b:443 HTTP/1.1\r\n\r\n", "400 this proxy takes CONNECT"),
        (b"\xff\x00\r\n\r\n", "400 this proxy takes CONNECT"),
        (b"\r\n\r\n", "400 this proxy takes CONNECT"),
        (b"CONNECT " + b"x" * 40_000, "400 the head of the request does not end"),
    ],
)
def test_all_else_is_refused_in_one_clear_line(standing: Callable[..., Standing], head: bytes, status: str) -> None:
    stands = standing()
    answer = stands.ask(head)
    assert answer.startswith(f"HTTP/1.1 {status}")
    assert "Served: api." in answer
    assert not stands.ledger.rows()


def test_a_program_is_told_that_nothing_goes_live(standing: Callable[..., Standing]) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"https": standing().proxy.address}))
    with pytest.raises(URLError, match=r"502 example\.com is no provider that is served here, and nothing goes live"):
        opener.open("https://example.com/", timeout=10)


def test_a_client_that_does_not_trust_the_authority_is_left_alone(
    standing: Callable[..., Standing], caplog: pytest.LogCaptureFixture
) -> None:
    stands = standing()
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({"https": stands.proxy.address}),
        urllib.request.HTTPSHandler(context=ssl.create_default_context()),
    )
    with pytest.raises(URLError, match="certificate verify failed"):
        opener.open("https://api.openai.com/v1/models", timeout=10)
    with stands.connect() as client:
        client.sendall(b"CONNECT api.openai.com:443 HTTP/1.1\r\n\r\n")
        client.recv(100)
        client.sendall(b"no handshake at all")
        with client.makefile("rb") as rest:
            assert b"HTTP" not in rest.read()
    assert not caplog.records


def test_a_client_that_says_nothing_does_not_keep_the_proxy_open(listener: Listener, tmp_path: Path) -> None:
    with Ledger() as ledger, ExitStack() as clients:
        site = Site(ledger=ledger)
        with listener.open(proxying(site, tmp_path)) as proxy:
            stands = Standing(proxy, ledger)
            silent, half_way = (clients.enter_context(stands.connect()) for _ in range(2))
            half_way.sendall(b"CONNECT api.openai.com:443 HTTP/1.1\r\n\r\n")
            half_way.recv(100)
        for client in (silent, half_way):
            try:
                assert client.recv(100) == b""
            except ConnectionResetError:
                continue
        site.close()


def test_the_certificate_of_the_authority_is_for_its_owner_and_its_key_is_nowhere(
    standing: Callable[..., Standing], tmp_path: Path
) -> None:
    file = standing().proxy.authority_file
    assert [*tmp_path.iterdir()] == [file]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "PRIVATE" not in file.read_text()


def test_every_host_of_a_dialect_is_known_under_its_own_provider(standing: Callable[..., Standing]) -> None:
    stands = standing()
    context = stands.trusting()
    for host in (host.replace("*", "eu-1") for dialect in DIALECTS.values() for host in dialect.hosts):
        with stands.connect() as plain:
            plain.sendall(f"CONNECT {host}:443 HTTP/1.1\r\n\r\n".encode())
            assert plain.recv(100).startswith(b"HTTP/1.1 200 ")
            with context.wrap_socket(plain, server_hostname=host) as client:
                assert client.version()
