"""One life of a run: what was asked for, in which order, and whether it still agrees with the records."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import dataclass, field
from typing import TypeVar

from durable_core.checkpoint import Checkpoint
from durable_core.entries import Entry
from durable_core.errors import CorruptCheckpoint, DuplicateStepId, ReplayDivergence
from durable_core.fingerprint import changed_arguments

E = TypeVar("E", bound=BaseException)

_CAUSES = (
    "Likely causes: a branch on the clock, random, the environment or set order outside a step; a failure that was "
    "caught but not named in record_errors; or code that changed since the run began"
)


def strand() -> tuple[int, object]:
    """The thread and the asyncio task that are running."""
    asyncio = sys.modules.get("asyncio")  # where nobody has imported it no loop runs; it is 12 ms and 3 MB
    try:
        task = asyncio.current_task() if asyncio else None
    except RuntimeError:  # no loop runs in this thread
        task = None
    return threading.get_ident(), task


@dataclass(slots=True)
class Life:
    """The order of a life is kept in its *main strand*: the thread and task that the agent began in.

    Steps started there are numbered, and a replay has to ask for them in the same order. Steps
    started in other threads and tasks have no order among each other; their ids alone count.
    """

    checkpoint: Checkpoint
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _strand: tuple[int, object] = field(default_factory=strand)
    _asked: set[str] = field(default_factory=set)
    _positions: dict[str, int] = field(default_factory=dict)
    _poison: BaseException | None = None

    def begin(self, agent: str, fingerprint: str) -> None:
        """Admit the run, or check that it is resumed with the input it was started with."""
        start = self.checkpoint.start
        if start is None and (self.checkpoint.outcomes or self.checkpoint.intents or self.checkpoint.finished):
            raise CorruptCheckpoint(
                f"run {self.checkpoint.run_id!r} has records but no start; its checkpoint was changed from outside: "
                f"restore it from a copy"
            )
        if start is None:
            self.checkpoint.add(Entry(kind="start", fingerprint=fingerprint, payload=json.dumps(agent).encode()))
        elif start.fingerprint != fingerprint:
            changed = ", ".join(changed_arguments(start.fingerprint, fingerprint))
            raise self.poison(
                ReplayDivergence(
                    f"run {self.checkpoint.run_id!r} was started with another input (argument {changed} differs); a "
                    f"run id names one input. Resume with the first input, or choose a new run id"
                )
            )

    def ask(self, step_id: str, fingerprint: str) -> tuple[Entry | None, int | None]:
        """Ask for a step: its record, if there is one, and its position in the main strand, if it has one.

        Raises:
            DuplicateStepId: this life has asked for the id before.
            ReplayDivergence: the records say that something else stands here.
        """
        with self._lock:
            self.check()
            if step_id in self._asked:
                raise self.poison(
                    DuplicateStepId(
                        f"step id {step_id!r} is used twice in one life, so one record would answer for two steps; "
                        f"add what tells them apart, such as the index of the loop: f'{step_id}:{{i}}', or a scope"
                    )
                )
            position = self._place(step_id)
            entry = self.checkpoint.outcomes.get(step_id)
            self._compare(step_id, fingerprint, position, entry)
            self._asked.add(step_id)
            return entry, position

    def add(self, entry: Entry) -> None:
        """Make an entry durable. An error of the store poisons the life: its state is not known any more."""
        with self._lock:
            try:
                self.checkpoint.add(entry)
            except BaseException as error:
                self.poison(error)
                raise

    def look_for(self, step_id: str) -> None:
        """See to it that a record of this step is known, also one that was delivered since this life began."""
        with self._lock:
            self.check()
            if step_id not in self.checkpoint.outcomes:
                try:
                    self.checkpoint.refresh()
                except BaseException as error:
                    self.poison(error)
                    raise

    def unasked(self) -> frozenset[str]:
        """The records of steps that nobody has asked for in this life; deliveries aside."""
        with self._lock:
            outcomes = self.checkpoint.outcomes.values()
            return frozenset(entry.step_id for entry in outcomes if entry.fingerprint) - self._asked

    def retract(self, step_id: str) -> None:
        """A step failed. If it left no record, the agent may ask for it again, at the same position."""
        with self._lock:
            if step_id not in self.checkpoint.outcomes:
                self._asked.discard(step_id)

    def check(self) -> None:
        """Raise what poisoned this life, if anything did."""
        if self._poison is not None:
            raise self._poison

    def poison(self, error: E) -> E:
        """Let nothing further be executed in this life, even if the agent swallows `error`. Returns it."""
        with self._lock:
            self._poison = self._poison or error
        return error

    def finish(self) -> None:
        """The agent has returned: check that it asked for all that is recorded in order, and say so durably."""
        self.check()
        for position, step_id in sorted(self.checkpoint.positions.items()):
            if step_id not in self._asked and step_id not in self._positions:  # the latter: asked for, and failed
                raise self.poison(
                    ReplayDivergence(
                        f"the agent returned without asking for step {step_id!r}, recorded at position {position}. "
                        f"{_CAUSES}"
                    )
                )
        if not self.checkpoint.finished:
            self.add(Entry(kind="finish"))

    def _place(self, step_id: str) -> int | None:
        if strand() != self._strand:
            return None
        return self._positions.setdefault(step_id, len(self._positions))

    def _compare(self, step_id: str, fingerprint: str, position: int | None, entry: Entry | None) -> None:
        recorded = self.checkpoint.positions.get(position) if position is not None else None
        if recorded is not None and recorded != step_id:
            raise self.poison(
                ReplayDivergence(
                    f"at position {position} of run {self.checkpoint.run_id!r} the record is of step {recorded!r}, but "
                    f"the replay asked for {step_id!r}. {_CAUSES}"
                )
            )
        if entry is None and self.checkpoint.finished:
            raise self.poison(
                ReplayDivergence(
                    f"run {self.checkpoint.run_id!r} has finished without a step {step_id!r}, which this replay asked "
                    f"for. {_CAUSES}"
                )
            )
        known = self.checkpoint.intents.get(step_id, entry)
        if known is not None and known.fingerprint and known.fingerprint != fingerprint:
            changed = ", ".join(changed_arguments(known.fingerprint, fingerprint))
            raise self.poison(
                ReplayDivergence(
                    f"step {step_id!r} is recorded for other arguments than it was asked with (argument {changed} "
                    f"differs). {_CAUSES}"
                )
            )
