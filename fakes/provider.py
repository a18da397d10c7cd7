"""The one place that every call to every fake goes through."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import ClassVar, Self

from durable_core.fingerprint import fingerprint
from fakes.admission import answered_by
from fakes.errors import (
    CodedError,
    ConnectionLost,
    GivenAgain,
    ProviderError,
    RateLimited,
    dump_error,
    load_error,
)
from fakes.faults import AFTER, BEFORE, Fault
from fakes.ledger import Ledger, Outcome, Row
from fakes.lifelike import Lifelike
from fakes.policy import KeyPolicy, policy
from fakes.witness import Call, Caller, Nature, Unwatched, Witness

_POLL_SECONDS = 0.002
_DURING = ("server_error",)


def wall_clock() -> float:
    """Seconds since the epoch. Looked up at each call, so that a moved clock (freezegun) moves the keys' windows."""
    return time.time()


@dataclass(frozen=True, slots=True)
class Work:
    """What working on a call brought: the answer as JSON, and the tokens it is billed."""

    answer: str
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back to the caller: the answer as JSON, and whether it is an earlier call's."""

    answer: str
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class Ticket:
    """An admitted call: its row, the earlier row that answers it if there is one, the faults it will meet."""

    call: Call
    row: int
    first: Row | None
    faults: tuple[Fault, ...]

    @property
    def delay(self) -> float:
        """Seconds that a fault makes the work take."""
        return sum(fault.amount for fault in self.faults if fault.kind == "slow")

    def fail_while_working(self) -> None:
        """Raise the fault that strikes while the provider is at it, if one is planned."""
        self._raise_of(_DURING)

    def fail_on_the_way_back(self) -> None:
        """Raise the fault that keeps the answer from the caller, if one is planned."""
        self._raise_of(AFTER)

    def _raise_of(self, kinds: Collection[str]) -> None:
        for fault in self.faults:
            if fault.kind in kinds:
                raise fault.error(self.call)


@dataclass(frozen=True, kw_only=True)
class Provider:
    """A provider: its rules for keys, its faults, its page of the ledger.

    Keys belong to the provider's account: one key used for two operations is one key with two bodies
    (unless the policy's scope says otherwise), and two providers never see each other's keys.
    """

    operations: ClassVar[tuple[str, ...]] = ()

    name: str
    ledger: Ledger
    policy: KeyPolicy
    lifelike: Lifelike = field(default_factory=Lifelike)
    faults: tuple[Fault, ...] = ()
    witness: Witness = field(default_factory=Unwatched)
    clock: Callable[[], float] = wall_clock

    def under(self, key_policy: str | KeyPolicy) -> Self:
        """The same provider, same ledger, with other rules for keys: `world.payments.under("none")`."""
        return dataclasses.replace(self, policy=policy(key_policy) if isinstance(key_policy, str) else key_policy)

    def call(self, operation: str, target: str, nature: Nature, key: str | None, **parameters: object) -> Call:
        """A call of this provider; its body digest stands for the operation and the parameters, not the key."""
        return Call(
            provider=self.name,
            operation=operation,
            target=target,
            key=key,
            body=fingerprint([operation, parameters]),
            nature=nature,
        )

    def perform(self, call: Call, work: Callable[[int], Work]) -> Reply:
        """Take a call through the key policy, the faults and the ledger; raises ProviderError.

        `work` makes the answer from the call's number in the ledger. It is not asked when an earlier call
        with the same key answers. No lock is held while it runs.
        """
        self.witness.before(call)
        caller = self.witness.caller()
        ticket = self.admit(call, caller)
        while ticket is None:
            time.sleep(_POLL_SECONDS)
            ticket = self.admit(call, caller)
        if ticket.delay:
            with self.given_up_on_error(ticket):
                time.sleep(ticket.delay)
        reply = self.carry_out(ticket, work)
        self.witness.applied(call)
        ticket.fail_on_the_way_back()
        return reply

    def admit(self, call: Call, caller: Caller) -> Ticket | None:
        """Enter the call into the ledger before any work, so that a retry meets it in flight. None: ask again.

        Raises:
            ProviderError: the key policy or a fault refuses the call.
        """
        now = self.clock()
        with self.ledger.transaction():
            faults = tuple(fault for fault in self.faults if fault.concerns(call) and self._is_due(fault))
            verdict = self._verdict(call, faults, now)
            outcome: Outcome = "in progress"
            original: int | None = None
            match verdict:
                case Row(outcome="in progress"):
                    return None
                case Row():
                    outcome, original = "deduplicated", verdict.id
                case CodedError():  # the key policy's no: the call never gets as far as its faults
                    outcome, faults = "refused", ()
                case RateLimited():
                    outcome = "refused"
                case ProviderError():
                    outcome = "failed"
            met = " ".join(map(str, faults))
            row = self.ledger.add(call, caller, outcome, at=now, original=original, fault=met)
        if isinstance(verdict, ProviderError):
            raise verdict
        return Ticket(call, row, verdict, faults)

    def carry_out(self, ticket: Ticket, work: Callable[[int], Work]) -> Reply:
        """Work on an admitted call, or give the earlier answer; durable when it returns. Raises ProviderError."""
        if ticket.first is not None:
            ticket.fail_while_working()
            return Reply(_first_answer(ticket.first), replayed=True)
        with self.given_up_on_error(ticket):
            ticket.fail_while_working()
            done = work(ticket.row)
        self._settle(ticket, done)
        return Reply(done.answer)

    @contextmanager
    def given_up_on_error(self, ticket: Ticket) -> Iterator[None]:
        """Whatever is raised within ends the call in the ledger.

        The error is kept with the row; whether it answers the next call is the policy's to say.
        """
        try:
            yield
        except BaseException as error:
            if ticket.first is None:
                kept = dump_error(error) if isinstance(error, ProviderError) else ""
                self.ledger.settle(ticket.row, "failed", answer=kept)
            raise

    def _is_due(self, fault: Fault) -> bool:
        return fault.nth == 0 or fault.nth == self.ledger.count(self.name, fault.operation) + 1

    def _verdict(self, call: Call, faults: tuple[Fault, ...], now: float) -> Row | ProviderError | None:
        """The row that answers, the error that refuses, or None for a call to work on."""
        for fault in faults:
            if fault.kind in BEFORE:
                return fault.error(call)
        forgotten = not self.policy.deduplicates or any(fault.kind == "key_expired" for fault in faults)
        earlier = [] if forgotten or call.key is None else self.ledger.keyed(self.name, call.key)
        try:
            return answered_by(self.policy, call, earlier, now=now)
        except CodedError as error:
            return error

    def _settle(self, ticket: Ticket, done: Work) -> None:
        call = ticket.call
        settled = self.ledger.settle(
            ticket.row,
            "applied",
            answer="" if call.nature == "reads" else done.answer,
            tokens_in=done.tokens_in,
            tokens_out=done.tokens_out,
        )
        if not settled:
            raise ConnectionLost(
                f"{call.provider}.{call.operation}: nothing was applied: a later life called with the key {call.key!r}"
                " while this call was in flight, and took it over; the later life's answer counts",
                provider=call.provider,
                operation=call.operation,
            )


def _first_answer(first: Row) -> str:
    """The answer an earlier call got, be it an error."""
    if first.outcome == "failed":
        raise load_error(first.answer) from GivenAgain(f"row {first.id} has the same key")
    return first.answer
