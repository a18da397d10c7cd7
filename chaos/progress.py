"""How far it is: a bar on a terminal, a few plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from chaos.exploring import Progress as Told
from chaos.report import clean

_LINES = 10
"""Plain lines for a whole exploration, more or less: it grows while it goes on."""


@contextmanager
def progress_on(console: Console, subject: str, noun: str = "tries") -> Iterator[Told]:
    """Something to be told of every finished try."""
    subject = clean(subject)
    if not console.is_terminal:
        yield _PlainLines(console, subject, noun)
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(subject, total=None)
        began = time.monotonic()

        def told(done: int, planned: int, findings: int) -> None:
            found = f", {findings} findings" if findings else ""
            rate = done / max(time.monotonic() - began, 0.001)
            told = f"{subject}{found}, {planned - done} {noun} to go, {rate:.0f}/s"
            bar.update(task, completed=done, total=planned, description=told)

        yield told


class _PlainLines:
    def __init__(self, console: Console, subject: str, noun: str) -> None:
        self._console, self._subject, self._noun, self._next = console, subject, noun, 0.0

    def __call__(self, done: int, planned: int, findings: int) -> None:
        if done < self._next and done < planned:
            return
        self._next = done + planned / _LINES
        self._console.print(
            Text(f"{self._subject}: {done} of {planned} {self._noun}, {findings} findings"), soft_wrap=True
        )
