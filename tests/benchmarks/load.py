"""Answers a second of a server on loopback: `python load.py PORT SECONDS CONNECTIONS`, in a process of its own.

Each connection stays open: it sends a request, reads the answer whole, and sends the next. What is sent is made
before the clock runs, and no connection asks the same thing twice in a row. The rate is printed; whoever answers
anything but 200, hangs up, or does not answer at all has no rate.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from itertools import cycle

import uvloop

HOST = "127.0.0.1"
PATH = "/v1/chat/completions"
SUBJECT = "sharks"
_QUESTIONS = 97
"""More than there are connections, and prime: every connection begins with another, and asks all of them."""

_WARM_UP = 0.25
"""The part of the time in which nothing is counted yet: servers compile what they find to be busy."""

_HEADERS = {
    "Host": HOST,
    "Accept-Encoding": "gzip, deflate",
    "Connection": "keep-alive",
    "Accept": "application/json",
    "Content-Type": "application/json",
    "User-Agent": "OpenAI/Python 3.57.0",
    "X-Stainless-Lang": "python",
    "X-Stainless-Package-Version": "3.57.0",
    "X-Stainless-OS": "Linux",
    "X-Stainless-Arch": "x64",
    "X-Stainless-Runtime": "CPython",
    "X-Stainless-Runtime-Version": "3.11.7",
    "Authorization": "Bearer sk-any",
    "X-Stainless-Async": "false",
    "x-stainless-retry-count": "0",
    "x-stainless-read-timeout": "600",
}
"""What the SDK of OpenAI sends."""


class NoRate(Exception):
    """The server cannot be measured; the message says why."""


class Connection(asyncio.Protocol):
    """Keeps one request under way. `answers` is how many have come; `lost` fails with the reason of the end."""

    def __init__(self, questions: list[bytes]) -> None:
        self.answers = 0
        self.lost: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._questions = cycle(questions)
        self._received = bytearray()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as TCP's are
        """Ask the first question."""
        self._transport = transport
        transport.write(next(self._questions))

    def data_received(self, data: bytes) -> None:
        """Ask the next question, once the answer is whole."""
        self._received += data
        if not is_whole(self._received):
            return
        if not self._received.startswith(b"HTTP/1.1 200 "):
            self.connection_lost(NoRate(f"it answers {bytes(self._received[:500])!r}"))
            self._transport.abort()
            return
        self.answers += 1
        self._received.clear()
        self._transport.write(next(self._questions))

    def connection_lost(self, error: Exception | None) -> None:
        """Nobody hangs up but the server."""
        if not self.lost.done():
            self.lost.set_exception(error or NoRate("it hangs up"))


def is_whole(answer: bytes | bytearray) -> bool:
    """Whether all of an answer has come, by its length or by the last of its chunks."""
    head, end, body = answer.partition(b"\r\n\r\n")
    _, has_length, length = head.lower().partition(b"\r\ncontent-length:")
    if not has_length:
        return bool(end) and body.endswith(b"0\r\n\r\n")
    return bool(end) and len(body) >= int(length.partition(b"\r\n")[0])


def question(number: int) -> bytes:
    """The body of a request."""
    messages = [
        {"role": "system", "content": "You are a helpful assistant."},
        {"role": "user", "content": f"Write section {number} of an article about {SUBJECT} from these sources."},
    ]
    return json.dumps({"messages": messages, "model": "gpt-4o-mini"}, separators=(",", ":")).encode()


def _request(number: int) -> bytes:
    body = question(number)
    headers = {**_HEADERS, "Content-Length": str(len(body))}
    lines = [f"POST {PATH} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode() + body


async def answers_a_second(port: int, seconds: float, connections: int) -> float:
    """The rate. Raises what the first lost connection was lost with."""
    requests = [_request(number) for number in range(_QUESTIONS)]
    opened: list[Connection] = []
    for number in range(connections):
        connection = Connection(requests[number:] + requests[:number])
        await asyncio.get_running_loop().create_connection(lambda made=connection: made, HOST, port)
        opened.append(connection)
    await _unless_lost(opened, seconds * _WARM_UP)
    before, began = sum(connection.answers for connection in opened), time.perf_counter()
    await _unless_lost(opened, seconds * (1 - _WARM_UP))
    answers, took = sum(connection.answers for connection in opened) - before, time.perf_counter() - began
    if not answers:
        raise NoRate("it does not answer")
    return answers / took


async def _unless_lost(opened: list[Connection], seconds: float) -> None:
    lost, _ = await asyncio.wait(
        [connection.lost for connection in opened], timeout=seconds, return_when=asyncio.FIRST_COMPLETED
    )
    for future in lost:
        future.result()


if __name__ == "__main__":
    try:
        rate = uvloop.run(answers_a_second(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
    except (NoRate, OSError) as error:
        sys.exit(str(error))
    sys.stdout.write(f"{rate}\n")
