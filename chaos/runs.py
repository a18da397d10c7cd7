"""Looking into a store: which runs it holds, and what is recorded of one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from rich.table import Table
from rich.text import Text

from chaos.errors import OptionError
from chaos.points import nearest
from chaos.report import clean
from durable_core import Store, open_store
from durable_core.entries import OUTCOMES, Entry

_SHOWN = 100
"""Characters of a recorded value that are shown."""


def runs_table(url: str) -> Table:
    """The runs of a store: id, state, records, when the last one landed.

    Raises:
        StoreError: there is no such store, or it cannot be read.
    """
    table = _table("run", "state", "records", "last entry")
    with _reading(url) as store:
        for run_id in store.runs():
            entries = store.entries(run_id)
            records = sum(entry.kind in OUTCOMES for entry in entries)
            last = max((entry.at for entry in entries), default=0.0)
            table.add_row(*map(_cell, (run_id, _state(entries), str(records), _time(last))))
    return table


def run_table(url: str, run_id: str) -> Table:
    """The entries of one run, in the order they landed.

    Raises:
        OptionError: the store has no such run; the nearest is named.
        StoreError: there is no such store, or it cannot be read.
    """
    table = _table("at", "kind", "step", "value")
    with _reading(url) as store:
        entries = store.entries(run_id)
        if not entries:
            raise OptionError(f"{url} has no run {run_id!r}{nearest(run_id, store.runs())}")
        for entry in entries:
            table.add_row(*map(_cell, (_time(entry.at), _kind(entry), entry.step_id, _value(entry))))
    return table


@contextmanager
def _reading(url: str) -> Iterator[Store]:
    store = open_store(url, create=False)
    try:
        yield store
    finally:
        store.close()


def _table(*headings: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold")
    return table


def _cell(text: str) -> Text:
    return Text(clean(text))


def _state(entries: list[Entry]) -> str:
    if any(entry.kind == "finish" for entry in entries):
        return "finished"
    settled = {entry.step_id for entry in entries if entry.kind in OUTCOMES}
    unknown = [entry.step_id for entry in entries if entry.kind == "intent" and entry.step_id not in settled]
    return f"unfinished, outcome of {', '.join(unknown)} unknown" if unknown else "unfinished"


def _kind(entry: Entry) -> str:
    return "effect" if entry.effect and entry.kind == "record" else entry.kind


def _value(entry: Entry) -> str:
    if entry.blob:
        return f"blob {entry.blob[:12]}…"
    text = entry.payload.decode("utf-8", "backslashreplace")
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
