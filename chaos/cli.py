"""The command line: every command by its name."""

from __future__ import annotations

import typer

from chaos.commands import agents, programs, stores

app = typer.Typer(
    help="Kill durable agents in every crash window, and see what is paid or sent twice.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
runs = typer.Typer(help="Look into a store.", no_args_is_help=True)

app.command("demo")(agents.demo)
app.command("kill")(agents.kill_command)
app.command("verify")(agents.verify_command)
app.command("exec")(programs.exec_command)
app.command("reproduce")(agents.reproduce_command)
app.command("points")(agents.points)
app.command("serve")(programs.serve_command)
app.add_typer(runs, name="runs")
runs.command("list")(stores.list_command)
runs.command("show")(stores.show_command)


def main() -> None:
    """Run the command line."""
    app()
