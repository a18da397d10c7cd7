"""The agent of the comparison for the peers, on the standard library: plan, research, write, send; 4 steps.

Its checkpoint is a JSON file that is replaced whole after each step. `keyed` is right; `unkeyed` sends without a key;
`respent` asks the model outside of any step; `forgets` is right under every single crash and wrong under two: it looks
for the mail of its first life, and after a restart sends another that nobody will ever look for.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

from plain_providers import Providers

READER = "reader@example.com"


def run(half: str, folder: Path, point: Callable[[str], object] = lambda _: None) -> None:
    """Go on from the checkpoint in the folder to the end. `point` is told of every place where it may die."""
    providers, records = Providers(folder), _load(folder)
    if "send" in records:
        return  # it has ended
    resumed = bool(records)

    def step(name: str, work: Callable[[], str]) -> str:
        if name not in records:
            point(f"before_{name}")
            records[name] = work()
            point(f"after_{name}")
            _save(folder, records)
        return records[name]

    def send() -> str:
        if half == "unkeyed":
            return providers.send(READER)
        if half == "forgets":
            known = providers.find("first")
            return "sent" if known else providers.send(READER, reference="second" if resumed else "first")
        return providers.send(READER, key="send")

    step("plan", lambda: providers.complete("plan", key="plan"))
    step("research", lambda: "sources")
    if half == "respent":
        providers.complete("write", key=None)
    else:
        step("write", lambda: providers.complete("write", key="write"))
    step("send", send)


def _load(folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    checkpoint = folder / "checkpoint.json"
    loaded: dict[str, str] = json.loads(checkpoint.read_text(encoding="utf-8")) if checkpoint.exists() else {}
    return loaded


def _save(folder: Path, records: dict[str, str]) -> None:
    new = folder / "checkpoint.new"
    with open(new, "w", encoding="utf-8") as file:  # noqa: PTH123 - ckpt-chaos tears files that are opened so
        json.dump(records, file)
    os.replace(new, folder / "checkpoint.json")  # noqa: PTH105 - the same


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]))
