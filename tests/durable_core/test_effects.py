"""An effect hands its function the key of run and step, so that the provider can tell a retry from a new effect."""

import asyncio
import functools
from collections.abc import Callable
from unittest.mock import Mock

import pytest

from durable_core import EffectWithoutKey, Run, Store, resume
from durable_core.stores.memory import MemoryStore


class Died(BaseException):
    """Ends a life the way no `except Exception` stops."""


class Provider:
    """Knows the keys it was called with."""

    def __init__(self) -> None:
        self.keys: list[object] = []

    def named(self, to: str, idempotency_key: str) -> str:
        self.keys.append(idempotency_key)
        return to

    def keyword_only(self, to: str, *, idempotency_key: str | None = None) -> str:
        self.keys.append(idempotency_key)
        return to

    def anything(self, to: str, **options: object) -> str:
        self.keys.append(options["idempotency_key"])
        return to

    def __call__(self, to: str, *, idempotency_key: str) -> str:
        self.keys.append(idempotency_key)
        return to

    def keyless(self, to: str) -> str:
        self.keys.append(None)
        return to

    def positional_only(self, to: str, idempotency_key: str = "", /) -> str:
        self.keys.append(idempotency_key)
        return to


class PositionalOnly:
    def __call__(self, to: str, idempotency_key: str = "", /) -> str:
        raise AssertionError(to, idempotency_key)


class Request:
    """An effect that is a class."""

    sent: list[str] = []  # noqa: RUF012 - a class is all there is

    def __init__(self, to: str, *, idempotency_key: str) -> None:
        self.sent.append(f"{to} {idempotency_key}")


def logged(function: Callable[..., str]) -> Callable[..., str]:
    @functools.wraps(function)
    def wrapper(*args: object, **kwargs: object) -> str:
        return function(*args, **kwargs)

    return wrapper


def shapes(provider: Provider) -> dict[str, Callable[..., str]]:
    return {
        "named": provider.named,
        "keyword only": provider.keyword_only,
        "**options": provider.anything,
        "object": provider,
        "partial": functools.partial(provider.named),
        "partial of object": functools.partial(provider),
        "decorated": logged(provider.named),
        "lambda": lambda to, idempotency_key: provider.named(to, idempotency_key).lower(),
    }


@pytest.mark.parametrize("shape", shapes(Provider()))
def test_the_key_is_passed_to_whatever_takes_one(store: MemoryStore, shape: str) -> None:
    provider = Provider()

    def agent(run: Run) -> str:
        assert run.key("send") == "run:send"
        return run.effect("send", shapes(provider)[shape], "ann")

    assert resume(store, "run", agent) == resume(store, "run", agent) == "ann"
    assert provider.keys == ["run:send"]


def test_a_key_is_passed_to_a_class_and_a_mock_and_a_coroutine_function(store: MemoryStore) -> None:
    mock = Mock(return_value=1)

    async def send(to: str, *, idempotency_key: str) -> str:
        return f"{to} {idempotency_key}"

    async def agent(run: Run) -> str:
        run.effect("class", Request, "ann", returns=object, redact=lambda _: None)
        run.effect("mock", mock, "ann")
        return await run.effect("async", send, "ann")

    assert asyncio.run(resume(store, "run", agent)) == "ann run:async"
    assert Request.sent == ["ann run:class"]
    mock.assert_called_once_with("ann", idempotency_key="run:mock")


def test_every_life_uses_the_same_key(each_store: Store) -> None:
    """So a provider that deduplicates acts once, however often the life dies around it."""
    provider = Provider()
    lives = iter(range(3))

    def send(to: str, *, idempotency_key: str) -> str:
        provider.named(to, idempotency_key)
        if next(lives) < 2:
            raise Died
        return to

    def agent(run: Run) -> str:
        return run.scope("mail").effect("send", send, "ann")

    for _ in range(2):
        with pytest.raises(Died):
            resume(each_store, "run 7", agent)
    assert resume(each_store, "run 7", agent) == "ann"
    assert provider.keys == ["run%207:mail/send"] * 3


def test_the_keys_of_two_steps_and_two_runs_differ(store: MemoryStore) -> None:
    provider = Provider()

    def agent(run: Run) -> None:
        for number in range(2):
            run.effect(f"send:{number}", provider.named, "ann")

    resume(store, "a", agent)
    resume(store, "b", agent)
    assert len(set(provider.keys)) == 4


def test_a_key_of_your_own_is_kept(store: MemoryStore) -> None:
    provider = Provider()

    def agent(run: Run) -> None:
        run.effect("keyword", provider.named, "ann", idempotency_key="mine")
        run.effect("partial", functools.partial(provider.named, idempotency_key="bound"), "ann")
        run.effect("any", provider.anything, "ann", idempotency_key="mine too")

    resume(store, "run", agent)
    assert provider.keys == ["mine", "bound", "mine too"]


def test_none_is_no_key(store: MemoryStore) -> None:
    provider = Provider()

    def agent(run: Run) -> None:
        run.effect("keyword", provider.keyword_only, "ann", idempotency_key=None)
        run.effect("partial", functools.partial(provider.keyword_only, idempotency_key=None), "ann")

    resume(store, "run", agent)
    assert provider.keys == ["run:keyword", "run:partial"]


@pytest.mark.parametrize(
    "shape", ["keyless", "partial", "decorated", "positional only", "positional only object", "built-in", "type"]
)
def test_an_effect_that_takes_no_key_is_refused_before_anything_happens(store: MemoryStore, shape: str) -> None:
    provider = Provider()
    function = {
        "keyless": provider.keyless,
        "partial": functools.partial(provider.keyless),
        "decorated": logged(provider.keyless),
        "positional only": provider.positional_only,
        "positional only object": PositionalOnly(),
        "built-in": provider.keys.append,
        "type": type,
    }[shape]

    def agent(run: Run) -> None:
        run.effect("send", function, "ann")

    with pytest.raises(
        EffectWithoutKey, match=r"effect 'send': .* takes no idempotency_key, so after a crash .*if_unkn"
    ):
        resume(store, "run", agent)
    assert provider.keys == []
    assert [entry.kind for entry in store.entries("run")] == ["start"]


def test_a_step_passes_no_key(store: MemoryStore) -> None:
    provider = Provider()

    def agent(run: Run) -> None:
        run.step("look", provider.keyword_only, "ann")

    resume(store, "run", agent)
    assert provider.keys == [None]


def test_a_record_says_whether_it_is_of_an_effect(store: MemoryStore) -> None:
    provider = Provider()

    def agent(run: Run) -> None:
        run.step("look", provider.keyless, "ann")
        run.effect("send", provider.named, "ann")

    resume(store, "run", agent)
    assert {entry.step_id: entry.effect for entry in store.entries("run") if entry.kind == "record"} == {
        "look": False,
        "send": True,
    }
