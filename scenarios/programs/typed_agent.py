"""A concierge on pydantic-ai, with a model of OpenAI and a tool that sends mail by Resend.

The framework keeps a conversation in memory. The fixed half puts a model around the model, which records what it says.
OpenAI takes no keys, so it is safe by `--accept in-flight`. What the model says stands in typed_agent.jsonl.
"""

from __future__ import annotations

from pydantic import TypeAdapter
from pydantic_ai import Agent, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from scenarios.programs.checkpoint import Checkpoint, FileCheckpoint, key, once_recorded
from scenarios.programs.halves import run_half
from scenarios.programs.mail import send

MODEL = "gpt-5-mini"
WISH = "Reserve a table for two at Da Enzo (enzo@example.com) on Friday at eight: write them a mail."

_RESPONSE = TypeAdapter(ModelResponse)


def buggy() -> None:
    """Only the end is recorded: a crash before it asks the model again from the start, and mails again."""
    agent = Agent(OpenAIChatModel(MODEL))

    @agent.tool_plain
    def send_mail(to: str, subject: str, text: str) -> str:
        return send(to, subject, text, key=None)

    once_recorded(FileCheckpoint(), "conversation", lambda: agent.run_sync(WISH).output)


def fixed() -> None:
    """Every answer of the model and every mail is recorded, and mails have keys."""
    checkpoint = FileCheckpoint()
    agent = Agent(RecordedModel(OpenAIChatModel(MODEL), checkpoint))

    @agent.tool
    def send_mail(context: RunContext, to: str, subject: str, text: str) -> str:
        step = f"mail:{context.tool_call_id}"  # which is recorded, as part of what the model said
        return once_recorded(checkpoint, step, lambda: send(to, subject, text, key=key(step)))

    once_recorded(checkpoint, "conversation", lambda: agent.run_sync(WISH).output)


class RecordedModel(WrapperModel):
    """A model whose answers are recorded: a resumed run is told again what it was told, and pays for what is new."""

    def __init__(self, model: Model, checkpoint: Checkpoint) -> None:
        super().__init__(model)
        self._checkpoint = checkpoint

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        """The next answer in a conversation."""
        step = f"reply:{sum(isinstance(message, ModelResponse) for message in messages)}"
        recorded = self._checkpoint.done(step)
        if recorded is not None:
            return _RESPONSE.validate_json(recorded)
        response = await super().request(messages, model_settings, model_request_parameters)
        self._checkpoint.record(step, _RESPONSE.dump_json(response).decode())
        return response


if __name__ == "__main__":
    run_half(buggy=buggy, fixed=fixed)
