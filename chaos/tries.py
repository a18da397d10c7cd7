"""A try: one schedule carried out from a fresh state, life after life, until the run has ended and been replayed."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from chaos.agent import Subject
from chaos.faults import struck_in
from chaos.launchers import Launcher
from chaos.life import LifeEnd, LifeSpec, Try
from chaos.points import Point, Schedule
from chaos.stores import is_fresh, open_in
from durable_core import deliver
from durable_core.entries import Entry
from fakes import Ledger, Row

MAX_LIVES = 4
"""Lives without a planned kill that a run is given to end, before it is said that it does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What is the same in all tries of one exploration.

    Attributes:
        store: see `chaos.stores.open_in`.
        seed: of the fakes and of `random`.
        policies: key policies of providers, by name.
        faults: what is planned to go wrong beside crashes, as text.
        deliver: what is delivered when the run waits for it, by step id.
        seconds: after which a life is ended, as hung.
        folder: where the folders of the tries are made.
        prefix: of run ids; tells apart the runs that several explorations make in one store.
    """

    store: str = "sqlite"
    seed: int = 0
    policies: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    deliver: Mapping[str, object] = field(default_factory=dict)
    seconds: float = 60.0
    folder: Path
    prefix: str = "run"


@dataclass(frozen=True, slots=True)
class Tries:
    """Carries out schedules of one agent."""

    agent: Subject
    launcher: Launcher
    setting: Setting
    lived: list[int] = field(default_factory=list)
    _replays: dict[tuple[int, bytes], LifeEnd] = field(default_factory=dict)
    _numbers: count[int] = field(default_factory=count)

    def carry_out(self, kills: Sequence[Point | int], *, faults: tuple[str, ...] | None = None) -> Try:
        """One try with a kill in each life: at a named point, or at the nth one as far as the life has so many.

        A life that a planned fault ends before its point is resumed by one that is killed there. The faults are those
        of the setting if they are None.
        """
        folder = Path(tempfile.mkdtemp(prefix="try-", dir=self.setting.folder))
        try:
            spec = self._first_spec(folder)
            spec = spec if faults is None else replace(spec, faults=faults)
            with self.launcher.surroundings(spec):
                return self._live_all(spec, kills)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def state_after(self, schedule: Schedule) -> list[Entry | Row]:
        """The durable state that real kills at these points leave behind: entries, then rows."""
        folder = Path(tempfile.mkdtemp(prefix="try-", dir=self.setting.folder))
        try:
            spec = self._first_spec(folder)
            number = 0
            for point in schedule:
                lives: list[LifeEnd] = []
                while not lives or self._is_resumed(spec, lives):
                    number += 1
                    lives.append(self._live(_nth(spec, number, point)))
            return [*self._entries(spec), *_rows(folder)]
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _first_spec(self, folder: Path) -> LifeSpec:
        setting = self.setting
        return LifeSpec(
            number=1,
            folder=str(folder),
            store=setting.store,
            run_id=setting.prefix if is_fresh(setting.store) else f"{setting.prefix}-{next(self._numbers)}",
            seed=setting.seed,
            policies=setting.policies,
            faults=setting.faults,
            steady=not self.agent.takes_run,
            seconds=setting.seconds,
        )

    def _live_all(self, spec: LifeSpec, kills: Sequence[Point | int]) -> Try:
        planned = deque(kills)
        lives: list[LifeEnd] = []
        missed: Point | None = None
        while not self._is_over(spec, lives, planned):
            life = self._live(_nth(spec, len(lives) + 1, planned[0] if planned else None))
            lives.append(life)
            if life.killed_at is not None:
                planned.popleft()
            elif planned and not self._can_go_on(life) and not self._is_resumed(spec, lives):
                missed = planned[0] if isinstance(planned[0], Point) else None
                planned.clear()
        entries = self._entries(spec)
        finished = lives[-1].report is not None and lives[-1].report.outcome == "finished"
        return Try(
            schedule=tuple(life.killed_at for life in lives if life.killed_at),
            missed=missed,
            lives=tuple(lives),
            replay=self._replay(_nth(spec, len(lives) + 1), entries) if finished and self.agent.takes_run else None,
            entries=entries,
            rows=_rows(Path(spec.folder)),
            log=_tail(Path(spec.folder) / "output.log"),
            struck=struck_in(spec.folder),
        )

    def _is_over(self, spec: LifeSpec, lives: list[LifeEnd], planned: Collection[object]) -> bool:
        if not lives or planned or lives[-1].killed_at is not None:
            return False
        last = lives[-1].report
        if last is None or last.outcome == "finished":
            return True
        if last.outcome in ("suspended", "held"):
            return not self._can_go_on(lives[-1])
        kills = sum(life.killed_at is not None for life in lives)
        return len(lives) >= kills + len(self.setting.deliver) + _patience(spec)

    def _is_resumed(self, spec: LifeSpec, lives: list[LifeEnd]) -> bool:
        """Whether the last life raised where faults are planned, so that the next one may come to the planned point."""
        last = lives[-1].report
        raised = sum(life.report is not None and life.report.outcome == "raised" for life in lives)
        return bool(spec.faults) and last is not None and last.outcome == "raised" and raised < _patience(spec)

    def _can_go_on(self, life: LifeEnd) -> bool:
        """Whether the life waits for something that is delivered."""
        return life.report is not None and life.report.waits_for in self.setting.deliver

    def _live(self, spec: LifeSpec) -> LifeEnd:
        end = self.launcher.run(spec)
        self.lived.append(spec.number)
        if end.report is not None and self._can_go_on(end):
            step = end.report.waits_for
            store = open_in(spec.store, spec.folder)
            try:
                deliver(store, spec.run_id, step, self.setting.deliver[step])
            finally:
                store.close()
        return end

    def _replay(self, spec: LifeSpec, entries: Sequence[Entry]) -> LifeEnd:
        """A further life on the finished run. Equal checkpoints replay equally, so one replay speaks for all of them.

        A replay that passed a point has executed something, and what that meets is not in the checkpoint alone.
        """
        contents = b"\n".join(replace(entry, at=0.0).to_bytes() for entry in entries)
        checkpoint = (spec.turn % 2, hashlib.blake2b(contents, digest_size=16).digest())
        known = self._replays.get(checkpoint)
        if known is None:
            known = self._live(spec)
            if not known.trace:
                self._replays[checkpoint] = known
        return known

    def _entries(self, spec: LifeSpec) -> tuple[Entry, ...]:
        if not self.agent.takes_run:
            return ()
        store = open_in(spec.store, spec.folder)
        try:
            return tuple(store.entries(spec.run_id))
        finally:
            store.close()


def _patience(spec: LifeSpec) -> int:
    """Lives without a planned kill that a run is given: each fault may cost it one."""
    return MAX_LIVES + len(spec.faults)


def _nth(spec: LifeSpec, number: int, kill_at: Point | int | None = None) -> LifeSpec:
    return replace(spec, number=number, turn=number - 1, kill_at=kill_at)


def _rows(folder: Path) -> tuple[Row, ...]:
    ledger = Ledger(folder / "ledger.db")
    try:
        return tuple(ledger.rows())
    finally:
        ledger.close()


def _tail(log: Path, limit: int = 2000) -> str:
    return log.read_text(encoding="utf-8", errors="backslashreplace")[-limit:] if log.exists() else ""
