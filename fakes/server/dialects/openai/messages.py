"""The messages of a chat completion: what may stand in them, what is billed of them, which tool calls they answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fakes.server.conversation import Complaints, Turn, check_pairs
from fakes.server.dialects.openai.parameters import check_choice, empty
from fakes.server.fields import Fields
from fakes.server.trouble import invalid

_TEXT_ONLY = ("text",)
_PARTS: Mapping[str, tuple[str, ...]] = {
    "developer": _TEXT_ONLY,
    "system": _TEXT_ONLY,
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": _TEXT_ONLY,
    "function": _TEXT_ONLY,
}
"""The content that each role may send."""
_COMPLAINTS = Complaints(
    unanswered="An assistant message with 'tool_calls' must be followed by tool messages responding to each"
    " 'tool_call_id'. The following tool_call_ids did not have response messages: {id}",
    unasked="Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
    " ('{id}' is asked for by none.)",
    doubled="Invalid parameter: Duplicate value for 'tool_call_id' of '{id}', in messages[{first}] and messages[{at}].",
    param="messages.[{at}]",
)
_INSTEAD = ("tool_calls", "function_call", "audio", "refusal")
"""What an assistant's message may have in place of content."""


def read_messages(body: Fields) -> list[str]:
    """What is billed as input, a text a message.

    Raises:
        Trouble: a message is malformed, or a tool call and its result are not paired.
    """
    messages = list(body.objects("messages", required=True))
    if not messages:
        raise empty("messages")
    texts = [_text_of(message) for message in messages]
    check_pairs(map(_turn, messages), _COMPLAINTS, at_once=False)
    return texts


def _text_of(message: Fields) -> str:
    """All that is billed of a message: its text, whatever form it comes in, and its tool calls."""
    role = message.text("role")
    check_choice(role, tuple(_PARTS), f"{message.where}role")
    return " ".join([*_content(message, role), *_calls(message)])


def _content(message: Fields, role: str) -> Iterator[str]:
    content = message.values.get("content")
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in message.objects("content"):
            kind = part.text("type")
            check_choice(kind, _PARTS[role], f"{part.where}type")
            if kind in ("text", "refusal"):
                yield part.text(kind)
            else:
                part.object(kind, required=True)  # a picture or sound; billed by other rules, here not at all
    elif content is not None:
        raise message.wrong("content", "one of a string or an array of objects")
    elif not (role == "assistant" and any(map(message.has, _INSTEAD))):
        raise invalid("Invalid value for 'content': expected a string, got null.", param=f"{message.where}content")


def _calls(message: Fields) -> Iterator[str]:
    if message.has("tool_calls") and not message.items("tool_calls"):
        raise empty(f"{message.where}tool_calls")
    for call in message.objects("tool_calls"):
        call.text("id")
        kind = call.text("type")
        check_choice(kind, ("function", "custom"), f"{call.where}type")
        called = call.object(kind, required=True)
        yield called.text("name") + called.text("arguments" if kind == "function" else "input")
    if message.has("function_call"):
        called = message.object("function_call")
        yield called.text("name") + called.text("arguments")


def _turn(message: Fields) -> Turn:
    if message.text("role") == "tool":
        return Turn(answers=(message.text("tool_call_id"),))
    return Turn(asks=tuple(call.text("id") for call in message.objects("tool_calls")))


def mentions_json(texts: Sequence[str]) -> bool:
    """Whether any of the texts asks for JSON, as the mode of that name demands."""
    return any("json" in text.lower() for text in texts)
