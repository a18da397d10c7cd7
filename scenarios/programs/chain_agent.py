"""A bookkeeper on LangChain, with a model of OpenAI and a tool that sends mail by Resend.

The buggy half has met the second mail, and mends it in the wrong way: it notes a mail before it sends it. OpenAI takes
no keys, so the fixed half is safe by `--accept in-flight`. What the model says stands in chain_agent.jsonl.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from scenarios.programs.checkpoint import Checkpoint, FileCheckpoint, key, once_recorded
from scenarios.programs.halves import run_half
from scenarios.programs.mail import send

MODEL = "gpt-5-mini"
TASK = "Invoice Grace (grace@example.com) for ten hours of March, at 1200 cents each."

Act = Callable[[str, ToolCall], str]
"""Carries out a tool call as a step of that id; gives what the model is told."""


@tool
def send_invoice(to: str, cents: int) -> str:
    """Send an invoice by mail."""
    raise NotImplementedError  # the model is shown what it looks like; `mail` does the work, as a step


def buggy() -> None:
    """A mail is noted before it is sent, so that it is never sent twice: a crash in between, and it is never sent."""
    checkpoint = FileCheckpoint()

    def act(step: str, call: ToolCall) -> str:
        if checkpoint.done(step) is None:
            checkpoint.record(step, "sent")
            mail(call, key=None)
        return "sent"

    converse(checkpoint, act)


def fixed() -> None:
    """A mail is recorded after it is sent, and has a key for the time in between."""
    checkpoint = FileCheckpoint()

    def act(step: str, call: ToolCall) -> str:
        return once_recorded(checkpoint, step, lambda: mail(call, key=key(step)))

    converse(checkpoint, act)


def converse(checkpoint: Checkpoint, act: Act) -> None:
    """Ask the model until it calls no tool any more. What it says is recorded as it comes."""
    model = ChatOpenAI(model=MODEL).bind_tools([send_invoice])
    messages: list[BaseMessage] = [HumanMessage(TASK)]
    for turn in count():
        said = once_recorded(checkpoint, f"reply:{turn}", lambda: model.invoke(messages).model_dump_json())
        reply = AIMessage.model_validate_json(said)
        messages.append(reply)
        for index, call in enumerate(reply.tool_calls):
            messages.append(ToolMessage(act(f"tool:{turn}:{index}", call), tool_call_id=call["id"]))
        if not reply.tool_calls:
            return


def mail(call: ToolCall, *, key: str | None) -> str:
    """Send the invoice that a tool call asks for."""
    given = call["args"]
    return "sent as " + send(given["to"], "Your invoice", f"Ten hours of March: {given['cents']} cents.", key=key)


if __name__ == "__main__":
    run_half(buggy=buggy, fixed=fixed)
