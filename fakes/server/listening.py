"""The network side: a site on a port of the loopback interface, by aiohttp."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, contextmanager
from typing import Self, TypeVar

from aiohttp import HttpVersion11, web
from aiohttp.http_exceptions import PayloadEncodingError

from fakes.server.gate import Dropped
from fakes.server.site import Served, Site
from fakes.server.wire import Request

LOOPBACK = "127.0.0.1"
MOST_BYTES = 40 * 1024 * 1024
"""Of one request's body; beyond it the answer is 413."""

GRACE_SECONDS = 0.02
"""For answers under way when a site closes. Their callers are gone, or about to be."""

T = TypeVar("T")


@asynccontextmanager
async def serving(site: Site, port: int = 0) -> AsyncIterator[str]:
    """Serve a site on loopback until the block ends; gives its address. Port 0 is any free one.

    Raises:
        OSError: the port is taken.
    """
    server = web.Server(handler_of(site), access_log=None, debug=False)
    listener = await asyncio.get_running_loop().create_server(server, LOOPBACK, port)
    try:
        yield f"http://{LOOPBACK}:{listener.sockets[0].getsockname()[1]}"
    finally:
        listener.close()
        await server.shutdown(GRACE_SECONDS)
        site.close()


def new_loop() -> asyncio.AbstractEventLoop:
    """An event loop: uvloop's where there is one, which answers a third more requests a second."""
    try:
        import uvloop  # noqa: PLC0415 - not on Windows
    except ImportError:
        return asyncio.new_event_loop()
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


class Listener:
    """A thread with an event loop, for programs that have none: it serves any number of sites."""

    def __init__(self) -> None:
        self.loop = new_loop()
        self._thread = threading.Thread(target=self._run, name="provider fakes", daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the thread. Sites that are still served are dropped."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()

    @contextmanager
    def serving(self, site: Site, port: int = 0) -> Iterator[str]:
        """As the function of that name, from any thread."""
        with self.open(serving(site, port)) as address:
            yield address

    @contextmanager
    def open(self, door: AbstractAsyncContextManager[T]) -> Iterator[T]:
        """Another door of a site, such as `serving_smtp(site)` or `proxying(site, folder)`, from any thread."""
        stack = AsyncExitStack()
        opened = self._wait(stack.enter_async_context(door))
        try:
            yield opened
        finally:
            self._wait(stack.aclose())

    def _wait(self, work: Awaitable[T]) -> T:
        async def done() -> T:
            return await work

        return asyncio.run_coroutine_threadsafe(done(), self.loop).result()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()


def handler_of(site: Site) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
    """What aiohttp calls for every request to a site."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        try:
            served = await site.serve(await _read(request))
            response = await _send(request, served)
            if served.call is not None and served.cut is None:
                await site.gate.answered(served.call)
        except Dropped:
            if request.transport is not None:
                request.transport.abort()
            return web.Response()  # aiohttp finds nobody to send it to
        except ConnectionError:  # the caller is gone
            return web.Response()
        return response

    return handle


async def _read(request: web.BaseRequest) -> Request:
    """The whole request, or as much of it as is taken of a body that is too large."""
    body = bytearray()
    try:
        while (chunk := await request.content.readany()) and len(body) <= MOST_BYTES:
            body += chunk
    except (PayloadEncodingError, web.RequestPayloadError):  # says that it is compressed, and is not
        body = bytearray(b"\xff")
        request.content.feed_eof()  # or aiohttp reads on, and logs the same error
        request.protocol.close()  # where the next request begins, nobody knows
    return Request(
        method=request.method,
        path=request.rel_url.path,
        query=request.rel_url.query,
        headers=request.headers,
        body=bytes(body),
        too_large=len(body) > MOST_BYTES,
    )


async def _send(request: web.BaseRequest, served: Served) -> web.StreamResponse:
    answer = served.answer
    headers = {**answer.headers, "Content-Type": answer.content_type}
    if served.cut is None and (len(answer.pieces) == 1 or request.version < HttpVersion11):
        response: web.StreamResponse = web.Response(status=answer.status, body=b"".join(answer.pieces), headers=headers)
        await response.prepare(request)
    else:
        response = web.StreamResponse(status=answer.status, headers=headers)
        response.enable_chunked_encoding()
        await response.prepare(request)
        for piece in answer.pieces[: served.cut]:
            await response.write(piece)
    if served.cut is None:
        await response.write_eof()
    elif request.transport is not None:
        request.transport.close()  # what is written goes out; the end of the stream does not
    return response
