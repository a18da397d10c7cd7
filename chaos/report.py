"""Verdicts and findings as text for people. What comes from outside is data: no markup, no control characters."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from chaos.findings import Finding
from chaos.safety import summary_of
from chaos.verdict import Verdict, Word

COLOURS = {
    Word.SAFE: "bold green",
    Word.WITHIN_BOUNDS: "bold green",
    Word.UNSAFE: "bold red",
    Word.INCONCLUSIVE: "bold yellow",
}


def clean(text: str) -> str:
    """The text with everything a terminal could take as a command spelled out."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def finding_lines(finding: Finding) -> list[str]:
    """Subject, fact, story, cause, fix, reproduction: a line each."""
    also = f" (and under {finding.also} other schedule{'s' if finding.also > 1 else ''})" if finding.also else ""
    return [
        clean(line)
        for line in (
            f"{finding.agent}: {finding.fact}{also}",
            *(f"  {line}" for line in finding.story),
            f"  cause   {finding.cause}",
            f"  fix     {finding.fix}",
            f"  again   {finding.reproduce}",
        )
    ]


def summary(verdict: Verdict) -> str:
    """The verdict and its numbers in one line."""
    found = f" · {len(verdict.findings)} finding{'s' if len(verdict.findings) > 1 else ''}" if verdict.findings else ""
    number, noun = (verdict.kills, "kill") if verdict.images is None else (verdict.images, "image")
    counted = verdict.kills if verdict.images is None else verdict.lives
    rate = f"{_rate(counted / max(verdict.seconds, 0.001))} {'kills' if verdict.images is None else 'lives'}/s"
    counts = f"{number} {noun}{'s' if number != 1 else ''}, {verdict.lives} lives in {verdict.seconds:.1f} s ({rate})"
    return f"{clean(verdict.agent)}: {verdict.word}{found} · {verdict.crash_points} crash points · {counts}"


def _rate(number: float) -> str:
    return f"{number:.0f}" if number >= _FEW else f"{number:.1f}"


_FEW = 10


def remarks(verdict: Verdict) -> list[str]:
    """What limits the verdict, a line each."""
    pairs = [
        *(("because", text) for text in verdict.reasons),
        *(("accepted", text) for text in verdict.accepted),
        *(("not covered", text) for text in verdict.not_covered),
        *(("note", text) for text in verdict.notes),
        *(("safe by", text) for text in (() if verdict.findings or verdict.reasons else summary_of(verdict.steps))),
    ]
    return [clean(f"  {label}: {text}") for label, text in pairs]


def verdict_text(verdict: Verdict) -> str:
    """All of it without colours, for logs and test reports."""
    findings = [line for finding in verdict.findings for line in (*_headed(finding), "")]
    return "\n".join([*findings, summary(verdict), *remarks(verdict)])


def show(verdict: Verdict, console: Console) -> None:
    """All of it on a console."""
    for finding in verdict.findings:
        show_finding(finding, console)
        console.print()
    console.print(Text(summary(verdict), style=COLOURS[verdict.word]), soft_wrap=True)
    for line in remarks(verdict):
        console.print(Text(line, style="dim"), soft_wrap=True)


def show_finding(finding: Finding, console: Console) -> None:
    """One finding on a console."""
    head, *rest = finding_lines(finding)
    console.print(Text("UNSAFE  ", style=COLOURS[Word.UNSAFE]).append(head, style="bold"), soft_wrap=True)
    for line in rest:
        console.print(Text(line), soft_wrap=True)


def _headed(finding: Finding) -> list[str]:
    head, *rest = finding_lines(finding)
    return [f"UNSAFE  {head}", *rest]
