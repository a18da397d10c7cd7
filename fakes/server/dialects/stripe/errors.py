"""Stripe's errors, docs.stripe.com/api/errors: their shape, and those that a request alone can earn."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence

from fakes.server.trouble import Trouble, invalid

_DOCS = "https://stripe.com/docs/error-codes/"


def error(kind: str, message: str, *, code: str | None = None, **more: object) -> dict[str, object]:
    """What stands below `error`. Fields that are None are left out, as Stripe does."""
    fields = {"code": code, "doc_url": code and _DOCS + code.replace("_", "-"), "message": message, "type": kind}
    return {name: value for name, value in sorted((fields | more).items()) if value is not None}


def unknown_parameters(names: Sequence[str], known: Collection[str]) -> Trouble:
    """400: parameters that the operation does not have; for a single one, the nearest that it has."""
    plural = "s" if len(names) > 1 else ""
    near = [] if plural else difflib.get_close_matches(names[0], known, n=1)
    hint = f". Did you mean {near[0]}?" if near else ""
    message = f"Received unknown parameter{plural}: {', '.join(names)}{hint}"
    return invalid(message, param=names[0], code="parameter_unknown")


def missing_parameter(name: str) -> Trouble:
    """400: a required parameter is not there."""
    return invalid(f"Missing required param: {name}.", param=name, code="parameter_missing")


def empty_parameter(name: str) -> Trouble:
    """400: a parameter that cannot be unset is empty."""
    message = (
        f"You passed an empty string for '{name}'. We assume empty values are an attempt to unset a parameter; however"
        f" '{name}' cannot be unset. You should remove '{name}' from your request or supply a non-empty value."
    )
    return invalid(message, param=name, code="parameter_invalid_empty")


def out_of_bounds(name: str, value: int, bound: str) -> Trouble:
    """400: a number below or above what is taken; `bound` as in `less than or equal to 100`."""
    message = f"This value must be {bound} (it currently is '{value}')."
    return invalid(message, param=name, code="parameter_invalid_integer")


def no_such(kind: str, given: str, *, param: str, status: int = 400) -> Trouble:
    """No object has that id: 404 where the path names it, 400 where a parameter does."""
    message = f"No such {kind}: '{given}'"
    if status == 404:  # noqa: PLR2004 - see above
        return Trouble("not_found", status, message, code="resource_missing", param=param)
    return invalid(message, code="resource_missing", param=param)
