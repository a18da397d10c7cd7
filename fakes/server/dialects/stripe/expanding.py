"""Stripe's `expand`: ids replaced by what they stand for, and lists that are only shown when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from fakes.server.dialects.stripe.objects import Thing, text_of
from fakes.server.dialects.stripe.records import Records
from fakes.server.trouble import invalid

_ON_A_PAGE = 10
_INCLUDED: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("charge", "refunds"): ("refund",),
    ("customer", "sources"): ("card", "bank_account"),
    ("customer", "subscriptions"): (),
    ("customer", "tax_ids"): ("tax_id",),
}
"""Lists below an object, and what is in them."""


@dataclass(frozen=True, slots=True)
class View:
    """What a call sees: all that there is, and on top of it what the call itself has made."""

    records: Records
    made: Mapping[str, Thing] = field(default_factory=dict)

    def expanded(self, thing: Thing, wanted: Iterable[object]) -> Thing:
        """The object with the fields that `expand` names: `latest_charge`, `data.customer`, `refunds`.

        Raises:
            Trouble: 400; it has no such field.
        """
        for path in wanted:
            thing = self._expanded(thing, str(path).split("."), str(path))
        return thing

    def _expanded(self, thing: Thing, path: list[str], whole: str) -> Thing:
        name, *rest = path
        kinds = _INCLUDED.get((text_of(thing, "object"), name))
        if name not in thing and kinds is None:
            raise invalid(f"This property cannot be expanded ({whole}).", param="expand")
        value = thing[name] if name in thing else self._below(thing, name, kinds or ())
        if isinstance(value, list):
            return {**thing, name: [self._expanded(item, rest, whole) for item in value] if rest else value}
        inner = self._get(value) if isinstance(value, str) else value
        if not isinstance(inner, Mapping):  # null, or an object of a kind that is not served here
            return thing
        return {**thing, name: self._expanded(inner, rest, whole) if rest else inner}

    def _get(self, given: str) -> Thing | None:
        return self.made.get(given) or self.records.get(given)

    def _below(self, thing: Thing, name: str, kinds: tuple[str, ...]) -> Thing:
        owner, given = text_of(thing, "object"), text_of(thing, "id")
        known = {text_of(one, "id"): one for kind in kinds for one in self.records.of(kind)}
        new = {one_id: one for one_id, one in self.made.items() if one["object"] in kinds}
        things = [one for one in (new | known | new).values() if one.get(owner) == given]
        more = len(things) > _ON_A_PAGE
        return {"object": "list", "data": things[:_ON_A_PAGE], "has_more": more, "url": f"/v1/{owner}s/{given}/{name}"}
