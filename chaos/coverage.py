"""Coverage of lives: what a life executed is counted although it ends by SIGKILL."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType


def coverage_setup() -> dict[str, str | bool] | None:
    """What a fresh interpreter has to know to measure for the same report; None when coverage is off here."""
    module = sys.modules.get("coverage")
    current = module.Coverage.current() if module else None
    if current is None:
        return None
    return {"data_file": current.get_option("run:data_file"), "config_file": current.config.config_file or False}


def start_coverage(setup: Mapping[str, str | bool] | None) -> None:
    """Measure this process, unless coverage is off or has started itself here."""
    if setup is None:
        return
    import coverage  # noqa: PLC0415 - only where the user measures

    if coverage.Coverage.current() is None:
        coverage.Coverage(data_file=str(setup["data_file"]), data_suffix=True, config_file=setup["config_file"]).start()


def save_coverage() -> None:
    """Write the data of a process that is about to end without clean-up."""
    module: ModuleType | None = sys.modules.get("coverage")
    current = module.Coverage.current() if module else None
    if current is not None:
        current.stop()
        current.save()
