"""The command `crashwindow` and the pytest plugin, beside our packages rather than in one of them.

`chaos`, `fakes`, `scenarios` and `durable_core` are names that a project may use for folders of its own. Nothing of
ours is imported before it is asked for, and then it is checked that it is ours: neither a user's pytest nor a user's
own imports break, and whoever asks for the harness is told what stands in its way.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

    from chaos.fixture import Chaos

_PACKAGES = ("durable_core", "fakes", "chaos")
_HERE = Path(__file__).resolve().parent


class NameTaken(Exception):
    """Another module has the name of one of our packages."""


def ours(name: str) -> ModuleType:
    """Import a module of ours.

    Raises:
        NameTaken: what Python finds under the name of one of our packages is not ours; says where that is.
    """
    for package in _PACKAGES:
        found = importlib.import_module(package)
        where = found.__file__ or ", ".join(found.__path__)
        if found.__file__ is None or Path(found.__file__).resolve().parent != _HERE / package:
            raise NameTaken(
                f"crashwindow needs its package {package!r}, but that name is taken by {where}. Rename that one, or "
                f"keep its folder off the import path where crashwindow is used (for pytest: --import-mode=importlib, "
                f"and no 'pythonpath' that contains it)"
            )
    return importlib.import_module(name)


def main() -> None:
    """The console script."""
    try:
        cli = ours("chaos.cli")
    except NameTaken as error:
        sys.exit(f"crashwindow: {error}")
    cli.main()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of the fixture."""
    group = parser.getgroup("crashwindow")
    group.addoption(
        "--chaos-jobs", type=int, default=None, help="tries at a time of chaos.kill; one per core by default"
    )
    group.addoption(
        "--chaos-budget", default=None, help="time that each chaos.verify may take, such as 30s; no bound by default"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register fixture and marker; nothing of ours is imported for them yet."""
    config.addinivalue_line(
        "markers", "chaos(**keywords): keywords for chaos.verify and chaos.kill in this test, such as budget or seed"
    )
    import pytest  # noqa: PLC0415 - the command line works without pytest

    class Fixtures:
        @pytest.fixture
        def chaos(self, request: pytest.FixtureRequest) -> Chaos:
            """Kill agents in every crash window: `chaos.kill(agent, *input)`."""
            try:
                fixture = ours("chaos.fixture")
            except NameTaken as error:
                pytest.fail(str(error), pytrace=False)
            made: Chaos = fixture.made_for(request)
            return made

    config.pluginmanager.register(Fixtures(), "crashwindow-fixtures")


if __name__ == "__main__":
    main()
