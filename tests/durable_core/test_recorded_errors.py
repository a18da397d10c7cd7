"""Failures that are named are results: recorded, and raised again as they were. All others are not recorded."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Self
from urllib.error import HTTPError

import pytest

from durable_core import NotRecordable, RecordUnreadable, ReplayDivergence, Run, Store, Suspended, resume
from durable_core.stores.memory import MemoryStore


class Died(BaseException):
    """Ends a life the way no `except Exception` stops."""


class CardDeclined(Exception):
    """Takes more, and by keyword only, than it hands to `Exception`."""

    def __init__(self, message: str, *, code: str, tries: int = 1) -> None:
        super().__init__(message)
        self.code = code
        self.tries = tries


class CardExpired(CardDeclined):
    pass


@dataclass
class OutOfStock(Exception):
    item: str
    left: int = 0


@dataclass(frozen=True)
class Frozen(Exception):
    item: str


class Slotted(Exception):
    __slots__ = ("__secret", "code")

    def __init__(self, code: str) -> None:
        self.code = code
        self.__secret = code * 2

    def secret(self) -> str:
        return self.__secret


class Picky(Exception):
    """Cannot be made from its arguments, nor without them."""

    def __new__(cls, *, code: int) -> Self:
        return super().__new__(cls, code)

    def __init__(self, *, code: int) -> None:
        self.code = code


class Emptyish(Exception):
    """As true as an empty list."""

    def __len__(self) -> int:
        return 0


class OwnOSError(OSError):
    def __init__(self, host: str) -> None:
        super().__init__(111, "refused", host)
        self.host = host


def noted() -> Exception:
    error = ValueError("bad", 7, None, ["x"], {"a": 1.5})
    error.add_note("try again later")
    return error


FAILURES = [
    CardDeclined("no", code="expired", tries=3),
    CardExpired("no", code="expired"),
    OutOfStock("book", left=2),
    OutOfStock(item="book"),
    Frozen("book"),
    Slotted("x"),
    Picky(code=7),
    Emptyish(),
    OwnOSError("example.com"),
    noted(),
    KeyError("k"),
    FileNotFoundError(2, "No such file or directory", "/etc/nothing"),
    OSError("only text"),
    ImportError("no module", name="nothing", path="/nothing"),
    StopAsyncIteration("x"),
    ConnectionResetError(),
    UnicodeEncodeError("utf-8", "ü", 0, 1, "surrogates"),
]


def told(error: BaseException) -> tuple[object, ...]:
    """All that code which catches an error can see of it."""
    hidden = {"__traceback__", "__cause__", "__context__", "__suppress_context__"}
    fields = {
        name: value for name in dir(error) if name not in hidden and not callable(value := getattr(error, name, None))
    }
    return type(error), str(error), repr(error), fields


@pytest.mark.parametrize("failure", FAILURES, ids=repr)
def test_the_same_error_is_raised_live_and_replayed(store: MemoryStore, failure: Exception) -> None:
    calls: list[str] = []
    seen: list[tuple[object, ...]] = []

    def pay() -> None:
        calls.append("pay")
        raise failure

    def agent(run: Run) -> None:
        try:
            run.step("pay", pay, record_errors=(LookupError, type(failure)))
        except type(failure) as error:
            seen.append(told(error))

    resume(store, "run", agent)
    resume(store, "run", agent)
    assert calls == ["pay"]
    assert seen == [told(failure)] * 2


def test_a_subclass_of_a_named_error_is_recorded_as_itself(each_store: Store) -> None:
    apologies: list[str] = []
    alive = False

    def pay() -> None:
        raise CardExpired("no", code="expired")

    def agent(run: Run) -> str:
        try:
            run.step("pay", pay, record_errors=(CardDeclined,))
        except CardExpired as error:
            run.step("apologise", apologies.append, error.code)
            if not alive:
                raise Died from None
            return error.code
        raise AssertionError

    with pytest.raises(Died):
        resume(each_store, "run", agent)
    alive = True
    assert resume(each_store, "run", agent) == "expired"
    assert apologies == ["expired"]


def test_an_async_step_records_its_errors_too(store: MemoryStore) -> None:
    calls: list[str] = []

    async def pay() -> None:
        calls.append("pay")
        raise CardDeclined("no", code="x")

    async def agent(run: Run) -> str:
        try:
            await run.step("pay", pay, record_errors=(CardDeclined,))
        except CardDeclined as error:
            return error.code
        raise AssertionError

    assert asyncio.run(resume(store, "run", agent)) == asyncio.run(resume(store, "run", agent)) == "x"
    assert calls == ["pay"]


def test_live_the_original_is_the_cause(store: MemoryStore) -> None:
    """So that its traceback is not lost."""
    original = CardDeclined("no", code="x")

    def pay() -> None:
        raise original

    def agent(run: Run) -> None:
        with pytest.raises(CardDeclined) as raised:
            run.step("pay", pay, record_errors=(CardDeclined,))
        assert raised.value is not original
        assert raised.value.__cause__ is original

    resume(store, "run", agent)


@pytest.mark.parametrize("named", [(), (CardExpired,), (LookupError, OSError)])
def test_an_error_that_is_not_named_is_not_recorded(store: MemoryStore, named: tuple[type[Exception], ...]) -> None:
    calls: list[str] = []

    def pay() -> None:
        calls.append("pay")
        raise CardDeclined("no", code="x")

    def agent(run: Run) -> None:
        run.step("pay", pay, record_errors=named)

    for _ in range(2):
        with pytest.raises(CardDeclined):
            resume(store, "run", agent)
    assert calls == ["pay", "pay"]
    assert [entry.kind for entry in store.entries("run")] == ["start"]


def test_a_recorded_failure_is_a_result_so_the_step_may_not_be_asked_for_again_and_executed(store: MemoryStore) -> None:
    calls: list[str] = []

    def pay() -> None:
        calls.append("pay")
        raise CardDeclined("no", code="x")

    def agent(run: Run) -> None:
        for _ in range(2):
            try:
                run.step("pay", pay, record_errors=(CardDeclined,))
            except CardDeclined:
                continue

    with pytest.raises(Exception, match="'pay' is used twice in one life"):
        resume(store, "run", agent)
    assert calls == ["pay"]


def fails_with(error: Exception, *named: type[Exception], then: str = "after") -> Callable[[Run], None]:
    def pay() -> None:
        raise error

    def agent(run: Run) -> None:
        try:
            run.step("pay", pay, record_errors=named)
        except Exception:
            run.step(then, str, 1)
            raise

    return agent


@pytest.mark.parametrize("now_named", [(), (KeyError,)])
def test_a_class_that_is_no_longer_named_is_unreadable(
    store: MemoryStore, now_named: tuple[type[Exception], ...]
) -> None:
    def dying(run: Run) -> None:
        with pytest.raises(CardDeclined):
            fails_with(CardDeclined("no", code="x"), CardDeclined)(run)
        raise Died

    with pytest.raises(Died):
        resume(store, "run", dying)
    before = store.entries("run")
    with pytest.raises(
        RecordUnreadable,
        match=r"step 'pay' has recorded a failure that is none of its record_errors now: .*CardDeclined.*Name its",
    ):
        resume(store, "run", fails_with(CardDeclined("no", code="x"), *now_named, then="something new"))
    assert store.entries("run") == before


@pytest.mark.parametrize(
    ("error", "path"),
    [
        (ValueError(object()), r"\['args'\]\[0\]"),
        (ValueError("x", {1, 2}), r"\['args'\]\[1\]"),
        (ValueError((1, 2)), r"\['args'\]\[0\]: a tuple would come back as a list"),
        (CardDeclined("no", code=Decimal(1)), r"\['fields'\]\['code'\]: a Decimal would"),  # type: ignore[arg-type]
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), r"\['args'\]\[1\]"),
    ],
    ids=["object", "set", "tuple", "field", "bytes"],
)
def test_an_error_that_holds_more_than_plain_data_is_refused_with_the_path(
    store: MemoryStore, error: Exception, path: str
) -> None:
    """Rather than come back as something else; and the run is poisoned, for the step was carried out."""
    name = type(error).__qualname__
    with pytest.raises(
        NotRecordable, match=rf"^step 'pay' raised {name}, which holds more than plain data \(at {path}.*; keep the fi"
    ):
        resume(store, "run", fails_with(error, Exception))
    assert [entry.kind for entry in store.entries("run")] == ["start"]


def test_an_error_that_holds_the_answer_of_a_client_is_refused(store: MemoryStore) -> None:
    error = HTTPError("https://example.com", 503, "unavailable", None, None)  # type: ignore[arg-type]
    with pytest.raises((NotRecordable, HTTPError)):
        resume(store, "run", fails_with(error, Exception))


def test_errors_of_the_core_are_never_recorded(store: MemoryStore) -> None:
    def inner(run: Run) -> None:
        run.wait("approval")

    def agent(run: Run) -> None:
        run.step("child", resume, store, "child", inner, record_errors=(Exception,))

    with pytest.raises(Suspended):
        resume(store, "parent", agent)
    assert [entry.kind for entry in store.entries("parent")] == ["start"]


def test_other_arguments_are_a_divergence_for_a_failure_too(store: MemoryStore) -> None:
    def pay(amount: int) -> None:
        raise CardDeclined(str(amount), code="x")

    amounts = iter([1, 2])

    def agent(run: Run) -> None:
        run.step("pay", pay, next(amounts), record_errors=(CardDeclined,))

    with pytest.raises(CardDeclined):
        resume(store, "run", agent)
    with pytest.raises(ReplayDivergence, match="argument 0 differs"):
        resume(store, "run", agent)


def test_of_two_classes_with_one_name_the_one_defined_last_is_raised(store: MemoryStore) -> None:
    """A module that was reloaded leaves its old classes behind."""

    def define() -> type[CardDeclined]:
        class Local(CardDeclined):
            pass

        return Local

    kept = []
    for _ in range(3):
        local = define()
        kept.append(local)
        with pytest.raises(local):
            resume(store, "run", fails_with(local("no", code="x"), CardDeclined))


def test_a_failure_is_recorded_by_class_arguments_and_fields(store: MemoryStore) -> None:
    with pytest.raises(CardDeclined):
        resume(store, "run", fails_with(CardDeclined("no", code="x"), CardDeclined))
    (failure,) = (entry for entry in store.entries("run") if entry.kind == "failure")
    assert json.loads(failure.payload) == {
        "error": f"{__name__}.CardDeclined",
        "args": ["no"],
        "fields": {"code": "x", "tries": 1},
    }
