"""OpenAPI documents of what the fakes serve, made of the types that the providers' own SDKs declare.

A request may hold what the SDK's parameters say, and no more; an answer has to fit the SDK's model, with all that it
requires. What no SDK has a type of is written here, from the providers' references: errors, and lists in requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import resend
import schemathesis
from anthropic.types import Message, MessageTokensCount
from anthropic.types.message_count_tokens_params import MessageCountTokensParams
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from openai.pagination import SyncPage
from openai.types import CreateEmbeddingResponse, EmbeddingCreateParams, Model
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter
from schemathesis.schemas import APIOperation

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One operation of a provider.

    Attributes:
        method: and `path`, with `{id}` for a segment.
        answer: the SDK's type of it.
        request: the SDK's type of the body; None where there is none.
        plain: a body that is certainly good.
        limits: what the type does not say of fields, in whichever part of the body has all of them.
        required: fields of that part which the type leaves out, and the provider does not.
        left_out: fields that are not asked for.
        echoes: the answer repeats parts of the request, which are as wrong as they came.
    """

    method: str
    path: str
    answer: Any
    request: Any = None
    plain: Any = None
    limits: Mapping[str, Schema] = field(default_factory=dict)
    required: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    echoes: bool = False

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """What a provider serves: its errors, with the statuses that they come with, and the headers that it asks for."""

    provider: str
    headers: Mapping[str, str]
    error: Schema
    refusals: Sequence[int]
    operations: Sequence[Operation]

    def read(self, operation: Operation) -> APIOperation[Any, Any, Any, Any]:
        """One operation as schemathesis has it."""
        components: dict[str, Schema] = {}
        described = self._described(operation, components)
        document = {
            "openapi": "3.1.0",
            "info": {"title": self.provider, "version": "1"},
            "paths": {operation.path: {operation.method.lower(): described}},
            "components": {"schemas": components},
        }
        return schemathesis.openapi.from_dict(document)[operation.path][operation.method]

    def _described(self, operation: Operation, components: dict[str, Schema]) -> Schema:
        answers = {200: _schema_of(operation.answer, components, "Answer"), **dict.fromkeys(self.refusals, self.error)}
        described: Schema = {
            "responses": {
                str(status): {"description": "", "content": _as_json(schema)} for status, schema in answers.items()
            }
        }
        if operation.request is not None:
            schema = _closed(_schema_of(operation.request, components, "Request"))
            limited = next(part for part in (schema, *components.values()) if _has(part, operation.limits))
            for name, limits in operation.limits.items():
                limited["properties"][name] |= limits
            for name in operation.left_out:
                del limited["properties"][name]
            limited["required"] = [*limited.get("required", ()), *operation.required]
            described["requestBody"] = {"required": True, "content": _as_json(schema)}
        if "{id}" in operation.path:
            segment = {"type": "string", "minLength": 1}
            described["parameters"] = [{"name": "id", "in": "path", "required": True, "schema": segment}]
        return described


def documented() -> Iterator[tuple[Document, Operation]]:
    """All of them."""
    for document in (OPENAI, ANTHROPIC, RESEND):
        for operation in document.operations:
            yield document, operation


def _as_json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _schema_of(kind: Any, components: dict[str, Schema], prefix: str) -> Schema:
    """The schema of a type; what it refers to is added to the components, under names that begin with the prefix."""
    if isinstance(kind, dict):
        return kind
    schema = TypeAdapter(kind).json_schema(ref_template=f"#/components/schemas/{prefix}{{model}}")
    for name, part in schema.pop("$defs", {}).items():
        components[f"{prefix}{name}"] = _closed(part) if prefix == "Request" else part
    return schema


def _has(schema: Schema, fields: Mapping[str, Schema]) -> bool:
    return fields.keys() <= schema.get("properties", {}).keys()


def _closed(schema: Schema) -> Schema:
    """The same object without fields that it does not name."""
    return {"additionalProperties": False, **schema} if "properties" in schema else schema


def _object(required: Mapping[str, Schema], **more: Any) -> Schema:
    return {"type": "object", "properties": dict(required), "required": list(required), **more}


_TEXT: Schema = {"type": "string"}
_WORDS: Schema = {"type": "string", "minLength": 1}
_NULLABLE: Schema = {"type": ["string", "null"]}
_HELLO = [{"role": "user", "content": "Hello"}]

OPENAI = Document(
    provider="openai",
    headers={"Authorization": "Bearer sk-any"},
    error=_object(
        {"error": _object({"message": _WORDS, "type": _WORDS, "param": _NULLABLE, "code": _NULLABLE})},
        additionalProperties=False,
    ),
    refusals=(400, 401, 404),
    operations=(
        Operation(
            method="POST",
            path="/v1/chat/completions",
            answer=ChatCompletion,
            request=CompletionCreateParamsNonStreaming,
            plain={"model": "gpt-5", "messages": _HELLO},
            limits={"messages": {"minItems": 1, "maxItems": 2}},
        ),
        Operation(
            method="POST",
            path="/v1/responses",
            answer=Response,
            request=ResponseCreateParamsNonStreaming,
            plain={"model": "gpt-5", "input": "Hello"},
            left_out=("access_programs", "prompt_cache_options"),  # echoed as they come; OpenAI adds what is missing
            echoes=True,
        ),
        Operation(
            method="POST",
            path="/v1/embeddings",
            answer=CreateEmbeddingResponse,
            request=EmbeddingCreateParams,
            plain={"model": "text-embedding-3-small", "input": "Hello", "encoding_format": "float"},
            limits={
                "input": {"minLength": 1, "minItems": 1},
                "dimensions": {"minimum": 1, "maximum": 64},
                "encoding_format": {"const": "float"},  # the SDK's model is what it has decoded
            },
            required=("encoding_format",),
        ),
        Operation(method="GET", path="/v1/models", answer=SyncPage[Model]),
    ),
)

ANTHROPIC = Document(
    provider="anthropic",
    headers={"X-Api-Key": "sk-any", "Anthropic-Version": "2023-06-01"},
    error=_object(
        {
            "type": {"const": "error"},
            "error": _object({"type": {"type": "string", "pattern": "_error$"}, "message": _WORDS}),
            "request_id": {"type": "string", "pattern": "^req_"},
        }
    ),
    refusals=(400, 401),
    operations=(
        Operation(
            method="POST",
            path="/v1/messages",
            answer=Message,
            request=MessageCreateParamsNonStreaming,
            plain={"model": "claude-sonnet-5", "max_tokens": 100, "messages": _HELLO},
            limits={"messages": {"minItems": 1, "maxItems": 2}, "max_tokens": {"minimum": 0}},
        ),
        Operation(
            method="POST",
            path="/v1/messages/count_tokens",
            answer=MessageTokensCount,
            request=MessageCountTokensParams,
            plain={"model": "claude-sonnet-5", "messages": _HELLO},
            limits={"messages": {"minItems": 1, "maxItems": 2}},
        ),
    ),
)

_ADDRESS: Schema = {"type": "string", "pattern": "^[a-z]{1,8}@[a-z]{1,8}[.]com$"}
_ADDRESSES: Schema = {"anyOf": [_ADDRESS, {"type": "array", "items": _ADDRESS, "minItems": 1, "maxItems": 50}]}
_MAIL: Mapping[str, Any] = {
    "limits": {"from": _ADDRESS, **dict.fromkeys(("to", "cc", "bcc", "reply_to"), _ADDRESSES), "text": _WORDS},
    "required": ("from", "subject", "text"),
}
_HELLO_MAIL = {"from": "ada@example.com", "to": "bob@example.com", "subject": "Hello", "text": "Hello"}


def _email() -> Schema:
    """An email that was sent. The SDK declares texts where the API's reference has null."""
    schema = TypeAdapter(resend.Email).json_schema()
    return schema | {"properties": schema["properties"] | dict.fromkeys(("subject", "html", "text"), _NULLABLE)}


RESEND = Document(
    provider="resend",
    headers={"Authorization": "Bearer re_any"},
    error=_object({"statusCode": {"type": "integer", "minimum": 400}, "name": _WORDS, "message": _WORDS}),
    refusals=(400, 401, 404, 422),
    operations=(
        Operation(
            method="POST",
            path="/emails",
            answer=resend.Emails.SendResponse,
            request=resend.Emails.SendParams,
            plain=_HELLO_MAIL,
            **_MAIL,
        ),
        Operation(
            method="POST",
            path="/emails/batch",
            answer=resend.Batch.SendResponse,
            request=list[resend.Emails.SendParams],
            plain=[_HELLO_MAIL, _HELLO_MAIL],
            **_MAIL,
        ),
        Operation(method="GET", path="/emails/{id}", answer=_email()),
    ),
)
