"""Calls of tools and their results in a conversation: real APIs refuse one without the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fakes.server.wire import invalid


@dataclass(frozen=True, slots=True)
class Turn:
    """One message: the ids of the tool calls that it asks for, and of those whose results it brings."""

    asks: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaints:
    """How a provider says what is wrong; `{id}` stands for the tool call."""

    unanswered: str
    unasked: str
    doubled: str


def check_pairs(turns: Iterable[Turn], complaints: Complaints, *, at_once: bool) -> None:
    """Refuse a tool call without a result, a result without a call, and a doubled result.

    Results follow their calls with nothing in between; `at_once` in the very next message, all of them.

    Raises:
        Trouble: 400, in the provider's words.
    """
    waiting: dict[str, None] = {}
    given: set[str] = set()
    for turn in turns:
        for answered in turn.answers:
            if answered in waiting:
                del waiting[answered]
                given.add(answered)
            else:
                complaint = complaints.doubled if answered in given else complaints.unasked
                raise invalid(complaint.format(id=answered), param="messages")
        if waiting and (at_once or not turn.answers):
            break
        if turn.asks:
            given = set()
            waiting = dict.fromkeys(turn.asks)
    if waiting:
        raise invalid(complaints.unanswered.format(id=", ".join(waiting)), param="messages")


def words_of(text: str) -> list[str]:
    """A text in the pieces that a stream brings it in: words with their space. Together they are the text."""
    words = text.split(" ")
    return [f" {word}" if index else word for index, word in enumerate(words)] if text else []
