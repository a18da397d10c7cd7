"""What belongs to a customer at Stripe and is found below it: cards and accounts, tax ids, the balance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from fakes.server.dialects.stripe import parameters as takes
from fakes.server.dialects.stripe.calls import Moment, Outcome, acts, gone, known, reads
from fakes.server.dialects.stripe.cards import new_source, refused
from fakes.server.dialects.stripe.customers import CUSTOMERS, check_source, target_of
from fakes.server.dialects.stripe.forms import Spec, read
from fakes.server.dialects.stripe.objects import Thing, new_balance_change, new_tax_id, number_of, text_of, updated
from fakes.server.dialects.stripe.payments import card_error
from fakes.server.dialects.stripe.reading import page_of
from fakes.server.dialects.stripe.records import Records
from fakes.server.fields import Fields
from fakes.server.wire import Asked, Desk, Request, Route

Make = Callable[[Thing, Fields, Moment], Outcome]
"""A new belonging of a customer, and the customer with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Belongings:
    """One sort of them.

    Attributes:
        name: in the address: `tax_ids`.
        kinds: as the objects have it.
        make: how there is a new one, if there can be.
        creates: parameters of making one.
        updates: parameters of changing one; none if that cannot be.
        can_go: whether one can be deleted.
        filters: parameters of a list beside those of every list.
    """

    name: str
    kinds: tuple[str, ...]
    make: Make | None = None
    creates: Spec = field(default_factory=dict)
    updates: Spec = field(default_factory=dict)
    can_go: bool = False
    filters: Spec = field(default_factory=dict)

    def create(self, desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
        """POST /v1/customers/{id}/NAME."""
        fields = read(request, self.creates)
        check_source(fields)
        first = CUSTOMERS.named(desk, found)

        def change(moment: Moment) -> Outcome:
            customer = moment.records.alive(found["id"])
            if customer is None or self.make is None:
                return gone("customer", found["id"])
            return self.make(customer, fields, moment)

        return acts(desk, request, fields, change, operation=self._named("create"), target=target_of(first))

    def page(self, desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
        """GET /v1/customers/{id}/NAME: newest first."""
        fields = read(request, {**takes.PAGE, **self.filters})
        CUSTOMERS.named(desk, found)

        def answer(records: Records) -> Thing:
            things = [thing for kind in self.kinds for thing in records.of(kind) if thing["customer"] == found["id"]]
            wanted = fields.values.get("object") or fields.values.get("type")
            return page_of(
                things, fields, request.path, lambda thing: wanted in (None, thing["object"], thing.get("type"))
            )

        return reads(desk, request, fields, answer, operation=self._named("list"), target=found["id"])

    def retrieve(self, desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
        """GET /v1/customers/{id}/NAME/{own}."""
        fields = read(request, takes.EXPAND)
        first = self._first(desk, found)

        def answer(records: Records) -> Thing:
            return records.get(found["own"]) or first

        return reads(desk, request, fields, answer, operation=self._named("retrieve"), target=found["own"])

    def update(self, desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
        """POST /v1/customers/{id}/NAME/{own}."""
        fields = read(request, self.updates)
        self._first(desk, found)

        def change(moment: Moment) -> Outcome:
            thing = moment.records.alive(found["own"])
            return gone(self.kinds[0], found["own"]) if thing is None else Outcome((updated(thing, fields),))

        target = target_of(CUSTOMERS.named(desk, found))
        return acts(desk, request, fields, change, operation=self._named("update"), target=target)

    def delete(self, desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
        """DELETE /v1/customers/{id}/NAME/{own}."""
        fields = read(request, takes.EXPAND)
        self._first(desk, found)

        def change(moment: Moment) -> Outcome:
            thing = moment.records.alive(found["own"])
            if thing is None:
                return gone(self.kinds[0], found["own"])
            deleted = {"id": found["own"], "object": thing["object"], "customer": found["id"], "deleted": True}
            customer = moment.records.alive(found["id"])
            if customer is None or customer["default_source"] != found["own"]:
                return Outcome((deleted,))
            return Outcome((deleted, {**customer, "default_source": None}))

        target = target_of(CUSTOMERS.named(desk, found))
        return acts(desk, request, fields, change, operation=self._named("delete"), target=target)

    def routes(self) -> Iterator[tuple[str, Route]]:
        """All that can be done with them, by the names of the operations."""
        many, one = f"/v1/customers/{{id}}/{self.name}", f"/v1/customers/{{id}}/{self.name}/{{own}}"
        yield self._named("list"), Route("GET", many, self.page)
        yield self._named("retrieve"), Route("GET", one, self.retrieve)
        if self.make is not None:
            yield self._named("create"), Route("POST", many, self.create)
        if self.updates:
            yield self._named("update"), Route("POST", one, self.update)
        if self.can_go:
            yield self._named("delete"), Route("DELETE", one, self.delete)

    def _named(self, verb: str) -> str:
        return f"customers.{self.name}.{verb}"

    def _first(self, desk: Desk, found: Mapping[str, str]) -> Thing:
        """The one that the address names, as it was found first. Raises Trouble 404."""
        CUSTOMERS.named(desk, found)
        return known(desk, self.kinds, found["own"], param="id", status=404, customer=found["id"])


def cash_balance(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """GET /v1/customers/{id}/cash_balance. Nobody transfers money to a customer's bank account here: there is none."""
    fields = read(request, takes.EXPAND)
    CUSTOMERS.named(desk, found)
    balance: Thing = {
        "object": "cash_balance",
        "available": None,
        "customer": found["id"],
        "livemode": False,
        "settings": {"reconciliation_mode": "automatic", "using_merchant_default": True},
    }
    named = "customers.cash_balance.retrieve"
    return reads(desk, request, fields, lambda _records: balance, operation=named, target=found["id"])


def _source(customer: Thing, fields: Fields, moment: Moment) -> Outcome:
    no = refused(fields.text("source"))
    if no is not None:
        return Outcome(error=card_error(no))
    source = updated(new_source(moment.token, fields.text("source"), text_of(customer, "id")), fields)
    default = customer["default_source"] or source["id"]
    return Outcome((source, {**customer, "default_source": default}))


def _balance_change(customer: Thing, fields: Fields, moment: Moment) -> Outcome:
    balance = number_of(customer, "balance") + fields.number("amount")
    change = new_balance_change(f"cbtxn_{moment.token}", moment.now, text_of(customer, "id"), balance, fields)
    return Outcome((change, {**customer, "balance": balance, "currency": fields.text("currency")}))


def _tax_id(customer: Thing, fields: Fields, moment: Moment) -> Outcome:
    return Outcome((new_tax_id(f"txi_{moment.token}", moment.now, text_of(customer, "id"), fields),))


_ALL = (
    Belongings(
        name="sources",
        kinds=("card", "bank_account"),
        make=_source,
        creates=takes.SOURCE_CREATE,
        updates=takes.SOURCE_UPDATE,
        can_go=True,
        filters={"object": "text"},
    ),
    Belongings(name="payment_methods", kinds=("payment_method",), filters={"type": "text", "allow_redisplay": "text"}),
    Belongings(
        name="balance_transactions",
        kinds=("customer_balance_transaction",),
        make=_balance_change,
        creates=takes.BALANCE_CHANGE_CREATE,
        updates=takes.BALANCE_CHANGE_UPDATE,
    ),
    Belongings(name="cash_balance_transactions", kinds=("customer_cash_balance_transaction",)),
    Belongings(name="tax_ids", kinds=("tax_id",), make=_tax_id, creates=takes.TAX_ID_CREATE, can_go=True),
)

ROUTES: Mapping[str, Route] = {
    **{name: route for belongings in _ALL for name, route in belongings.routes()},
    "customers.cash_balance.retrieve": Route("GET", "/v1/customers/{id}/cash_balance", cash_balance),
}
