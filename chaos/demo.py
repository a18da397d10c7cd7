"""The demo: one agent of sixty-one steps dies twice, without memory, with a checkpoint, and with keys."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from chaos.accounts import tokens
from chaos.agent import find_agent
from chaos.exploring import exploring
from chaos.findings import Finding
from chaos.options import Options
from chaos.points import parse_schedule
from chaos.report import show_finding

STEP_40 = "search:19"
"""A plan, then a search and an answer for each question: the fortieth step of the research agent."""

_VARIANTS = (
    ("from zero", "scenarios.research:from_zero", "(search.query)#20@before > (email.send)@applied"),
    ("with a checkpoint", "scenarios.research:checkpoint_only", f"{STEP_40}@before > notify@unrecorded"),
    ("with keys", "scenarios.research:agent", f"{STEP_40}@before > notify@unrecorded"),
)


def demonstrate(console: Console) -> None:
    """Kill the three for real, and show what their providers were asked for."""
    console.print(
        "A research agent of 61 steps is killed by SIGKILL at step 40, resumed, killed again when its email has gone "
        "out and nobody has noted it yet, and resumed once more.\n"
    )
    table = Table(
        "", "lives", "tokens paid", "paid again", "emails sent", box=None, header_style="bold", pad_edge=False
    )
    for column in table.columns[1:]:
        column.justify = "right"
    found_in: dict[str, tuple[Finding, ...]] = {}
    for label, name, schedule in _VARIANTS:
        with exploring(find_agent(name), Options()) as found:
            run = found.carry_out(parse_schedule(schedule))
            found_in[label] = found.judge.judge(run).findings
            again = tokens(surplus.row for surplus in found.judge.surplus(run))
            applied = [row for row in run.rows if row.outcome == "applied"]
            emails = sum(row.nature == "acts" for row in applied)
            table.add_row(label, str(len(run.lives)), f"{tokens(applied):,}", f"{again:,}", str(emails))
    console.print(table)
    console.print(Text("\nWhy the one with a checkpoint sends two emails, as the harness tells it:\n"))
    for finding in found_in["with a checkpoint"]:
        show_finding(finding, console)
    console.print(
        Text(
            "\nThe fix is the key: the provider is told that it is the same email, and sends it once.\n"
            "Your own agent:  crashwindow kill my_agent:agent"
        )
    )
