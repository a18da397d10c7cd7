"""How the type of a result is found: by the function's return annotation, whatever shape the function has."""

import functools
import gc
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from types import ModuleType
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from durable_core import NotRecordable, RecordUnreadable, Run, resume
from durable_core.codec import codec_of
from durable_core.stores.memory import MemoryStore


@dataclass(frozen=True)
class Receipt:
    amount: int
    tags: tuple[str, ...] = ()


RECEIPT = Receipt(42, ("paid",))


def pay() -> Receipt:
    return RECEIPT


def pay_text() -> "Receipt":
    return RECEIPT


def pay_with_a_parameter_nobody_can_read(order: "Nowhere | None" = None) -> "Receipt":  # type: ignore[name-defined]  # noqa: F821
    assert order is None
    return RECEIPT


def keep(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: object, **kwargs: object) -> object:
        return function(*args, **kwargs)

    return wrapper


@keep
def pay_decorated() -> Receipt:
    return RECEIPT


@keep
def name_decorated() -> tuple[str, ...]:
    return ("a",)


@functools.lru_cache
def pay_cached() -> Receipt:
    return RECEIPT


@dataclass
class Till:
    """Called as an object; that its class has annotations of its own says nothing about what it returns."""

    url: str = ""

    def __call__(self) -> Receipt:
        return RECEIPT

    def pay(self) -> "Receipt":
        return RECEIPT

    @classmethod
    def open_and_pay(cls) -> Receipt:
        return cls().pay()

    @staticmethod
    def pay_anywhere() -> Receipt:
        return RECEIPT


@pytest.mark.parametrize(
    "function",
    [
        pay,
        pay_text,
        pay_with_a_parameter_nobody_can_read,
        pay_decorated,
        pay_cached,
        functools.partial(pay),
        functools.partial(functools.partial(keep(pay))),
        functools.partial(Till().pay),
        Till(),
        Till().pay,
        Till.open_and_pay,
        Till.pay_anywhere,
        functools.partial(Receipt, 42, ("paid",)),
    ],
    ids=[
        "plain",
        "text",
        "unreadable parameter",
        "decorated",
        "cached",
        "partial",
        "partial of partial",
        "partial of method",
        "object",
        "method",
        "class method",
        "static method",
        "partial of class",
    ],
)
def test_the_annotation_is_found(store: MemoryStore, function: Callable[[], Receipt]) -> None:
    def agent(run: Run) -> Receipt:
        return run.step("pay", function)

    assert resume(store, "run", agent) == resume(store, "run", agent) == RECEIPT


def test_functions_that_share_one_wrapper_keep_their_own_types(store: MemoryStore) -> None:
    def agent(run: Run) -> tuple[object, object]:
        return run.step("pay", pay_decorated), run.step("name", name_decorated)

    assert resume(store, "run", agent) == resume(store, "run", agent) == (RECEIPT, ("a",))


def test_a_class_is_its_own_return_type(store: MemoryStore) -> None:
    def agent(run: Run) -> object:
        return run.step("receipt", Receipt, 42, tags=("paid",)), run.step("price", Decimal, "1.50")

    assert resume(store, "run", agent) == resume(store, "run", agent) == (RECEIPT, Decimal("1.50"))


def test_returns_tells_the_type_where_there_is_no_annotation(store: MemoryStore) -> None:
    def agent(run: Run) -> object:
        return run.step("pay", lambda: [RECEIPT], returns=list[Receipt])

    assert resume(store, "run", agent) == resume(store, "run", agent) == [RECEIPT]


def test_returns_goes_before_the_annotation(store: MemoryStore) -> None:
    def agent(run: Run) -> object:
        return run.step("pay", pay_any, returns=Receipt)

    def pay_any() -> dict[str, int]:
        return RECEIPT  # type: ignore[return-value]

    assert resume(store, "run", agent) == resume(store, "run", agent) == RECEIPT


@pytest.mark.parametrize(
    "function", [lambda: {"a": [1]}, dict, functools.partial(dict, a=[1])], ids=["lambda", "class", "partial"]
)
def test_plain_data_needs_no_annotation(store: MemoryStore, function: Callable[[], object]) -> None:
    def agent(run: Run) -> object:
        return run.step("s", function)

    assert resume(store, "run", agent) == resume(store, "run", agent) == function()


def test_a_model_from_a_function_without_annotation_is_refused_with_the_advice(store: MemoryStore) -> None:
    class Answer(BaseModel):
        text: str

    def agent(run: Run) -> object:
        return run.step("ask", lambda: Answer(text="hi"))

    with pytest.raises(
        NotRecordable,
        match=r"^step 'ask' returned a \S+Answer that does not survive recording, at the value itself: a \S+Answer "
        r"would come back as a dict; give the function a return annotation, or pass returns=…",
    ):
        resume(store, "run", agent)


def test_no_annotation_and_any_and_none_all_mean_plain_data() -> None:
    def nothing() -> None: ...
    def nothing_text() -> "None": ...
    def anything() -> Any: ...
    def untyped():  # type: ignore[no-untyped-def]  # noqa: ANN202
        ...

    codecs = [codec_of(function) for function in (nothing, nothing_text, anything, untyped)]
    assert {codec.hint for codec in codecs} == {object}


def test_an_annotation_that_cannot_be_read_is_refused_before_anything_is_done(store: MemoryStore) -> None:
    calls: list[str] = []

    def work() -> "Nowhere":  # type: ignore[name-defined]  # noqa: F821
        calls.append("work")

    def agent(run: Run) -> object:
        return run.step("s", work)

    with pytest.raises(NotRecordable, match=r"the return annotation of \S+work cannot be read: name 'Nowhere' is not"):
        resume(store, "run", agent)
    assert calls == []


def test_a_type_without_json_is_refused_before_anything_is_done(store: MemoryStore) -> None:
    calls: list[str] = []

    class Connection: ...

    def connect() -> Connection:
        calls.append("connect")
        return Connection()

    def agent(run: Run) -> object:
        return run.step("s", connect)

    with pytest.raises(NotRecordable, match=r"Connection cannot be recorded"):
        resume(store, "run", agent)
    assert calls == []


def module(name: str, source: str) -> ModuleType:
    """A module of that source, as after an import in a new process."""
    made = ModuleType(name)
    sys.modules[name] = made
    exec(compile("from __future__ import annotations\n" + source, "agent.py", "exec", dont_inherit=True), vars(made))
    return made


WRAPPERS = """
import functools

def keep(function):
    @functools.wraps(function)
    def wrapper():
        return function()
    return wrapper
"""


def test_a_decorator_of_another_module_does_not_know_the_names_of_this_one(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "wrappers", raising=False)
    decorated = module("wrappers", WRAPPERS).keep(pay_text)

    def agent(run: Run) -> Receipt:
        return run.step("pay", decorated)

    assert resume(store, "run", agent) == resume(store, "run", agent) == RECEIPT


AGENT = """
from dataclasses import dataclass

@dataclass
class Result:
    {fields}

def work() -> Result:
    return Result(1)

def agent(run):
    return run.step("work", work)
"""


def test_twins_in_two_modules_keep_their_own_types(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same code at the same line, and the text of its annotation means something else in each."""
    monkeypatch.delitem(sys.modules, "one", raising=False)
    monkeypatch.delitem(sys.modules, "other", raising=False)
    one, other = (module(name, AGENT.format(fields="number: int")) for name in ("one", "other"))
    assert type(resume(store, "one", one.agent)) is one.Result
    assert type(resume(store, "other", other.agent)) is other.Result


def test_a_reloaded_module_has_new_types(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "one", raising=False)
    old = module("one", AGENT.format(fields="number: int"))
    resume(store, "run", old.agent)
    new = module("one", AGENT.format(fields="number: int; note: str = ''"))
    assert resume(store, "run", new.agent) == new.Result(1, "")


def test_a_class_that_was_renamed_goes_on_if_its_shape_is_the_same(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "one", raising=False)
    resume(store, "run", module("one", AGENT.format(fields="number: int")).agent)
    renamed = module("one", AGENT.format(fields="number: int").replace("Result", "Outcome"))
    assert resume(store, "run", renamed.agent) == renamed.Outcome(1)


def test_a_class_that_was_changed_stops_the_resume_before_any_further_effect(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "one", raising=False)
    resume(store, "run", module("one", AGENT.format(fields="number: int")).agent)
    changed = module("one", AGENT.format(fields="amount: int"))
    sent: list[str] = []

    def agent(run: Run) -> None:
        try:
            changed.agent(run)
        finally:
            run.step("send", sent.append, "mail")

    with pytest.raises(
        RecordUnreadable, match=r"step 'work' has a record that Result cannot read .*amount.*nothing fur"
    ):
        resume(store, "run", agent)
    assert sent == []


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    name: str


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    name: str


def test_an_annotated_union_is_told_apart_by_its_tag(store: MemoryStore) -> None:
    def adopt(kind: str) -> Annotated[Cat | Dog, Field(discriminator="kind")]:
        return Cat(name="x") if kind == "cat" else Dog(name="x")

    def adopt_text(kind: str) -> "Annotated[Cat | Dog, Field(discriminator='kind')]":
        return adopt(kind)

    def agent(run: Run) -> list[Cat | Dog]:
        return [run.step("cat", adopt, "cat"), run.step("dog", adopt_text, "dog")]

    assert resume(store, "run", agent) == resume(store, "run", agent) == [Cat(name="x"), Dog(name="x")]
    assert "discriminator" in str(codec_of(adopt_text).hint)


def count_functions() -> int:
    # Not isinstance: proxies that other packages leave in memory would import what they stand for.
    return sum(type(thing) is type(pay) for thing in gc.get_objects())


def test_a_function_is_not_kept_alive_by_what_is_known_of_it() -> None:
    codec_of(pay)  # what a first call imports is not counted
    before = count_functions()
    for _ in range(200):

        def local() -> datetime:
            return datetime.now(UTC)

        codec_of(local)
    del local
    gc.collect()
    assert count_functions() < before + 100
