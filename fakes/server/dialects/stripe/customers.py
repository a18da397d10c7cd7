"""Stripe's customers, docs.stripe.com/api/customers."""

from __future__ import annotations

from collections.abc import Mapping

from fakes.server.dialects.stripe import parameters as takes
from fakes.server.dialects.stripe.calls import Moment, Outcome, acts, gone, rejected
from fakes.server.dialects.stripe.cards import SOURCES, new_source, payment_method, refused
from fakes.server.dialects.stripe.errors import no_such
from fakes.server.dialects.stripe.forms import read
from fakes.server.dialects.stripe.objects import Thing, new_customer, text_of, updated
from fakes.server.dialects.stripe.payments import card_error
from fakes.server.dialects.stripe.reading import Resource
from fakes.server.fields import Fields
from fakes.server.wire import Asked, Desk, Request, Route

CUSTOMERS = Resource(
    name="customers",
    kind="customer",
    filters=("email", "test_clock"),
    searched=("created", "email", "metadata", "name", "phone"),
)


def create(desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /v1/customers."""
    fields = read(request, takes.CUSTOMER_CREATE)
    check_source(fields)

    def change(moment: Moment) -> Outcome:
        given = fields.text("id", f"cus_{moment.token}")
        if fields.has("id") and moment.records.alive(given) is not None:
            return rejected("Customer already exists.", code="resource_already_exists", param="id")
        return _with_source(new_customer(given, moment.now, fields), fields, moment)

    return acts(desk, request, fields, change, operation="customers.create", target=target_of(fields.values))


def update(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """POST /v1/customers/{id}."""
    fields = read(request, takes.CUSTOMER_UPDATE)
    check_source(fields)
    target = target_of(CUSTOMERS.named(desk, found))

    def change(moment: Moment) -> Outcome:
        customer = moment.records.alive(found["id"])
        if customer is None:
            return gone("customer", found["id"])
        return _with_source(updated(customer, fields), fields, moment)

    return acts(desk, request, fields, change, operation="customers.update", target=target)


def delete(desk: Desk, request: Request, found: Mapping[str, str]) -> Asked:
    """DELETE /v1/customers/{id}. The payments of the customer stay."""
    fields = read(request, {})
    target = target_of(CUSTOMERS.named(desk, found))

    def change(moment: Moment) -> Outcome:
        if moment.records.alive(found["id"]) is None:
            return gone("customer", found["id"])
        return Outcome(({"id": found["id"], "object": "customer", "deleted": True},))

    return acts(desk, request, fields, change, operation="customers.delete", target=target)


def target_of(customer: Thing) -> str:
    """A customer in the words of the program: the email if there is one."""
    return next(
        (text for name in ("email", "id", "name", "description") if (text := text_of(customer, name))), "anybody"
    )


def check_source(fields: Fields) -> None:
    """Refuse what cannot be the token of a card or a bank account. Raises Trouble 400."""
    if fields.has("source") and not fields.text("source").startswith(SOURCES):
        raise no_such("token", fields.text("source"), param="source")


def _with_source(customer: Thing, fields: Fields, moment: Moment) -> Outcome:
    """The customer with the source or the payment method that was given; or a no of the bank, if it says so.

    A source is the customer's default one then; a payment method has to be made that explicitly.
    """
    given, source = text_of(customer, "id"), fields.optional("source")
    name = source or fields.optional("payment_method")
    if name is None:
        return Outcome((customer,))
    no = refused(name)
    if no is not None:
        return Outcome(error=card_error(no))
    if source is None:
        return Outcome((customer, payment_method(f"pm_{moment.token}", name, given, moment.now)))
    card = new_source(moment.token, source, given)
    return Outcome(({**customer, "default_source": card["id"]}, card))


ROUTES: Mapping[str, Route] = {
    "customers.create": Route("POST", "/v1/customers", create),
    "customers.list": Route("GET", "/v1/customers", CUSTOMERS.page),
    "customers.search": Route("GET", "/v1/customers/search", CUSTOMERS.search),
    "customers.retrieve": Route("GET", "/v1/customers/{id}", CUSTOMERS.retrieve),
    "customers.update": Route("POST", "/v1/customers/{id}", update),
    "customers.delete": Route("DELETE", "/v1/customers/{id}", delete),
}
