"""A life in a crash image: it begins with that durable state, in memory, and every state it makes is taken down."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from chaos.agent import Agent
from chaos.checks.records import known_secrets
from chaos.faults import Struck, faulty
from chaos.images import Change, Digest, read_changes, write, write_point
from chaos.interleaving import pausing
from chaos.life import Images, ImageSpec, LifeSpec, Report
from chaos.living import ended
from chaos.perturb import perturbed, world_of
from chaos.points import Point
from chaos.watch import Watch, WatchedStore
from durable_core.entries import OUTCOMES, Entry
from durable_core.life import strand
from durable_core.stores.memory import MemoryStore
from fakes import Ledger, Row


@dataclass(slots=True)
class Camera:
    """Takes the durable state down whenever it changes. What it is told, it is told under the lock of the watch.

    A picture is a state that really was: entries land under the lock, and the ledger is read under it.
    """

    digest: Digest
    noted: int
    ledger: Ledger = field(init=False)
    lines: list[bytes] = field(default_factory=list)
    size: int = 0
    digests: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    dirty_from: int | None = None
    concurrent: bool = False
    _changes: int = -1
    _strand: tuple[int, object] | None = None
    _unsettled: set[int] = field(default_factory=set)

    def passed(self, point: Point) -> None:
        """Note the point, after what the providers have noted up to it."""
        self._strand = self._strand or strand()
        self.concurrent |= strand() != self._strand
        self._take_rows()
        self._write(write_point(point))

    def close(self) -> None:
        """The life is over: note the calls after its last point, such as one that was refused."""
        self._take_rows()

    def changed(self, change: Entry | Struck | tuple[str, bytes]) -> None:
        """Something is durable in the store."""
        self._take_rows()
        self._take(change)

    def _take_rows(self) -> None:
        """Calls that are in progress, in another thread, are left for the next time."""
        if self.ledger.changes == self._changes:
            return
        self._changes = self.ledger.changes
        for row in self.ledger.rows(after=min(self._unsettled, default=self.noted + 1) - 1):
            if row.id <= self.noted and row.id not in self._unsettled:
                continue
            if row.outcome == "in progress":
                self._unsettled.add(row.id)
            else:
                self._unsettled.discard(row.id)
                if self.dirty_from is None and self.digest.repeats(row):
                    self.dirty_from = len(self.digests)
                self._take(row)
            self.noted = max(self.noted, row.id)

    def _take(self, change: Change) -> None:
        self._write(write(change))
        if self.digest.take(change):
            self.digests.append(self.digest.value)
            self.offsets.append(self.size)

    def _write(self, line: bytes) -> None:
        self.lines.append(line)
        self.size += len(line)


def live_in_image(agent: Agent, spec: LifeSpec, image: ImageSpec) -> Report:
    """Live one life that begins in a crash image. Its changes go to its segment, in one write at its end."""
    store, digest = MemoryStore(), Digest(image.exact, image.accept_in_flight, spec.faults)
    entries, rows, before = _restore(spec.run_id, image, store, digest)
    struck: list[Struck] = []
    camera = Camera(digest, noted=max((row.id for row in rows), default=0))
    watch = Watch(spec.number, camera.passed, camera.changed, pausing(image.interleaving))

    def strike(one: Struck) -> None:
        struck.append(one)
        with watch.lock:
            camera.changed(one)

    if "cache" in image.perturb and not image.history:
        _live_before(agent, spec, image)
    with ExitStack() as stack:
        sources = stack.enter_context(perturbed(spec, image.perturb))
        world = stack.enter_context(world_of(spec, image.perturb, watch))
        world.ledger.extend(rows)
        camera.ledger = world.ledger
        watched = faulty(WatchedStore(store, watch), spec.faults, before, strike)
        report = ended(agent, spec, watched, world, watch)
        camera.close()
        known = world.ledger.rows()
    unbacked = _unbacked(store.entries(spec.run_id), known)
    own = store.entries(spec.run_id)[len(entries) :]
    Path(image.segment).write_bytes(b"".join(camera.lines))
    return replace(
        report,
        trace=(),
        images=Images(
            digests=tuple(camera.digests),
            offsets=tuple(camera.offsets),
            final=digest.value,
            dirty_from=camera.dirty_from,
            unaccounted=len(digest.open),
            lost=digest.lost,
            unbacked=unbacked,
            deduplicated=tuple(sorted({row.step for row in known if row.step and row.outcome == "deduplicated"})),
            odd=bool(report.swallowed) or _is_odd(own, known),
            concurrent=camera.concurrent,
            unseen=tuple(sources.unseen),
            reads=tuple(sources.reads),
            met=_met(spec, struck, known),
        ),
    )


def _live_before(agent: Agent, spec: LifeSpec, image: ImageSpec) -> None:
    """Another run in the same process, with providers of its own, so that what an agent keeps in memory is warm."""
    other = replace(spec, run_id=f"{spec.run_id}-before", faults=())
    watch = Watch(0, lambda _: None)
    with perturbed(other, image.perturb), world_of(other, image.perturb, watch) as world:
        ended(agent, other, WatchedStore(MemoryStore(), watch), world, watch)


def _restore(
    run_id: str, image: ImageSpec, store: MemoryStore, digest: Digest
) -> tuple[list[Entry], list[Row], list[Struck]]:
    """Put the image into the store and the digest; its entries, rows and faults of the store are returned."""
    entries: list[Entry] = []
    rows: list[Row] = []
    struck: list[Struck] = []
    life = 1
    for number, change in read_changes(image.history):
        if number != life:
            life = number
            digest.next_life()
        digest.take(change)
        if isinstance(change, Entry):
            store.append(run_id, change, None)
            entries.append(change)
        elif isinstance(change, Row):
            rows.append(change)
        elif isinstance(change, Struck):
            struck.append(change)
        else:
            store.put_blob(run_id, change[1])
    digest.next_life()
    return entries, rows, struck


def _met(spec: LifeSpec, struck: list[Struck], rows: list[Row]) -> tuple[str, ...]:
    """The planned faults that struck in this life."""
    texts = [text for row in rows if row.life == spec.number for text in row.fault.split()]
    return tuple(dict.fromkeys([*(one.fault for one in struck), *texts]))


def _is_odd(entries: list[Entry], rows: list[Row]) -> bool:
    """Whether a provider refused a call, or a known secret is at rest."""
    secrets = [value.encode() for value in known_secrets().values()]
    return any(row.outcome == "refused" for row in rows) or any(
        secret in entry.payload for entry in entries for secret in secrets
    )


def _unbacked(entries: list[Entry], rows: list[Row]) -> tuple[str, ...]:
    """Effects that are recorded as done and that no provider has heard of."""
    known = {row.step for row in rows if row.outcome in ("applied", "deduplicated")}
    recorded = {entry.step_id for entry in entries if entry.effect and entry.kind in OUTCOMES}
    return tuple(sorted(recorded - known))
