"""The plain checkpoints of the programs: what a resumed life finds."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from scenarios.programs.checkpoint import Checkpoint, FileCheckpoint, SqliteCheckpoint, key, once_recorded

Kind = Callable[[], Checkpoint]

both = pytest.mark.parametrize("kind", [FileCheckpoint, SqliteCheckpoint])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CRASHWINDOW_STATE", str(tmp_path))
    monkeypatch.setenv("CRASHWINDOW_RUN_ID", "run-7")
    return tmp_path


@both
def test_a_resumed_life_finds_what_was_recorded(kind: Kind) -> None:
    kind().record("plan", "sharks")
    assert kind().done("plan") == "sharks"
    assert kind().done("send") is None


@both
def test_a_recorded_step_is_not_done_again(kind: Kind) -> None:
    values = iter(["first", "second"])
    assert [once_recorded(kind(), "plan", lambda: next(values)) for _ in range(2)] == ["first", "first"]


@both
def test_runs_do_not_see_each_other(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    kind().record("plan", "sharks")
    monkeypatch.setenv("CRASHWINDOW_RUN_ID", "run-8")
    assert kind().done("plan") is None


def test_a_half_written_draft_is_not_read(folder: Path) -> None:
    FileCheckpoint().record("plan", "sharks")
    (folder / "run-7.tmp").write_text('{"plan": "whales"')
    assert FileCheckpoint().done("plan") == "sharks"


def test_a_key_is_made_of_run_and_step() -> None:
    assert key("send") == "run-7:send"


@both
def test_without_a_harness_it_lies_in_the_current_folder(
    kind: Kind, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CRASHWINDOW_STATE")
    monkeypatch.delenv("CRASHWINDOW_RUN_ID")
    monkeypatch.chdir(tmp_path)
    kind().record("plan", "sharks")
    assert [*tmp_path.iterdir()]
    assert key("send") == "run-1:send"
