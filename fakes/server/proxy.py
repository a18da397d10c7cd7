"""A proxy for SDKs that cannot be given another URL: it answers in the place of the hosts they call."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from aiohttp import web

from fakes.server.certificates import Authority
from fakes.server.dialects import DIALECTS, dialect_at
from fakes.server.listening import GRACE_SECONDS, LOOPBACK, handler_of
from fakes.server.site import Site

_CONNECT = re.compile(rb"CONNECT ([A-Za-z0-9.-]{1,253}):(\d{1,5}) HTTP/1\.[01]")
_PLAIN = re.compile(rb"[A-Z]+ http://([A-Za-z0-9.-]{1,253})(?::\d{1,5})?(?:/\S*)? HTTP/1\.[01]")
_MOST_HEAD_BYTES = 32 * 1024
_HANDSHAKE_SECONDS = 10.0
_CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where a proxy listens, and the file with the certificate of the authority that it vouches with."""

    address: str
    authority_file: Path

    def variables(self) -> Mapping[str, str]:
        """Environment variables that lead a program's HTTPS here, and make it trust what it meets.

        They are read by requests, urllib, httpx, boto3, curl and, from version 24, Node; aiohttp wants `trust_env`.
        The stripe SDK brings authorities of its own: set `stripe.ca_bundle_path`, or `stripe.api_base` instead. The
        authority stands alone in its file, so what else speaks TLS, such as a database, is not trusted meanwhile.
        """
        file = str(self.authority_file)
        trust = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "AWS_CA_BUNDLE")
        near = f"{LOOPBACK},localhost,::1"
        return {
            **dict.fromkeys(("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"), self.address),
            **dict.fromkeys(("NO_PROXY", "no_proxy"), near),
            **dict.fromkeys(trust, file),
            "NODE_USE_ENV_PROXY": "1",
        }


@asynccontextmanager
async def proxying(site: Site, folder: Path, port: int = 0) -> AsyncIterator[Proxy]:
    """Stand in on loopback for every host that a dialect knows, until the block ends. The site stays open.

    The authority's certificate is written into `folder`. Other hosts are refused with 502: nothing goes live.

    Raises:
        OSError: the port is taken, or the folder cannot be written to.
    """
    authority, file = Authority(), folder / "crashwindow-ca.pem"
    authority.write(file)
    server = web.Server(handler_of(site), access_log=None, debug=False)
    entrance = _Entrance(server, authority)
    listener = await asyncio.get_running_loop().create_server(entrance.door, LOOPBACK, port)
    try:
        yield Proxy(f"http://{LOOPBACK}:{listener.sockets[0].getsockname()[1]}", file)
    finally:
        listener.close()
        await entrance.close()
        await server.shutdown(GRACE_SECONDS)


class _Entrance:
    """All connections whose tunnel does not stand yet."""

    def __init__(self, server: web.Server, authority: Authority) -> None:
        self.server = server
        self.authority = authority
        self.waiting: set[_Door] = set()

    def door(self) -> _Door:
        """What answers a new connection."""
        return _Door(self)

    async def close(self) -> None:
        """Hang up on those that wait."""
        await asyncio.gather(*(door.hang_up() for door in [*self.waiting]), return_exceptions=True)


class _Door(asyncio.Protocol):
    """One connection up to its tunnel: the head of a CONNECT, then the handshake."""

    def __init__(self, entrance: _Entrance) -> None:
        self._entrance = entrance
        self._head = b""
        self._transport: asyncio.Transport | None = None
        self._handshake: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client."""
        self._transport = cast("asyncio.Transport", transport)  # a listener's are; uvloop's do not say so
        self._entrance.waiting.add(self)

    def connection_lost(self, _error: Exception | None) -> None:
        """It is gone before it had a tunnel."""
        self._entrance.waiting.discard(self)

    def data_received(self, data: bytes) -> None:
        """A piece of the head. What follows it, before the tunnel was granted, is nothing that a client may send."""
        self._head += data
        if b"\r\n\r\n" in self._head:
            self._answer(self._head.partition(b"\r\n")[0])
        elif len(self._head) > _MOST_HEAD_BYTES:
            self._refuse(400, "the head of the request does not end")

    async def hang_up(self) -> None:
        """Lose the connection at once."""
        if self._transport is not None:
            self._transport.abort()
        if self._handshake is not None:
            self._handshake.cancel()
            await asyncio.wait([self._handshake])

    def _answer(self, line: bytes) -> None:
        connect, plain = _CONNECT.fullmatch(line), _PLAIN.fullmatch(line)
        if plain is not None:
            self._refuse(502, f"{plain[1].decode()} was asked for in plain HTTP, and nothing goes live here")
        elif connect is None:
            self._refuse(400, "this proxy takes CONNECT host:port and nothing else")
        elif dialect_at(host := connect[1].decode().lower()) is None:
            self._refuse(502, f"{host} is no provider that is served here, and nothing goes live")
        elif self._handshake is None:
            self._handshake = asyncio.ensure_future(self._open(host))

    def _refuse(self, status: int, why: str) -> None:
        """The reason is on the first line too: it is all that most clients show."""
        body = f"{why}. Served: {', '.join(sorted(host for one in DIALECTS.values() for host in one.hosts))}\n"
        head = f"HTTP/1.1 {status} {why}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(f"{head}Connection: close\r\n\r\n{body}".encode())
            self._transport.close()

    async def _open(self, host: str) -> None:
        """Be that host, towards one client."""
        transport, arrival = self._transport, _Arrival()
        if transport is None:
            return
        transport.write(_CONNECTED)
        try:
            tls = await asyncio.get_running_loop().start_tls(
                transport,
                arrival,
                self._entrance.authority.context_for(host),
                server_side=True,
                ssl_handshake_timeout=_HANDSHAKE_SECONDS,
            )
        except (OSError, asyncio.CancelledError):  # no trust, or no patience
            tls = None
        finally:
            self._entrance.waiting.discard(self)
        if tls is None:
            transport.abort()
        else:
            arrival.hand_over(tls, self._entrance.server())


class _Arrival(asyncio.Protocol):
    """Holds what arrives between the end of the handshake and the moment that the server is told of its connection."""

    def __init__(self) -> None:
        self._early: list[bytes] = []
        self._is_lost = False

    def data_received(self, data: bytes) -> None:
        """The first request, as a rule: clients send it together with the end of their handshake."""
        self._early.append(data)

    def connection_lost(self, _error: Exception | None) -> None:
        """Gone already."""
        self._is_lost = True

    def hand_over(self, transport: asyncio.Transport, protocol: asyncio.Protocol) -> None:
        """From here on the connection is the server's."""
        if self._is_lost:
            return
        transport.set_protocol(protocol)
        protocol.connection_made(transport)
        for data in self._early:
            protocol.data_received(data)
