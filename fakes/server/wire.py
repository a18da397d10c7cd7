"""What goes over the wire, as data: a request, what it asks for, the answer, and the trouble with it."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol
from urllib.parse import parse_qsl

from fakes.errors import CardDeclined, CodedError, ProviderError, RateLimited, Rejected
from fakes.provider import Provider, Work
from fakes.server.answers import Answers
from fakes.witness import Caller, Nature

TroubleKind = Literal[
    "invalid_request",
    "authentication",
    "not_found",
    "method",
    "too_large",
    "key",
    "declined",
    "rate_limit",
    "overloaded",
    "server_error",
    "unscripted",
]


class Trouble(Exception):
    """A request that gets an error for an answer; each dialect spells it as its provider does.

    `code` is the provider's own word for it where one was given, `param` the field that is wrong, `retry_after` in
    seconds, `details` what the dialect itself has added.
    """

    def __init__(
        self,
        kind: TroubleKind,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        retry_after: float | None = None,
        details: Mapping[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.message = message
        self.code = code
        self.param = param
        self.retry_after = retry_after
        self.details = details or {}


def invalid(message: str, *, param: str | None = None, code: str | None = None) -> Trouble:
    """400: the request cannot be what was meant."""
    return Trouble("invalid_request", 400, message, param=param, code=code)


def retry_headers(trouble: Trouble) -> Mapping[str, str]:
    """When to call again, for a provider that says so; in seconds."""
    return {} if trouble.retry_after is None else {"retry-after": f"{trouble.retry_after:g}"}


def trouble_of(error: ProviderError) -> Trouble:
    """What a fake has raised, as an answer. A lost connection is none, and is the server's to carry out."""
    status = error.status or 500
    match error:
        case RateLimited():
            return Trouble("rate_limit", status, str(error), retry_after=error.retry_after)
        case CardDeclined():
            return Trouble("declined", status, str(error), code=error.code, details=error.details)
        case Rejected():
            return Trouble("invalid_request", status, str(error), code=error.code, details=error.details)
        case CodedError():
            return Trouble("key", status, str(error), code=error.code)
        case _:
            return Trouble("overloaded" if status in _OVERLOADED else "server_error", status, str(error))


_OVERLOADED = (503, 529)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request, read whole unless it is `too_large`. `path` is the one that the provider knows."""

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    too_large: bool = False

    def json(self) -> Fields:
        """The body as a JSON object; Trouble when it is none."""
        parsed = self._parsed()
        if not isinstance(parsed, dict):
            raise invalid(f"the body must be a JSON object, not {_kind(parsed)}")
        return Fields(parsed)

    def json_objects(self) -> Sequence[Fields]:
        """The body as a JSON array of objects; Trouble when it is none."""
        parsed = self._parsed()
        if not isinstance(parsed, list):
            raise invalid(f"the body must be a JSON array, not {_kind(parsed)}")
        return list(Fields({"body": parsed}).objects("body"))

    def _parsed(self) -> object:
        try:
            parsed = json.loads(self.body.decode("utf-8"), parse_constant=_no_constant)
        except UnicodeDecodeError as error:
            raise invalid(f"the body is not UTF-8 at byte {error.start}") from None
        except (ValueError, RecursionError) as error:
            raise invalid(f"the body cannot be read as JSON: {error}") from None
        if self.body.count(b"[") + self.body.count(b"{") > _DEEPEST and _is_deeper(parsed, _DEEPEST):
            raise invalid(f"the body is nested more than {_DEEPEST} levels deep")
        return parsed

    def form(self) -> Mapping[str, str]:
        """The body as form fields, `metadata[order]` and the like as they stand; the query for a GET."""
        try:
            pairs = parse_qsl(self.body.decode("utf-8"), keep_blank_values=True, errors="strict")
        except ValueError as error:
            raise invalid(f"the body cannot be read as form fields: {error}") from None
        return {**self.query, **dict(pairs)}


_DEEPEST = 100
"""Levels of a body's JSON; what reads it recurses."""


def _is_deeper(value: object, levels: int) -> bool:
    level = [value]
    for _ in range(levels):
        level = [
            inner
            for outer in level
            if isinstance(outer, dict | list)
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
    return any(isinstance(outer, dict | list) for outer in level)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object from outside: each field is asked for with the type it must have, or is trouble.

    `where` is the path to it, for error messages: `messages[2].`
    """

    values: Mapping[str, object]
    where: str = ""

    def text(self, name: str, default: str | None = None) -> str:
        """A string; without a default the field is required."""
        value = self.values.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self.wrong(name, "a string")
        return value

    def optional(self, name: str) -> str | None:
        """A string, or None where there is none."""
        return None if self.values.get(name) is None else self.text(name)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """True or false."""
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(name, "a boolean")
        return value

    def number(self, name: str, default: int | None = None) -> int:
        """A whole number; without a default the field is required."""
        value = self.values.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not _is_whole(value):
            raise self.wrong(name, "an integer")
        return int(value)

    def items(self, name: str, *, required: bool = False) -> Sequence[object]:
        """An array, empty where there is none."""
        value = self.values.get(name)
        if value is None and not required:
            return ()
        if not isinstance(value, list):
            raise self.wrong(name, "an array")
        return value

    def objects(self, name: str, *, required: bool = False) -> Iterator[Fields]:
        """An array of objects."""
        for index, item in enumerate(self.items(name, required=required)):
            if not isinstance(item, dict):
                raise self.wrong(f"{name}[{index}]", "an object")
            yield Fields(item, f"{self.where}{name}[{index}].")

    def object(self, name: str, *, required: bool = False) -> Fields:
        """An object, empty where there is none."""
        value = self.values.get(name)
        if value is None and not required:
            return Fields({}, f"{self.where}{name}.")
        if not isinstance(value, dict):
            raise self.wrong(name, "an object")
        return Fields(value, f"{self.where}{name}.")

    def has(self, name: str) -> bool:
        """Whether the field is there, and is not null."""
        return self.values.get(name) is not None

    def wrong(self, name: str, expected: str) -> Trouble:
        """The trouble with a field that is missing, or is not what it must be."""
        value = self.values.get(name)
        where = f"{self.where}{name}"
        if value is None and name not in self.values and "[" not in name:
            return invalid(f"Missing required parameter: '{where}'.", param=where, code="missing_required_parameter")
        return invalid(f"Invalid type for '{where}': expected {expected}.", param=where, code="invalid_type")


def _is_whole(value: float) -> bool:
    return isinstance(value, int) or (math.isfinite(value) and value == int(value))


def _kind(value: object) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
    names |= {int: "a number", float: "a number"}
    return names.get(type(value), "null")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What goes back. Several `pieces` are sent one by one, as a stream."""

    status: int = 200
    pieces: tuple[bytes, ...] = (b"",)
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


def json_answer(value: object, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """An answer in one piece of JSON."""
    return Answer(status=status, pieces=(to_json(value),), headers=headers or {})


def to_json(value: object) -> bytes:
    """Compact JSON in UTF-8. A lone surrogate stays an escape, as it came."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")


def event(value: object, name: str | None = None) -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + to_json(value) + b"\n\n"


def event_stream(pieces: Sequence[bytes]) -> Answer:
    """Server-sent events."""
    return Answer(pieces=tuple(pieces), content_type="text/event-stream; charset=utf-8")


@dataclass(frozen=True, slots=True)
class Desk:
    """Where one request is answered: the provider with its ledger, what its model says, and who asks."""

    provider: Provider
    answers: Answers
    caller: Caller = field(default_factory=Caller)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a request asks for.

    Attributes:
        operation: as the ledger has it.
        target: whom it reaches or concerns.
        nature: whether it acts, bills or only reads.
        parameters: all that counts as its body when two requests with one key are compared; JSON-like.
        work: makes the stored answer, as JSON text, from the number of the call in the ledger.
        render: makes what goes over the wire from the stored answer.
        headers: go with the answer, whatever it is.
    """

    operation: str
    target: str
    nature: Nature
    parameters: object
    work: Callable[[int], Work]
    render: Callable[[str], Answer]
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Route:
    """One operation: method, path with `{name}` for one segment and `{name:path}` for the rest, what it asks for."""

    method: str
    path: str
    ask: Callable[[Desk, Request, Mapping[str, str]], Asked]


class Dialect(Protocol):
    """A provider's wire format."""

    @property
    def name(self) -> str:
        """In the ledger, in faults and policies; `/NAME/...` reaches it whatever the path looks like."""

    @property
    def policy(self) -> str:
        """The preset that says how it treats keys."""

    @property
    def hosts(self) -> Sequence[str]:
        """Where the real one listens, for the TLS proxy; `*.` stands for any one label or more."""

    @property
    def operations(self) -> Sequence[str]:
        """The names that faults can strike at."""

    @property
    def routes(self) -> Sequence[Route]:
        """What it serves."""

    def claims(self, request: Request) -> bool:
        """Whether a request without the provider's name in front is meant for it."""

    def is_authorised(self, request: Request) -> bool:
        """Whether the request carries credentials of the right form. Any are good."""

    def refuse(self, trouble: Trouble) -> Answer:
        """The provider's own error shape."""

    def variables(self, base: str) -> Mapping[str, str]:
        """Environment variables that point its SDKs at `base`, such as http://127.0.0.1:8080."""
