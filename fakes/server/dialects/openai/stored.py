"""The responses that OpenAI has kept, all that did not ask for `store: false`. They stand in the ledger."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from fakes.server.dialects.openai.items import Item
from fakes.server.fields import Fields
from fakes.server.trouble import Trouble, invalid
from fakes.server.wire import Desk


def response_with_id(desk: Desk, identifier: str) -> dict[str, Any] | None:
    """The response of that id."""
    return next((kept for kept in _kept(desk, identifier) if kept["id"] == identifier), None)


def continued_by(desk: Desk, body: Fields) -> dict[str, Any] | None:
    """The response that a request continues: the one that it names, or the last of its conversation.

    Raises:
        Trouble: the one that it names is not there.
    """
    previous = body.optional("previous_response_id")
    if previous is None:
        conversation = conversation_of(body)
        if conversation is None:
            return None
        return next(
            (kept for kept in _kept(desk, conversation) if (kept["conversation"] or {}).get("id") == conversation), None
        )
    found = response_with_id(desk, previous)
    if found is None:
        raise invalid(
            f"Previous response with id '{previous}' not found.",
            param="previous_response_id",
            code="previous_response_not_found",
        )
    return found


def conversation_of(body: Fields) -> str | None:
    """The id of the conversation that a request belongs to."""
    given = body.values.get("conversation")
    return given if isinstance(given, str) or given is None else body.object("conversation").text("id")


def referred_to(desk: Desk, item: Item) -> dict[str, Any]:
    """The item that an item refers to. Raises Trouble when no response that was kept has it."""
    for kept in _kept(desk, item.id or ""):
        outputs: list[dict[str, Any]] = kept["output"]
        for output in outputs:
            if output["id"] == item.id:
                return output
    raise Trouble(
        "not_found",
        404,
        f"Item with id '{item.id}' not found. Items are not persisted when `store` is set to false. Try again with"
        " `store` set to true, or remove this item from your input.",
        param="input",
    )


def _kept(desk: Desk, mention: str) -> Iterator[dict[str, Any]]:
    """The responses in which a text is mentioned, newest first."""
    needle = json.dumps(mention)
    for row in reversed(desk.provider.ledger.applied(desk.provider.name, "responses")):
        if needle in row.answer:
            kept = json.loads(row.answer)
            if isinstance(kept, dict) and kept["store"]:  # a recording's answers are lists
                yield kept
