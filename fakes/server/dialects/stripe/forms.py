"""Stripe's parameters: form fields such as `metadata[order]=7`, made into typed values by a table of what there is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import parse_qsl

from fakes.server.dialects.stripe.errors import (
    empty_parameter,
    missing_parameter,
    out_of_bounds,
    unknown_parameters,
)
from fakes.server.fields import Fields
from fakes.server.trouble import Trouble, invalid
from fakes.server.wire import Request

Spec = Mapping[str, str]
"""The parameters of an operation and the kind of each: one of `_KINDS`, or choices `a|b|c`; `!` where required."""

_NAME = re.compile(r"([^\[\]]+)((?:\[[^\[\]]*\])*)")
_INDEX = re.compile(r"[0-9]{1,9}")
_INTEGER = re.compile(r"-?[0-9]{1,15}")
_MOST_LEVELS = 8
_MOST_ON_A_PAGE = 100
_LONGEST_KEY, _LONGEST_VALUE = 40, 500
_COMPARISONS = ("gt", "gte", "lt", "lte")


def read(request: Request, spec: Spec) -> Fields:
    """The parameters of a request, from its body and its query, each of the kind it must have.

    A parameter that was sent empty, to unset it, is None.

    Raises:
        Trouble: 400; a parameter is unknown, missing, or not of its kind.
    """
    if request.body and request.headers.get("content-type", "").startswith("application/json"):
        raise invalid("Invalid request (check that your POST content type is application/x-www-form-urlencoded).")
    given = _nested(_pairs(request))
    unknown = [name for name in given if name not in spec]
    if unknown:
        raise unknown_parameters(unknown, spec)
    for name, kind in spec.items():
        if kind.endswith("!") and name not in given:
            raise missing_parameter(name)
        if kind.endswith("!") and given[name] == "":
            raise empty_parameter(name)
    return Fields({name: _typed(spec[name].removesuffix("!"), name, value) for name, value in given.items()})


def _pairs(request: Request) -> Iterator[tuple[str, str]]:
    yield from request.query.items()
    try:
        yield from parse_qsl(request.body.decode("utf-8"), keep_blank_values=True, errors="strict")
    except ValueError as error:
        raise invalid(f"the body cannot be read as form fields: {error}") from None


def _nested(pairs: Iterator[tuple[str, str]]) -> dict[str, object]:
    """`a[b]=1` as `{"a": {"b": "1"}}`. An array is a hash of its indices here; `a[]` takes the next one."""
    top: dict[str, object] = {}
    for name, value in pairs:
        match = _NAME.fullmatch(name)
        first, *inner = [name] if match is None else [match[1], *re.findall(r"\[([^\[\]]*)\]", match[2])]
        if len(inner) > _MOST_LEVELS:
            raise invalid(f"Invalid object: {first} is nested too deeply", param=first)
        place, last = top, first
        for part in inner:
            below = place.setdefault(last, {})
            if not isinstance(below, dict):
                raise invalid(f"Invalid object: {first} is given as a value and as an object", param=first)
            place, last = below, part or str(len(below))
        place[last] = value
    return top


def _typed(kind: str, name: str, value: object) -> object:
    if kind in _KINDS:
        return _KINDS[kind](name, value)
    if value == "":
        return None
    choices = kind.split("|")
    if value not in choices:
        raise invalid(f"Invalid {name}: must be one of {', '.join(choices[:-1])}, or {choices[-1]}", param=name)
    return value


def _text(name: str, value: object) -> str | None:
    if not isinstance(value, str):
        raise invalid(f"Invalid string: {value}", param=name)
    return value or None


def _integer(name: str, value: object) -> int:
    if value == "":
        raise empty_parameter(name)
    if not isinstance(value, str) or not _INTEGER.fullmatch(value):
        raise invalid(f"Invalid integer: {value}", param=name, code="parameter_invalid_integer")
    return int(value)


def _limit(name: str, value: object) -> int:
    limit = _integer(name, value)
    if limit < 1:
        raise out_of_bounds(name, limit, "greater than or equal to 1")
    if limit > _MOST_ON_A_PAGE:
        raise out_of_bounds(name, limit, f"less than or equal to {_MOST_ON_A_PAGE}")
    return limit


def _flag(name: str, value: object) -> bool:
    if value not in ("true", "false"):
        raise invalid(f"Invalid boolean: {value}", param=name)
    return value == "true"


def _hash(name: str, value: object) -> object:
    if value == "":
        return None
    if not isinstance(value, dict):
        raise invalid("Invalid object", param=name)
    return {inner: _plain(item) for inner, item in value.items()}


def _list(name: str, value: object) -> object:
    if value == "":
        return []
    if not (isinstance(value, dict) and all(map(_INDEX.fullmatch, value))):
        raise invalid("Invalid array", param=name)
    return _plain(value)


def _metadata(name: str, value: object) -> object:
    """Text by key; None to drop all of it. An empty text drops its key."""
    if value == "":
        return None
    if not isinstance(value, dict):
        raise invalid("Invalid object", param=name)
    for key, text in value.items():
        if not isinstance(text, str):
            raise invalid("Metadata values must be strings.", param=f"{name}[{key}]")
        if len(key) > _LONGEST_KEY:
            raise _too_long("keys", f"{name}[{key}]", len(key), _LONGEST_KEY)
        if len(text) > _LONGEST_VALUE:
            raise _too_long("values", f"{name}[{key}]", len(text), _LONGEST_VALUE)
    return dict(value)


def _too_long(what: str, where: str, length: int, most: int) -> Trouble:
    message = f"Metadata {what} can have up to {most} characters, but you passed in one of {length} characters."
    return invalid(message, param=where)


def _time(name: str, value: object) -> object:
    """Seconds since the epoch, or bounds of them."""
    if isinstance(value, str):
        return _integer(name, value)
    if not (isinstance(value, dict) and all(inner in _COMPARISONS for inner in value)):
        raise invalid("Invalid object", param=name)
    return {inner: _integer(f"{name}[{inner}]", item) for inner, item in value.items()}


def _currency(name: str, value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z]{3}", value):
        raise invalid(f"Invalid currency: {value}. A currency is three letters, such as usd or eur.", param=name)
    return value.lower()


def _email(name: str, value: object) -> str | None:
    text = _text(name, value)
    if text is not None and not re.fullmatch(r"[^@\s]+@[^@\s]+", text):
        raise invalid(f"Invalid email address: {text}", param=name, code="email_invalid")
    return text


def _plain(value: object) -> object:
    """What no table says more about: arrays where the names are indices, booleans where the text says so."""
    if not isinstance(value, dict):
        return {"true": True, "false": False, "": None}.get(str(value), value)
    if value and all(map(_INDEX.fullmatch, value)):
        return [_plain(value[index]) for index in sorted(value, key=int)]
    return {name: _plain(item) for name, item in value.items()}


_KINDS: Mapping[str, Callable[[str, object], object]] = {
    "text": _text,
    "integer": _integer,
    "limit": _limit,
    "flag": _flag,
    "hash": _hash,
    "list": _list,
    "metadata": _metadata,
    "time": _time,
    "currency": _currency,
    "email": _email,
}
