"""The input of a response: a text, or items; which of them ask for a tool's result, and which bring one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from fakes.server.conversation import Complaints, Turn, check_pairs_anywhere
from fakes.server.dialects.openai.parameters import check_choice, empty, kind_of
from fakes.server.fields import Fields
from fakes.server.trouble import invalid

_ROLES = ("assistant", "system", "developer", "user")
_PARTS: Mapping[str, str | None] = {
    "input_text": "text",
    "input_image": None,
    "output_text": "text",
    "refusal": "refusal",
    "input_file": None,
    "input_audio": None,
    "computer_screenshot": None,
    "summary_text": "text",
}
"""The content that a message may have, and which field of it is billed."""
_CALLS = ("function_call", "custom_tool_call")
_RESULTS = ("function_call_output", "custom_tool_call_output")
_TYPES = (
    "message",
    *_CALLS,
    *_RESULTS,
    "additional_tools",
    "apply_patch_call",
    "apply_patch_call_output",
    "code_interpreter_call",
    "compaction",
    "compaction_trigger",
    "computer_call",
    "computer_call_output",
    "configuration_update",
    "file_search_call",
    "image_generation_call",
    "item_reference",
    "local_shell_call",
    "local_shell_call_output",
    "mcp_approval_request",
    "mcp_approval_response",
    "mcp_call",
    "mcp_list_tools",
    "program",
    "program_output",
    "reasoning",
    "shell_call",
    "shell_call_output",
    "tool_search_call",
    "tool_search_output",
    "web_search_call",
)
_PREFIXES = {"message": "msg", "function_call": "fc", "reasoning": "rs"}
_COMPLAINTS = Complaints(
    unanswered="No tool output found for function call {id}.",
    unasked="No tool call found for function call output with call_id {id}.",
    doubled="Duplicate function_call_output for call_id '{id}'. Each function_call must have exactly one matching"
    " function_call_output.",
    param="input",
)


@dataclass(frozen=True, slots=True)
class Item:
    """One item: its id where it has one, what is billed of it, and the tool call that it asks for or answers.

    One that refers to an item of an earlier response has nothing but its id.
    """

    id: str | None
    text: str
    turn: Turn = field(default_factory=Turn)
    refers: bool = False


def read_items(body: Fields) -> list[Item]:
    """The input of a response. Raises Trouble when it is malformed."""
    given = body.values.get("input")
    if isinstance(given, str):
        return [Item(None, given)]
    return [_item(item) for item in body.objects("input")]


def check_items(items: Sequence[Item], before: Iterable[Mapping[str, object]]) -> None:
    """Refuse tool calls and results without each other, and an item that is there twice.

    `before` is the output of the response that this one continues.

    Raises:
        Trouble: 400, in OpenAI's words.
    """
    outputs = [_item(Fields(item, "input.")) for item in before]
    seen: set[str] = set()
    for item in (*outputs, *items):
        if item.id is not None and item.id in seen:
            raise invalid(
                f"Duplicate item found with id {item.id}. Remove duplicate items from your input and try again.",
                param="input",
            )
        seen |= {item.id} if item.id is not None else set()
    check_pairs_anywhere((item.turn for item in (*outputs, *items)), _COMPLAINTS)


def _item(item: Fields) -> Item:
    kind = item.optional("type") or _implied(item)
    check_choice(kind, _TYPES, f"{item.where}type")
    if kind == "item_reference":
        return Item(item.text("id"), "", refers=True)
    identifier, prefix = item.optional("id"), _PREFIXES.get(kind, "")
    if identifier is not None and not identifier.startswith(prefix):
        raise invalid(
            f"Invalid '{item.where}id': '{identifier}'. Expected an ID that begins with '{prefix}'.",
            param=f"{item.where}id",
            code="invalid_value",
        )
    if kind == "message":
        check_choice(item.text("role"), _ROLES, f"{item.where}role")
        return Item(identifier, _content(item, "content"))
    if kind in _CALLS:
        given = item.text("name") + item.text("arguments" if kind == "function_call" else "input")
        return Item(identifier, given, Turn(asks=(_call_id(item),)))
    if kind in _RESULTS:
        return Item(identifier, _content(item, "output"), Turn(answers=(_call_id(item),)))
    return Item(identifier, "")


def _implied(item: Fields) -> str:
    """What an item without a type is: messages and references may leave it out."""
    if item.has("role"):
        return "message"
    return "item_reference" if item.has("id") else item.text("type")


def _call_id(item: Fields) -> str:
    called = item.text("call_id")
    if not called:
        raise empty(f"{item.where}call_id", "string")
    return called


def _content(item: Fields, name: str) -> str:
    content = item.values.get(name)
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return " ".join(_texts(item.objects(name)))
    if name not in item.values:
        raise item.wrong(name, "a string")
    where, got = f"{item.where}{name}", kind_of(content)
    raise invalid(
        f"Invalid type for '{where}': expected one of an array of objects or string, but got {got} instead.",
        param=where,
        code="invalid_type",
    )


def _texts(parts: Iterable[Fields]) -> Iterator[str]:
    for part in parts:
        kind = part.text("type")
        check_choice(kind, tuple(_PARTS), f"{part.where}type")
        billed = _PARTS[kind]
        if billed is not None:
            yield part.text(billed)
