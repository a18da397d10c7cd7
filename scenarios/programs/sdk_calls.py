"""One call by each SDK, at its defaults, to wherever the environment points it.

An SDK is imported when it is called: not everybody has all of them.
"""
# ruff: noqa: PLC0415

from __future__ import annotations

import os
import smtplib
from email.message import EmailMessage

SUBJECT, TEXT, READER = "Your order", "It arrives on Thursday.", "ada@example.com"


def openai(_key: str | None) -> None:
    """A chat completion."""
    from openai import OpenAI

    with OpenAI() as client:
        client.chat.completions.create(model="gpt-5-mini", messages=[{"role": "user", "content": TEXT}])


def anthropic(_key: str | None) -> None:
    """A message."""
    from anthropic import Anthropic

    with Anthropic() as client:
        client.messages.create(model="claude-haiku-4-5", max_tokens=100, messages=[{"role": "user", "content": TEXT}])


def google_genai(_key: str | None) -> None:
    """Generated content."""
    from google.genai import Client

    with Client() as client:
        client.models.generate_content(model="gemini-flash-latest", contents=TEXT)


def boto3_ses(_key: str | None) -> None:
    """An email by SES, version 2."""
    from boto3 import client  # type: ignore[import-untyped]

    client("sesv2").send_email(
        FromEmailAddress="shop@example.com",
        Destination={"ToAddresses": [READER]},
        Content={"Simple": {"Subject": {"Data": SUBJECT}, "Body": {"Text": {"Data": TEXT}}}},
    )


def slack(_key: str | None) -> None:
    """A message in a channel."""
    from slack_sdk import WebClient

    base = os.environ.get("SLACK_BASE_URL", WebClient.BASE_URL)
    WebClient(os.environ["SLACK_BOT_TOKEN"], base_url=base).chat_postMessage(channel="C012AB3CD", text=TEXT)


def stripe_module(key: str | None) -> None:
    """A payment by the functions of the module."""
    import stripe

    stripe.api_base = os.environ.get("STRIPE_API_BASE", stripe.api_base)
    stripe.api_key = os.environ["STRIPE_API_KEY"]
    stripe.PaymentIntent.create(
        amount=4200, currency="usd", confirm=True, payment_method="pm_card_visa", idempotency_key=key
    )


def stripe_client(key: str | None) -> None:
    """A payment by a client, which does not try again unless it is told to."""
    import stripe

    base = os.environ.get("STRIPE_API_BASE", stripe.api_base)
    client = stripe.StripeClient(os.environ["STRIPE_API_KEY"], base_addresses={"api": base})
    client.v1.payment_intents.create(
        {"amount": 4200, "currency": "usd", "confirm": True, "payment_method": "pm_card_visa"},
        {"idempotency_key": key},
    )


def resend(key: str | None) -> None:
    """An email."""
    from scenarios.programs.mail import send

    send(READER, SUBJECT, TEXT, key=key)


def sendgrid(_key: str | None) -> None:
    """An email."""
    from sendgrid import SendGridAPIClient  # type: ignore[import-untyped]
    from sendgrid.helpers.mail import Mail  # type: ignore[import-untyped]

    host = os.environ.get("SENDGRID_HOST", "https://api.sendgrid.com")
    SendGridAPIClient(host=host).send(Mail("shop@example.com", READER, SUBJECT, TEXT))


def smtp(_key: str | None) -> None:
    """An email by SMTP, as the standard library speaks it."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "shop@example.com", READER, SUBJECT
    message.set_content(TEXT)
    with smtplib.SMTP(os.environ["SMTP_HOST"], int(os.environ["SMTP_PORT"])) as server:
        server.send_message(message)


def twilio(_key: str | None) -> None:
    """A text message."""
    from twilio.rest import Client  # type: ignore[import-untyped]

    client = Client()
    client.api.base_url = os.environ.get("TWILIO_BASE_URL", client.api.base_url)
    client.messages.create(to="+15005550006", from_="+15005550001", body=TEXT)


def tavily(_key: str | None) -> None:
    """A search."""
    from tavily import TavilyClient  # type: ignore[import-untyped]

    TavilyClient(api_base_url=os.environ.get("TAVILY_BASE_URL")).search("lamps")


def exa(_key: str | None) -> None:
    """A search."""
    from exa_py import Exa

    Exa(base_url=os.environ.get("EXA_BASE_URL", "https://api.exa.ai")).search("lamps")
