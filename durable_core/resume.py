"""Starting, resuming and answering runs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar, cast, overload

from durable_core.checkpoint import Checkpoint
from durable_core.codec import codec_for
from durable_core.entries import Entry
from durable_core.errors import AlreadyRecorded, UnknownRun
from durable_core.fingerprint import fingerprint_call
from durable_core.ids import check_id
from durable_core.life import Life
from durable_core.run import Run
from durable_core.step import is_async
from durable_core.stores.protocol import Lease, Store

T = TypeVar("T")


@overload
def resume(
    store: Store, run_id: str, agent: Callable[..., Awaitable[T]], /, *args: object, **kwargs: object
) -> Awaitable[T]: ...
@overload
def resume(store: Store, run_id: str, agent: Callable[..., T], /, *args: object, **kwargs: object) -> T: ...
def resume(store: Store, run_id: str, agent: Callable[..., object], /, *args: object, **kwargs: object) -> object:
    """Start the run, or go on where its last life ended: `agent(run, *args, **kwargs)`.

    The lease of the run is held meanwhile. What is recorded is not executed again, so resuming a finished
    run costs nothing and gives its result. An awaitable is returned when `agent` is a coroutine function.

    Raises:
        RunIsHeld: another living owner is at it.
        Suspended: the run waits for a delivery.
        ReplayDivergence: the agent, or its input, is not what the records say.
        CorruptCheckpoint: the checkpoint is damaged.
        DurableError: what else poisoned the run, also when the agent swallowed it.
        TypeError: the agent is a generator, or a plain function that returns a coroutine.
    """
    check_id("run id", run_id)
    resumption = _Resumption(store, run_id, agent, args, kwargs)
    return resumption.finish_async() if is_async(agent) else resumption.finish()


@dataclass(slots=True)
class _Resumption:
    store: Store
    run_id: str
    agent: Callable[..., object]
    args: tuple[object, ...]
    kwargs: Mapping[str, object]

    lease: Lease = field(init=False)
    life: Life = field(init=False)

    def finish(self) -> object:
        with self:
            result = self.agent(Run(self.life), *self.args, **self.kwargs)
            if isinstance(result, Coroutine | Generator | AsyncGenerator):
                raise TypeError(_not_begun(self.agent, result))
            return result

    async def finish_async(self) -> object:
        with self:
            return await self.agent(Run(self.life), *self.args, **self.kwargs)  # type: ignore[misc]  # a coroutine function

    def __enter__(self) -> None:
        self.lease = self.store.acquire(self.run_id)
        try:
            self.life = Life(Checkpoint.load(self.store, self.run_id, self.lease))
            self.life.begin(_name(self.agent), fingerprint_call(self.args, self.kwargs))
        except BaseException:
            self.store.release(self.lease)
            raise

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        try:
            if error is None:
                self.life.finish()
            elif isinstance(error, Exception):
                self.life.check()  # what poisoned the life matters more than what the agent made of it
        finally:
            self.store.release(self.lease)


def deliver(store: Store, run_id: str, step_id: str, value: object) -> None:
    """Record the result of a step from outside: the answer to a `wait`, or the outcome of a held effect.

    Args:
        store: where the run lives; the run may be held by a living owner.
        run_id: an admitted run.
        step_id: the full id, with its scopes: `customer:3/approval`.
        value: plain data, or an instance of the type that the step returns.

    Raises:
        UnknownRun: the store has no such run.
        AlreadyRecorded: the step has a result; the first one stays.
        NotRecordable: the value would not come back as it is.
    """
    check_id("step id", step_id)
    checkpoint = Checkpoint.load(store, check_id("run id", run_id), lease=None)
    if checkpoint.start is None:
        raise UnknownRun(
            f"no run {run_id!r} in this store to deliver {step_id!r} to; start it first, or correct the id"
        )
    if step_id in checkpoint.outcomes:
        raise AlreadyRecorded(
            f"step {step_id!r} of run {run_id!r} has a result already, which stays; nothing was delivered"
        )
    payload, _ = codec_for(cast("Hashable", type(value))).encode(f"the delivery for step {step_id!r}", value)
    checkpoint.add(Entry(kind="record", step_id=step_id, payload=payload))


def _not_begun(agent: Callable[..., object], result: object) -> str:
    """The message for an agent that has only been got ready: its work would go on after the run is over."""
    if isinstance(result, Coroutine):
        result.close()  # or Python would warn that it was never awaited
    return (
        f"agent {_name(agent)} returned a {type(result).__name__} and has done nothing yet; the run stays open. Make "
        f"the agent a plain function, or an `async def` without yield"
    )


def _name(agent: Callable[..., object]) -> str:
    return f"{getattr(agent, '__module__', '?')}:{getattr(agent, '__qualname__', type(agent).__qualname__)}"
