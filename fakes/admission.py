"""What a key policy makes of a call, given the earlier calls with its key. Pure: data in, data or an error out."""

from __future__ import annotations

from collections.abc import Iterable

from fakes.errors import CodedError, KeyAlreadyUsed, KeyInFlight, KeyMismatch, KeyRequired, KeyTooLong
from fakes.ledger import Row
from fakes.policy import KeyPolicy, Refusal
from fakes.witness import Call


def answered_by(policy: KeyPolicy, call: Call, earlier: Iterable[Row], *, now: float) -> Row | None:
    """The earlier call whose answer this one gets; None if this one is to be worked on.

    A row still in progress means: wait for it. Refused calls raise the error that the caller gets.
    `earlier` holds the provider's calls with the same key, oldest first; `now` is in epoch seconds.
    """
    if not policy.deduplicates or call.nature == "reads":
        return None
    _check_key(policy, call)
    known = [row for row in earlier if _counts(policy, call, row, now)]
    same_body = [row for row in known if row.body == call.body]
    if known and not same_body:
        if isinstance(policy.on_mismatch, Refusal):
            fact = (
                f"repeats the key {call.key!r} of row {known[0].id} with another body ({known[0].body} then,"
                f" {call.body} now); one key stands for one request: send the same body, or use a new key"
            )
            raise _refused(KeyMismatch, call, policy.on_mismatch, fact)
        if policy.on_mismatch == "new":
            return None
    first = next(iter(same_body or known), None)
    if first is not None:
        _check_repeat(policy, call, first)
    return first


def _check_key(policy: KeyPolicy, call: Call) -> None:
    if call.key is None:
        if policy.required:
            raise _refused(KeyRequired, call, policy.key_missing, "came without a key; pass one per logical effect")
    elif policy.max_length is not None and len(call.key) > policy.max_length:
        fact = f"has a key of {len(call.key)} characters; {policy.name} takes up to {policy.max_length}, so shorten it"
        raise _refused(KeyTooLong, call, policy.key_invalid, fact)


def _check_repeat(policy: KeyPolicy, call: Call, first: Row) -> None:
    if first.outcome == "in progress":
        if isinstance(policy.in_flight, Refusal):
            fact = f"repeats the key {call.key!r} while its first call is still in flight; wait, then ask again"
            raise _refused(KeyInFlight, call, policy.in_flight, fact)
    elif isinstance(policy.on_repeat, Refusal):
        fact = f"repeats the key {call.key!r}, which is processed already; look the outcome up"
        raise _refused(KeyAlreadyUsed, call, policy.on_repeat, fact)


def _counts(policy: KeyPolicy, call: Call, row: Row, now: float) -> bool:
    """Whether the provider still remembers the row under this key."""
    if policy.window is not None and now - row.at >= policy.window.total_seconds():
        return False
    if policy.scope == "operation" and row.operation != call.operation:
        return False
    # A failed row without an answer never began: a rate limit, a lost connection, a dead process.
    return row.outcome != "failed" or (policy.replays == "all" and row.answer != "")


def _refused(error: type[CodedError], call: Call, refusal: Refusal, fact: str) -> CodedError:
    return error(
        f"{call.provider}.{call.operation}: {refusal.status} {refusal.code}: the call {fact}",
        provider=call.provider,
        operation=call.operation,
        status=refusal.status,
        code=refusal.code,
    )
