"""`Run`: what an agent is given. Every unit of work goes through it and is recorded once."""

from __future__ import annotations

import random
from collections.abc import Callable, Hashable
from datetime import UTC, datetime
from functools import partial
from typing import Literal, TypeVar, cast, overload
from uuid import UUID, uuid4

from durable_core.codec import codec_for, codec_of
from durable_core.errors import EffectWithoutKey, Suspended
from durable_core.ids import check_id, idempotency_key
from durable_core.keys import KEY_ARGUMENT, own_key, takes_key
from durable_core.life import Life
from durable_core.step import LookUp, Step, carry_out

T = TypeVar("T")


class Run:
    """One run, in the life that is going on.

    An agent is a function whose first parameter is a `Run`. Its methods may be called from threads and from
    `asyncio.gather`; a function that is a coroutine function makes `step` and `effect` awaitable.
    """

    __slots__ = ("_life", "_prefix")

    def __init__(self, life: Life, prefix: str = "") -> None:
        self._life = life
        self._prefix = prefix

    @property
    def run_id(self) -> str:
        """The id that outlives processes."""
        return self._life.checkpoint.run_id

    @property
    def unasked(self) -> frozenset[str]:
        """The recorded steps that this life has not asked for (yet); deliveries aside."""
        return self._life.unasked()

    def check(self) -> None:
        """Raise what has stopped this life, if anything has: for code that has caught more than it knows."""
        self._life.check()

    def scope(self, name: str) -> Run:
        """The same run with every step id prefixed by `name/`, for nested flows."""
        return Run(self._life, f"{self._full_id(name)}/")

    def key(self, step_id: str) -> str:
        """The idempotency key of a step: made of run and step, the same in every life."""
        return idempotency_key(self.run_id, self._full_id(step_id))

    def step(
        self,
        step_id: str,
        fn: Callable[..., T],
        /,
        *args: object,
        record_errors: tuple[type[Exception], ...] = (),
        redact: Callable[..., object] | None = None,
        returns: Hashable = None,
        **kwargs: object,
    ) -> T:
        """Execute `fn(*args, **kwargs)` once in the life of the run; afterwards answer from its record.

        Args:
            step_id: stable and unique within the run; made of position, never of time, uuid or set order.
            fn: the work. Its return annotation says how the result is recorded.
            *args: handed to `fn`; a replay with others is a `ReplayDivergence`.
            record_errors: exception classes that are a result of the step and are raised again on replay.
            redact: changes the result before it is recorded; live code sees the changed one too.
            returns: the type of the result, where `fn` has no annotation.
            **kwargs: handed to `fn`.

        Raises:
            ReplayDivergence: the records say that something else was asked for here.
            DuplicateStepId: this life has used the id before.
            NestedStep: called from inside another step.
            InvalidId: the id is empty, too long or cannot be printed.
            NotRecordable: the result would not come back from its record as it is.
            RecordUnreadable: the record does not fit today's type.
            StoreError: the store could not take the record.
            LeaseLost: somebody else advances the run now.
        """
        result = carry_out(
            self._life,
            Step(
                step_id=self._full_id(step_id),
                function=fn,
                args=args,
                kwargs=kwargs,
                codec=codec_of(fn) if returns is None else codec_for(returns),
                record_errors=record_errors,
                redact=redact,
            ),
        )
        return cast("T", result)  # a coroutine of it, where `fn` is a coroutine function

    def effect(
        self,
        step_id: str,
        fn: Callable[..., T],
        /,
        *args: object,
        if_unknown: Literal["hold"] | LookUp | None = None,
        record_errors: tuple[type[Exception], ...] = (),
        redact: Callable[..., object] | None = None,
        returns: Hashable = None,
        **kwargs: object,
    ) -> T:
        """A step that acts or bills: `fn` is given `idempotency_key=run.key(step_id)` where it takes one.

        Args:
            step_id: as for `step`.
            fn: the work; hands its `idempotency_key` on to the provider.
            *args: handed to `fn`.
            if_unknown: for a provider that does not deduplicate. An intent is recorded first; a life that finds
                the intent and no result does not send again: "hold" raises `OutcomeUnknown` until somebody
                delivers the outcome; a function is called with the key and returns the result of an effect that
                happened, or None for one that did not.
            record_errors: as for `step`.
            redact: as for `step`.
            returns: as for `step`.
            **kwargs: handed to `fn`; an `idempotency_key` of your own is kept.

        Raises:
            EffectWithoutKey: `fn` takes no key and there is no `if_unknown`.
            OutcomeUnknown: the effect was begun in an earlier life and is held.
            DurableError: as for `step`.
        """
        full_id = self._full_id(step_id)
        key = own_key(fn, kwargs)
        if key is None:
            key = idempotency_key(self.run_id, full_id)
            if takes_key(fn):
                kwargs[KEY_ARGUMENT] = key
            elif if_unknown is None:
                raise EffectWithoutKey(
                    f"effect {full_id!r}: {getattr(fn, '__qualname__', fn)} takes no {KEY_ARGUMENT}, so after a crash "
                    f"between the effect and its record it would happen twice. Let it take {KEY_ARGUMENT} and hand it "
                    f"to the provider; for a provider without keys pass if_unknown='hold' or a look-up function"
                )
        result = carry_out(
            self._life,
            Step(
                step_id=full_id,
                function=fn,
                args=args,
                kwargs=kwargs,
                codec=codec_of(fn) if returns is None else codec_for(returns),
                record_errors=record_errors,
                redact=redact,
                effect=True,
                key=key,
                if_unknown=if_unknown,
            ),
        )
        return cast("T", result)  # a coroutine of it, where `fn` is a coroutine function

    def now(self, step_id: str) -> datetime:
        """The time in UTC, as the first life read it."""
        step = Step(step_id=self._full_id(step_id), function=_utc_now, codec=_TIME)
        return cast("datetime", carry_out(self._life, step))

    def random(self, step_id: str) -> float:
        """A number from 0 to below 1, as the first life drew it."""
        return self.step(step_id, _random)

    def uuid(self, step_id: str) -> UUID:
        """A random UUID, as the first life made it."""
        return self.step(step_id, _uuid)

    @overload
    def wait(self, step_id: str) -> object: ...
    @overload
    def wait(self, step_id: str, returns: type[T]) -> T: ...
    def wait(self, step_id: str, returns: type[object] = object) -> object:
        """What somebody else has delivered for this step.

        Raises:
            Suspended: nothing yet; this life ends, and a resume after the delivery goes on.
        """
        full_id = self._full_id(step_id)
        self._life.look_for(full_id)
        return carry_out(
            self._life,
            Step(
                step_id=full_id,
                function=partial(self._suspend, full_id),
                codec=codec_for(cast("Hashable", returns)),
            ),
        )

    def _suspend(self, full_id: str) -> None:
        raise self._life.poison(
            Suspended(
                f"run {self.run_id!r} waits for {full_id!r}; record it with "
                f"deliver(store, {self.run_id!r}, {full_id!r}, value) and resume the run",
                full_id,
            )
        )

    def _full_id(self, step_id: str) -> str:
        check_id("step id", step_id)
        return check_id("step id", self._prefix + step_id) if self._prefix else step_id


_TIME = codec_for(datetime)  # made at once, for a frozen clock puts another class in the place of this one


def _utc_now() -> datetime:
    return datetime.now(UTC)


def _random() -> float:
    return random.random()  # noqa: S311 - not for secrets


def _uuid() -> UUID:
    return uuid4()
