"""The benchmarks, in one run: `python tests/benchmarks/bench.py [--quick] [--json FILE] [--folder FOLDER]`.

Everything is measured turn by turn beside its baseline, so the ratios hold on a machine that others use too; the
absolute figures hold for the machine at that moment.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sqlite3
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from calls import call_figures
from figures import QUICK, Figure, Sizes
from kills import kill_figures
from programs import program_figures
from resuming import resume_figures
from rich.console import Console
from rich.table import Table
from serving import serving_figures
from steps import step_figures
from verifying import verify_figures

IN_MEMORY = {"tmpfs", "ramfs"}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print the table, write the JSON."""
    options = _options(argv)
    sizes = QUICK if options.quick else Sizes()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=options.folder or _disk_folder()) as name:
        folder = Path(name)
        machine = _machine(folder)
        figures = list(_figures(sizes, folder))
    Console().print(_table(figures, machine))
    if options.json:
        report = {"machine": machine, "figures": [figure.as_json() for figure in figures]}
        options.json.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


def _figures(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    fast = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    yield from verify_figures(sizes, folder)
    yield from kill_figures(sizes, folder)
    yield from step_figures(sizes, folder)
    yield from resume_figures(sizes, folder, fast)
    yield from call_figures(sizes, folder)
    yield from serving_figures(sizes, folder)
    yield from program_figures(sizes, folder)


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure verifying, kills, steps, resumes, fakes, and programs.")
    parser.add_argument("--quick", action="store_true", help="tiny sizes: shows that everything runs, measures nothing")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--folder", type=Path, help="where files are written; a disk by default")
    return parser.parse_args(argv)


def _disk_folder() -> Path:
    """The folder for temporary files, unless that is in memory: then the one that this repository is in."""
    usual = Path(tempfile.gettempdir())
    return Path(__file__).resolve().parents[3] if _file_system(usual) in IN_MEMORY else usual


def _machine(folder: Path) -> dict[str, str | int]:
    return {
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "file system": _file_system(folder),
    }


def _file_system(folder: Path) -> str:
    """The type of the file system that holds the folder, where the system tells (Linux)."""
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return "unknown"
    kinds = {fields[1]: fields[2] for fields in map(str.split, mounts.read_text(encoding="utf-8").splitlines())}
    place = folder.resolve()
    return next((kinds[str(path)] for path in (place, *place.parents) if str(path) in kinds), "unknown")


def _table(figures: Sequence[Figure], machine: dict[str, str | int]) -> Table:
    """One row a figure, readable at 100 columns: what it is held against stands below its name."""
    table = Table(caption=", ".join(f"{name}: {value}" for name, value in machine.items()), show_lines=True)
    table.add_column("figure, and what it is held against")
    table.add_column("measured", justify="right", no_wrap=True)
    table.add_column("ratio", justify="right", no_wrap=True)
    table.add_column("aim")
    for figure in figures:
        lines = [f"[dim]{figure.note}[/dim]"] if figure.note else []
        if figure.baseline_value is not None:
            lines.append(f"[dim]against {_number(figure.baseline_value, figure.unit)}: {figure.baseline}[/dim]")
        ratio = "" if figure.ratio is None else f"{figure.ratio:.2f} x"
        verdict = {True: "✓ ", False: "✗ ", None: ""}[figure.met]
        table.add_row("\n".join([figure.name, *lines]), _number(figure.value, figure.unit), ratio, verdict + figure.aim)
    return table


def _number(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}" if value < 1_000 else f"{value:,.0f} {unit}"


if __name__ == "__main__":
    sys.exit(main())
