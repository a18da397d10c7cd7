"""Answers recorded elsewhere: one JSON object a line, played back for equal requests."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qsl

from durable_core.fingerprint import fingerprint
from fakes.provider import Work
from fakes.server.answers import Unscripted
from fakes.server.turns import Turns
from fakes.server.wire import Answer, Asked, Request
from fakes.witness import Caller


class RecordingUnreadable(ValueError):
    """A file of recorded answers that cannot be used; the message names file, line, and what is wrong."""


@dataclass(frozen=True, slots=True)
class _Recorded:
    status: int
    body: str
    content_type: str


@dataclass(slots=True)
class Recording:
    """Equal requests get their recorded answers in order: the nth its nth. A miss fails; nothing else answers.

    Lines are `{"request": {"method", "path", "body"}, "response": {"status", "body", "content_type"}}`; a body is JSON,
    or text as it was sent, a path may carry a query. Requests are compared by method, path, query and body, without the
    fields named in `volatile`.
    """

    answers: Mapping[str, list[_Recorded]]
    source: str = "the recording"
    volatile: frozenset[str] = frozenset()
    misses: list[str] = field(default_factory=list)
    _turns: Turns = field(default_factory=Turns)

    @classmethod
    def read(cls, path: Path, volatile: frozenset[str] = frozenset()) -> Recording:
        """The recording in a file. Raises `RecordingUnreadable`."""
        answers: dict[str, list[_Recorded]] = defaultdict(list)
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise RecordingUnreadable(f"recording {path} cannot be read: {error}") from None
        for number, text in enumerate(lines, 1):
            if text.strip():
                digest, answer = _read(text, f"recording {path}, line {number}", volatile)
                answers[digest].append(answer)
        return cls(answers, str(path), volatile)

    def anew(self) -> Recording:
        """The same recording from its beginning, for another run; misses are noted together."""
        return Recording(self.answers, self.source, self.volatile, self.misses)

    def instead_of(self, asked: Asked, request: Request, caller: Caller) -> Asked:
        """What the request asks for, answered from the recording."""
        digest = _digest(request.method, request.path, request.query, _body(request.body), self.volatile)
        self._turns.arrives(digest, caller)

        def work(_number: int) -> Work:
            turn = self._turns.of(digest, caller)
            known = self.answers.get(digest, [])
            if turn >= len(known):
                miss = (
                    f"{self.source} has {len(known)} answers to {request.method} {request.path} with that body, and "
                    f"this is request {turn + 1}; record it, or name the fields that may differ as volatile"
                )
                self.misses.append(miss)
                raise Unscripted(miss)
            answer = known[turn]
            tokens_in, tokens_out = usage_in(answer.body)
            stored = json.dumps([answer.status, answer.body, answer.content_type])
            return Work(stored, tokens_in=tokens_in, tokens_out=tokens_out)

        def render(stored: str) -> Answer:
            status, body, content_type = json.loads(stored)
            pieces = body.split("\n\n") if content_type.startswith("text/event-stream") else [body]
            ended = [f"{piece}\n\n" for piece in pieces[:-1]] + [piece for piece in pieces[-1:] if piece]
            return Answer(status=status, pieces=tuple(one.encode() for one in ended), content_type=content_type)

        return replace(asked, work=work, render=render)


def _read(text: str, where: str, volatile: frozenset[str]) -> tuple[str, _Recorded]:
    try:
        line = json.loads(text)
        request, response = line["request"], line["response"]
        body = response["body"]
        path, _, query = str(request["path"]).partition("?")
        is_text = isinstance(body, str)
        kind = response.get("content_type", "text/event-stream" if is_text else "application/json")
        answer = _Recorded(int(response.get("status", 200)), body if is_text else json.dumps(body), str(kind))
        asked = (
            str(request.get("method", "POST")),
            f"/{path.lstrip('/')}",
            dict(parse_qsl(query)),
            request.get("body"),
        )
        return _digest(*asked, volatile), answer
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RecordingUnreadable(
            f'{where} is no recorded answer ({type(error).__name__}: {error}); write {{"request": {{"path": ..., '
            f'"body": ...}}, "response": {{"status": 200, "body": ...}}}}'
        ) from None


def _body(data: bytes) -> object:
    try:
        return json.loads(data) if data else None
    except ValueError:
        return data.decode("utf-8", "backslashreplace")


def _digest(method: str, path: str, query: Mapping[str, str], body: object, volatile: frozenset[str]) -> str:
    return fingerprint([method, path, _without(dict(query), volatile), _without(body, volatile)])


def _without(value: object, volatile: frozenset[str]) -> object:
    if isinstance(value, dict):
        return {name: _without(inner, volatile) for name, inner in value.items() if name not in volatile}
    return [_without(inner, volatile) for inner in value] if isinstance(value, list) else value


def usage_in(text: str) -> tuple[int, int]:
    """Tokens in and out, as JSON or server-sent events tell them; zeros where they do not.

    A stream tells them once, or in parts, or as totals that grow: the most of each is what the call was billed.
    """
    tokens_in = tokens_out = 0
    for piece in [text, *(line.removeprefix("data:") for line in text.splitlines() if line.startswith("data:"))]:
        try:
            parsed = json.loads(piece)
        except ValueError:
            continue
        usage = _usage(parsed) or (0, 0)
        tokens_in, tokens_out = max(tokens_in, usage[0]), max(tokens_out, usage[1])
    return tokens_in, tokens_out


def _usage(parsed: object) -> tuple[int, int] | None:
    if not isinstance(parsed, dict):
        return None
    usage = parsed.get("usage") or parsed.get("usageMetadata")
    if isinstance(usage, dict):
        pair = [
            next((usage[name] for name in names if isinstance(usage.get(name), int)), 0)
            for names in (
                ("prompt_tokens", "input_tokens", "promptTokenCount"),
                ("completion_tokens", "output_tokens", "candidatesTokenCount"),
            )
        ]
        return pair[0], pair[1]
    return _usage(parsed.get("response")) or _usage(parsed.get("message"))
