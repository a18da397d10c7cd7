"""Saved regressions: what has found something is kept in a file, and carried out first the next time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chaos.agent import Agent, find_agent
from chaos.errors import OptionError
from chaos.kill import kill
from chaos.options import Options
from chaos.plan import Reach
from chaos.verdict import Verdict, Word
from chaos.verify import verify
from scenarios import newsletter

NAME = "scenarios.newsletter:unkeyed"
LINE = {"check": "duplicate-effect", "schedule": "send@unrecorded"}


def verified(file: Path, *faults: str, name: str = NAME, **options: object) -> Verdict:
    return verify(find_agent(name), Options(launcher="in-process", save=file, faults=faults, **options))  # type: ignore[arg-type]


def test_what_was_found_is_saved_in_a_file_that_can_be_reviewed(tmp_path: Path) -> None:
    file = tmp_path / "regressions.json"
    verified(file)
    assert json.loads(file.read_text()) == {NAME: [LINE]}
    before = file.read_bytes()
    verified(file)
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["regressions.json"]


def test_the_file_is_sorted_and_keeps_what_others_have_saved(tmp_path: Path) -> None:
    file = tmp_path / "regressions.json"
    file.write_text(json.dumps({"z:agent": [LINE], NAME: [{**LINE, "schedule": "(start)@recorded"}]}))
    verified(file, "email.send#1:lost_after")
    saved = json.loads(file.read_text())
    assert list(saved) == [NAME, "z:agent"]
    assert saved[NAME] == [
        {**LINE, "schedule": "", "faults": ["email.send#1:lost_after"]},
        {**LINE, "schedule": "(start)@recorded"},
    ]


def test_saved_schedules_are_carried_out_first(tmp_path: Path) -> None:
    file = tmp_path / "regressions.json"
    file.write_text(json.dumps({NAME: [LINE, {**LINE, "schedule": "", "faults": ["email.send#1:lost_after"]}]}))
    by_images = verified(file, budget=0.0)
    by_kills = kill(find_agent(NAME), Options(jobs=2, save=file, reach=Reach(points=("plan@before",))))
    for verdict in (by_images, by_kills):
        (found,) = verdict.findings
        assert found.schedule == ()
        assert "--fault" in found.reproduce
        assert found.also == 1


def test_what_is_mended_stays_as_a_regression(tmp_path: Path) -> None:
    file = tmp_path / "regressions.json"
    file.write_text(json.dumps({NAME: [LINE]}))
    before = file.read_bytes()
    mended = Agent(NAME, newsletter.keyed)
    verdict = verify(mended, Options(launcher="in-process", save=file))
    assert verdict.word is Word.SAFE
    assert not any("stale" in note for note in verdict.notes)
    assert file.read_bytes() == before


def test_a_schedule_that_no_longer_fits_is_told_and_stays(tmp_path: Path) -> None:
    file = tmp_path / "regressions.json"
    file.write_text(json.dumps({"scenarios.newsletter:keyed": [{**LINE, "schedule": "post@unrecorded"}]}))
    before = file.read_bytes()
    agent, options = (
        find_agent("scenarios.newsletter:keyed"),
        Options(jobs=2, save=file, reach=Reach(points=("plan@before",))),
    )
    for verdict in (verified(file, name=agent.name), kill(agent, options)):
        assert verdict.word in (Word.SAFE, Word.WITHIN_BOUNDS)
        assert any(
            "'post@unrecorded' (duplicate-effect) is stale: no life passes post@unrecorded" in note
            for note in verdict.notes
        )
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "fact"),
    [
        ("{", "JSON"),
        ('["a"]', "object"),
        (json.dumps({NAME: [{"schedule": "send@unrecorded"}]}), "required"),
        (json.dumps({NAME: [{**LINE, "check": "duplicate-efect"}]}), "did you mean 'duplicate-effect'"),
        (json.dumps({NAME: [{**LINE, "schedule": "send@unrecordet"}]}), "did you mean 'unrecorded'"),
        (json.dumps({NAME: [{**LINE, "faults": ["email.send:lost"]}]}), "lost"),
        (json.dumps({NAME: [{**LINE, "note": "x"}]}), "nexpected"),
    ],
)
def test_a_damaged_file_is_an_error_and_is_left_as_it_is(tmp_path: Path, content: str, fact: str) -> None:
    file = tmp_path / "regressions.json"
    file.write_text(content)
    with pytest.raises(OptionError, match=r"is damaged: .*" + fact):
        verified(file)
    assert file.read_text() == content


def test_a_folder_that_does_not_exist_is_told(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="there is no folder"):
        verified(tmp_path / "none" / "regressions.json")
