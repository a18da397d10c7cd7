"""How a provider treats idempotency keys, as data, and the policies of real ones.

Each preset's `rule` says what the provider documents, and where. What a provider leaves open takes the
field's default, which follows the IETF draft; the rule then says so with "open:".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from types import MappingProxyType
from typing import Literal

from fakes.errors import UnknownName


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error answer: its HTTP status and the provider's code for it."""

    status: int
    code: str


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyPolicy:
    """One provider's rules for keys.

    field        header or parameter that carries the key; None: keys are not understood, every call acts
    max_length   longest key, in characters; None: no limit known
    window       how long a key is remembered, from its first call; None: for ever
    scope        "account": one key for all operations together; "operation": one per operation
    on_mismatch  same key, other body: refuse it, "replay" the first answer, or take it as a "new" call
    in_flight    same key, first call not ended: refuse it, or "wait" and give the same answer
    on_repeat    same key and body, first call ended: "replay" its answer, or refuse it
    replays      "success": a failed call leaves its key free; "all": errors are kept too, once work began
    required     whether a call without a key is refused
    """

    name: str
    rule: str
    field: str | None = "Idempotency-Key"
    max_length: int | None = None
    window: timedelta | None = timedelta(hours=24)
    scope: Literal["account", "operation"] = "account"
    on_mismatch: Refusal | Literal["replay", "new"] = Refusal(409, "idempotency_key_mismatch")
    in_flight: Refusal | Literal["wait"] = Refusal(409, "idempotency_key_in_use")
    on_repeat: Refusal | Literal["replay"] = "replay"
    replays: Literal["success", "all"] = "success"
    required: bool = False
    key_missing: Refusal = Refusal(400, "idempotency_key_missing")
    key_invalid: Refusal = Refusal(400, "idempotency_key_too_long")

    @property
    def deduplicates(self) -> bool:
        """Whether a key makes any difference at this provider."""
        return self.field is not None


def policy(name: str) -> KeyPolicy:
    """The preset of that name; UnknownName gives the nearest name and the list."""
    if name not in PRESETS:
        raise UnknownName("key policy", name, PRESETS)
    return PRESETS[name]


def _without_keys(name: str, rule: str) -> KeyPolicy:
    return KeyPolicy(name=name, rule=rule, field=None, window=None)


PRESETS: Mapping[str, KeyPolicy] = MappingProxyType(
    {
        preset.name: preset
        for preset in (
            KeyPolicy(
                name="default", rule="The fakes' own: keys are taken and compared, successes replayed, for 24 h."
            ),
            KeyPolicy(
                name="stripe",
                rule="docs.stripe.com/idempotency (API v1): status and body are saved once execution began, 500s"
                " included; other parameters are an error; keys may be pruned after 24 h.",
                max_length=255,
                on_mismatch=Refusal(400, "idempotency_error"),
                in_flight=Refusal(409, "idempotency_key_in_use"),
                replays="all",
            ),
            KeyPolicy(
                name="stripe-v2",
                rule="docs.stripe.com/api/idempotent_requests (2026-09-30.preview): successful work is not repeated,"
                " failed work is tried to completion again. open: window, other body.",
                max_length=255,
                on_mismatch=Refusal(400, "idempotency_error"),
            ),
            KeyPolicy(
                name="resend",
                rule="resend.com/docs/dashboard/emails/idempotency-keys: 24 h, first 2xx, up to 256 characters.",
                max_length=256,
                on_mismatch=Refusal(409, "invalid_idempotent_request"),
                in_flight=Refusal(409, "concurrent_idempotent_requests"),
                key_invalid=Refusal(400, "invalid_idempotency_key"),
            ),
            KeyPolicy(
                name="ietf",
                rule="draft-ietf-httpapi-idempotency-key-header: missing 400, other body 422, in flight 409,"
                " result or error replayed. open: window, left to the server.",
                on_mismatch=Refusal(422, "idempotency_key_reused"),
                replays="all",
                required=True,
            ),
            KeyPolicy(
                name="adyen",
                rule="docs.adyen.com/development-resources/api-idempotency: the first answer, 31 days at least, keys of"
                " the company account, up to 64 characters. open: other body, in flight.",
                field="idempotency-key",
                max_length=64,
                window=timedelta(days=31),
            ),
            KeyPolicy(
                name="checkout",
                rule="checkout.com docs, retry a payment: 24 h, 2xx only, errors are attempted again; of concurrent"
                " equal keys one proceeds. open: other body.",
                field="Cko-Idempotency-Key",
            ),
            KeyPolicy(
                name="nylas",
                rule="Nylas v3: 1 h, 409 for another body, success and error replayed. open: in flight.",
                window=timedelta(hours=1),
                replays="all",
            ),
            KeyPolicy(
                name="sqs-fifo",
                rule="AWS SQS SendMessage: within 5 minutes a repeated id is accepted and not delivered, whatever the"
                " body; up to 128 characters.",
                field="MessageDeduplicationId",
                max_length=128,
                window=timedelta(minutes=5),
                on_mismatch="replay",
                in_flight="wait",
            ),
            KeyPolicy(
                name="qonto",
                rule="docs.qonto.com, idempotent requests: 30 min, the cached success even if the body differs,"
                " mandatory where taken. open: in flight.",
                field="X-Qonto-Idempotency-Key",
                window=timedelta(minutes=30),
                on_mismatch="replay",
                required=True,
            ),
            KeyPolicy(
                name="checkbook",
                rule="docs.checkbook.io, idempotent requests: a key with other parameters is ignored, a new resource is"
                " made; per endpoint, up to 255 characters. open: window, in flight.",
                max_length=255,
                window=None,
                scope="operation",
                on_mismatch="new",
            ),
            KeyPolicy(
                name="ppro",
                rule="developerhub.ppro.com, idempotency: 24 h; 409 while the first is in transit; 4xx are not stored."
                " open: other body.",
                field="Request-Idempotency-Key",
            ),
            KeyPolicy(
                name="primer",
                rule="primer.io/docs, idempotency key: 409 once the key was processed, declined payments included."
                " open: window, in flight.",
                field="X-Idempotency-Key",
                window=None,
                on_mismatch=Refusal(409, "IdempotencyKeyAlreadyExists"),
                on_repeat=Refusal(409, "IdempotencyKeyAlreadyExists"),
                replays="all",
            ),
            KeyPolicy(
                name="solidgate",
                rule="api-docs.solidgate.com, idempotent requests: 422 for another body; scope is account, endpoint and"
                " environment; up to 255 characters. open: window, in flight, errors.",
                max_length=255,
                scope="operation",
                on_mismatch=Refusal(422, "idempotency_key_reused"),
            ),
            KeyPolicy(
                name="privy",
                rule="docs.privy.io, idempotency keys: 24 h, 400 for another body, up to 256 characters. open: in"
                " flight, errors.",
                field="privy-idempotency-key",
                max_length=256,
                on_mismatch=Refusal(400, "invalid_idempotency_key"),
            ),
            KeyPolicy(
                name="enfuce",
                rule="docs.enfuce.com: successes are kept for 24 h, errors are always fresh; up to 64 characters."
                " open: other body, in flight.",
                field="x-idempotency-key",
                max_length=64,
            ),
            _without_keys("none", "A provider that does not understand keys."),
            _without_keys("openai", "The OpenAI API documents no key; every request is worked on and billed."),
            _without_keys("anthropic", "The Anthropic API documents no key; every request is worked on and billed."),
            _without_keys("gemini", "The Gemini API documents no key; every request is worked on and billed."),
            _without_keys("ses", "SES v2 SendEmail has no key; every request sends."),
            _without_keys("sendgrid", "SendGrid v3 mail/send has no key; every request sends."),
            _without_keys("postmark", "The Postmark API documents no key; every request sends."),
            _without_keys("slack", "Slack chat.postMessage: every request posts."),
            _without_keys("twilio", "The Twilio Messages API documents no key; every request sends."),
            _without_keys("smtp", "SMTP (RFC 5321) has no key; every message that is accepted is sent."),
            _without_keys("tavily", "The Tavily API documents no key; a search only reads."),
            _without_keys("exa", "The Exa API documents no key; a search only reads."),
        )
    }
)
