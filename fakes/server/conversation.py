"""Calls of tools and their results in a conversation: real APIs refuse one without the other."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from fakes.server.answers import ToolCall
from fakes.server.trouble import invalid

_ARGUMENT_BYTES = 12
"""Of a tool call's arguments, in one piece of a stream."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: the ids of the tool calls that it asks for, and of those whose results it brings."""

    asks: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaints:
    """How a provider says what is wrong, and in which field.

    In the texts `{id}` stands for the tool call; `{at}` for the number of the message that asks (`unanswered`) or that
    brings the result; `{which}` for the number of the result in it; `{first}` for the message that brought it before.
    """

    unanswered: str
    unasked: str
    doubled: str
    param: str = "messages"


def check_pairs(turns: Iterable[Turn], complaints: Complaints, *, at_once: bool) -> None:
    """Refuse a tool call without a result, a result without a call, and a doubled result.

    Results follow their calls with nothing in between; `at_once` in the very next message, all of them.

    Raises:
        Trouble: 400, in the provider's words.
    """
    pairs = _Pairs(complaints)
    for at, turn in enumerate(turns):
        pairs.take_results(turn, at)
        if pairs.waiting and (at_once or not turn.answers):
            break
        if turn.asks:
            pairs.given.clear()
            pairs.take_calls(turn, at)
    pairs.check_complete()


def check_pairs_anywhere(turns: Iterable[Turn], complaints: Complaints) -> None:
    """The same where a result may come at any time after its call.

    Raises:
        Trouble: 400, in the provider's words.
    """
    pairs = _Pairs(complaints)
    for at, turn in enumerate(turns):
        pairs.take_results(turn, at)
        pairs.take_calls(turn, at)
    pairs.check_complete()


@dataclass(slots=True)
class _Pairs:
    """Calls that wait for their results, and those that have got them: each with the number of its message."""

    complaints: Complaints
    waiting: dict[str, int] = field(default_factory=dict)
    given: dict[str, int] = field(default_factory=dict)

    def take_calls(self, turn: Turn, at: int) -> None:
        for asked in turn.asks:
            self.waiting[asked] = at
            self.given.pop(asked, None)

    def take_results(self, turn: Turn, at: int) -> None:
        for which, answered in enumerate(turn.answers):
            if answered not in self.waiting:
                complaint = self.complaints.doubled if answered in self.given else self.complaints.unasked
                first = self.given.get(answered)
                text = complaint.format(id=answered, at=at, which=which, first=first)
                raise invalid(text, param=self.complaints.param.format(at=at))
            del self.waiting[answered]
            self.given[answered] = at

    def check_complete(self) -> None:
        if self.waiting:
            at = next(iter(self.waiting.values()))
            text = self.complaints.unanswered.format(id=", ".join(self.waiting), at=at)
            raise invalid(text, param=self.complaints.param.format(at=at))


def words_of(text: str) -> list[str]:
    """A text in the pieces that a stream brings it in: words with their space. Together they are the text."""
    words = text.split(" ")
    return [f" {word}" if index else word for index, word in enumerate(words)] if text else []


def pieces_of(arguments: str) -> list[str]:
    """The arguments of a tool call in the pieces that a stream brings them in."""
    return [arguments[start : start + _ARGUMENT_BYTES] for start in range(0, len(arguments), _ARGUMENT_BYTES)]


def arguments_of(call: ToolCall) -> object:
    """The arguments of a call as an object, for providers that send no text; empty where a script has none."""
    try:
        parsed = json.loads(call.arguments)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}
