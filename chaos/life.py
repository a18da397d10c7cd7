"""What one life of a run is told to do, and what it reports of itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pydantic import TypeAdapter

from chaos.points import Point


@dataclass(frozen=True, slots=True, kw_only=True)
class LifeSpec:
    """One life, as data, so that it can be handed to any process.

    Attributes:
        number: counted from 1 within a try.
        folder: of the try; the ledger and the state of the agent are in it.
        store: URL of the store.
        run_id: the same in all lives of the try.
        seed: of the fakes and of `random`.
        kill_at: the point to die at: by its name, or as the nth that the life passes, from 1; None for a life that
            is left alone.
        policies: key policies of providers, by name.
        steady: the fakes answer equal requests equally.
        seconds: after which a life is ended, as hung.
    """

    number: int
    folder: str
    store: str
    run_id: str
    seed: int
    kill_at: Point | int | None = None
    policies: Mapping[str, str] = field(default_factory=dict)
    steady: bool = False
    seconds: float = 60.0


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
    """

    outcome: Outcome
    trace: tuple[Point, ...] = ()
    result: str = ""
    shown: str = ""
    error: str = ""
    where: str = ""
    waits_for: str = ""
    unasked: tuple[str, ...] = ()


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
        if self.report is None or self.report.outcome != "killed":
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


SPEC: TypeAdapter[LifeSpec] = TypeAdapter(LifeSpec)
REPORT: TypeAdapter[Report] = TypeAdapter(Report)
