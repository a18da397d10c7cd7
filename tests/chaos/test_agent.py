"""Agents are found by name, and given what their parameters ask for."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from chaos.agent import Agent, find_agent, name_of, read_input
from chaos.errors import AgentError
from durable_core import Run
from fakes import World
from scenarios import newsletter


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("scenarios.newsletter", "module:attribute"),
        ("scenarios.newsletter:", "module:attribute"),
        ("scenarios.newslettr:keyed", "no module 'scenarios.newslettr'; did you mean 'scenarios.newsletter'"),
        ("scenaros.newsletter:keyed", "no module"),
        ("scenarios.newsletter:keyd", "has no 'keyd'; did you mean 'keyed'"),
        ("scenarios.newsletter:READER", "is a str"),
    ],
)
def test_a_name_that_leads_nowhere_says_what_was_probably_meant(name: str, message: str) -> None:
    with pytest.raises(AgentError, match=message):
        find_agent(name)


def test_a_module_that_fails_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tmp_path.joinpath("needs_nothing_here.py").write_text("import no_such_library")
    tmp_path.joinpath("divides.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(AgentError, match="imports 'no_such_library', which is not installed"):
        find_agent("needs_nothing_here:agent")
    with pytest.raises(AgentError, match="ZeroDivisionError"):
        find_agent("divides:agent")


def arguments(function: Callable[..., object], *values: object) -> dict[str, object]:
    with World() as world:
        given = Agent("tests:agent", function, values).arguments(world, "run-1", Path("state"))
        return {name: "world" if value is world else value for name, value in given.items()}


def test_a_world_is_given_by_its_annotation_and_the_rest_is_input() -> None:
    def agent(run: Run, topic: str, providers: World, depth: int = 2) -> None: ...

    assert arguments(agent, "sharks") == {"providers": "world", "topic": "sharks"}
    assert arguments(agent, "sharks", 3) == {"providers": "world", "topic": "sharks", "depth": 3}


def test_an_unannotated_run_is_known_by_its_name() -> None:
    def agent(run, topic): ...  # noqa: ANN001, ANN202

    assert Agent("tests:agent", agent).takes_run
    assert arguments(agent, "sharks") == {"topic": "sharks"}


def test_an_agent_without_a_run_is_given_the_run_id_and_a_folder_that_survives() -> None:
    def agent(world: World, run_id: str, state: Path) -> None: ...

    assert not Agent("tests:agent", agent).takes_run
    assert arguments(agent) == {"world": "world", "run_id": "run-1", "state": Path("state")}


def test_missing_and_superfluous_input_is_refused_by_name() -> None:
    def agent(run: Run, topic: str) -> None: ...

    with pytest.raises(AgentError, match="needs an input for 'topic'"):
        arguments(agent)
    with pytest.raises(AgentError, match="2 inputs, 'a', 'b', but takes 1: topic"):
        arguments(agent, "a", "b")


def test_text_is_read_by_annotation() -> None:
    def agent(run: Run, world: World, topic: str, limit: Decimal, tags: list[str], deep: bool, rest) -> None:  # noqa: ANN001, FBT001, PLR0917
        ...

    read = read_input(Agent("tests:agent", agent), ["12", "1.50", '["a"]', "true", '{"x": 1}'])
    assert read.input == ("12", Decimal("1.50"), ["a"], True, {"x": 1})


def test_text_that_does_not_fit_its_annotation_is_refused() -> None:
    def agent(run: Run, limit: int) -> None: ...

    with pytest.raises(AgentError, match="cannot take 'many'"):
        read_input(Agent("tests:agent", agent), ["many"])


def test_a_function_has_a_name_only_where_others_find_it() -> None:
    assert name_of(newsletter.keyed) == "scenarios.newsletter:keyed"
    assert name_of(lambda: None) is None
    assert name_of(newsletter.World.close) is None
