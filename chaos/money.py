"""What tokens cost, by the price list of genai-prices. The ledger knows integers only; money is told at the end."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from chaos.errors import OptionError
from fakes import Row


def check_model(model: str) -> None:
    """Refuse a model that has no price.

    Raises:
        OptionError: genai-prices is not installed, or does not know the model.
    """
    _cost(model, 1, 1)


def price(model: str | None, rows: Iterable[Row]) -> str:
    """` ($0.0123 as gpt-5)` for calls, or nothing when no model is named."""
    if model is None:
        return ""
    calls = list(rows)
    cost = _cost(model, sum(row.tokens_in for row in calls), sum(row.tokens_out for row in calls))
    return f" (${cost:.4f} as {model})"


def _cost(model: str, tokens_in: int, tokens_out: int) -> Decimal:
    try:
        from genai_prices import Usage, calc_price  # noqa: PLC0415 - an extra, and slow to import
    except ImportError:
        raise OptionError(
            "--model needs the price list: pip install 'crashwindow[prices]' (without it, tokens are told)"
        ) from None
    try:
        return calc_price(Usage(input_tokens=tokens_in, output_tokens=tokens_out), model_ref=model).total_price
    except LookupError:
        raise OptionError(f"genai-prices knows no model {model!r}; write its name as its provider does") from None
