"""Stripe's test cards, docs.stripe.com/testing: their names say what they are, and whether the bank says no."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

METHODS = ("pm_", "card_", "src_", "ba_", "tok_")
"""How the id of something to pay with begins. Any such id is good; Stripe's payment methods are not served here."""

SOURCES = (*METHODS, "btok_")


NO_ADDRESS: Mapping[str, object] = dict.fromkeys(("city", "country", "line1", "line2", "postal_code", "state"))
NO_BILLING_DETAILS: Mapping[str, object] = {
    "address": NO_ADDRESS,
    "email": None,
    "name": None,
    "phone": None,
    "tax_id": None,
}


@dataclass(frozen=True, slots=True)
class Decline:
    """The bank's no. `reason` is what Stripe calls the decline code."""

    code: str
    reason: str | None
    message: str


INSUFFICIENT_FUNDS = Decline("card_declined", "insufficient_funds", "Your card has insufficient funds.")
AUTHENTICATION_REQUIRED = Decline(
    "authentication_required",
    "authentication_required",
    "Your card was declined. This transaction requires authentication.",
)
_GENERIC = Decline("card_declined", "generic_decline", "Your card was declined.")
_DECLINES = {
    "InsufficientFunds": INSUFFICIENT_FUNDS,
    "LostCard": Decline("card_declined", "lost_card", "Your card was declined."),
    "StolenCard": Decline("card_declined", "stolen_card", "Your card was declined."),
    "Fraudulent": Decline("card_declined", "fraudulent", "Your card was declined."),
    "ExpiredCard": Decline("expired_card", "expired_card", "Your card has expired."),
    "IncorrectCvc": Decline("incorrect_cvc", "incorrect_cvc", "Your card's security code is incorrect."),
    "ProcessingError": Decline(
        "processing_error",
        "processing_error",
        "An error occurred while processing your card. Try again in a little bit.",
    ),
    "VelocityLimitExceeded": Decline(
        "card_declined",
        "card_velocity_exceeded",
        "Your card was declined for making repeated attempts too frequently or exceeding its amount limit.",
    ),
}
_DECLINED = re.compile(r"chargeDeclined([A-Za-z]*)")
_FAILS_LATER = "chargeCustomerFail"
_ASKS = re.compile(r"authenticationRequired|threeDSecure[A-Za-z0-9]*Required")
_FAILS_LATER_LAST4 = "0341"
_LAST4 = {"mastercard": "4444", "amex": "8431", "discover": "9424", "diners": "3237", "jcb": "0505", "unionpay": "0005"}


def refused(name: str) -> Decline | None:
    """What the bank says to the card, be it charged or only added to a customer; None if it takes it."""
    match = _DECLINED.search(name)
    return match and _DECLINES.get(match[1], _GENERIC)


def declined(name: str, card: Mapping[str, object] | None = None) -> Decline | None:
    """What the bank says to a charge. One card can be added to a customer, and fails only here; `card` is added."""
    inner = (card or {}).get("card", card)  # a payment method has the card below it
    fails = isinstance(inner, Mapping) and inner.get("last4") == _FAILS_LATER_LAST4
    return _GENERIC if fails or _FAILS_LATER in name else refused(name)


def asks_for_authentication(name: str) -> bool:
    """Whether the customer has to confirm a payment with that card."""
    return _ASKS.search(name) is not None


def card_of(name: str) -> Mapping[str, object]:
    """What payments with the card say of it; a visa card if its name says nothing else."""
    brand = next((brand for brand in _LAST4 if brand in name.lower()), "visa")
    return {
        "brand": brand,
        "checks": {"address_line1_check": None, "address_postal_code_check": None, "cvc_check": "pass"},
        "country": "US",
        "exp_month": 12,
        "exp_year": 2034,
        "fingerprint": f"fp_{brand}",
        "funding": "debit" if "debit" in name else "credit",
        "last4": _FAILS_LATER_LAST4 if _FAILS_LATER in name else _LAST4.get(brand, "4242"),
        "network": brand,
        "three_d_secure": None,
        "wallet": None,
    }


def payment_method(given: str, name: str, customer: object, created: int) -> Mapping[str, object]:
    """A card as a payment method, such as the one in the error of a declined payment. `name` is the test card's."""
    return {
        "id": given,
        "object": "payment_method",
        "allow_redisplay": "unspecified",
        "billing_details": NO_BILLING_DETAILS,
        "card": card_of(name),
        "created": created,
        "customer": customer,
        "livemode": False,
        "metadata": {},
        "type": "card",
    }


def new_source(token: str, name: str, customer: str) -> Mapping[str, object]:
    """A card or a bank account, made from a token such as `tok_visa` or `btok_us`, as a customer has it."""
    if name.startswith(("btok_", "ba_")):
        return {
            "id": f"ba_{token}",
            "object": "bank_account",
            "account_holder_name": None,
            "account_holder_type": None,
            "account_type": None,
            "bank_name": "STRIPE TEST BANK",
            "country": "US",
            "currency": "usd",
            "customer": customer,
            "fingerprint": "fp_bank",
            "last4": "6789",
            "metadata": {},
            "routing_number": "110000000",
            "status": "new",
        }
    card = card_of(name)
    return {
        "id": f"card_{token}",
        "object": "card",
        **dict.fromkeys(("address_city", "address_country", "address_line1", "address_line2", "address_state")),
        **dict.fromkeys(("address_line1_check", "address_zip", "address_zip_check", "dynamic_last4", "name")),
        **{field: card[field] for field in ("country", "exp_month", "exp_year", "fingerprint", "funding", "last4")},
        "brand": str(card["brand"]).title(),
        "customer": customer,
        "cvc_check": "pass",
        "metadata": {},
        "tokenization_method": None,
        "wallet": None,
    }
