"""Effects on providers that do not deduplicate: begun, and nobody knows whether they happened."""

import asyncio
from collections.abc import Callable
from functools import partial

import pytest

from durable_core import NotRecordable, OutcomeUnknown, ReplayDivergence, Run, Store, deliver, resume
from durable_core.entries import Entry
from durable_core.stores.memory import MemoryStore


class Died(BaseException):
    """Ends a life the way no `except Exception` stops."""


class Mail:
    """Sends without keys. `dies` says where the process dies: before or after the mail is out."""

    def __init__(self, dies: str = "") -> None:
        self.dies = dies
        self.sent: list[str] = []
        self.asked: list[str] = []

    def send(self, to: str) -> str:
        if self.dies == "before":
            raise Died
        self.sent.append(to)
        if self.dies == "after":
            raise Died
        return f"id-{to}"

    def look_up(self, key: str) -> str | None:
        self.asked.append(key)
        return f"id-{self.sent[0]}" if self.sent else None

    async def send_async(self, to: str) -> str:
        return self.send(to)

    async def look_up_async(self, key: str) -> str | None:
        return self.look_up(key)


def holding(mail: Mail) -> Callable[[Run], str]:
    def agent(run: Run) -> str:
        return run.effect("send", mail.send, "ann", if_unknown="hold")

    return agent


def looking_up(mail: Mail) -> Callable[[Run], str]:
    def agent(run: Run) -> str:
        return run.effect("send", mail.send, "ann", if_unknown=mail.look_up)

    return agent


def kinds(store: Store) -> list[str]:
    return [entry.kind for entry in store.entries("run")]


@pytest.mark.parametrize("agent_of", [holding, looking_up])
def test_without_a_crash_it_is_sent_once_and_nobody_is_asked(
    each_store: Store, agent_of: Callable[[Mail], Callable[[Run], str]]
) -> None:
    mail = Mail()
    assert resume(each_store, "run", agent_of(mail)) == resume(each_store, "run", agent_of(mail)) == "id-ann"
    assert mail.sent == ["ann"]
    assert mail.asked == []
    assert kinds(each_store) == ["start", "intent", "record", "finish"]


def test_the_intent_is_durable_before_the_effect(each_store: Store) -> None:
    found: list[list[str]] = []

    def send(_: str) -> str:
        found.append(kinds(each_store))
        return "sent"

    def agent(run: Run) -> str:
        return run.effect("send", send, "ann", if_unknown="hold")

    resume(each_store, "run", agent)
    assert found == [["start", "intent"]]


@pytest.mark.parametrize("dies", ["before", "after"])
def test_a_held_effect_is_never_sent_again_and_its_outcome_can_be_delivered(each_store: Store, dies: str) -> None:
    mail = Mail(dies)
    with pytest.raises(Died):
        resume(each_store, "run", holding(mail))
    sent, mail.dies = list(mail.sent), ""
    for _ in range(3):
        with pytest.raises(
            OutcomeUnknown,
            match=r"^effect 'send' of run 'run' was begun and has no result: .*held, not sent again.*"
            r"deliver\(store, 'run', 'send', result\)",
        ) as held:
            resume(each_store, "run", holding(mail))
        assert held.value.step_id == "send"
    deliver(each_store, "run", "send", "id-by-hand")
    assert resume(each_store, "run", holding(mail)) == resume(each_store, "run", holding(mail)) == "id-by-hand"
    assert mail.sent == sent
    assert kinds(each_store) == ["start", "intent", "record", "finish"]


def test_a_look_up_that_finds_the_effect_gives_its_result(each_store: Store) -> None:
    mail = Mail("after")
    with pytest.raises(Died):
        resume(each_store, "run", looking_up(mail))
    mail.dies = ""
    assert resume(each_store, "run", looking_up(mail)) == resume(each_store, "run", looking_up(mail)) == "id-ann"
    assert mail.sent == ["ann"]
    assert mail.asked == ["run:send"]


def test_a_look_up_that_finds_nothing_lets_it_be_sent(each_store: Store) -> None:
    mail = Mail("before")
    with pytest.raises(Died):
        resume(each_store, "run", looking_up(mail))
    mail.dies = ""
    assert resume(each_store, "run", looking_up(mail)) == "id-ann"
    assert mail.sent == ["ann"]
    assert mail.asked == ["run:send"]
    assert kinds(each_store) == ["start", "intent", "record", "finish"]


@pytest.mark.parametrize("dies", ["before", "after"])
@pytest.mark.parametrize("asynchronous", ["look_up", "look_up_async"])
def test_an_async_effect_may_be_looked_up_either_way(store: MemoryStore, dies: str, asynchronous: str) -> None:
    mail = Mail(dies)

    async def agent(run: Run) -> str:
        return await run.effect("send", mail.send_async, "ann", if_unknown=getattr(mail, asynchronous))

    with pytest.raises(Died):
        asyncio.run(resume(store, "run", agent))
    mail.dies = ""
    assert asyncio.run(resume(store, "run", agent)) == asyncio.run(resume(store, "run", agent)) == "id-ann"
    assert mail.sent == ["ann"]
    assert mail.asked == ["run:send"]


def test_an_effect_that_takes_a_key_is_given_it_here_too(store: MemoryStore) -> None:
    keys: list[str] = []

    def send(*, idempotency_key: str) -> None:
        keys.append(idempotency_key)

    def agent(run: Run) -> None:
        run.effect("send", send, if_unknown="hold")

    resume(store, "run", agent)
    assert keys == ["run:send"]


@pytest.mark.parametrize("bound", [False, True])
def test_a_look_up_is_asked_for_the_key_that_was_sent(store: MemoryStore, *, bound: bool) -> None:
    mail = Mail("after")

    def send(to: str, *, idempotency_key: str) -> str:
        assert idempotency_key == "mine"
        return mail.send(to)

    def agent(run: Run) -> str:
        if bound:
            return run.effect("send", partial(send, idempotency_key="mine"), "ann", if_unknown=mail.look_up)
        return run.effect("send", send, "ann", idempotency_key="mine", if_unknown=mail.look_up)

    with pytest.raises(Died):
        resume(store, "run", agent)
    assert resume(store, "run", agent) == "id-ann"
    assert mail.asked == ["mine"]


def test_a_held_effect_poisons_the_run(store: MemoryStore) -> None:
    mail = Mail("after")
    with pytest.raises(Died):
        resume(store, "run", holding(mail))
    mail.dies = ""

    def agent(run: Run) -> str:
        try:
            return holding(mail)(run)
        except OutcomeUnknown:
            return run.step("send it the other way", mail.send, "ann")

    with pytest.raises(OutcomeUnknown):
        resume(store, "run", agent)
    assert mail.sent == ["ann"]


def test_an_effect_that_failed_is_unknown_in_the_same_life_too(store: MemoryStore) -> None:
    """An answer that was lost says nothing of the effect, so a loop that tries again does not send again."""
    sent: list[str] = []

    def send(to: str) -> str:
        sent.append(to)
        raise ConnectionError("answer lost")

    def agent(run: Run) -> str:
        for _ in range(3):
            try:
                return run.effect("send", send, "ann", if_unknown="hold")
            except ConnectionError:
                continue
        raise AssertionError

    with pytest.raises(OutcomeUnknown):
        resume(store, "run", agent)
    assert sent == ["ann"]


def test_an_agent_that_gives_up_on_a_failed_effect_may_finish(store: MemoryStore) -> None:
    def send(_: str) -> str:
        raise ConnectionError

    def agent(run: Run) -> str:
        try:
            return run.effect("send", send, "ann", if_unknown="hold")
        except ConnectionError:
            return "gave up"

    assert resume(store, "run", agent) == "gave up"


def test_a_named_failure_of_the_effect_settles_it(store: MemoryStore) -> None:
    def send(_: str) -> str:
        raise ValueError("no such address")

    def agent(run: Run) -> None:
        run.effect("send", send, "ann", if_unknown="hold", record_errors=(ValueError,))

    for _ in range(3):
        with pytest.raises(ValueError, match="no such address"):
            resume(store, "run", agent)
    assert kinds(store) == ["start", "intent", "failure"]


def test_a_look_up_that_fails_settles_nothing(store: MemoryStore) -> None:
    """Also when its error is one that the effect may have as a result."""
    mail = Mail("after")
    with pytest.raises(Died):
        resume(store, "run", looking_up(mail))

    def out_of_order(_: str) -> str:
        raise ConnectionError("the provider is down")

    def agent(run: Run) -> str:
        return run.effect("send", mail.send, "ann", if_unknown=out_of_order, record_errors=(ConnectionError,))

    with pytest.raises(ConnectionError, match="the provider is down"):
        resume(store, "run", agent)
    assert kinds(store) == ["start", "intent"]
    mail.dies = ""
    assert resume(store, "run", looking_up(mail)) == "id-ann"
    assert mail.sent == ["ann"]


def test_what_a_look_up_finds_is_recorded_like_a_result(store: MemoryStore) -> None:
    mail = Mail("after")
    with pytest.raises(Died):
        resume(store, "run", looking_up(mail))
    mail.dies = ""

    def agent(run: Run) -> str:
        return run.effect("send", mail.send, "ann", if_unknown=lambda _: 7)

    with pytest.raises(NotRecordable, match="step 'send' returned a int"):
        resume(store, "run", agent)
    assert mail.sent == ["ann"]


@pytest.mark.parametrize("settled", [False, True])
def test_an_effect_that_was_begun_with_other_arguments_is_a_divergence(store: MemoryStore, *, settled: bool) -> None:
    """Or the outcome of one mail would be taken for that of another."""
    mail = Mail("after")
    with pytest.raises(Died):
        resume(store, "run", looking_up(mail))
    mail.dies = ""
    if settled:
        deliver(store, "run", "send", "id-by-hand")

    def agent(run: Run) -> str:
        return run.effect("send", mail.send, "bob", if_unknown=mail.look_up)

    with pytest.raises(ReplayDivergence, match=r"'send' is recorded for other arguments .*argument 0 differs"):
        resume(store, "run", agent)
    assert mail.sent == ["ann"]
    assert mail.asked == []


def test_an_effect_that_was_begun_and_is_not_asked_for_again_is_a_divergence(store: MemoryStore) -> None:
    mail = Mail("after")
    with pytest.raises(Died):
        resume(store, "run", holding(mail))
    with pytest.raises(ReplayDivergence, match="without asking for step 'send', recorded at position 0"):
        resume(store, "run", lambda _: "fine")


class Refusing(MemoryStore):
    """Cannot write intents."""

    def append(self, run_id: str, entry: Entry, lease: object) -> None:
        if entry.kind == "intent":
            raise OSError("disk full")
        super().append(run_id, entry, lease)  # type: ignore[arg-type]


def test_without_a_durable_intent_nothing_is_sent() -> None:
    mail = Mail()
    with pytest.raises(OSError, match="disk full"):
        resume(Refusing(), "run", holding(mail))
    assert mail.sent == []
