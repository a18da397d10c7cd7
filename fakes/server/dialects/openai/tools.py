"""The tools that a request to OpenAI offers, and the one that it demands; chat nests both where responses do not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fakes.server.answers import Tool
from fakes.server.dialects.openai.parameters import check_choice, empty
from fakes.server.fields import Fields
from fakes.server.trouble import Trouble, invalid

_NAME = re.compile(r"[a-zA-Z0-9_-]+")
_MODES = ("none", "auto", "required")
_CALLABLE = ("function", "custom")
"""Tools whose calls the client carries out. All others are OpenAI's own; the fake takes and never uses them."""


def chat_tools(body: Fields) -> tuple[Tool, ...]:
    """The tools of a chat completion, `{"type": "function", "function": {...}}`. Raises Trouble."""
    if body.has("tools") and not body.items("tools"):
        raise empty("tools")
    return tuple(_chat_tools(body))


def response_tools(body: Fields) -> tuple[Tool, ...]:
    """The tools of a response, `{"type": "function", "name": ...}`. Raises Trouble."""
    return tuple(_tool(tool) for tool in body.objects("tools") if tool.text("type") == "function")


def must_call(body: Fields, tools: tuple[Tool, ...]) -> str | None:
    """The tool that `tool_choice` demands: by name, or any of them as the empty name; None if none is demanded.

    Raises:
        Trouble: it demands what is not offered.
    """
    choice = body.values.get("tool_choice")
    if isinstance(choice, str):
        check_choice(choice, _MODES, "tool_choice")
        demanded = "" if choice == "required" else None
    else:
        demanded = _demanded(body.object("tool_choice"))
    if choice not in (None, "none", "auto") and not body.items("tools"):
        raise _refused("'tool_choice' is only allowed when 'tools' are specified.")
    if demanded and demanded not in {tool.name for tool in tools}:
        raise _refused(f"no function named '{demanded}' was specified in the 'tools' parameter.")
    return demanded


def _chat_tools(body: Fields) -> Iterator[Tool]:
    for tool in body.objects("tools"):
        kind = tool.text("type")
        check_choice(kind, _CALLABLE, f"{tool.where}type")
        if kind == "function":
            yield _tool(tool.object("function", required=True))


def _tool(function: Fields) -> Tool:
    name = function.text("name")
    if _NAME.fullmatch(name) is None:
        where = f"{function.where}name"
        raise invalid(
            f"Invalid '{where}': string does not match pattern. Expected a string that matches the pattern"
            " '^[a-zA-Z0-9_-]+$'.",
            param=where,
            code="invalid_value",
        )
    return Tool(name, function.object("parameters").values)


def _demanded(choice: Fields) -> str | None:
    """From an object: one tool by name, or some of which any is good, the first as well as another."""
    kind = choice.text("type", "auto")
    if kind == "function":
        return _name(choice)
    if kind == "allowed_tools":
        allowed = choice.object("allowed_tools") if choice.has("allowed_tools") else choice
        names = [_name(tool) for tool in allowed.objects("tools") if tool.text("type", "function") == "function"]
        return (names or [""])[0] if allowed.text("mode", "auto") == "required" else None
    return None


def _name(of: Fields) -> str:
    return of.object("function").text("name") if of.has("function") else of.text("name")


def _refused(why: str) -> Trouble:
    return invalid(f"Invalid value for 'tool_choice': {why}", param="tool_choice")
