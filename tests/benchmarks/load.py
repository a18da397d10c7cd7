"""Requests a second that a server answers: `python load.py PORT SECONDS CONNECTIONS`, in a process of its own.

Each connection stays open, sends one request, reads the answer whole, and sends the next. What is sent is made before
the clock runs, and no two requests in a row are the same. Printed is the rate; an answer that is none ends it all.
"""

from __future__ import annotations

import asyncio
import json
import sys
from itertools import cycle, islice

import uvloop

HOST = "127.0.0.1"
PATH = "/v1/chat/completions"
SUBJECT = "Write a section about sharks from these sources"
_BODIES = 97
_WARM_UP = 0.25
"""The first part of the time, in which nothing is counted: servers compile, import and draw words."""


class Connection(asyncio.Protocol):
    """Keeps one request under way. `answered` is how many answers have come."""

    def __init__(self, first: int) -> None:
        self.answered = 0
        self.lost = asyncio.get_running_loop().create_future()
        self._requests = cycle([*islice(cycle(requests()), first, first + _BODIES)])
        self._received = bytearray()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as TCP's are
        """Send the first request."""
        self._transport = transport
        transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        """Send the next request once the answer is complete."""
        self._received += data
        if not is_complete(self._received):
            return
        if not self._received.startswith(b"HTTP/1.1 200 "):
            self.lost.set_exception(ValueError(f"this is no answer: {bytes(self._received[:500])!r}"))
            self._transport.abort()
            return
        self.answered += 1
        self._received.clear()
        self._transport.write(next(self._requests))

    def connection_lost(self, error: Exception | None) -> None:
        """Servers under load that hang up are too slow to be measured."""
        if not self.lost.done():
            self.lost.set_exception(error or ConnectionError("the server has hung up"))


def is_complete(answer: bytes | bytearray) -> bool:
    """Whether an answer has come whole: by its length, or by the last of its chunks."""
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    _, found, length = bytes(head).lower().partition(b"content-length:")
    if found:
        return len(body) >= int(length.partition(b"\r\n")[0])
    return body.endswith(b"0\r\n\r\n")


def requests() -> list[bytes]:
    """What the SDK of OpenAI sends, each with another question."""
    made = []
    for number in range(_BODIES):
        question = {"role": "user", "content": f"{SUBJECT}, number {number}."}
        system = {"role": "system", "content": "You are a helpful assistant."}
        body = json.dumps({"messages": [system, question], "model": "gpt-4o-mini"}, separators=(",", ":")).encode()
        head = (
            f"POST {PATH} HTTP/1.1\r\nHost: {HOST}\r\nAccept-Encoding: gzip, deflate\r\nConnection: keep-alive\r\n"
            "Accept: application/json\r\nContent-Type: application/json\r\nUser-Agent: OpenAI/Python 3.57.0\r\n"
            "X-Stainless-Lang: python\r\nX-Stainless-Package-Version: 3.57.0\r\nX-Stainless-OS: Linux\r\n"
            "X-Stainless-Arch: x64\r\nX-Stainless-Runtime: CPython\r\nX-Stainless-Runtime-Version: 3.11.0\r\n"
            "Authorization: Bearer sk-any\r\nX-Stainless-Async: false\r\nx-stainless-retry-count: 0\r\n"
            f"x-stainless-read-timeout: 600\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        made.append(head.encode() + body)
    return made


async def rate(port: int, seconds: float, connections: int) -> float:
    """Answers a second. Raises what a connection was lost with."""
    loop = asyncio.get_running_loop()
    opened = [
        (await loop.create_connection(lambda first=number: Connection(first), HOST, port))[1]
        for number in range(connections)
    ]
    lost = [connection.lost for connection in opened]
    await asyncio.wait(lost, timeout=seconds * _WARM_UP, return_when=asyncio.FIRST_COMPLETED)
    before, began = sum(connection.answered for connection in opened), loop.time()
    ended, _ = await asyncio.wait(lost, timeout=seconds * (1 - _WARM_UP), return_when=asyncio.FIRST_COMPLETED)
    answered, took = sum(connection.answered for connection in opened) - before, loop.time() - began
    for future in ended:
        future.result()
    return answered / took


if __name__ == "__main__":
    print(uvloop.run(rate(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]))))
