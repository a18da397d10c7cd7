"""Killing scenarios, with what does not change from test to test."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings

from chaos.agent import find_agent
from chaos.kill import kill
from chaos.options import Options
from chaos.verdict import Verdict

Kill = Callable[..., Verdict]

# Machines differ, and so does what else they do: no example has a time limit.
settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")


@pytest.fixture
def kill_scenario() -> Kill:
    """`kill_scenario("newsletter:keyed", **options)`: two tries at a time, whatever the machine."""

    def kill_it(name: str, **options: object) -> Verdict:
        return kill(find_agent(f"scenarios.{name}"), Options(jobs=2, **options))  # type: ignore[arg-type]

    return kill_it
