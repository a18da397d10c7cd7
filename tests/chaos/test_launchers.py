"""Launchers: each life has a process of its own, wherever the agent comes from."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from chaos.agent import Agent, find_agent
from chaos.errors import LaunchError
from chaos.kill import kill
from chaos.launchers import launcher_for
from chaos.life import LifeSpec
from chaos.options import Options
from chaos.parents import HASH_SEEDS
from chaos.plan import Reach
from chaos.points import Point, Window
from chaos.verdict import Word
from durable_core import Run
from fakes import World

Module = Callable[..., Agent]
ONE_WINDOW = Reach(points=("send@unrecorded",))

MODULE = """
import os, sys, threading
from durable_core import Run
from fakes import World

IMPORTED_BY = os.getpid()
{extra}

def agent(run: Run, world: World, to: str = "reader@example.com") -> str:
    run.effect("send", world.email.send, to=to, body="Hello")
    return f"{{IMPORTED_BY}} {{os.getppid()}} {{to}} {{hash('x')}}"
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Module:
    """Write an agent's module and import it under a name of its own."""

    def write(extra: str = "") -> Agent:
        name = f"agent_{tmp_path.name.replace('-', '_')}"
        tmp_path.joinpath(f"{name}.py").write_text(MODULE.format(extra=extra))
        monkeypatch.syspath_prepend(str(tmp_path))
        return find_agent(f"{name}:agent")

    return write


def live_twice(agent: Agent, kind: str, folder: Path) -> list[list[str]]:
    launcher = launcher_for(agent, kind)
    try:
        shown = []
        for number in (1, 2):
            spec = LifeSpec(
                number=number,
                turn=number - 1,
                folder=str(folder),
                store=f"sqlite:///{folder}/runs.db",
                run_id=f"run-{number}",
                seed=0,
            )
            end = launcher.run(spec)
            assert end.report is not None
            assert end.exit == 0
            shown.append(end.report.shown.strip("'").split())
        return shown
    finally:
        launcher.close()


def test_a_warm_parent_is_a_fresh_interpreter_that_imports_the_agent_once(module: Module, tmp_path: Path) -> None:
    first, second = live_twice(module(), "fork", tmp_path)
    for imported_by, parent, *_ in (first, second):
        assert imported_by == parent
        assert int(imported_by) != os.getpid()


def test_odd_and_even_lives_differ_in_their_hash_seed(module: Module, tmp_path: Path) -> None:
    first, second = live_twice(module(), "fork", tmp_path)
    assert len(HASH_SEEDS) == 2
    assert first[-1] != second[-1]


def test_a_spawned_life_imports_the_agent_itself(module: Module, tmp_path: Path) -> None:
    first, second = live_twice(module(), "spawn", tmp_path)
    assert first[0] != second[0]
    assert first[-1] != second[-1]


@pytest.mark.parametrize("kind", ["fork", "spawn"])
def test_every_launcher_finds_the_same(kind: str) -> None:
    agent = find_agent("scenarios.newsletter:unkeyed")
    verdict = kill(agent, Options(launcher=kind, reach=ONE_WINDOW, jobs=2))
    assert [found.check for found in verdict.findings] == ["duplicate-effect"]


@pytest.mark.parametrize("kind", ["fork", "spawn"])
def test_a_kill_is_a_signal_from_the_kernel(kind: str, tmp_path: Path) -> None:
    launcher = launcher_for(find_agent("scenarios.newsletter:keyed"), kind)
    spec = LifeSpec(
        number=1,
        folder=str(tmp_path),
        store=f"sqlite:///{tmp_path}/runs.db",
        run_id="run",
        seed=0,
        kill_at=Point("send", Window.APPLIED),
    )
    try:
        end = launcher.run(spec)
    finally:
        launcher.close()
    assert end.exit == -9
    assert str(end.killed_at) == "send@applied"


def test_input_that_is_plain_data_reaches_every_life(module: Module, tmp_path: Path) -> None:
    agent = module()
    with_input = Agent(agent.name, agent.function, ("ada@example.com",))
    assert [words[2] for words in live_twice(with_input, "fork", tmp_path)] == ["ada@example.com"] * 2


def test_input_that_is_not_plain_data_is_handed_over_by_forking_here() -> None:
    class Topic:
        name = "sharks"

    def agent(run: Run, world: World, topic: Topic) -> str:
        return run.effect("send", world.email.send, to="reader@example.com", body=topic.name).id

    verdict = kill(Agent("tests:agent", agent, (Topic(),)), Options(reach=ONE_WINDOW, jobs=1))
    assert verdict.word is Word.WITHIN_BOUNDS


def test_a_closure_cannot_be_spawned_and_is_told_so() -> None:
    with pytest.raises(LaunchError, match="level of its module"):
        launcher_for(Agent("tests:closure", lambda: None), "spawn")


def test_threads_alive_where_lives_are_forked_are_named(module: Module) -> None:
    agent = module("threading.Thread(target=threading.Event().wait, name='poller', daemon=True).start()")
    verdict = kill(agent, Options(reach=ONE_WINDOW, jobs=1))
    assert any("'poller'" in note or "poller" in note for note in verdict.notes)


def test_threads_of_this_process_are_named_when_it_is_forked() -> None:
    release = threading.Event()
    thread = threading.Thread(target=release.wait, name="heartbeat")
    thread.start()
    try:
        agent = Agent("tests:closure", lambda: None)
        launcher = launcher_for(agent)
        launcher.close()
        assert "heartbeat" in launcher.notes[0]
    finally:
        release.set()
        thread.join()


def test_an_agent_that_no_fresh_interpreter_can_import_is_forked_here_and_that_is_said(module: Module) -> None:
    agent = module(
        "if 'PYTEST_VERSION' not in os.environ or 'pytest' not in sys.modules: raise RuntimeError('only here')"
    )
    verdict = kill(agent, Options(reach=ONE_WINDOW, jobs=1))
    assert verdict.kills == 1
    assert any("only here" in note for note in verdict.notes)


def test_on_windows_it_is_said_what_works_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(LaunchError, match="WSL"):
        launcher_for(find_agent("scenarios.newsletter:keyed"))


def test_on_macos_lives_are_spawned(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = find_agent("scenarios.newsletter:keyed")
    monkeypatch.setattr(sys, "platform", "darwin")
    assert type(launcher_for(agent)).__name__ == "Spawn"
    with pytest.raises(LaunchError, match="--launcher spawn"):
        launcher_for(agent, "fork")
