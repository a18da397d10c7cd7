"""Stripe's search language, docs.stripe.com/search: `status:'succeeded' AND metadata['order']:'7'`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from fakes.server.dialects.stripe.objects import Thing
from fakes.server.trouble import Trouble, invalid

Matches = Callable[[Thing], bool]

_CLAUSE = re.compile(
    r"""\s*(?P<no>-)?(?P<field>[A-Za-z_][\w.]*)(?:\[(?P<quote>["'])(?P<key>.*?)(?P=quote)\])?\s*
    (?P<sign>:|~|>=|<=|>|<)\s*
    (?:(?P<mark>["'])(?P<text>(?:\\.|(?!(?P=mark))[^\\])*)(?P=mark)|(?P<bare>[^\s"']+))\s*""",
    re.VERBOSE,
)
_JOIN = re.compile(r"(?P<word>AND|OR)\b", re.IGNORECASE)
_COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}


def query(text: str, searched: Sequence[str], resource: str) -> Matches:
    """Whether an object is one that the query finds.

    Raises:
        Trouble: 400; the query cannot be read, or names a field that the resource is not searched by.
    """
    clauses: list[Matches] = []
    joins: set[str] = set()
    place = 0
    while place < len(text) or not clauses:
        match = _CLAUSE.match(text, place)
        if match is None:
            raise _unreadable()
        clauses.append(_clause(match, searched, resource))
        place = match.end()
        join = _JOIN.match(text, place)
        if join is not None:
            joins.add(join["word"].upper())
            place = join.end()
            if not text[place:].strip():
                raise _unreadable()
        elif place < len(text):
            joins.add("AND")  # clauses side by side
    if len(joins) > 1:
        raise invalid("A search query cannot combine AND and OR.", param="query")
    together = any if joins == {"OR"} else all
    return lambda thing: together(clause(thing) for clause in clauses)


def _clause(match: re.Match[str], searched: Sequence[str], resource: str) -> Matches:
    name = match["field"]
    if name not in searched or (name == "metadata") != (match["key"] is not None):
        raise invalid(
            f"Field `{name}` is an unsupported search field for resource `{resource}`. See"
            f" http://stripe.com/docs/search#query-fields-for-{resource.replace('_', '-')} for a list of supported"
            " fields.",
            param="query",
        )
    path = [*name.split("."), *([match["key"]] if match["key"] is not None else [])]
    wanted = re.sub(r"\\(.)", r"\1", match["text"]) if match["mark"] else match["bare"]
    test = _test(match["sign"], wanted, is_null=match["bare"] == "null")
    if match["no"]:
        return lambda thing: not test(_value(thing, path))
    return lambda thing: test(_value(thing, path))


def _test(sign: str, wanted: str, *, is_null: bool) -> Callable[[object], bool]:
    if sign in _COMPARE:
        if not re.fullmatch(r"-?[0-9]{1,15}", wanted):
            raise _unreadable()
        return partial(_is_beyond, _COMPARE[sign], int(wanted))
    if is_null:
        return lambda value: value is None
    if sign == "~":
        return lambda value: wanted.lower() in _spelled(value)
    return lambda value: value is not None and _spelled(value) == wanted.lower()


def _is_beyond(compare: Callable[[int, int], bool], bound: int, value: object) -> bool:
    return isinstance(value, int) and compare(value, bound)


def _value(thing: object, path: Sequence[str]) -> object:
    for name in path:
        thing = thing.get(name) if isinstance(thing, Mapping) else None
    return thing


def _spelled(value: object) -> str:
    return "" if value is None else str(value).lower()


def _unreadable() -> Trouble:
    return invalid(
        'We were unable to parse your search query. Try using the format `metadata["key"]:"value"` to query for'
        ' metadata or key:"value" to query for other fields.',
        param="query",
    )
