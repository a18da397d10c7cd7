"""Run ids, step ids, and the idempotency keys made of both."""

from __future__ import annotations

import hashlib
from urllib.parse import quote

from durable_core.errors import InvalidId

MAX_ID = 1000
"""Characters of a run id or step id; a bound, so that an id cannot be a document."""

MAX_KEY = 255
"""The longest key that every provider with keys but Adyen takes (Stripe: docs.stripe.com/idempotency)."""


def check_id(what: str, value: object) -> str:
    """Return `value` when it may serve as an id.

    Raises:
        InvalidId: no text, empty, longer than `MAX_ID`, or with control characters or lone surrogates.
    """
    if not isinstance(value, str) or not value:
        raise InvalidId(
            f"{what} {value!r} is not a non-empty string; give it a stable name such as 'send' or 'issue-42'"
        )
    if len(value) > MAX_ID:
        raise InvalidId(
            f"{what} {value[:40]!r}… has {len(value)} characters, more than {MAX_ID}; give it a name, not a text"
        )
    if not value.isprintable():
        raise InvalidId(
            f"{what} {value!r} holds characters that cannot be printed; use letters, digits and punctuation"
        )
    return value


def idempotency_key(run_id: str, step_id: str) -> str:
    """The key of one step of one run: ASCII, at most `MAX_KEY` characters, never shared by two steps.

    The run id is quoted, so `a:b` + `c` and `a` + `b:c` differ. A key that would be too long ends in a
    sha256 of the whole instead, behind a sign that no short key has.
    """
    key = f"{quote(run_id, safe='')}:{quote(step_id, safe=':/#@')}"
    if len(key) <= MAX_KEY:
        return key
    digest = hashlib.sha256(key.encode()).hexdigest()
    return f"{key[: MAX_KEY - len(digest) - 1]}={digest}"
