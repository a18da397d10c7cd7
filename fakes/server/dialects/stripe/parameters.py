"""The parameters that Stripe's operations take, and of which kind each is; see `forms.Spec`.

Those of API version 2026-10-28 and the older ones that SDKs still send.
"""

from __future__ import annotations

EXPAND = {"expand": "list"}
PAGE = EXPAND | {"limit": "limit", "starting_after": "text", "ending_before": "text"}
SEARCH = EXPAND | {"query": "text!", "limit": "limit", "page": "text"}

_METADATA = EXPAND | {"metadata": "metadata"}
_STATEMENT = {"statement_descriptor": "text", "statement_descriptor_suffix": "text"}
_TRANSFER = {"on_behalf_of": "text", "transfer_data": "hash", "transfer_group": "text"}

CUSTOMER_UPDATE = _METADATA | {
    "address": "hash",
    "balance": "integer",
    "business_name": "text",
    "cash_balance": "hash",
    "coupon": "text",
    "default_source": "text",
    "description": "text",
    "email": "email",
    "individual_name": "text",
    "invoice_prefix": "text",
    "invoice_settings": "hash",
    "name": "text",
    "next_invoice_sequence": "integer",
    "phone": "text",
    "preferred_locales": "list",
    "promotion_code": "text",
    "shipping": "hash",
    "source": "text",
    "tax": "hash",
    "tax_exempt": "exempt|none|reverse",
    "validate": "flag",
}
CUSTOMER_CREATE = {name: kind for name, kind in CUSTOMER_UPDATE.items() if name != "default_source"} | {
    "id": "text",  # not in the documents, and taken nevertheless
    "payment_method": "text",
    "tax_id_data": "list",
    "test_clock": "text",
}

_PAYING = _METADATA | {
    "allowed_payment_method_types": "list",
    "amount_details": "hash",
    "capture_method": "automatic|automatic_async|manual",
    "excluded_payment_method_types": "list",
    "hooks": "hash",
    "payment_details": "hash",
    "payment_method": "text",
    "payment_method_data": "hash",
    "payment_method_options": "hash",
    "payment_method_types": "list",
    "receipt_email": "email",
    "setup_future_usage": "off_session|on_session",
    "shipping": "hash",
    "source": "text",
}
_CONFIRMING = {
    "confirmation_token": "text",
    "error_on_requires_action": "flag",
    "mandate": "text",
    "mandate_data": "hash",
    "off_session": "true|false|one_off|recurring",
    "radar_options": "hash",
    "return_url": "text",
    "use_stripe_sdk": "flag",
}
INTENT_CREATE = (
    _PAYING
    | _CONFIRMING
    | _STATEMENT
    | _TRANSFER
    | {
        "amount": "integer!",
        "application_fee_amount": "integer",
        "automatic_payment_methods": "hash",
        "confirm": "flag",
        "confirmation_method": "automatic|manual",
        "currency": "currency!",
        "customer": "text",
        "customer_account": "text",
        "description": "text",
        "payment_method_configuration": "text",
    }
)
INTENT_UPDATE = (
    _PAYING
    | _STATEMENT
    | _TRANSFER
    | {
        "amount": "integer",
        "application_fee_amount": "integer",
        "currency": "currency",
        "customer": "text",
        "customer_account": "text",
        "description": "text",
        "payment_method_configuration": "text",
    }
)
INTENT_CONFIRM = (
    {name: kind for name, kind in _PAYING.items() if name != "metadata"}
    | _CONFIRMING
    | {
        "amount_to_confirm": "integer",
    }
)
INTENT_CAPTURE = (
    _METADATA
    | _STATEMENT
    | {
        "amount_details": "hash",
        "amount_to_capture": "integer",
        "application_fee_amount": "integer",
        "final_capture": "flag",
        "hooks": "hash",
        "payment_details": "hash",
        "transfer_data": "hash",
    }
)
INTENT_CANCEL = EXPAND | {"cancellation_reason": "abandoned|duplicate|fraudulent|requested_by_customer"}
INTENT_INCREMENT = _METADATA | {
    "amount": "integer!",
    "amount_details": "hash",
    "application_fee_amount": "integer",
    "description": "text",
    "hooks": "hash",
    "payment_details": "hash",
    "statement_descriptor": "text",
    "transfer_data": "hash",
}
INTENT_RETRIEVE = EXPAND | {"client_secret": "text"}

CHARGE_UPDATE = _METADATA | {
    "customer": "text",
    "description": "text",
    "fraud_details": "hash",
    "receipt_email": "email",
    "shipping": "hash",
    "transfer_group": "text",
}
CHARGE_CREATE = (
    _METADATA
    | _STATEMENT
    | _TRANSFER
    | {
        "amount": "integer!",
        "application_fee": "integer",
        "application_fee_amount": "integer",
        "capture": "flag",
        "currency": "currency!",
        "customer": "text",
        "description": "text",
        "destination": "hash",
        "radar_options": "hash",
        "receipt_email": "email",
        "shipping": "hash",
        "source": "text",
    }
)
CHARGE_CAPTURE = (
    EXPAND
    | _STATEMENT
    | {
        "amount": "integer",
        "application_fee": "integer",
        "application_fee_amount": "integer",
        "receipt_email": "email",
        "transfer_data": "hash",
        "transfer_group": "text",
    }
)

REFUND_UPDATE = _METADATA
REFUND_CREATE = _METADATA | {
    "amount": "integer",
    "charge": "text",
    "currency": "currency",
    "customer": "text",
    "instructions_email": "email",
    "origin": "customer_balance",
    "payment_intent": "text",
    "reason": "duplicate|fraudulent|requested_by_customer",
    "refund_application_fee": "flag",
    "reverse_transfer": "flag",
}

SOURCE_CREATE = _METADATA | {"source": "text!", "validate": "flag"}
SOURCE_UPDATE = _METADATA | {
    "account_holder_name": "text",
    "account_holder_type": "company|individual",
    "address_city": "text",
    "address_country": "text",
    "address_line1": "text",
    "address_line2": "text",
    "address_state": "text",
    "address_zip": "text",
    "exp_month": "integer",
    "exp_year": "integer",
    "name": "text",
    "owner": "hash",
}
BALANCE_CHANGE_UPDATE = _METADATA | {"description": "text"}
BALANCE_CHANGE_CREATE = BALANCE_CHANGE_UPDATE | {"amount": "integer!", "currency": "currency!"}
TAX_ID_CREATE = EXPAND | {"type": "text!", "value": "text!"}
