"""One email, by the SDK of Resend."""

from __future__ import annotations

import os

import resend


def send(to: str, subject: str, text: str, *, key: str | None) -> str:
    """The id of the email, which Resend sends once for every key, and whenever it is asked to without one."""
    # The SDK reads its environment when it is imported, which may have been before there was one.
    resend.api_url = os.environ.get("RESEND_API_URL", "https://api.resend.com")
    resend.api_key = os.environ["RESEND_API_KEY"]
    email: resend.Emails.SendParams = {"from": "desk@example.com", "to": to, "subject": subject, "text": text}
    options: resend.Emails.SendOptions = {} if key is None else {"idempotency_key": key}
    return resend.Emails.send(email, options)["id"]
