"""The door of a site for SMTP, by aiosmtpd: same ledger, gate and faults as over HTTP."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import TypeVar, cast

from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

from fakes.server.dialects.smtp import Smtp, send
from fakes.server.gate import Dropped
from fakes.server.listening import LOOPBACK, MOST_BYTES
from fakes.server.mail import parsed
from fakes.server.site import Served, Site

T = TypeVar("T")

_DIALECT = Smtp()
_CLOSING = 421
"""The reply after which the server hangs up."""

_LOG = logging.getLogger(__name__)


@asynccontextmanager
async def serving_smtp(site: Site, port: int = 0, *, tls: ssl.SSLContext | None = None) -> AsyncIterator[int]:
    """Take mail for a site on loopback until the block ends; gives the port. The site stays open.

    Any name and password are good. With `tls`, which holds a certificate for "localhost" or so, STARTTLS is offered.

    Raises:
        OSError: the port is taken.
    """
    office = _Office(site, tls)
    listener = await asyncio.get_running_loop().create_server(office.door, LOOPBACK, port)
    try:
        yield listener.sockets[0].getsockname()[1]
    finally:
        listener.close()
        await office.close()


class _Office:
    """All connections to one door, and the messages that are being dealt with."""

    def __init__(self, site: Site, tls: ssl.SSLContext | None) -> None:
        self.site = site
        self.tls = tls
        self.open: set[_Door] = set()
        self._under_way: set[asyncio.Task[object]] = set()

    def door(self) -> _Door:
        """What answers a new connection."""
        return _Door(self)

    async def carry_out(self, work: Coroutine[object, object, T]) -> T:
        """Finish what was begun, even if whoever waits for it has hung up: a message that was read whole is sent."""
        task = asyncio.ensure_future(work)
        self._under_way.add(task)
        task.add_done_callback(self._ended)
        return await asyncio.shield(task)

    async def close(self) -> None:
        """Hang up, and give up."""
        ends = [door.hang_up() for door in self.open] + [*self._under_way]
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*ends, return_exceptions=True)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._under_way.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waits has it; nobody may


class _Session(Session):
    """A session whose `login_data`, which nobody reads, is no property that warns at every login."""

    login_data: object = None


class _Door(SMTP):
    """One connection."""

    def __init__(self, office: _Office) -> None:
        super().__init__(
            _Counter(office.site, office),
            data_size_limit=MOST_BYTES,
            enable_SMTPUTF8=True,
            hostname="crashwindow",
            ident="fake",
            tls_context=office.tls,
            auth_require_tls=False,
            authenticator=_anybody,
            loop=asyncio.get_running_loop(),
        )
        self._office = office

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Also called again, after STARTTLS."""
        super().connection_made(transport)
        self._office.open.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        """Also called for a connection that this side has ended."""
        self._office.open.discard(self)
        super().connection_lost(error)

    def hang_up(self) -> asyncio.Future[None]:
        """Lose the connection at once; what is returned is done when nothing of it is left."""
        if self.transport is not None:
            cast("asyncio.Transport", self.transport).abort()  # a listener's are; uvloop's do not say so
        assert self._handler_coroutine is not None  # noqa: S101 - made with the connection
        self._handler_coroutine.cancel()
        return self._handler_coroutine

    def _create_session(self) -> Session:
        return _Session(self.loop)

    async def smtp_DATA(self, arg: str) -> None:  # noqa: N802 - aiosmtpd's name
        """The gate's third moment comes after the reply, which aiosmtpd has no hook for."""
        counter = self.event_handler
        try:
            await super().smtp_DATA(arg)
            served = counter.served
            if served is None:
                return
            if served.answer.status == _CLOSING and self.transport is not None:
                self.transport.close()
            if served.call is not None:
                await self._office.carry_out(self._office.site.gate.answered(served.call))
        except Dropped:
            self.hang_up()


class _Counter:
    """What aiosmtpd asks for a connection's messages. `served` is what became of the last one."""

    def __init__(self, site: Site, office: _Office) -> None:
        self._site = site
        self._office = office
        self.served: Served | None = None

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:  # noqa: N802 - aiosmtpd's name
        """The reply to a message."""
        self.served = None
        content = envelope.original_content or b""
        caller = self._site.gate.caller({name.lower(): str(value) for name, value in parsed(content).items()})
        asked = send(self._site.desk(_DIALECT, caller), envelope.mail_from or "", envelope.rcpt_tos, content)
        call = self._site.call(_DIALECT, asked, None)
        self.served = await self._office.carry_out(self._site.answer(_DIALECT, asked, call, caller))
        if self.served.cut is not None:
            raise Dropped
        return f"{self.served.answer.status} {b''.join(self.served.answer.pieces).decode()}"

    async def handle_exception(self, error: Exception) -> str:
        """A bug of ours; a client is not shown its traceback."""
        _LOG.exception("SMTP", exc_info=error)
        return f"451 4.3.0 the fake failed: {type(error).__name__}"


def _anybody(_server: SMTP, _session: Session, _envelope: Envelope, _mechanism: str, _data: object) -> AuthResult:
    return AuthResult(success=True, auth_data=LoginPassword(b"anybody", b""))
