"""Whatever is sent to a dialect, its answer is the provider's own kind of error, and never a traceback."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import Ledger
from fakes.server import listening
from fakes.server.dialects import DIALECTS
from fakes.server.listening import Listener
from fakes.server.site import Served, Site
from fakes.server.wire import Dialect, Request, Route

CREDENTIALS = (
    {"authorization": "Bearer any"},
    {"authorization": "Basic YTpi"},
    {"authorization": "AWS4-HMAC-SHA256 Credential=any"},
    {"x-api-key": "any"},
    {"x-goog-api-key": "any"},
)
SHAPES: Mapping[str, Callable[[Any], object]] = {
    "anthropic": lambda body: (body["error"]["type"], body["error"]["message"]),
    "exa": lambda body: (body["error"], body["tag"], body["requestId"]),
    "gemini": lambda body: (body["error"]["status"], body["error"]["message"]),
    "openai": lambda body: (body["error"]["type"], body["error"]["message"]),
    "resend": lambda body: (body["statusCode"], body["name"], body["message"]),
    "sendgrid": lambda body: body["errors"][0]["message"],
    "ses": lambda body: body["message"],
    "slack": lambda body: (body["error"], body["ok"] is False or pytest.fail("ok")),
    "stripe": lambda body: (body["error"]["type"], body["error"]["message"]),
    "tavily": lambda body: body["detail"]["error"],
    "twilio": lambda body: (body["code"], body["message"], body["more_info"], body["status"]),
}
"""What a client reads of each provider's error."""

OVER_HTTP = [pytest.param(dialect, id=name) for name, dialect in DIALECTS.items() if dialect.routes]


def headers_for(dialect: Dialect) -> Mapping[str, str]:
    return next(
        headers for headers in CREDENTIALS if dialect.is_authorised(Request(method="POST", path="/", headers=headers))
    )


def path_of(dialect: Dialect, route: Route) -> str:
    return f"/{dialect.name}" + route.path.replace("{", "").replace(":path}", "").replace("}", "")


def posts(dialect: Dialect) -> list[str]:
    return [path_of(dialect, route) for route in dialect.routes if route.method == "POST"]


def check_is_refused(dialect: Dialect, status: int, body: bytes) -> None:
    """An error that is the client's, or 200 where the provider says so within; in the provider's shape."""
    assert 400 <= status < 500 or dialect.name == "slack", (status, body)
    assert SHAPES[dialect.name](json.loads(body))
    assert b"Traceback" not in body
    assert b"the fake failed" not in body


class Client:
    """Sends what no SDK would."""

    def __init__(self, url: str) -> None:
        self._host = url.removeprefix("http://")

    def send(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self._host, timeout=10)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Ledger() as ledger:
        site = Site(ledger=ledger)
        yield site
        site.close()


@pytest.fixture(scope="module")
def client(listener: Listener, site: Site) -> Iterator[Client]:
    with listener.serving(site) as url:
        yield Client(url)


@pytest.mark.parametrize("dialect", OVER_HTTP)
def test_a_body_that_cannot_be_what_was_meant_is_refused(client: Client, dialect: Dialect) -> None:
    bodies = (b"\xff\xfe\xfd", b"{", b"%ff=%fe", b'"text"', b"null", b"[[]]", b"[" * 100_000, b'{"a": NaN}', b"{}", b"")
    for path, body in itertools.product(posts(dialect), bodies):
        for kind in ("application/json", "application/x-www-form-urlencoded"):
            headers = {**headers_for(dialect), "content-type": kind}
            status, answer = client.send("POST", path, body, headers)
            if status != 200 or dialect.name == "slack":
                check_is_refused(dialect, status, answer)


@pytest.mark.parametrize("dialect", OVER_HTTP)
def test_a_body_that_is_not_compressed_as_it_says_is_refused(client: Client, dialect: Dialect) -> None:
    for path in posts(dialect):
        headers = {**headers_for(dialect), "content-encoding": "gzip"}
        check_is_refused(dialect, *client.send("POST", path, b"{}", headers))


@pytest.mark.parametrize("dialect", OVER_HTTP)
def test_a_body_that_is_too_large_is_refused(client: Client, dialect: Dialect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "MOST_BYTES", 1_000)
    for path in posts(dialect):
        status, answer = client.send("POST", path, b"x" * 10_000, headers_for(dialect))
        check_is_refused(dialect, status, answer)
        assert status == 413


@pytest.mark.parametrize("dialect", OVER_HTTP)
def test_a_request_without_credentials_is_refused(client: Client, dialect: Dialect) -> None:
    for route in dialect.routes:
        check_is_refused(dialect, *client.send(route.method, path_of(dialect, route)))


@pytest.mark.parametrize("dialect", OVER_HTTP)
def test_an_unknown_path_is_refused(client: Client, dialect: Dialect) -> None:
    for path in ("/nothing/here", "/", "/%ff%00", "/../../etc/passwd"):
        check_is_refused(dialect, *client.send("POST", f"/{dialect.name}{path}", b"{}", headers_for(dialect)))


@pytest.mark.parametrize("dialect", OVER_HTTP)
def test_another_method_is_refused(client: Client, dialect: Dialect) -> None:
    for path in posts(dialect):
        check_is_refused(dialect, *client.send("PUT", path, b"{}", headers_for(dialect)))


def test_a_path_of_nobody_is_told_who_is_served(client: Client) -> None:
    status, answer = client.send("POST", "/nothing/here", b"{}")
    assert status == 404
    assert "Served: anthropic, " in json.loads(answer)["error"]["message"]


FIELDS = """model messages input role content tools type text id max_tokens stream contents parts system from to cc html
subject personalizations email value Content Destination Simple Raw Body Subject Data ToAddresses query max_results
numResults channel blocks amount currency customer To From"""
NAMES = FIELDS.split()
texts = st.sampled_from(
    ["user", "ada@example.com", "Ada <ada@example.com>", "text", "usd", "+15551234567", "\ud800", ""]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
    max_leaves=12,
)


@pytest.mark.parametrize("dialect", OVER_HTTP)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_no_body_makes_a_dialect_fail(site: Site, dialect: Dialect, data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(posts(dialect)))
    body = data.draw(st.dictionaries(st.sampled_from(NAMES), values) | st.lists(values, max_size=3))
    as_form = data.draw(st.booleans())
    fields = {name: str(value) for name, value in body.items()} if isinstance(body, dict) else {}
    sent = urlencode(fields, errors="replace").encode() if as_form else json.dumps(body).encode()
    kind = "application/x-www-form-urlencoded" if as_form else "application/json"
    request = Request(
        method="POST",
        path=path,
        headers={**headers_for(dialect), "content-type": kind},
        body=sent,
    )

    async def serve() -> Served:
        return await site.serve(request)

    answer = asyncio.run(serve()).answer
    if answer.status >= 400:
        check_is_refused(dialect, answer.status, b"".join(answer.pieces))
