"""Where a finding comes from: which source of the surroundings it depends on, and where the agent read it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from chaos.checks import Judge
from chaos.findings import Finding
from chaos.imaging import Imaging
from chaos.life import Try


@dataclass(slots=True)
class Origins:
    """Tries each source alone. `lives` counts what that took."""

    imaging: Imaging
    judge: Judge
    perturb: tuple[str, ...]
    lives: int = 0

    def name(self, finding: Finding) -> Finding:
        """The finding, with the one source that shows it by itself; as it is when it needs none, or several."""
        if self._shows(finding, ()) is not None:
            return finding
        for source in self.perturb:
            run = self._shows(finding, (source,))
            if run is not None:
                return _named(finding, source, run)
        return finding

    def _shows(self, finding: Finding, perturb: tuple[str, ...]) -> Try | None:
        """The run under the finding's schedule with these sources alone, when it shows the same."""
        run = self.imaging.carry_out(finding.schedule, perturb)
        self.lives += len(run.lives) + (run.replay is not None)
        found = self.judge.judge(run).findings
        return run if any(other.check == finding.check for other in found) else None


_SOURCES = {
    "clock": "the clock",
    "random": "the random module",
    "uuid": "random bytes of the system (uuid4, os.urandom)",
    "hash": "the hash seed, as in the order of a set",
    "answers": "what the model answers",
    "search": "what the search index holds",
    "environment": "the environment",
    "cache": "what an earlier run has left in the memory of the process",
}


def _named(finding: Finding, source: str, run: Try) -> Finding:
    reports = [life.report for life in (*run.lives, *([run.replay] if run.replay else [])) if life.report]
    reads = dict.fromkeys(read for report in reports if report.images for read in report.images.reads)
    lines = [read.partition(" at ")[2] for read in reads if read.startswith(f"{source} at ")]
    where = f" ({', '.join(lines)})" if lines else ""
    return replace(
        finding,
        source=source,
        reproduce=f"{finding.reproduce} --perturb {source}",
        cause=f"it depends on {_SOURCES[source]}{where}: {finding.cause}",
    )
