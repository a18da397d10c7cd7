"""Faults beside crashes: what goes wrong, as text, at a provider or at the store.

A provider fault is written as `fakes.Fault` spells it: `email.send#1:lost_after`, `llm.*:slow=0.2`. A store fault is
`store.append#2:fails` (nothing is written, and a `StoreError` is raised) or `store.append#2:ambiguous` (it is written,
and then a `StoreError` is raised, as when a connection breaks after the commit). Which write is meant is said by its
number in the run, whatever life makes it, the start of the run being the first; or by the step whose record it is:
`store.append#send:fails`. Each numbered fault strikes once in a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from chaos.errors import OptionError
from chaos.points import nearest
from chaos.wrapped import WrappedStore
from durable_core import Lease, Store, StoreError
from durable_core.entries import OUTCOMES, Entry
from fakes import Fault, Row, UnknownName
from fakes.faults import AFTER
from fakes.world import PROVIDERS

StoreKind = Literal["fails", "ambiguous"]

_STORE = "store."
_APPEND = "store.append#"


@dataclass(frozen=True, slots=True)
class StoreFault:
    """One write to the checkpoint that goes wrong. `which` is its number from 1, or a step id."""

    which: int | str
    kind: StoreKind

    def __str__(self) -> str:
        return f"{_APPEND}{self.which}:{self.kind}"

    def concerns(self, entry: Entry, number: int) -> bool:
        """Whether that is the write that goes wrong."""
        if isinstance(self.which, int):
            return self.which == number
        return entry.kind in OUTCOMES and entry.step_id == self.which

    def error(self) -> StoreError:
        """What the writer gets, which is the same in both kinds: it cannot know."""
        return StoreError(
            f"the connection to the store broke while a record was written ({self}); whether it landed is unknown "
            f"here: resume the run, which reads the store again"
        )


@dataclass(frozen=True, slots=True)
class Struck:
    """A durable note that a store fault has struck, for it strikes once."""

    fault: str


OF_A_WORLD: Mapping[str, Sequence[str]] = MappingProxyType({name: kind.operations for name, kind in PROVIDERS.items()})
"""The providers of a World, with their operations."""


def over_http() -> Mapping[str, Sequence[str]]:
    """The providers of the server, with their operations."""
    from fakes.server.dialects import DIALECTS  # noqa: PLC0415 - most lives need no wire formats

    return {name: dialect.operations for name, dialect in DIALECTS.items()}


def normal_fault(text: str, providers: Mapping[str, Sequence[str]] = OF_A_WORLD) -> str:
    """The one spelling of a fault at one of the providers, or at the store.

    Raises:
        OptionError: the text cannot be read, or names something that there is not; the nearest is named.
    """
    if text.strip().startswith(_STORE):
        return str(_read_store_fault(text.strip()))
    try:
        fault = Fault.parse(text)
    except UnknownName as error:
        raise OptionError(f"fault {text!r}: {error}") from None
    except ValueError as error:
        raise OptionError(f"{error}; at the store: 'store.append#2:fails' or 'store.append#send:ambiguous'") from None
    if fault.provider not in providers:
        raise OptionError(
            f"fault {text!r} names no provider {fault.provider!r}{nearest(fault.provider, [*providers, 'store'])}"
        )
    operations = providers[fault.provider]
    if fault.operation not in ("*", *operations):
        raise OptionError(
            f"fault {text!r}: {fault.provider} has no operation {fault.operation!r}"
            f"{nearest(fault.operation, operations)}"
        )
    return str(fault)


def provider_faults(texts: Iterable[str]) -> tuple[Fault, ...]:
    """Those of the faults that strike at a provider."""
    return tuple(Fault.parse(text) for text in texts if not text.startswith(_STORE))


def store_faults(texts: Iterable[str]) -> tuple[StoreFault, ...]:
    """Those of the faults that strike at the store."""
    return tuple(_read_store_fault(text) for text in texts if text.startswith(_STORE))


def answer_lost(row: Row) -> bool:
    """Whether the provider acted on a call, and a fault kept its answer from the caller."""
    return row.outcome == "applied" and any(Fault.parse(text).kind in AFTER for text in row.fault.split())


def is_wasted(earlier: Row, row: Row) -> bool:
    """Whether a call makes again the very request of an earlier one whose answer a fault has kept from the caller."""
    return answer_lost(earlier) and row.id > earlier.id and _request(earlier) == _request(row)


def _request(row: Row) -> tuple[str | None, ...]:
    return row.provider, row.operation, row.target, row.step, row.body


def _read_store_fault(text: str) -> StoreFault:
    place, colon, kind = text.rpartition(":")
    known = get_args(StoreKind)
    if not colon or not place.startswith(_APPEND) or place == _APPEND:
        raise OptionError(
            f"fault {text!r} does not say which write fails: write store.append#2:fails for the second write of the "
            f"run, or store.append#send:fails for the record of step 'send'"
        )
    if kind not in known:
        raise OptionError(f"fault {text!r}: a write of the store knows no {kind!r}{nearest(kind, known)}")
    which = place.removeprefix(_APPEND)
    if which.isdecimal() and int(which) < 1:
        raise OptionError(f"fault {text!r}: writes are counted from 1")
    return StoreFault(int(which) if which.isdecimal() else which, kind)  # type: ignore[arg-type]  # it is one of them


def note_struck(folder: str, life: int, struck: Struck) -> None:
    """Make durable, in the folder of a try, that a fault of the store has struck in a life."""
    with (Path(folder) / "struck").open("a") as file:
        file.write(f"{life} {struck.fault}\n")


def struck_in(folder: str) -> tuple[tuple[int, str], ...]:
    """The faults of the store that have struck in a try, each with the number of the life."""
    path = Path(folder) / "struck"
    lines = path.read_text().splitlines() if path.exists() else []
    return tuple((int(life), fault) for life, _, fault in (line.partition(" ") for line in lines))


@dataclass(slots=True)
class FaultyStore(WrappedStore):
    """A store whose planned writes go wrong, once each. `struck` is told of each, when it is durable or refused.

    Attributes:
        inner: the store, watched.
        faults: the planned ones that have not struck yet.
        failed: writes that failed in the lives before, for they count too.
        struck: makes durable that a fault has struck.
    """

    faults: list[StoreFault]
    failed: int
    struck: Callable[[Struck], None]

    def append(self, run_id: str, entry: Entry, lease: Lease | None) -> None:
        """As the store itself, unless this write is to go wrong. The core writes one entry of a run at a time."""
        fault = self._due(run_id, entry)
        if fault is None:
            self.inner.append(run_id, entry, lease)
            return
        self.faults.remove(fault)
        if fault.kind == "ambiguous":
            self.inner.append(run_id, entry, lease)
        else:
            self.failed += 1
        self.struck(Struck(str(fault)))
        raise fault.error()

    def _due(self, run_id: str, entry: Entry) -> StoreFault | None:
        if not self.faults:
            return None
        number = len(self.inner.entries(run_id)) + self.failed + 1
        return next((fault for fault in self.faults if fault.concerns(entry, number)), None)


def faulty(store: Store, planned: Sequence[str], before: Iterable[Struck], struck: Callable[[Struck], None]) -> Store:
    """The store with the planned faults that have not struck `before`; the store itself when none is left."""
    done = {one.fault for one in before}
    left = [fault for fault in store_faults(planned) if str(fault) not in done]
    failed = sum(fault.kind == "fails" for fault in store_faults(done))
    return FaultyStore(store, left, failed, struck) if left else store
