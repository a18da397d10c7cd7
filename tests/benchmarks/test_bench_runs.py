"""The benchmark runs, and every figure is in what it writes. Nothing is said about speed here."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).with_name("bench.py")


@pytest.mark.skipif(sys.platform != "linux", reason="the fork launcher needs Linux")
def test_every_figure_is_in_the_table_and_in_the_json(tmp_path: Path) -> None:
    written = tmp_path / "figures.json"
    done = subprocess.run(
        [sys.executable, str(BENCH), "--quick", "--json", str(written), "--folder", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={"PATH": "", "COLUMNS": "250", "PYTHONPATH": str(BENCH.parents[2])},
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(written.read_text(encoding="utf-8"))
    figures = {figure["name"]: figure for figure in report["figures"]}
    for store in ("SQLite", "file store"):
        assert_compared(figures[f"newsletter killed and resumed, {store}"])
        assert figures[f"61-step research agent, every point, {store}"]["value"] > 0
        assert_compared(figures[f"one recorded step, {store}"])
        assert {f"resuming {count} recorded steps, {store}" for count in (5, 10, 20)} <= figures.keys()
        assert_compared(figures[f"one record of 20, {store}"])
    assert_compared(figures["single points covered a second, all sequences included"])
    assert "safe" in figures["61-step research agent verified"]["note"]
    for count in (3, 5):
        assert figures[f"{count} steps verified"]["note"].startswith("safe: ")
        assert figures[f"{count} steps verified, memory at most"]["value"] > 0
    for call in ("email.send", "llm.complete"):
        assert_compared(figures[f"one keyed {call}, ledger in a file"])
    assert sum(name.startswith("one World on") for name in figures) == 2
    beside = [figure for name, figure in figures.items() if "chat completions answered" in name and "beside" in name]
    assert len(beside) == 2
    for figure in beside:
        if "was not measured" not in figure["note"]:
            assert_compared(figure)
    assert_compared(figures["chat completions answered, ledger in a file, steady"])
    assert_compared(figures["program with the openai SDK killed and resumed, exec, warm"])
    assert all(name in done.stdout for name in figures)
    assert report["machine"]["file system"]


def assert_compared(figure: dict[str, float]) -> None:
    assert figure["ratio"] == pytest.approx(figure["value"] / figure["baseline_value"])
