"""What a user installs: the wheel, in an environment of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("durable_core", "fakes", "chaos", "scenarios")


def run(command: list[str | Path], folder: Path) -> subprocess.CompletedProcess[str]:
    """Without the environment that these tests run in."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("COVERAGE", "PYTEST"))}
    return subprocess.run(command, cwd=folder, env=inherited, capture_output=True, text=True, check=False)


def build_wheel(folder: Path) -> Path:
    source = folder / "source"
    source.mkdir()
    for name in (*PACKAGES, "tests"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("crashwindow.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    built = run([sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder], source)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


def test_the_wheel_works_in_an_environment_and_a_folder_of_its_own(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path)

    names = set(zipfile.ZipFile(wheel).namelist())
    source = tmp_path / "source"
    sources = {
        file.relative_to(source).as_posix()
        for package in PACKAGES
        for pattern in ("*.py", "*.mjs", "*.jsonl")
        for file in (source / package).rglob(pattern)
    }
    assert {name for name in names if ".dist-info/" not in name} == {
        *sources,
        *(f"{package}/py.typed" for package in PACKAGES),
        "crashwindow.py",
    }
    assert any(name.endswith("licenses/LICENSE") for name in names)

    home, elsewhere = tmp_path / "venv", tmp_path / "elsewhere"
    elsewhere.mkdir()
    venv.create(home, with_pip=True)
    installed = run(
        [home / "bin/pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt", wheel], elsewhere
    )
    assert installed.returncode == 0, installed.stderr
    crashwindow = home / "bin/crashwindow"

    helped = run([crashwindow, "--help"], elsewhere)
    assert helped.returncode == 0, helped.stderr
    assert "Usage: crashwindow" in helped.stdout

    demo = run([crashwindow, "demo"], elsewhere)
    assert demo.returncode == 0, demo.stderr
    assert "was sent 2 times, expected 1" in demo.stdout

    killed = run([crashwindow, "kill", "scenarios.newsletter:unkeyed"], elsewhere)
    assert killed.returncode == 1, killed.stderr
    assert "UNSAFE  unkeyed: email to reader@example.com was sent 2 times, expected 1" in killed.stdout
    assert list(elsewhere.iterdir()) == []


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = [
        *project["project"]["dependencies"],
        *(name for extra in project["project"]["optional-dependencies"].values() for name in extra),
        *(name for group in project["dependency-groups"].values() for name in group),
        *project["build-system"]["requires"],
    ]
    files = [ROOT / "constraints.txt", ROOT / "constraints-sdks.txt"]
    lines = [line for file in files for line in file.read_text().splitlines() if not line.startswith("#")]
    pins = {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in lines}
    assert all(pins.values()), "each line of constraints.txt is name==version"
    for requirement in map(Requirement, named):
        pinned = pins.get(canonicalize_name(requirement.name), "")
        assert pinned, f"{requirement.name} is not pinned in constraints.txt; `make pins` writes it anew"
        assert requirement.specifier.contains(pinned, prereleases=True), f"{requirement} is pinned to {pinned}"
