"""How one step is carried out: answered from its record, or executed and recorded."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType, MethodType
from typing import Literal

from durable_core.checkpoint import decode_failure, encode_failure
from durable_core.codec import Codec
from durable_core.entries import Entry
from durable_core.errors import (
    DurableError,
    NestedStep,
    NotRecordable,
    OutcomeUnknown,
    RecordUnreadable,
)
from durable_core.fingerprint import fingerprint_call
from durable_core.life import Life

LookUp = Callable[[str], object]
"""Given the key of an effect: its result when it has happened, None when it has not. May be async."""

_current: ContextVar[tuple[str, str] | None] = ContextVar("durable_core_step", default=None)


def current_step() -> tuple[str, str] | None:
    """`(run_id, step_id)` of the step being executed here, for logs and accounts; None outside of steps."""
    return _current.get()


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step as this life asks for it."""

    step_id: str
    function: Callable[..., object]
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)
    codec: Codec
    record_errors: tuple[type[Exception], ...] = ()
    redact: Callable[..., object] | None = None
    effect: bool = False
    key: str = ""
    if_unknown: Literal["hold"] | LookUp | None = None

    @property
    def subject(self) -> str:
        """How messages name the step."""
        return f"step {self.step_id!r}"

    def call(self) -> object:
        """Do the work."""
        return self.function(*self.args, **self.kwargs)


def carry_out(life: Life, step: Step) -> object:
    """The result of a step; an awaitable of it when the function is a coroutine function."""
    outer = _current.get()
    if outer is not None and outer[0] == life.checkpoint.run_id:  # a run inside a step of another has its own records
        raise life.poison(
            NestedStep(
                f"{step.subject} was started inside step {outer[1]!r}; once the outer one is recorded, nobody asks "
                f"for the inner one again. Start both from the agent itself, or give a nested flow a scope"
            )
        )
    fingerprint = fingerprint_call(step.args, step.kwargs)
    asked = _Asked(life, step, fingerprint, *life.ask(step.step_id, fingerprint))
    return asked.result_async() if is_async(step.function) else asked.result()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A step that was asked for, with the record there is of it."""

    life: Life
    step: Step
    fingerprint: str
    entry: Entry | None
    position: int | None

    # The two differ in `await` alone; everything that decides something is shared below.

    def result(self) -> object:
        if self.entry is not None:
            return self._replay(self.entry)
        with _Executing(self):
            value = self.look_up()
            if value is None:
                with _RecordingFailures(self):
                    value = self.step.call()
            return self._record(value)

    async def result_async(self) -> object:
        if self.entry is not None:
            return self._replay(self.entry)
        with _Executing(self):
            value = self.look_up()
            value = await value if isinstance(value, Awaitable) else value
            if value is None:
                with _RecordingFailures(self):
                    value = await self.step.call()  # type: ignore[misc]  # a coroutine function
            return self._record(value)

    def look_up(self) -> object:
        """What is known of an effect that an earlier life may have begun; records the intent of a new one."""
        step, checkpoint = self.step, self.life.checkpoint
        if step.if_unknown is None:
            return None
        if step.step_id not in checkpoint.intents:
            self.life.add(self.entry_of("intent", b""))
            return None
        if step.if_unknown == "hold":
            raise self.life.poison(
                OutcomeUnknown(
                    f"effect {step.step_id!r} of run {checkpoint.run_id!r} was begun and has no result: the process "
                    f"died, or the answer was lost, around the effect. It is held, not sent again. Find out at the "
                    f"provider whether it happened and record that with deliver(store, {checkpoint.run_id!r}, "
                    f"{step.step_id!r}, result)",
                    step.step_id,
                )
            )
        return step.if_unknown(step.key)

    def _record(self, value: object) -> object:
        step = self.step
        if step.redact is not None:
            value = step.redact(value)
        try:
            payload, decoded = step.codec.encode(step.subject, value)
        except NotRecordable as error:
            raise self.life.poison(error) from None
        self.life.add(self.entry_of("record", payload))
        return decoded

    def _replay(self, entry: Entry) -> object:
        try:
            payload = self.life.checkpoint.payload(entry)
            if entry.kind == "record":
                return self.step.codec.decode(self.step.subject, payload)
        except Exception as error:
            self.life.poison(error)
            raise
        raise self.recorded_failure(payload)

    def recorded_failure(self, payload: bytes) -> Exception:
        """Live and replay raise the same: the error as its record tells it."""
        failure = decode_failure(payload, self.step.record_errors)
        if failure is not None:
            return failure
        return self.life.poison(
            RecordUnreadable(
                f"{self.step.subject} has recorded a failure that is none of its record_errors now: "
                f"{payload.decode()}. Name its class there, under the name it was recorded with"
            )
        )

    def entry_of(self, kind: Literal["intent", "record", "failure"], payload: bytes) -> Entry:
        return Entry(
            kind=kind,
            step_id=self.step.step_id,
            position=self.position,
            fingerprint=self.fingerprint,
            effect=self.step.effect,
            payload=payload,
        )


# Classes and not generators: contextlib cannot pass on an exception that is frozen.


class _Executing:
    """While a step is executed: `current_step` tells which, and a failure takes it back."""

    __slots__ = ("_asked", "_token")

    def __init__(self, asked: _Asked) -> None:
        self._asked = asked

    def __enter__(self) -> None:
        life = self._asked.life
        life.check()  # a step that was asked for with others, which have poisoned the life meanwhile
        self._token = _current.set((life.checkpoint.run_id, self._asked.step.step_id))

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        with suppress(ValueError):  # a coroutine that was dropped is closed in whatever context does it
            _current.reset(self._token)
        if error is not None:
            self._asked.life.retract(self._asked.step.step_id)


class _RecordingFailures:
    """While the function is called: a failure that is named is recorded, and raised as its record tells it."""

    __slots__ = ("_asked",)

    def __init__(self, asked: _Asked) -> None:
        self._asked = asked

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        step, life = self._asked.step, self._asked.life
        if not isinstance(error, step.record_errors) or isinstance(error, DurableError):
            return
        try:
            payload = encode_failure(error)
        except ValueError as reason:
            raise life.poison(
                NotRecordable(
                    f"{step.subject} raised {type(error).__qualname__}, which holds more than plain data ({reason}); "
                    f"keep the fields of errors that are recorded to text, numbers and lists"
                )
            ) from error
        life.add(self._asked.entry_of("failure", payload))
        raise self._asked.recorded_failure(payload) from error


def is_async(function: Callable[..., object]) -> bool:
    """Whether calling `function` gives an awaitable: a coroutine function, or an object that is called like one."""
    if inspect.iscoroutinefunction(function):
        return True
    called = function.func if isinstance(function, partial) else function
    return not isinstance(called, FunctionType | MethodType) and inspect.iscoroutinefunction(type(called).__call__)
