"""A support agent on the SDK of OpenAI: it looks an order up, and answers the customer by Resend.

OpenAI takes no keys. Whatever a program records, the answer that is on its way when it is killed is paid for again, so
the fixed half is safe by `--accept in-flight` and not without. What the model says stands in
support_agent.jsonl, which `crashwindow exec --script` takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from itertools import count

from openai import OpenAI
from openai.types.chat import (
    ChatCompletionMessage,
    ChatCompletionMessageParam,
    ChatCompletionMessageToolCallUnion,
    ChatCompletionToolUnionParam,
)

from scenarios.programs.checkpoint import FileCheckpoint, key, once_recorded
from scenarios.programs.halves import run_half
from scenarios.programs.mail import send

MODEL = "gpt-5-mini"
QUESTION = "Ada (ada@example.com) asks where her order A-17 is. Look it up and write to her."
TOOLS: Iterable[ChatCompletionToolUnionParam] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "parameters": {
                "type": "object",
                "properties": {field: {"type": "string"} for field in fields},
                "required": fields,
            },
        },
    }
    for name, fields in {"look_up_order": ["order"], "send_reply": ["to", "subject", "text"]}.items()
]


def buggy() -> None:
    """A turn is recorded when its tools have run: a crash among them asks the model again, and mails again."""
    checkpoint, client = FileCheckpoint(), OpenAI()
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": QUESTION}]
    for turn in count():
        recorded = checkpoint.done(f"turn:{turn}")
        if recorded is None:
            reply = ask(client, messages)
            results = [as_message(call, run_tool(call, key=None)) for call in reply.tool_calls or ()]
            recorded = json.dumps([as_said(reply), *results])
            checkpoint.record(f"turn:{turn}", recorded)
        messages += json.loads(recorded)
        if messages[-1]["role"] == "assistant":
            return


def fixed() -> None:
    """What the model says is recorded before any tool runs, what a tool says before the next, and mails have keys."""
    checkpoint, client = FileCheckpoint(), OpenAI()
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": QUESTION}]
    for turn in count():
        said = once_recorded(checkpoint, f"reply:{turn}", lambda: ask(client, messages).model_dump_json())
        reply = ChatCompletionMessage.model_validate_json(said)
        messages.append(as_said(reply))
        for index, call in enumerate(reply.tool_calls or ()):
            step = f"tool:{turn}:{index}"
            result = once_recorded(checkpoint, step, partial(run_tool, call, key=key(step)))
            messages.append(as_message(call, result))
        if not reply.tool_calls:
            return


def ask(client: OpenAI, messages: Iterable[ChatCompletionMessageParam]) -> ChatCompletionMessage:
    """What the model says to a conversation."""
    return client.chat.completions.create(model=MODEL, messages=messages, tools=TOOLS).choices[0].message


def run_tool(call: ChatCompletionMessageToolCallUnion, *, key: str | None) -> str:
    """What a tool says, for the model to read. `key` is for what acts."""
    if call.type != "function":
        return f"there is no tool of type {call.type}"
    given = json.loads(call.function.arguments)
    match call.function.name:
        case "look_up_order":
            return f"order {given['order']}: left the warehouse, arrives on Thursday"
        case "send_reply":
            return "sent as " + send(given["to"], given["subject"], given["text"], key=key)
        case unknown:
            return f"there is no tool {unknown}"


def as_said(reply: ChatCompletionMessage) -> ChatCompletionMessageParam:
    """A reply as a message of the conversation."""
    said: ChatCompletionMessageParam = reply.model_dump(exclude_none=True)  # type: ignore[assignment]  # what it is for
    return said


def as_message(call: ChatCompletionMessageToolCallUnion, result: str) -> ChatCompletionMessageParam:
    """The result of a tool call as a message of the conversation."""
    return {"role": "tool", "tool_call_id": call.id, "content": result}


if __name__ == "__main__":
    run_half(buggy=buggy, fixed=fixed)
