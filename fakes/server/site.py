"""The providers behind one address: they share a ledger, its writer, and who watches."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from durable_core.fingerprint import fingerprint
from fakes.errors import ConnectionLost, GivenAgain, MalformedAnswer, ProviderError
from fakes.faults import Fault
from fakes.ledger import Ledger
from fakes.lifelike import Lifelike
from fakes.names import check_names
from fakes.policy import KeyPolicy, policy
from fakes.provider import Provider, Reply, Ticket, Work, wall_clock
from fakes.server.answers import Answers, Freely, Unscripted
from fakes.server.control import PREFIX, controlled
from fakes.server.dialects import DIALECTS, dialect_of
from fakes.server.gate import Dropped, Gate, Open
from fakes.server.recorded import Recording
from fakes.server.trouble import Trouble, trouble_of
from fakes.server.wire import Answer, Asked, Desk, Dialect, Request, Route, json_answer
from fakes.server.writer import Writer
from fakes.witness import Call, Caller

_POLL_SECONDS = 0.002
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Served:
    """An answer to be sent. `call` is what the ledger has of it, if anything; `cut` after how many pieces it breaks."""

    answer: Answer
    call: Call | None = None
    cut: int | None = None


@dataclass(kw_only=True)
class Site:
    """Answers requests; knows nothing of the network.

    Attributes:
        ledger: of all its providers; those in process may write the same file.
        policies: how a provider treats keys, where not as its dialect's preset says.
        faults: what goes wrong, and when.
        seed: another seed, other answers.
        steady: an answer depends on the request alone, so that two runs can be compared word by word.
        answers: what models say; lifelike if None.
        recording: answers recorded elsewhere, instead of all others.
        gate: who watches.
        clock: seconds since the epoch, for the windows of keys.
        ahead: seconds by which that clock is ahead.
    """

    ledger: Ledger
    policies: Mapping[str, str | KeyPolicy] = field(default_factory=dict)
    faults: Sequence[Fault] = ()
    seed: int = 0
    steady: bool = False
    answers: Answers | None = None
    recording: Recording | None = None
    gate: Gate = field(default_factory=Open)
    clock: Callable[[], float] = wall_clock
    ahead: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what could never take effect. Raises UnknownName."""
        check_names(self.policies, self.faults, {name: dialect.operations for name, dialect in DIALECTS.items()})
        lifelike = Lifelike(self.seed, self.steady)
        self._says = self.answers or Freely(lifelike)
        self._providers = {name: self._provider(dialect, lifelike) for name, dialect in DIALECTS.items()}
        self._writer = Writer(self.ledger)

    def close(self) -> None:
        """Write what waits. The ledger stays open."""
        self._writer.write()

    async def serve(self, request: Request) -> Served:
        """The answer to a request, whatever it is.

        Raises:
            Dropped: there is none; the connection is to be lost.
        """
        if request.path.startswith(PREFIX):
            return Served(controlled(self, request))
        dialect, request = dialect_of(request)
        if dialect is None:
            return Served(_nobody(request))
        caller = self.gate.caller(request.headers)
        try:
            asked, call = self._read(dialect, request, caller)
            return await self.answer(dialect, asked, call, caller)
        except Dropped:
            raise
        except Trouble as trouble:
            return Served(dialect.refuse(trouble))
        except Exception as error:  # noqa: BLE001 - a bug of ours; a client is not shown its traceback
            _LOG.exception("%s %s", request.method, request.path)
            return Served(dialect.refuse(Trouble("server_error", 500, f"the fake failed: {type(error).__name__}")))

    async def answer(self, dialect: Dialect, asked: Asked, call: Call, caller: Caller) -> Served:
        """Carry out what was asked, and spell what came of it. Raises `Dropped`."""
        try:
            ticket, reply = await self._perform(asked, call, caller)
            answer, replayed, cut = asked.render(reply.answer), reply.replayed, _cut_of(ticket)
            if cut is None:
                ticket.fail_on_the_way_back()
        except MalformedAnswer:
            answer, cut = replace(answer, pieces=(_half(b"".join(answer.pieces)),)), None
        except ConnectionLost as error:
            raise Dropped from error
        except ProviderError as error:
            answer, replayed, cut = dialect.refuse(trouble_of(error)), isinstance(error.__cause__, GivenAgain), None
        except Unscripted as miss:
            answer, replayed, cut = dialect.refuse(Trouble("unscripted", 501, str(miss))), False, None
        more = {**asked.headers, "Idempotent-Replayed": "true"} if replayed else asked.headers
        return Served(replace(answer, headers={**answer.headers, **more}) if more else answer, call, cut)

    def _provider(self, dialect: Dialect, lifelike: Lifelike) -> Provider:
        chosen = self.policies.get(dialect.name, dialect.policy)
        return Provider(
            name=dialect.name,
            ledger=self.ledger,
            policy=policy(chosen) if isinstance(chosen, str) else chosen,
            lifelike=lifelike,
            faults=tuple(fault for fault in self.faults if fault.provider == dialect.name),
            clock=lambda: self.clock() + self.ahead,
        )

    def desk(self, dialect: Dialect, caller: Caller) -> Desk:
        """Where one request of a dialect is answered."""
        return Desk(self._providers[dialect.name], self._says, caller)

    def call(self, dialect: Dialect, asked: Asked, key: str | None) -> Call:
        """What the ledger is told of a request. Lone surrogates, which no ledger holds, are spelled out."""
        return Call(
            provider=dialect.name,
            operation=asked.operation,
            target=_spelled(asked.target),
            key=None if key is None else _spelled(key),
            body=fingerprint([asked.operation, asked.parameters]),
            nature=asked.nature,
        )

    def _read(self, dialect: Dialect, request: Request, caller: Caller) -> tuple[Asked, Call]:
        if request.too_large:
            raise Trouble("too_large", 413, "the body is larger than any that is taken")
        route, found = _route(dialect, request)
        if not dialect.is_authorised(request):
            raise Trouble("authentication", 401, "no API key was given, or one of another form; any key is good here")
        desk = self.desk(dialect, caller)
        asked = route.ask(desk, request, found)
        if self.recording is not None:
            asked = self.recording.instead_of(asked, request, caller)
        field_name = (desk.provider.policy.field or "Idempotency-Key").lower()
        return asked, self.call(dialect, asked, request.headers.get(field_name) if request.method != "GET" else None)

    async def _perform(self, asked: Asked, call: Call, caller: Caller) -> tuple[Ticket, Reply]:
        provider = self._providers[call.provider]
        await self.gate.before(call)
        while True:
            ticket, reply = await self._writer.do(partial(_begin, provider, call, caller, asked))
            if ticket is not None:
                break
            await asyncio.sleep(_POLL_SECONDS)
        if reply is None:
            with provider.given_up_on_error(ticket):
                await asyncio.sleep(ticket.delay)
            reply = await self._writer.do(partial(_carry_out, provider, ticket, asked))
        await self.gate.applied(call)
        return ticket, reply


def _begin(provider: Provider, call: Call, caller: Caller, asked: Asked) -> tuple[Ticket | None, Reply | None]:
    """Admit a call, and carry it out in the same transaction where nothing is to be waited for."""
    ticket = provider.admit(call, caller)
    if ticket is None or ticket.delay:
        return ticket, None
    return ticket, _carry_out(provider, ticket, asked)


def _carry_out(provider: Provider, ticket: Ticket, asked: Asked) -> Reply:
    def work(number: int) -> Work:
        done = asked.work(number)
        cut = _cut_of(ticket)
        if cut is None:
            return done
        pieces = len(asked.render(done.answer).pieces)  # what never left the model is not billed
        return replace(done, tokens_out=-(-done.tokens_out * min(cut, pieces) // pieces))

    return provider.carry_out(ticket, work)


def _cut_of(ticket: Ticket) -> int | None:
    return next((int(fault.amount) for fault in ticket.faults if fault.kind == "cut"), None)


def _spelled(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _half(body: bytes) -> bytes:
    return body[: len(body) // 2]


def _nobody(request: Request) -> Answer:
    message = (
        f"no provider here serves {request.method} {request.path}; put the provider's name in front, as in"
        f" /openai/v1/models. Served: {', '.join(DIALECTS)}"
    )
    return json_answer({"error": {"message": message, "type": "not_found"}}, status=404)


def _route(dialect: Dialect, request: Request) -> tuple[Route, Mapping[str, str]]:
    methods = set()
    for route in dialect.routes:
        match = _pattern(route.path).fullmatch(request.path)
        if match and route.method == request.method:
            return route, match.groupdict()
        if match:
            methods.add(route.method)
    if methods:
        raise Trouble("method", 405, f"{request.method} is not allowed for {request.path}; {', '.join(methods)} is")
    served = ", ".join(f"{route.method} {route.path}" for route in dialect.routes)
    raise Trouble("not_found", 404, f"Unknown request: {request.method} {request.path}. The fake serves {served}")


@cache
def _pattern(path: str) -> re.Pattern[str]:
    text = re.sub(r"\\\{(\w+):path\\\}", r"(?P<\1>.+)", re.escape(path))
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>[^/]+)", text))
