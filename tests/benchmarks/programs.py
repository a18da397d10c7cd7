"""Kills a second of programs under `exec`, which start anew for every life, warm and cold.

The program imports the SDK of OpenAI, asks a model a few times, and keeps each answer in a JSON file. Cold, a life is
an interpreter that imports all of that; warm, it is forked from a process that has. Counted is what `kills` counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from figures import Figure, Sizes, turn_by_turn

from chaos.exploring import exploring_with
from chaos.programs.execute import program_options
from chaos.programs.launcher import programs_launcher
from chaos.programs.program import Program
from chaos.programs.syscalls import Syscalls
from chaos.verdict import Word

NAME = "program with the openai SDK killed and resumed"
SOURCE = """
import json
import os
import sys
from pathlib import Path

from openai import OpenAI


def ask(number):
    kept = Path(os.environ["CRASHWINDOW_STATE"]) / f"{number}.json"
    if not kept.exists():
        question = {"role": "user", "content": f"Write section {number} about sharks."}
        answer = OpenAI().chat.completions.create(model="gpt-4o-mini", messages=[question])
        part = kept.with_suffix(".part")
        part.write_text(json.dumps(answer.choices[0].message.content))
        part.replace(kept)


if __name__ == "__main__":
    for number in range(int(sys.argv[1])):
        ask(number)
"""


def program_figures(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Warm against cold."""
    file = folder / "asking.py"
    file.write_text(SOURCE, encoding="utf-8")
    command = (sys.executable, str(file), str(sizes.asked))
    rates = turn_by_turn(
        sizes.repeats,
        {warm: partial(kills_per_second, Program(command=command, warm=warm), folder) for warm in (False, True)},
    )
    yield Figure(
        name=f"{NAME}, exec, warm",
        value=rates[True],
        unit="kills/s",
        baseline="exec, cold",
        baseline_value=rates[False],
    )


def kills_per_second(program: Program, folder: Path) -> float:
    """Explore once."""
    options = program_options(accept=("in-flight",), folder=folder)
    with exploring_with(program, options, lambda: programs_launcher(program, Syscalls(0, 0))) as found:
        began = time.perf_counter()
        found.explore(lambda *_: None)
        seconds = time.perf_counter() - began
        verdict = found.verdict(seconds)
    if verdict.word is not Word.WITHIN_BOUNDS or not verdict.kills:
        why = "; ".join((*verdict.reasons, *(str(finding) for finding in verdict.findings))) or "no kill"
        raise SystemExit(f"{program.name}: {verdict.word}, so nothing was measured: {why}")
    return verdict.kills / seconds
