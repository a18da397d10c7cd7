"""How Stripe's objects are found: one by its id, pages of lists, searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from fakes.server.dialects.stripe.calls import known, reads
from fakes.server.dialects.stripe.errors import no_such
from fakes.server.dialects.stripe.forms import Spec, read
from fakes.server.dialects.stripe.objects import Thing, number_of, text_of
from fakes.server.dialects.stripe.parameters import EXPAND, PAGE, SEARCH
from fakes.server.dialects.stripe.records import Records
from fakes.server.dialects.stripe.search import query
from fakes.server.fields import Fields
from fakes.server.wire import Asked, Desk, Request

_ON_A_PAGE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A kind of object at an address of its own.

    Attributes:
        name: in the address and in the ledger: `customers`.
        kind: as the objects have it: `customer`.
        id_param: what the errors call the id in the address.
        takes: parameters of retrieving one.
        filters: parameters of a list that keep objects whose field of that name is equal.
        searched: fields of a search; none if there is no search.
    """

    name: str
    kind: str
    id_param: str = "id"
    takes: Spec = field(default_factory=EXPAND.copy)
    filters: Sequence[str] = ()
    searched: Sequence[str] = ()

    def named(self, desk: Desk, found: Mapping[str, str]) -> Thing:
        """The object that the address names, be it deleted since. Raises Trouble 404."""
        return known(desk, (self.kind,), found["id"], param=self.id_param, status=404)

    def retrieve(self, desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
        """GET /v1/NAME/{id}."""
        fields = read(request, self.takes)
        thing = self.named(desk, found)

        def answer(records: Records) -> Thing:
            return records.get(found["id"]) or thing

        return reads(desk, request, fields, answer, operation=f"{self.name}.retrieve", target=found["id"])

    def page(self, desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
        """GET /v1/NAME: newest first."""
        fields = read(request, {**PAGE, "created": "time", **dict.fromkeys(self.filters, "text")})
        for name in ("starting_after", "ending_before"):
            if fields.has(name):
                known(desk, (self.kind,), fields.text(name), param=name)

        def answer(records: Records) -> Thing:
            return page_of(records.of(self.kind), fields, request.path, lambda thing: self._is_wanted(thing, fields))

        target = next((fields.text(name) for name in self.filters if fields.has(name)), "all")
        return reads(desk, request, fields, answer, operation=f"{self.name}.list", target=target)

    def search(self, desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
        """GET /v1/NAME/search. Unlike the real one it knows of every change at once."""
        fields = read(request, SEARCH)
        matches = query(fields.text("query"), self.searched, self.name)

        def answer(records: Records) -> Thing:
            hits = [thing for thing in records.of(self.kind) if matches(thing)]
            return _found_page(hits, fields, request.path)

        return reads(desk, request, fields, answer, operation=f"{self.name}.search", target=fields.text("query"))

    def _is_wanted(self, thing: Thing, fields: Fields) -> bool:
        same = all(thing.get(name) == fields.values[name] for name in self.filters if fields.has(name))
        return same and _is_within(number_of(thing, "created"), fields.values.get("created"))


def page_of(things: Sequence[Thing], fields: Fields, url: str, is_wanted: Callable[[Thing], bool]) -> Thing:
    """The page of a list that is asked for. `starting_after` and `ending_before` may be objects that are not wanted."""
    limit, backwards = fields.number("limit", _ON_A_PAGE), fields.has("ending_before")
    if fields.has("starting_after"):
        things = things[_place(things, fields, "starting_after") + 1 :]
    if backwards:
        things = things[: _place(things, fields, "ending_before")][::-1]
    found = list(islice(filter(is_wanted, things), limit + 1))
    shown = found[:limit][::-1] if backwards else found[:limit]
    return {"object": "list", "data": shown, "has_more": len(found) > limit, "url": url}


def _place(things: Sequence[Thing], fields: Fields, name: str) -> int:
    given = fields.text(name)
    place = next((index for index, thing in enumerate(things) if thing["id"] == given), None)
    if place is None:
        raise no_such("object", given, param=name)
    return place


def _found_page(hits: Sequence[Thing], fields: Fields, url: str) -> Thing:
    """The page of search results that comes after `page`, which is the id of the last one shown."""
    start = _place(hits, fields, "page") + 1 if fields.has("page") else 0
    shown = hits[start : start + fields.number("limit", _ON_A_PAGE)]
    more = len(hits) > start + len(shown)
    counted = {"total_count": len(hits)} if "total_count" in fields.items("expand") else {}
    return {
        "object": "search_result",
        "data": list(shown),
        "has_more": more,
        "next_page": text_of(shown[-1], "id") if more else None,
        "url": url,
        **counted,
    }


def _is_within(created: int, bounds: object) -> bool:
    if isinstance(bounds, int):
        return created == bounds
    if not isinstance(bounds, Mapping):
        return True
    fits = {"gt": created.__gt__, "gte": created.__ge__, "lt": created.__lt__, "lte": created.__le__}
    return all(fits[name](bound) for name, bound in bounds.items())
