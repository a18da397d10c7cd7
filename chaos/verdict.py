"""The verdict on an agent: what was found, on how much, and what was not covered."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from chaos.findings import Finding
from chaos.safety import Safety


class Word(StrEnum):
    """The four verdicts."""

    SAFE = "safe"
    WITHIN_BOUNDS = "safe within bounds"
    UNSAFE = "unsafe"
    INCONCLUSIVE = "inconclusive"


EXIT_CODES = {Word.SAFE: 0, Word.WITHIN_BOUNDS: 0, Word.UNSAFE: 1, Word.INCONCLUSIVE: 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What can be said of an agent after exploring.

    Attributes:
        agent: its name, as `module:attribute`.
        crash_points: how many places there are at which a life can end.
        lives: processes started. `seconds`: all together.
        tries: schedules carried out by real kills. `kills`: SIGKILLs in them.
        images: crash images found, where they were explored; None for real kills.
        accepted: what was seen and accepted by name.
        not_covered: what this verdict says nothing about.
        reasons: why the exploring was inconclusive.
        notes: what a reader should know besides.
        findings: what is wrong, the gravest first.
        steps: why each step is safe, where records can be seen.
    """

    agent: str
    crash_points: int
    lives: int
    seconds: float
    tries: int = 0
    kills: int = 0
    images: int | None = None
    accepted: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    steps: tuple[Safety, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every sequence of crashes was covered."""
        return not self.not_covered and not self.reasons

    @property
    def word(self) -> Word:
        """The verdict in a word. A finding outweighs doubt; doubt outweighs everything else."""
        if self.findings:
            return Word.UNSAFE
        if self.reasons:
            return Word.INCONCLUSIVE
        return Word.SAFE if self.complete else Word.WITHIN_BOUNDS

    @property
    def exit_code(self) -> int:
        """0 safe, also within bounds; 1 unsafe; 3 inconclusive."""
        return EXIT_CODES[self.word]

    def as_json(self) -> dict[str, object]:
        """Plain data for `--format json`."""
        return {
            "agent": self.agent,
            "verdict": str(self.word),
            "complete": self.complete,
            "crash_points": self.crash_points,
            "tries": self.tries,
            "kills": self.kills,
            "lives": self.lives,
            "seconds": round(self.seconds, 3),
            "accepted": list(self.accepted),
            "not_covered": list(self.not_covered),
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            **({} if self.images is None else {"images": self.images}),
            "findings": [finding.as_json() for finding in self.findings],
            "steps": [{"step": one.step, "why": one.why, "guarantee": one.guarantee} for one in self.steps],
        }
