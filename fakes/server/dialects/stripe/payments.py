"""Money at Stripe: amounts that are taken, whom a payment is for, what can be paid with, what the bank says."""

from __future__ import annotations

from collections.abc import Mapping

from fakes.payments import DECLINED
from fakes.server.dialects.stripe.cards import INSUFFICIENT_FUNDS, METHODS, Decline, card_of, declined
from fakes.server.dialects.stripe.errors import error, no_such, out_of_bounds
from fakes.server.dialects.stripe.objects import Thing, text_of
from fakes.server.dialects.stripe.records import Records
from fakes.server.fields import Fields
from fakes.server.trouble import invalid

_MOST = 99_999_999
_ORDERS = ("order", "order_id")
_LEAST = {"aed": 200, "bgn": 100, "czk": 1500, "dkk": 250, "gbp": 30, "hkd": 400, "huf": 17500, "jpy": 50, "mxn": 1000}
_LEAST |= {"myr": 200, "nok": 300, "pln": 200, "ron": 200, "sek": 300, "thb": 1000}
_LEAST |= dict.fromkeys(("aud", "brl", "cad", "chf", "eur", "inr", "nzd", "sgd", "usd"), 50)
"""The smallest charge, in the currency's smallest unit: docs.stripe.com/currencies, minimum and maximum amounts."""

_WITHOUT_CENTS = ("jpy",)
_SIGNS = {"aud": "$", "cad": "$", "eur": "€", "gbp": "£", "jpy": "¥", "nzd": "$", "sgd": "$", "usd": "$"}


def check_amount(fields: Fields, currency: str, name: str = "amount") -> None:
    """Refuse an amount that is too small or too large to be charged. Raises Trouble 400."""
    amount, least = fields.number(name), _LEAST.get(currency, 1)
    if amount < 1:
        raise out_of_bounds(name, amount, "greater than or equal to 1")
    if amount < least:
        message = f"Amount must be at least {money(least, currency)} {currency}"
        raise invalid(message, param=name, code="amount_too_small")
    if amount > _MOST:
        message = f"Amount must be no more than {money(_MOST, currency)} {currency}"
        raise invalid(message, param=name, code="amount_too_large")


def money(amount: int, currency: str) -> str:
    """An amount as people write it: $20.00."""
    sign = _SIGNS.get(currency, "")
    return f"{sign}{amount:,}" if currency in _WITHOUT_CENTS else f"{sign}{amount / 100:,.2f}"


def check_method(fields: Fields) -> None:
    """Refuse what cannot be an id of something to pay with. Raises Trouble 400."""
    for name, kind in (("payment_method", "PaymentMethod"), ("source", "token")):
        if fields.has(name) and not fields.text(name).startswith(METHODS):
            raise no_such(kind, fields.text(name), param=name)


def target_of(payment: Thing) -> str:
    """A payment in the words of the program: its customer, the order, the description, or else the amount."""
    metadata = payment.get("metadata")
    order = (
        next((metadata[name] for name in _ORDERS if metadata.get(name)), "") if isinstance(metadata, Mapping) else ""
    )
    named = text_of(payment, "customer") or str(order) or text_of(payment, "description")
    return named or f"{payment['amount']} {payment['currency']}"


def bank_says(records: Records, customer: str, method: str) -> Decline | None:
    """The bank's no to charging what a customer pays with, if it says no."""
    return INSUFFICIENT_FUNDS if customer == DECLINED else declined(method, records.get(method))


def card_behind(records: Records, method: str) -> Thing:
    """What a charge says of the card: the one that was added to a customer under that id, or the test card so named."""
    added = records.get(method) or {}
    inner = added.get("card")
    if isinstance(inner, Mapping):  # a payment method
        return inner
    return {**card_of(text_of(added, "brand")), "last4": added["last4"]} if "last4" in added else card_of(method)


def card_error(decline: Decline, **more: object) -> dict[str, object]:
    """The bank's no as the error of a call."""
    return error("card_error", decline.message, code=decline.code, decline_code=decline.reason, **more)
