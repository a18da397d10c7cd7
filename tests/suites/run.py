"""The SDKs' own tests against the fakes: `python tests/suites/run.py [openai ...]`.

Each SDK is installed, in the version of `constraints.txt`, into an environment below .venv, and its source
distribution is unpacked beside it for its tests. They run against a site on loopback. A suite that passes fewer tests
than its aim is named in the last line, and the exit is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from rich.console import Console
from suites import SUITES, Suite

from fakes import Ledger
from fakes.server.listening import Listener

CONSTRAINTS = Path(__file__).with_name("constraints.txt")
HOME = Path(__file__).parents[2] / ".venv" / "suites"
PYTHON = HOME / "bin" / "python"
BUILDERS = ("setuptools", "flit_core", "hatchling", "hatch-fancy-pypi-readme")
TESTERS = ("pytest", "pytest-asyncio", "rich", "respx", "dirty-equals", "inline-snapshot")
_SECONDS = 900.0
"""For one suite, after which it counts as hung."""

_console = Console(highlight=False, markup=False, soft_wrap=True)


def main(argv: list[str] | None = None) -> int:
    """Run the suites that are named, or all. 1 if one of them missed its aim."""
    names = [suite.name for suite in SUITES]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", metavar="SUITE", help=f"{', '.join(names)}; all by default")
    chosen = parser.parse_args(argv).suites or names
    if unknown := sorted(set(chosen) - set(names)):
        parser.error(f"there is no suite {unknown[0]!r}; there are {', '.join(names)}")
    suites = [suite for suite in SUITES if suite.name in chosen]
    prepare(suites)
    missed = [suite.name for suite in suites if not run(suite)]
    if missed:
        _console.print(f"below the aim: {', '.join(missed)}")
    return 1 if missed else 0


def prepare(suites: Sequence[Suite]) -> None:
    """Make the environment, and fetch the tests, as far as they are not there yet."""
    if not PYTHON.exists():
        _do(sys.executable, "-m", "venv", str(HOME))
    wanted = [*BUILDERS, *TESTERS, *(name for suite in suites for name in suite.requires or (suite.name,))]
    digest = hashlib.sha256(CONSTRAINTS.read_bytes() + " ".join(wanted).encode()).hexdigest()
    stamp = HOME / "installed"
    if not stamp.exists() or stamp.read_text() != digest:
        _pip("install", "--constraint", str(CONSTRAINTS), *wanted)
        stamp.write_text(digest)
    for suite in suites:
        _fetch(suite)


def run(suite: Suite) -> bool:
    """Run its tests, and print how many passed. Whether they were enough."""
    report = HOME / f"{suite.name}.xml"
    report.unlink(missing_ok=True)
    with Ledger() as ledger, Listener() as listener, listener.serving(suite.site(ledger)) as url:
        told = {"url": url, "port": str(urlsplit(url).port)}
        log = _tests(suite, {name: value.format(**told) for name, value in suite.environment.items()}, report)
    total, passed = _counts(report)
    enough = passed >= suite.aim
    _console.print(f"{suite.name}: {passed} of {total} passed (aim {suite.aim})" + ("" if enough else f"; see {log}"))
    if suite.note:
        _console.print(f"  {suite.note}")
    return enough


def _tests(suite: Suite, environment: Mapping[str, str], report: Path) -> Path:
    """Run pytest where the tests are; gives the file with what it printed."""
    options = ("-p", "no:cacheprovider", "-o", "addopts=", "-q", f"--junitxml={report}")
    log = report.with_suffix(".log")
    with log.open("w") as output, suppress(subprocess.TimeoutExpired):
        subprocess.run(
            [PYTHON, "-m", "pytest", *options, *suite.tests],
            cwd=_sources(suite),
            env={**os.environ, **environment},
            stdout=output,
            stderr=subprocess.STDOUT,
            timeout=_SECONDS,
            check=False,
        )
    return log


def _counts(report: Path) -> tuple[int, int]:
    """How many tests there were, and how many passed; none where the run did not get as far as a report."""
    if not report.exists():
        return 0, 0
    [counts] = ET.parse(report).getroot().iter("testsuite")
    total, *others = (int(counts.get(name, 0)) for name in ("tests", "failures", "errors", "skipped"))
    return total, total - sum(others)


def _sources(suite: Suite) -> Path:
    """Where its source distribution is unpacked."""
    pins = dict(line.split("==") for line in CONSTRAINTS.read_text().splitlines() if "==" in line)
    return HOME / "sdists" / f"{suite.name}-{pins[suite.name]}"


def _fetch(suite: Suite) -> None:
    folder = _sources(suite)
    if folder.exists():
        return
    home = folder.parent
    options = ("--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--dest", str(home))
    _pip("download", *options, folder.name.replace(f"{suite.name}-", f"{suite.name}=="))
    with tarfile.open(home / f"{folder.name}.tar.gz") as archive:
        archive.extractall(home, filter="data")


def _pip(*arguments: str) -> None:
    _do(str(PYTHON), "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments)


def _do(*command: str) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    sys.exit(main())
