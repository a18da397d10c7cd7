"""What one lost reply does, without any crash: each SDK makes one call, and the connection breaks when it is answered.

The provider has acted by then. Some SDKs ask again by themselves, most raise an error, and then the program that called
them asks again; whether that acts again is a matter of keys.

    python -m scenarios.programs.lost_reply
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from unittest.mock import patch

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from fakes import Fault, Ledger
from fakes.server.dialects import variables
from fakes.server.listening import LOOPBACK, Listener
from fakes.server.site import Site
from fakes.server.smtp import serving_smtp
from scenarios.programs import sdk_calls

_KEY = "run-1:call"


@dataclass(frozen=True, slots=True)
class Sdk:
    """An SDK; what `call` asks for, and what the provider has then done; the key that it is given, if any."""

    name: str
    operation: str
    done: str
    call: Callable[[str | None], None]
    key: str | None = None


SDKS = (
    Sdk("openai", "openai.chat", "billed", sdk_calls.openai),
    Sdk("anthropic", "anthropic.messages", "billed", sdk_calls.anthropic),
    Sdk("google-genai", "gemini.generate_content", "billed", sdk_calls.google_genai),
    Sdk("boto3 (SES v2)", "ses.send_email", "sent", sdk_calls.boto3_ses),
    Sdk("slack_sdk", "slack.chat.postMessage", "sent", sdk_calls.slack),
    Sdk("stripe (module)", "stripe.payment_intents.create", "charged", sdk_calls.stripe_module),
    Sdk("stripe (client)", "stripe.payment_intents.create", "charged", sdk_calls.stripe_client),
    Sdk("stripe (client), key", "stripe.payment_intents.create", "charged", sdk_calls.stripe_client, _KEY),
    Sdk("resend", "resend.emails.send", "sent", sdk_calls.resend),
    Sdk("resend, key", "resend.emails.send", "sent", sdk_calls.resend, _KEY),
    Sdk("sendgrid", "sendgrid.mail.send", "sent", sdk_calls.sendgrid),
    Sdk("smtplib", "smtp.send", "sent", sdk_calls.smtp),
    Sdk("twilio", "twilio.messages.create", "sent", sdk_calls.twilio),
    Sdk("tavily", "tavily.search", "searched", sdk_calls.tavily),
    Sdk("exa", "exa.search", "searched", sdk_calls.exa),
)


@dataclass(frozen=True, slots=True)
class LostReply:
    """What came of one call whose first answer was lost.

    Attributes:
        sdk: by which it was made.
        requests: that the provider has seen. `happened`: how often it acted on one.
        outcome: in words.
        by_hand: what became of it when the program made the call again, because it had failed.
    """

    sdk: str
    requests: int
    happened: int
    outcome: str
    by_hand: str = ""


def lose_replies() -> Iterator[LostReply]:
    """Make a call by every SDK, each at providers of its own."""
    with Listener() as listener:
        for sdk in SDKS:
            with ExitStack() as stack:
                ledger = stack.enter_context(Ledger())
                site = Site(ledger=ledger, faults=[Fault.parse(f"{sdk.operation}#1:lost_after")])
                address = stack.enter_context(listener.serving(site))
                mail = stack.enter_context(listener.open(serving_smtp(site)))
                there = {"SMTP_HOST": LOOPBACK, "SMTP_PORT": str(mail), "NO_PROXY": LOOPBACK}
                stack.enter_context(patch.dict(os.environ, variables(address) | there))
                yield lose_reply(sdk, ledger)


def lose_reply(sdk: Sdk, ledger: Ledger) -> LostReply:
    """Make the call, and make it again if it fails."""
    try:
        sdk.call(sdk.key)
    except ImportError as missing:
        return LostReply(sdk.name, 0, 0, f"not installed: {missing.name}")
    except Exception as error:  # noqa: BLE001 - every SDK has its own
        requests, happened = _counts(ledger)
        sdk.call(sdk.key)
        by_hand = _outcome(sdk, _counts(ledger)[1])
        return LostReply(sdk.name, requests, happened, f"raised {type(error).__name__}", by_hand)
    requests, happened = _counts(ledger)
    return LostReply(sdk.name, requests, happened, _outcome(sdk, happened))


def table(found: Iterable[LostReply]) -> Table:
    """All of it, for people."""
    shown = Table(
        "SDK", "seen", "done", "outcome", "then by hand", box=SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0)
    )
    shown.title = "One call, whose first reply is lost; made again by hand where it fails"
    for one in found:
        shown.add_row(one.sdk, str(one.requests or ""), str(one.happened or ""), one.outcome, one.by_hand)
    return shown


def _counts(ledger: Ledger) -> tuple[int, int]:
    rows = ledger.rows()
    return len(rows), sum(row.outcome == "applied" for row in rows)


def _outcome(sdk: Sdk, happened: int) -> str:
    return "safe by key" if happened == 1 else f"{sdk.done} twice"


if __name__ == "__main__":
    Console().print(table(lose_replies()))
