"""What a model says, by a script: the first new question gets the first reply, the second the second."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import get_args

from fakes.server.answers import Question, Said, Stop, ToolCall, Unscripted, counted
from fakes.server.turns import Turns
from fakes.witness import Caller


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

    def said(self, question: Question, number: int, caller: Caller) -> Said:  # noqa: ARG002 - the turn decides
        """The reply whose turn it is. Raises `Unscripted` when there is none left."""
        turn = self._turns.of(f"{question.provider}/{question.body}", caller)
        with self._lock:
            which = self._given.setdefault((question.provider, question.body, turn), len(self._given))
        if which >= len(self.replies):
            miss = (
                f"{self.source} has {len(self.replies)} replies, and {question.provider} is asked question"
                f" {which + 1}; add a reply, or end the conversation earlier"
            )
            self.misses.append(miss)
            raise Unscripted(miss)
        said = self.replies[which]
        if said.tokens_in or said.tokens_out:
            return said
        return counted(said, replace(question, limit=None))  # a script says itself where a reply ends


def _reply(reply: object, where: str) -> Said:
    if isinstance(reply, str):
        return Said(text=reply)
    if not isinstance(reply, Mapping):
        raise ScriptUnreadable(f"{where} is neither a text nor an object")
    unknown = sorted(set(reply) - {"text", "tool_calls", "usage", "stop"})
    if unknown:
        raise ScriptUnreadable(f"{where} has {unknown[0]!r}; there are text, tool_calls, usage and stop")
    calls = tuple(_tool_call(call, where) for call in reply.get("tool_calls", ()))
    stop = reply.get("stop", "tool_calls" if calls else "stop")
    if stop not in get_args(Stop):
        raise ScriptUnreadable(f"{where} stops by {stop!r}; there are {', '.join(get_args(Stop))}")
    usage = reply.get("usage", {})
    try:
        tokens_in, tokens_out = int(usage.get("tokens_in", 0)), int(usage.get("tokens_out", 0))
    except (AttributeError, TypeError, ValueError):
        raise ScriptUnreadable(f"{where} has a usage that is not {{tokens_in, tokens_out}} in whole numbers") from None
    text = reply.get("text", "")
    if not isinstance(text, str):
        raise ScriptUnreadable(f"{where} has a text that is none")
    return Said(text=text, calls=calls, stop=stop, tokens_in=tokens_in, tokens_out=tokens_out)


def _tool_call(call: object, where: str) -> ToolCall:
    if not isinstance(call, Mapping) or not isinstance(call.get("name"), str):
        raise ScriptUnreadable(f"{where} has a tool call that is not {{name, arguments}}")
    arguments = call.get("arguments", {})
    return ToolCall(call["name"], arguments if isinstance(arguments, str) else json.dumps(arguments))
