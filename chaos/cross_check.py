"""Crash images held against real kills: both have to leave the same durable state."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chaos.images import structure
from chaos.imaging import Imaging
from chaos.launchers import launcher_for
from chaos.points import Schedule, format_schedule
from chaos.tries import Tries

_SAME_AS_KILLS = ("random", "answers", "search")
"""What differs between lives that are killed for real, in the same way; so that both can be compared."""


def mismatches(imaging: Imaging, schedules: Iterable[Schedule]) -> Iterator[str]:
    """Carry out each schedule by real kills too; a sentence for every one that leaves another state than its image."""
    launcher = launcher_for(imaging.agent)
    try:
        tries = Tries(imaging.agent, launcher, imaging.setting)
        for schedule in schedules:
            real = structure(tries.state_after(schedule))
            image = structure(imaging.state_after(schedule, _SAME_AS_KILLS))
            if real != image:
                yield (
                    f"under {format_schedule(schedule)!r} a real kill leaves another state than the crash image holds: "
                    f"{real} instead of {image}. That is our error: please report it"
                )
    finally:
        launcher.close()
