"""What goes over the wire, as data: a request, what it asks for, the answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import parse_qsl

from fakes.provider import Provider, Work
from fakes.server.answers import Answers
from fakes.server.fields import Fields
from fakes.server.trouble import Trouble, invalid
from fakes.witness import Caller, Nature


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request, read whole unless it is `too_large`.

    `path` is the one that the provider knows. Headers are looked up by their names in lower case; over HTTP they are
    found however they are spelled.
    """

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
            parsed = _JSON.decode(self.body.decode("utf-8"))
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


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


_JSON = json.JSONDecoder(parse_constant=_no_constant)
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


_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def to_json(value: object) -> bytes:
    """Compact JSON in UTF-8. A lone surrogate stays an escape, as it came."""
    try:
        return _COMPACT.encode(value).encode("utf-8")
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
