"""Verifying: every sequence of crashes of the long agents, in seconds and in memory, against killing for real.

Each verification is the command itself in a process of its own, as a user starts it; its seconds are the ones that it
reports, from before its warm parents start to the verdict. Its memory is what it and all its lives hold at a time,
with what they share counted once (Linux's Pss), looked at every 50 ms.

What it is held against covers far less: a kill at every single point and no more, with a fresh interpreter for every
life. That takes minutes, so some of the points are killed at and the rest is extrapolated; the label says so.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from figures import Figure, Sizes
from kills import RESEARCH, kills_per_second

LONG = "long_agent:agent"
FASTER = 50
SECONDS = 60
MEGABYTES = 300
LOOK_SECONDS = 0.05
COMMAND = "import sys, crashwindow; sys.exit(crashwindow.main())"


@dataclass(frozen=True, slots=True)
class Verified:
    """What one verification says of itself, and the most memory it took, in bytes."""

    verdict: str
    complete: bool
    points: int
    images: int
    lives: int
    seconds: float
    memory: int

    @property
    def note(self) -> str:
        """The verdict in a few words."""
        return f"{self.verdict}: {self.images:,} images, {self.lives:,} lives, {self.points:,} points"


def verify_figures(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """The research agent against real kills, turn by turn; then agents of growing length, once each."""
    turns, kills = [], []
    for _ in range(sizes.repeats):
        turns.append(verified(RESEARCH))
        kills.append(kills_per_second(RESEARCH, "sqlite", sizes.respawned, folder, "spawn"))
    seconds = statistics.median(turn.seconds for turn in turns)
    usual, killed = turns[0], statistics.median(kills)
    if not usual.complete:
        raise SystemExit(f"{RESEARCH}: {usual.verdict}, so there is nothing to compare")
    yield Figure(name="61-step research agent verified", value=seconds, unit="s", note=usual.note)
    yield Figure(name="lives in images", value=usual.lives / seconds, unit="lives/s")
    yield Figure(
        name="single points covered a second, all sequences included",
        value=usual.points / seconds,
        unit="points/s",
        baseline=f"single points alone, fresh interpreters; {usual.points / killed:.0f} s, extrapolated",
        baseline_value=killed,
        aim=f"≥ {FASTER} x",
        met=usual.points / seconds >= FASTER * killed,
    )
    for count in sizes.lengths:
        found = verified(LONG, str(count), budget=sizes.budget)
        is_aim = count == max(sizes.lengths)
        yield Figure(
            name=f"{count:,} steps verified",
            value=found.seconds,
            unit="s",
            note=found.note,
            aim=f"complete, < {SECONDS} s" if is_aim else "",
            met=found.complete and found.seconds < SECONDS if is_aim else None,
        )
        yield Figure(
            name=f"{count:,} steps verified, memory at most",
            value=found.memory / 1e6,
            unit="MB",
            aim=f"< {MEGABYTES} MB" if is_aim else "",
            met=found.memory < MEGABYTES * 1e6 if is_aim and found.complete else None,
        )


def verified(agent: str, *arguments: str, budget: int | None = None) -> Verified:
    """Verify once. Raises SystemExit when there is no verdict."""
    options = ["--format", "json", *(f"--arg={value}" for value in arguments)]
    options += [] if budget is None else [f"--budget={budget}s"]
    here = str(Path(__file__).parent)
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        process = subprocess.Popen(
            [sys.executable, "-c", COMMAND, "verify", agent, *options],
            stdout=output,
            stderr=messages,
            env=os.environ | {"PYTHONPATH": path},
        )
        memory = 0
        while process.poll() is None:
            memory = max(memory, sum(map(_bytes_held, _family(process.pid))))
            time.sleep(LOOK_SECONDS)
        output.seek(0)
        messages.seek(0)
        said = output.read()
        if not said.strip():
            raise SystemExit(f"{agent} has no verdict: {messages.read().decode()[-500:]}")
    return _read(json.loads(said), memory)


def _read(verdict: dict[str, object], memory: int) -> Verified:
    return Verified(
        verdict=str(verdict["verdict"]),
        complete=bool(verdict["complete"]),
        points=int(str(verdict["crash_points"])),
        images=int(str(verdict["images"])),
        lives=int(str(verdict["lives"])),
        seconds=float(str(verdict["seconds"])),
        memory=memory,
    )


def _family(pid: int) -> Iterator[int]:
    """A process and all that come from it, as far as they are still there."""
    yield pid
    for task in _listed(Path(f"/proc/{pid}/task")):
        try:
            children = (task / "children").read_text(encoding="ascii").split()
        except OSError:  # it has ended meanwhile
            continue
        for child in children:
            yield from _family(int(child))


def _listed(folder: Path) -> Sequence[Path]:
    try:
        return list(folder.iterdir())
    except OSError:
        return ()


def _bytes_held(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
