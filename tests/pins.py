"""Sort pinned versions into two files: `python tests/pins.py REPORT FREEZE`, as `make pins` does.

REPORT is what pip would install for the project and its tools: those pins go to constraints.txt. All others of FREEZE
are there for the SDKs, and go to constraints-sdks.txt. The comments of the files stay.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent


def main(report: Path, freeze: Path) -> None:
    """Write both files."""
    wanted = {canonicalize_name(item["metadata"]["name"]) for item in json.loads(report.read_text())["install"]}
    pins = freeze.read_text().splitlines()
    of_project = [pin for pin in pins if canonicalize_name(pin.partition("==")[0]) in wanted]
    write(ROOT / "constraints.txt", of_project)
    write(ROOT / "constraints-sdks.txt", [pin for pin in pins if pin not in of_project])


def write(file: Path, pins: list[str]) -> None:
    """The file with new pins below its comments."""
    comments = [line for line in file.read_text().splitlines() if line.startswith("#")]
    file.write_text("\n".join([*comments, *pins]) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
