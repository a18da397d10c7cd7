"""Commands that look into a store."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from chaos.commands.spelling import errors
from chaos.runs import run_table, runs_table


def list_command(store: Annotated[str, typer.Argument(metavar="STORE", help="Such as sqlite:///runs.db.")]) -> None:
    """List the runs of a store."""
    with errors():
        Console().print(runs_table(store))


def show_command(
    store: Annotated[str, typer.Argument(metavar="STORE", help="Such as sqlite:///runs.db.")],
    run_id: Annotated[str, typer.Argument(metavar="RUN", help="The id of the run.")],
) -> None:
    """Show what is recorded of one run."""
    with errors():
        Console().print(run_table(store, run_id))
