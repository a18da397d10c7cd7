"""What one life of a run is told to do, what it reports of itself, and the lives of one try together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import TypeAdapter

from chaos.points import Point, Schedule
from durable_core.entries import OUTCOMES, Entry
from fakes import Row


@dataclass(frozen=True, slots=True)
class Segment:
    """What one life had written when it ended: the first `size` bytes of a file of changes.

    `error` is what it raised, where a planned fault and no crash has ended it.
    """

    path: str
    size: int
    error: str = ""


History = tuple[Segment, ...]
"""A crash image: the segments of the lives before, in order. The empty one is the state before the first life."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSpec:
    """How a life begins in a crash image.

    Attributes:
        history: the image.
        segment: path of the file that the life writes its own changes to.
        exact: contents count when images are compared.
        accept_in_flight: the last answer of each step may be lost when a life ends.
        perturb: what differs from the first life, by name (see `chaos.perturb`).
        interleaving: seed by which threads and tasks are ordered; 0 leaves them alone.
    """

    history: History
    segment: str
    exact: bool = False
    accept_in_flight: bool = False
    perturb: tuple[str, ...] = ()
    interleaving: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """The crash images that a life in an image has left behind it.

    Attributes:
        digests: of the image after each durable change that made another one, in order.
        offsets: where each of them ends in the segment, in bytes.
        final: digest of the image at the end of the life.
        dirty_from: index of the first one that lies beyond a finding; None if none does.
        unaccounted: calls that billed or acted, and that nothing accounts for at the end.
        lost: answers that were lost in flight, where that is accepted.
        unbacked: recorded effects of which no provider knows.
        deduplicated: steps of which a provider has recognised a repeated call.
        odd: something besides the accounts wants a full judgement: a call was refused, say.
        concurrent: steps were carried out in several threads or tasks.
        unseen: what the agent did outside of store and providers, as `what at file:line`.
        reads: unrecorded sources the agent read outside of steps, as `source at file:line`.
        met: the planned faults that struck in this life.
    """

    digests: tuple[int, ...] = ()
    offsets: tuple[int, ...] = ()
    final: int = 0
    dirty_from: int | None = None
    unaccounted: int = 0
    lost: int = 0
    unbacked: tuple[str, ...] = ()
    deduplicated: tuple[str, ...] = ()
    odd: bool = False
    concurrent: bool = False
    unseen: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    met: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSpec:
    """The process that a life of a program is.

    Attributes:
        command: with its arguments.
        environment: what differs from the environment of the harness.
        warm: a Python program, to be run in a fork of a process that has imported what it imports.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str]
    warm: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeSpec:
    """One life, as data, so that it can be handed to any process.

    Attributes:
        number: counted from 1 within a try.
        folder: of the try; the ledger and the state of the agent are in it.
        store: see `chaos.stores.open_in`.
        run_id: the same in all lives of the try.
        seed: of the fakes and of `random`.
        kill_at: the point to die at: by its name, or as the nth that the life passes, from 1; None for a life that
            is left alone.
        policies: key policies of providers, by name.
        faults: what is planned to go wrong beside crashes, as text (see `chaos.faults`).
        steady: the fakes answer equal requests equally.
        seconds: after which a life is ended, as hung.
        turn: whose turn it is among the launcher's parents, which differ in their hash seed.
        image: the crash image that it begins in, instead of a store and a ledger.
        program: the process to start, where the agent is no function but a program.
    """

    number: int
    folder: str
    store: str
    run_id: str
    seed: int
    kill_at: Point | int | None = None
    policies: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    steady: bool = False
    seconds: float = 60.0
    turn: int = 0
    image: ImageSpec | None = None
    program: ProgramSpec | None = None


Outcome = Literal["killed", "finished", "raised", "suspended", "held"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a life says of itself, written before it ends; a planned kill included.

    Attributes:
        outcome: how the life ended.
        trace: the points it passed, in order, the one it was killed at included.
        result: fingerprint of what the agent returned.
        shown: the result for people, shortened.
        error: type and message of what it raised.
        where: the last lines of that traceback.
        waits_for: the step that somebody has to `deliver`: one it is suspended on, or an effect that it holds.
        unasked: recorded steps that it did not ask for.
        swallowed: the error of the core that the agent caught before it returned.
        images: what a life in a crash image has left; its trace is in its segment.
    """

    outcome: Outcome
    trace: tuple[Point, ...] = ()
    result: str = ""
    shown: str = ""
    error: str = ""
    where: str = ""
    waits_for: str = ""
    unasked: tuple[str, ...] = ()
    swallowed: str = ""
    images: Images | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeEnd:
    """One life after its end: what was asked of it, its own report if it came to one, and how the process ended.

    `exit` is the process's exit code, or minus the number of the signal that ended it.
    """

    spec: LifeSpec
    report: Report | None
    exit: int
    hung: bool = False

    @property
    def killed_at(self) -> Point | None:
        """The point of the planned kill, when it fired."""
        if self.report is None or self.report.outcome != "killed" or not self.report.trace:
            return None
        return self.report.trace[-1]

    @property
    def trace(self) -> tuple[Point, ...]:
        """The points passed; empty when the life could not report."""
        return self.report.trace if self.report else ()

    @property
    def unplanned(self) -> str | None:
        """How the life died when nobody planned it, in words; None when it did not."""
        if self.hung:
            return f"did not end within {self.spec.seconds:g} s"
        if self.report is not None:
            return None
        return f"was killed by signal {-self.exit}" if self.exit < 0 else f"left with exit code {self.exit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Try:
    """What happened under one schedule, and what it left behind.

    Attributes:
        schedule: the points at which its lives were killed, in order.
        missed: the planned point that no life passed, if there was one.
        lives: all of them, killed ones first.
        replay: a further life on the finished run, which must execute nothing; None when the run did not end.
        entries: the finished checkpoint; empty when the agent does not work through a `Run`.
        rows: the ledger.
        log: the end of what its lives printed.
        struck: the faults of the store that struck, each with the number of the life.
    """

    schedule: Schedule
    missed: Point | None
    lives: tuple[LifeEnd, ...]
    replay: LifeEnd | None
    entries: tuple[Entry, ...]
    rows: tuple[Row, ...]
    log: str = ""
    struck: tuple[tuple[int, str], ...] = ()

    @property
    def met(self) -> Mapping[int, frozenset[str]]:
        """The planned faults that struck, by the number of the life."""
        struck = [*self.struck, *((row.life, text) for row in self.rows for text in row.fault.split())]
        return {life: frozenset(text for number, text in struck if number == life) for life, _ in struck}

    @property
    def finished(self) -> LifeEnd | None:
        """The life in which the run ended."""
        last = self.lives[-1]
        return last if last.report and last.report.outcome == "finished" else None

    @property
    def held(self) -> str | None:
        """The effect of unknown outcome that the run has stopped at, for a person to settle."""
        last = self.lives[-1].report
        return last.waits_for if last and last.outcome == "held" else None

    @property
    def passed(self) -> tuple[Point, ...]:
        """Every point that its lives passed, in order, each once."""
        return tuple(dict.fromkeys(point for life in self.lives for point in life.trace))

    @property
    def recovery(self) -> tuple[Point, ...]:
        """The points passed after the last kill."""
        killed = [index for index, life in enumerate(self.lives, 1) if life.killed_at]
        return tuple(dict.fromkeys(point for life in self.lives[max(killed, default=0) :] for point in life.trace))

    @property
    def kills(self) -> int:
        """The planned kills that fired."""
        return sum(life.killed_at is not None for life in self.lives)

    @property
    def delivered(self) -> frozenset[str]:
        """The ids of the steps whose record somebody else has delivered."""
        return frozenset(entry.step_id for entry in self.entries if entry.kind in OUTCOMES and not entry.fingerprint)

    @property
    def recorded(self) -> frozenset[str]:
        """The ids of the steps with a record."""
        return frozenset(entry.step_id for entry in self.entries if entry.kind in OUTCOMES)


SPEC: TypeAdapter[LifeSpec] = TypeAdapter(LifeSpec)
REPORT: TypeAdapter[Report] = TypeAdapter(Report)
