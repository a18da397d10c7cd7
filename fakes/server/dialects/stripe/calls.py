"""What a call to Stripe is, beside what it asks for: what it stores and shows, and which headers go with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from durable_core.fingerprint import fingerprint
from fakes.errors import CardDeclined, Rejected
from fakes.provider import Work
from fakes.server.dialects.stripe.errors import error, no_such
from fakes.server.dialects.stripe.expanding import View
from fakes.server.dialects.stripe.objects import Thing, text_of
from fakes.server.dialects.stripe.records import Records, entry, records_of
from fakes.server.fields import Fields
from fakes.server.wire import Answer, Asked, Desk, Request, json_answer

_DECLINED = 402
_ECHOED = ("Idempotency-Key", "Stripe-Version")


@dataclass(frozen=True, slots=True)
class Moment:
    """When a call is worked on: what there is, what tells its ids from others, seconds since the epoch."""

    records: Records
    token: str
    now: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call has changed: the objects as they are now, the first of them its answer, unless there is an `error`.

    An error is what stands below `error`; 402 is for those of cards, 400 for all others.
    """

    things: tuple[Thing, ...] = ()
    error: Mapping[str, object] | None = None


def acts(
    desk: Desk, request: Request, fields: Fields, change: Callable[[Moment], Outcome], *, operation: str, target: str
) -> Asked:
    """A call that changes objects. `change` says how; what it refuses is saved under the key, as Stripe does."""
    parameters = {"path": request.path, "fields": fields.values}
    digest = fingerprint([operation, parameters])

    def work(number: int) -> Work:
        provider = desk.provider
        records = records_of(provider)
        outcome = change(Moment(records, provider.lifelike.token(number, digest), int(provider.clock())))
        kept = entry(outcome.things, records.next_turn)
        if outcome.error is not None:
            raise _raised(provider.name, operation, outcome.error, kept)
        made = {text_of(thing, "id"): thing for thing in outcome.things}
        wanted = fields.items("expand")
        if wanted:
            kept["answer"] = View(records, made).expanded(outcome.things[0], wanted)
        return Work(json.dumps(kept))

    return Asked(
        operation=operation,
        target=target,
        nature="acts",
        parameters=parameters,
        work=work,
        render=_render,
        headers=_headers(desk, request, digest),
    )


def reads(
    desk: Desk, request: Request, fields: Fields, answer: Callable[[Records], Thing], *, operation: str, target: str
) -> Asked:
    """A call that only asks."""
    parameters = {"path": request.path, "fields": fields.values}

    def work(_number: int) -> Work:
        records = records_of(desk.provider)
        return Work(json.dumps({"answer": View(records).expanded(answer(records), fields.items("expand"))}))

    return Asked(
        operation=operation,
        target=target,
        nature="reads",
        parameters=parameters,
        work=work,
        render=_render,
        headers=_headers(desk, request, fingerprint([operation, parameters])),
    )


def known(
    desk: Desk, kinds: Collection[str], given: str, *, param: str, status: int = 400, customer: str = ""
) -> Thing:
    """The object of that id and one of those kinds, of a certain customer if one is named, be it deleted since.

    What may change between two calls with one key must not be asked here: a call is only entered after this.

    Raises:
        Trouble: there never was one.
    """
    thing = records_of(desk.provider).get(given)
    if thing is None or thing["object"] not in kinds or (customer and thing["customer"] != customer):
        raise no_such(next(iter(kinds)), given, param=param, status=status)
    return thing


def rejected(message: str, *, code: str | None = None, param: str | None = None) -> Outcome:
    """The refusal of what the state of an object does not allow."""
    return Outcome(error=error("invalid_request_error", message, code=code, param=param))


def gone(kind: str, given: str, param: str = "id") -> Outcome:
    """The refusal of what is asked for an object that was deleted."""
    return rejected(f"No such {kind}: '{given}'", code="resource_missing", param=param)


def _raised(provider: str, operation: str, shown: Mapping[str, object], kept: Thing) -> CardDeclined | Rejected:
    kind = CardDeclined if shown["type"] == "card_error" else Rejected
    return kind(
        text_of(shown, "message"),
        provider=provider,
        operation=operation,
        status=_DECLINED if kind is CardDeclined else 400,
        code=text_of(shown, "code"),
        details={"error": shown, **kept},
    )


def _render(stored: str) -> Answer:
    kept = json.loads(stored)
    return json_answer(kept["answer"] if "answer" in kept else kept["objects"][0])


def _headers(desk: Desk, request: Request, digest: str) -> Mapping[str, str]:
    """The request's own id, and what Stripe echoes. In steady answers equal requests have equal ids."""
    provider = desk.provider
    number = None if provider.lifelike.steady else provider.clock()
    echoed = {name: request.headers.get(name.lower(), "") for name in _ECHOED}
    given = {name: value for name, value in echoed.items() if value and value.isascii()}
    return {"Request-Id": f"req_{fingerprint([digest, number])}", **given}
