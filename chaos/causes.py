"""Why it could happen, and what to write instead."""

from __future__ import annotations

from chaos.accounts import Surplus
from chaos.agent import Subject
from chaos.faults import answer_lost
from fakes import PRESETS, Row

_ERRORS = {
    "ReplayDivergence": (
        "a resumed life asked for something else than is recorded: its path, or what it passes on, is not a record",
        "make what differs a recorded step: run.now, run.random, run.uuid, or run.step around whatever reads it",
    ),
    "NotRecordable": (
        "the result of a step does not survive recording, which shows only after the work is done",
        "return plain data, or annotate the function with a type that pydantic knows",
    ),
    "RunIsHeld": (
        "the life before this one still holds the lease, although it is over",
        "let a lease end with its owner",
    ),
}


def cause_of_surplus(surplus: Surplus, agent: Subject) -> tuple[str, str]:  # noqa: PLR0911 - one return a cause
    """Cause and fix of a call that was made in vain."""
    row, again = surplus.row, surplus.again
    call = f"{row.provider}.{row.operation}"
    effect = f'run.effect("{row.step or row.operation}", {call}, ...)'
    if not agent.takes_run:
        return _cause_without_records(surplus, agent)
    if again is None:
        return (
            "the life that made the call was killed before its record, and no later life asked for that step again",
            "let step ids and the path depend on recorded values alone, so that a resumed life asks for the same steps",
        )
    if row.step is None and agent.takes_run:
        return f"{call} is called outside any step, so every life calls it anew", effect
    if row.key is None:
        noun = _NOUNS.get(call, "request")
        return (
            f"step {row.step!r} has no idempotency key, so the provider could not tell a retry from a new {noun}",
            f'{effect}, which passes run.key("{row.step}")',
        )
    if again.key != row.key:
        return (
            f"the idempotency key changed from {row.key!r} to {again.key!r}, so the provider took a retry for new",
            f'make the key of run and step, never of time, uuid or attempt: run.key("{row.step or row.operation}")',
        )
    if row.nature == "bills":
        return (
            f"{row.provider} took the same key twice: it does not deduplicate, as real model providers do not",
            f"put a proxy with keys in front of {row.provider}, or accept the one answer in flight: --accept in-flight",
        )
    return (
        f"{row.provider} took the same key twice: it does not deduplicate, or no longer remembers the key",
        f'{effect[:-1]}, if_unknown=look_up), which asks the provider before it sends again, or if_unknown="hold"',
    )


def _cause_without_records(surplus: Surplus, agent: Subject) -> tuple[str, str]:
    """Cause and fix where no records can be seen: of a program, or an agent with a checkpoint of its own."""
    row, again = surplus.row, surplus.again
    remedy = _BY_HAND if row.nature == "acts" and _takes_no_keys(row.provider) else agent.remedy
    if again is not None and again.life == row.life and answer_lost(row):
        who = "its client library" if again.retry else "the program"
        return f"the reply was lost, and {who} asked again without a key that {row.provider} knows", remedy
    if row.nature == "bills" and surplus.in_flight:
        return (
            f"the life died with this answer on its way, and {row.provider} does not deduplicate, so it was paid again",
            f"put a proxy with keys in front of {row.provider}, or accept the one answer in flight: --accept in-flight",
        )
    if row.nature == "bills":
        return (
            "an answer that had come was not recorded, so a later life paid for it again",
            "record each answer before anything is done with it, and go on from the records",
        )
    if row.key is None:
        call = f"{row.provider}.{row.operation}"
        return f"what the dead life had done was not recorded, and {call} carries no key, so it happened again", remedy
    if again is not None and again.key != row.key:
        return (
            "the idempotency key was another one in the next life, so the provider took a retry for new",
            "make the key of run and step and pass it yourself: one that an SDK makes is new in each life",
        )
    return f"{row.provider} took the same key twice: it does not deduplicate, or no longer remembers it", _BY_HAND


_BY_HAND = "ask the provider whether it has happened before it is sent again, or hold it for a person"


def cause_of_refusal(row: Row, agent: Subject) -> tuple[str, str]:
    """Cause and fix of a run that does not end since a provider refuses what a dead life has already had done."""
    call = f"{row.provider}.{row.operation}"
    return (
        f"a life that died had had {call} applied; the next one asks for it again without the same key, and is refused",
        agent.remedy,
    )


def _takes_no_keys(provider: str) -> bool:
    return provider in PRESETS and not PRESETS[provider].deduplicates


def cause_of_error(error: str, fix: str) -> tuple[str, str]:
    """Cause and fix of an error that ends life after life, by the error's type."""
    kind = error.partition(":")[0]
    return _ERRORS.get(kind, (f"each life fails in the same way: {kind}", fix))


def done(operation: str, target: str) -> str:
    """What happened, as a sentence that a number of times can follow."""
    return _DONE.get(operation, f"{operation} to {{}} happened").format(target)


_DONE = {
    "email.send": "email to {} was sent",
    "payments.charge": "a charge to {} was made",
    "payments.refund": "a refund of {} was made",
    "resend.emails.send": "email to {} was sent",
    "resend.emails.batch": "a batch of emails to {} was sent",
    "sendgrid.mail.send": "email to {} was sent",
    "ses.send_email": "email to {} was sent",
    "smtp.send": "email to {} was sent",
    "slack.chat.postMessage": "a message to {} was posted",
    "twilio.messages.create": "a text message to {} was sent",
    "stripe.charges.create": "a charge to {} was made",
    "stripe.customers.create": "customer {} was made",
    "stripe.payment_intents.create": "a payment for {} was made",
    "stripe.payment_intents.confirm": "a payment for {} was confirmed",
    "stripe.refunds.create": "a refund of {} was made",
}
_NOUNS = {"email.send": "email", "llm.complete": "question", "payments.charge": "charge", "payments.refund": "refund"}
