"""What a model says, by a script: the first new question gets the first reply, the second the second."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from textwrap import shorten
from typing import get_args

from fakes.server.answers import Question, Said, Stop, ToolCall, Unscripted, counted
from fakes.server.turns import Turns
from fakes.witness import Caller

_SHOWN = 80
"""Characters of a question in the message of a miss."""


class ScriptUnreadable(ValueError):
    """A script that cannot be used; the message says where, and what is wrong."""


@dataclass(slots=True)
class Script:
    """Replies in order. A question that an earlier life has asked gets the reply that it got then.

    `misses` are the questions for which there was no reply left.
    """

    replies: Sequence[Said]
    source: str = "the script"
    misses: list[str] = field(default_factory=list)
    _given: dict[tuple[str, str, int], int] = field(default_factory=dict)
    _turns: Turns = field(default_factory=Turns)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def read(cls, path: Path) -> Script:
        """The script in a file: a JSON list, or an object a line. Raises `ScriptUnreadable`."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ScriptUnreadable(f"script {path} cannot be read: {error}") from None
        try:
            if text.lstrip().startswith("["):
                lines = json.loads(text)
            else:
                lines = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise ScriptUnreadable(f"script {path} is no JSON: {error}") from None
        return cls.of(lines, str(path))

    @classmethod
    def of(cls, replies: Sequence[object], source: str = "the script") -> Script:
        """A script from plain data: texts, or `{"text", "tool_calls": [{"name", "arguments"}], "usage", "stop"}`."""
        return cls([_reply(reply, f"{source}, reply {number}") for number, reply in enumerate(replies, 1)], source)

    def anew(self) -> Script:
        """The same script from its beginning, for another run; misses are noted together."""
        return Script(self.replies, self.source, self.misses)

    def arrives(self, question: Question, caller: Caller) -> None:
        """Note the question, so that it gets its turn even if its first try is refused."""
        self._turns.arrives(_asked(question), caller)

    def said(self, question: Question, number: int, caller: Caller) -> Said:  # noqa: ARG002 - the turn decides
        """The reply whose turn it is. Raises `Unscripted` when there is none left."""
        turn = self._turns.of(_asked(question), caller)
        with self._lock:
            which = self._given.setdefault((question.provider, question.body, turn), len(self._given))
        if which >= len(self.replies):
            last = shorten(question.texts[-1], _SHOWN) if question.texts else ""
            miss = (
                f"{self.source} has {len(self.replies)} replies, and {question.provider} is asked question"
                f" {which + 1}: {last!r}; add a reply, or end the conversation earlier"
            )
            self.misses.append(miss)
            raise Unscripted(miss)
        said = self.replies[which]
        if said.tokens_in or said.tokens_out:
            return said
        return counted(said, replace(question, limit=None))  # a script says itself where a reply ends


def _asked(question: Question) -> str:
    return f"{question.provider}/{question.body}"


def _reply(reply: object, where: str) -> Said:
    if isinstance(reply, str):
        return Said(text=reply)
    if not isinstance(reply, Mapping):
        raise ScriptUnreadable(f"{where} is neither a text nor an object")
    _check_names(reply, ("text", "tool_calls", "usage", "stop"), where)
    calls = reply.get("tool_calls", [])
    if not isinstance(calls, list | tuple):
        raise ScriptUnreadable(f"{where} has tool_calls that are no list of {{name, arguments}}")
    stop = reply.get("stop", "tool_calls" if calls else "stop")
    if stop not in get_args(Stop):
        raise ScriptUnreadable(f"{where} stops by {stop!r}; there are {', '.join(get_args(Stop))}")
    text = reply.get("text", "")
    if not isinstance(text, str):
        raise ScriptUnreadable(f"{where} has a text that is none")
    tokens_in, tokens_out = _usage(reply.get("usage", {}), where)
    tool_calls = tuple(_tool_call(call, where) for call in calls)
    return Said(text=text, calls=tool_calls, stop=stop, tokens_in=tokens_in, tokens_out=tokens_out)


def _usage(usage: object, where: str) -> tuple[int, int]:
    if not isinstance(usage, Mapping):
        raise ScriptUnreadable(f"{where} has a usage that is not {{tokens_in, tokens_out}}")
    _check_names(usage, ("tokens_in", "tokens_out"), f"{where}, usage")
    counts = [usage.get(name, 0) for name in ("tokens_in", "tokens_out")]
    if not all(type(count) is int and count >= 0 for count in counts):
        raise ScriptUnreadable(f"{where} has a usage that is not in whole numbers")
    return counts[0], counts[1]


def _tool_call(call: object, where: str) -> ToolCall:
    if not isinstance(call, Mapping) or not isinstance(call.get("name"), str):
        raise ScriptUnreadable(f"{where} has a tool call that is not {{name, arguments}}")
    _check_names(call, ("name", "arguments"), f"{where}, tool call {call['name']!r}")
    arguments = call.get("arguments", {})
    return ToolCall(call["name"], arguments if isinstance(arguments, str) else json.dumps(arguments))


def _check_names(of: Mapping[str, object], known: Sequence[str], where: str) -> None:
    unknown = sorted(map(str, set(of) - set(known)))
    if unknown:
        raise ScriptUnreadable(f"{where} has {unknown[0]!r}; there are {', '.join(known)}")
