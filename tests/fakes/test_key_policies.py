"""Every provider's rules for keys: window, other body, in flight, replays, length, scope."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from freezegun import freeze_time

from fakes import (
    PRESETS,
    CardDeclined,
    Fault,
    KeyAlreadyUsed,
    KeyInFlight,
    KeyMismatch,
    KeyPolicy,
    KeyRequired,
    KeyTooLong,
    Ledger,
    Provider,
    Refusal,
    ServerError,
    UnknownName,
    Work,
    World,
    policy,
)
from fakes.lifelike import Lifelike

# other body (status or what happens), in flight (status or "wait"), repeat (status or "replay"), replays, window
TABLE = {
    "default": (409, 409, "replay", "success", timedelta(hours=24)),
    "stripe": (400, 409, "replay", "all", timedelta(hours=24)),
    "stripe-v2": (400, 409, "replay", "success", timedelta(hours=24)),
    "resend": (409, 409, "replay", "success", timedelta(hours=24)),
    "ietf": (422, 409, "replay", "all", timedelta(hours=24)),
    "adyen": (409, 409, "replay", "success", timedelta(days=31)),
    "checkout": (409, 409, "replay", "success", timedelta(hours=24)),
    "nylas": (409, 409, "replay", "all", timedelta(hours=1)),
    "sqs-fifo": ("replay", "wait", "replay", "success", timedelta(minutes=5)),
    "qonto": ("replay", 409, "replay", "success", timedelta(minutes=30)),
    "checkbook": ("new", 409, "replay", "success", None),
    "ppro": (409, 409, "replay", "success", timedelta(hours=24)),
    "primer": (409, 409, 409, "all", None),
    "solidgate": (422, 409, "replay", "success", timedelta(hours=24)),
    "privy": (400, 409, "replay", "success", timedelta(hours=24)),
    "enfuce": (409, 409, "replay", "success", timedelta(hours=24)),
}
WITHOUT_KEYS = {"none", "openai", "anthropic", "gemini", "ses", "sendgrid", "postmark", "slack"}
WITHOUT_KEYS |= {"twilio", "smtp", "tavily", "exa"}
REPLAYING = sorted(name for name, row in TABLE.items() if row[2] == "replay")


@dataclass
class Clock:
    now: float = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Bench:
    """A world under one preset, and its clock."""

    preset: str
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        self.world = World(clock=self.clock, policies=dict.fromkeys(("email", "payments"), self.preset))
        self.send = self.world.email.send

    def outcomes(self) -> list[str]:
        return [row.outcome for row in self.world.ledger.rows()]


@pytest.fixture
def bench() -> Iterator[Callable[[str], Bench]]:
    made: list[Bench] = []

    def make(preset: str) -> Bench:
        made.append(Bench(preset))
        return made[-1]

    yield make
    for one in made:
        one.world.close()


def test_every_preset_is_in_the_table() -> None:
    assert set(PRESETS) == set(TABLE) | WITHOUT_KEYS


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_a_preset_is_found_by_its_name_and_says_where_its_rule_is_from(name: str) -> None:
    assert policy(name).name == name
    assert len(policy(name).rule) > 20
    assert policy(name).deduplicates is (name in TABLE)


def test_an_unknown_preset_names_the_nearest_and_lists_all() -> None:
    with pytest.raises(
        ValueError, match=r"key policy 'strip' does not exist; did you mean 'stripe'\? Known: adyen, .*"
    ):
        policy("strip")


@pytest.mark.parametrize("name", REPLAYING)
def test_the_same_key_and_body_gives_the_first_answer_and_acts_once(name: str, bench: Callable[[str], Bench]) -> None:
    at = bench(name)
    first = at.send(to="ada@example.com", body="hello", idempotency_key="k")
    assert at.send(to="ada@example.com", body="hello", idempotency_key="k") == first
    assert at.outcomes() == ["applied", "deduplicated"]
    assert at.world.ledger.rows()[1].original == 1


@pytest.mark.parametrize("name", sorted(WITHOUT_KEYS))
def test_a_provider_without_keys_acts_every_time(name: str, bench: Callable[[str], Bench]) -> None:
    at = bench(name)
    receipts = {at.send(to="ada@example.com", body="hello", idempotency_key="k").id for _ in range(3)}
    assert len(receipts) == 3
    assert at.world.ledger.effects() == {("email", "send", "ada@example.com"): 3}


@pytest.mark.parametrize("name", sorted(set(TABLE) - {"ietf", "qonto"}))
def test_a_call_without_a_key_acts_every_time(name: str, bench: Callable[[str], Bench]) -> None:
    at = bench(name)
    for _ in range(2):
        at.send(to="ada@example.com", body="hello")
    assert at.outcomes() == ["applied", "applied"]


@pytest.mark.parametrize("name", ["ietf", "qonto"])
def test_a_call_without_a_required_key_is_refused(name: str, bench: Callable[[str], Bench]) -> None:
    at = bench(name)
    with pytest.raises(KeyRequired, match="came without a key") as caught:
        at.send(to="ada@example.com", body="hello")
    assert (caught.value.status, caught.value.code) == (400, "idempotency_key_missing")
    assert at.outcomes() == ["refused"]


@pytest.mark.parametrize("name", sorted(TABLE))
def test_another_body_under_the_same_key(name: str, bench: Callable[[str], Bench]) -> None:
    at, expected = bench(name), TABLE[name][0]
    first = at.send(to="ada@example.com", body="hello", idempotency_key="k")
    match expected:
        case "replay":
            assert at.send(to="ada@example.com", body="bye", idempotency_key="k") == first
            assert at.outcomes() == ["applied", "deduplicated"]
        case "new":
            second = at.send(to="ada@example.com", body="bye", idempotency_key="k")
            assert second != first
            assert at.send(to="ada@example.com", body="bye", idempotency_key="k") == second
            assert at.send(to="ada@example.com", body="hello", idempotency_key="k") == first
        case status:
            with pytest.raises(KeyMismatch, match="repeats the key 'k' of row 1 with another body") as caught:
                at.send(to="ada@example.com", body="bye", idempotency_key="k")
            assert caught.value.status == status
            assert at.outcomes() == ["applied", "refused"]


@pytest.mark.parametrize("name", sorted(TABLE))
def test_the_same_key_while_the_first_call_is_in_flight(name: str) -> None:
    expected = TABLE[name][1]
    began, go_on = threading.Event(), threading.Event()

    def parked(number: int) -> Work:
        began.set()
        assert go_on.wait(10)
        return Work(f'"{number}"')

    with Ledger() as ledger, ThreadPoolExecutor(2) as threads:
        provider = Provider(name="bank", ledger=ledger, policy=policy(name), lifelike=Lifelike())
        call = provider.call("pay", "ada", "acts", "k", cents=1)
        first = threads.submit(provider.perform, call, parked)
        assert began.wait(10)
        second: Future[object] | None = None
        if expected == "wait":
            second = threads.submit(provider.perform, call, parked)
        else:
            with pytest.raises(KeyInFlight, match="still in flight") as caught:
                provider.perform(call, parked)
            assert caught.value.status == expected
        assert ledger.rows()[0].outcome == "in progress"
        go_on.set()
        answer = first.result(10)
        if second is None and TABLE[name][2] == "replay":
            assert provider.perform(call, parked).answer == answer.answer
        elif second is not None:
            reply = second.result(10)
            assert (reply.answer, reply.replayed) == (answer.answer, True)  # type: ignore[attr-defined]
        assert ledger.effects() == {("bank", "pay", "ada"): 1}


def test_a_slow_call_parks_its_key_and_the_retry_gets_the_answer_later(tmp_path: Path) -> None:
    with World(tmp_path / "ledger.db", faults=[Fault.parse("email.send#1:slow=0.5")]) as world:
        with ThreadPoolExecutor(1) as thread:
            first = thread.submit(world.email.send, to="ada@example.com", body="hello", idempotency_key="k")
            while not world.ledger.rows():
                pass
            with pytest.raises(KeyInFlight):
                world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        assert world.email.send(to="ada@example.com", body="hello", idempotency_key="k") == first.result()
        assert world.ledger.effects() == {("email", "send", "ada@example.com"): 1}


@pytest.mark.parametrize("name", sorted(set(TABLE) - {"primer"}))
def test_a_key_is_remembered_for_its_window_and_no_longer(name: str, bench: Callable[[str], Bench]) -> None:
    at, window = bench(name), TABLE[name][4]
    first = at.send(to="ada@example.com", body="hello", idempotency_key="k")
    if window is None:
        at.clock.now += timedelta(days=10_000).total_seconds()
        assert at.send(to="ada@example.com", body="hello", idempotency_key="k") == first
        return
    at.clock.now += window.total_seconds() - 1
    assert at.send(to="ada@example.com", body="hello", idempotency_key="k") == first
    at.clock.now += 1
    second = at.send(to="ada@example.com", body="hello", idempotency_key="k")
    assert second != first
    assert at.send(to="ada@example.com", body="hello", idempotency_key="k") == second
    assert at.outcomes() == ["applied", "deduplicated", "applied", "deduplicated"]


def test_a_resume_on_the_next_day_meets_a_key_that_is_gone() -> None:
    with World(policies={"email": "resend"}) as world:
        with freeze_time(datetime(2030, 1, 1, 9, tzinfo=UTC)) as clock:
            world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
            clock.tick(timedelta(hours=23))
            world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
            clock.tick(timedelta(hours=1))
            world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        assert world.ledger.effects() == {("email", "send", "ada@example.com"): 2}


@pytest.mark.parametrize("name", sorted(TABLE))
def test_an_error_of_the_work_is_replayed_where_the_provider_does_so(name: str, bench: Callable[[str], Bench]) -> None:
    at, (_, _, repeat, replays, _) = bench(name), TABLE[name]

    def charge() -> None:
        at.world.payments.charge(customer="cus_declined", cents=100, idempotency_key="k")

    with pytest.raises(CardDeclined) as first:
        charge()
    if repeat != "replay":
        with pytest.raises(KeyAlreadyUsed, match="is processed already"):
            charge()
        return
    with pytest.raises(CardDeclined) as second:
        charge()
    assert (str(second.value), vars(second.value)) == (str(first.value), vars(first.value))
    assert at.outcomes() == ["failed", "deduplicated" if replays == "all" else "failed"]


def test_stripe_keeps_a_500_under_its_key_and_resend_does_not() -> None:
    faults = [Fault.parse("email.send#1:server_error")]
    for name, again in (("stripe", False), ("resend", True)):
        with World(policies={"email": name}, faults=faults) as world:
            with pytest.raises(ServerError):
                world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
            if again:
                world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
            else:
                with pytest.raises(ServerError, match="500"):
                    world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
            assert world.ledger.effects().total() == int(again)


@pytest.mark.parametrize("name", ["stripe", "ietf", "nylas"])
def test_what_never_began_is_not_replayed(name: str) -> None:
    faults = [Fault.parse("email.send#1:rate_limit"), Fault.parse("email.send#2:lost_before")]
    with World(policies={"email": name}, faults=faults) as world:
        for _ in range(2):
            with pytest.raises(Exception, match=r"email\.send"):
                world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        assert [row.outcome for row in world.ledger.rows()] == ["refused", "failed", "applied"]


def test_primer_refuses_a_key_it_has_processed(bench: Callable[[str], Bench]) -> None:
    at = bench("primer")
    at.send(to="ada@example.com", body="hello", idempotency_key="k")
    with pytest.raises(KeyAlreadyUsed) as caught:
        at.send(to="ada@example.com", body="hello", idempotency_key="k")
    assert (caught.value.status, caught.value.code) == (409, "IdempotencyKeyAlreadyExists")
    assert at.outcomes() == ["applied", "refused"]


@pytest.mark.parametrize("name", sorted(name for name in TABLE if PRESETS[name].max_length is not None))
def test_a_key_may_be_as_long_as_documented_and_no_longer(name: str, bench: Callable[[str], Bench]) -> None:
    at, longest = bench(name), PRESETS[name].max_length or 0
    at.send(to="ada@example.com", body="hello", idempotency_key="k" * longest)
    with pytest.raises(KeyTooLong, match=f"has a key of {longest + 1} characters; {name} takes up to {longest}"):
        at.send(to="ada@example.com", body="hello", idempotency_key="k" * (longest + 1))


@pytest.mark.parametrize("name", sorted(set(TABLE) - {"sqs-fifo", "qonto"}))
def test_one_key_for_two_operations(name: str, bench: Callable[[str], Bench]) -> None:
    payments = bench(name).world.payments
    payments.charge(customer="cus_1", cents=100, idempotency_key="k")
    if PRESETS[name].scope == "operation":
        payments.refund(charge="ch_1", cents=100, idempotency_key="k")
    else:
        with pytest.raises(KeyMismatch):
            payments.refund(charge="ch_1", cents=100, idempotency_key="k")


def test_two_providers_never_see_each_others_keys() -> None:
    with World() as world:
        world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        world.payments.charge(customer="cus_1", cents=100, idempotency_key="k")
        assert world.ledger.effects().total() == 2


def test_a_policy_is_data_that_anybody_can_write() -> None:
    ours = KeyPolicy(name="ours", rule="our gateway", on_mismatch=Refusal(418, "teapot"), window=timedelta(seconds=5))
    with World(policies={"email": ours}) as world:
        world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        with pytest.raises(KeyMismatch, match="418 teapot"):
            world.email.send(to="ada@example.com", body="bye", idempotency_key="k")


def test_under_is_the_same_provider_with_other_rules() -> None:
    with World() as world:
        for _ in range(2):
            world.email.under("none").send(to="ada@example.com", body="hello", idempotency_key="k")
        assert world.ledger.effects().total() == 2
        assert type(world.payments.under("stripe")) is type(world.payments)
        assert world.payments.under("stripe").policy is PRESETS["stripe"]
        assert world.payments.policy is PRESETS["default"]
        with pytest.raises(UnknownName, match="did you mean 'resend'"):
            world.email.under("resent")
