"""Exploring by crash images: every image not seen before is a life to begin, until none is left."""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from chaos.accounts import Surplus
from chaos.agent import Agent
from chaos.checks import Judge
from chaos.cross_check import mismatches
from chaos.exploring import Progress, accepted_text, not_met, unplanned_text
from chaos.findings import Finding, merge
from chaos.imaging import DELIVERED, Image, Imaging, Lived
from chaos.options import Options
from chaos.origins import Origins
from chaos.parents import HASH_SEEDS
from chaos.points import Point, Schedule, format_schedule
from chaos.safety import safety_of
from chaos.saved import saved_for
from chaos.tries import MAX_LIVES
from chaos.verdict import Verdict

OTHER_RUN = "other-run"
"""The id of a second run, which must not be taken for the first one by any provider."""


@dataclass(slots=True)
class Verifying:
    """One exploration as it goes on."""

    agent: Agent
    options: Options
    imaging: Imaging
    notes: tuple[str, ...]
    judge: Judge | None = None
    unbacked: frozenset[str] = frozenset()
    replayed: set[tuple[int, int]] = field(default_factory=set)
    seen: set[int] = field(default_factory=set)
    frontier: deque[Image] = field(default_factory=deque)
    points: dict[Point, None] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    accepted: list[Surplus] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    deduplicated: set[str] = field(default_factory=set)
    held: Counter[str] = field(default_factory=Counter)
    unseen: dict[str, None] = field(default_factory=dict)
    concurrent: bool = False
    one_life: int = 0
    left: int = 0
    bounded_by: str = ""
    too_long: int = 0
    schedules: list[Schedule] = field(default_factory=list)
    images: int = 1
    begun: int = 0
    lives: int = 0
    met: set[str] = field(default_factory=set)

    def explore(self, began: float, progress: Progress) -> None:
        """Start a life in every image, the ones nearest to the beginning first."""
        self._live_without_faults()
        if self.reasons and not self.begun:
            return
        self.frontier += [Image(interleaving=seed) for seed in range(self.options.interleavings + 1)]
        running: deque[Future[Lived]] = deque()
        jobs = self.options.cores
        with ThreadPoolExecutor(jobs) as pool:
            while self.frontier or running:
                while self.frontier and len(running) < 2 * jobs and not self._is_bounded(began):
                    running.append(pool.submit(self._live, self.frontier.popleft()))
                    if self.judge is None:
                        break  # the baseline comes first
                if not running:
                    break
                self._take(running.popleft().result())  # in order, so that what is found does not depend on speed
                progress(self.begun, self.images, len(self.findings))
                if self.begun == 1 and self.reasons and not self.options.faults:
                    return

    def carry_out_saved(self, file: Path | None) -> None:
        """Carry out first what has found something before; what does not fit the agent any more is noted."""
        for saved in saved_for(self.agent.name, file):
            self._live_without_faults(always=True)
            if self.reasons or file is None:
                return
            run = self.imaging.under(saved.faults).carry_out(saved.schedule, self.options.perturb)
            self.lives += len(run.lives) + (run.replay is not None)
            if run.missed is not None:
                self.notes += (saved.stale(run.missed, file),)
            elif self.judge is not None:
                judge = replace(self.options, faults=saved.faults).judge(self.agent, self.judge.baseline)
                self.findings += judge.judge(run).findings

    def carry_out(self, schedule: Schedule) -> None:
        """Carry out one schedule alone; the baseline is what the empty one gives, and a broken one."""
        self._live_without_faults()
        self._take(self._live(Image()))
        if self.reasons or self.judge is None or not (schedule or self.options.faults):
            return
        run = self.imaging.carry_out(schedule, self.options.perturb)
        self.lives += len(run.lives) + (run.replay is not None)
        self.findings = list(self.judge.judge(run).findings)
        self.met.update(text for texts in run.met.values() for text in texts)
        if run.missed is not None:
            self.reasons.append(f"a planned crash did not happen: no life passed {run.missed}")
        self.left += len(self.frontier)
        self.bounded_by = "one schedule was carried out"

    def name_sources(self) -> None:
        """Say of each finding which source of the surroundings it comes from."""
        if self.judge is None:
            return
        origins = Origins(self.imaging, self.judge, self.options.perturb)
        self.findings = [origins.name(finding) for finding in merge(self.findings)]
        self.lives += origins.lives

    def cross_check(self) -> None:
        """Hold a sample of the images against what a real SIGKILL leaves behind on a real store."""
        draw = random.Random(self.options.seed)  # noqa: S311 - a reproducible sample
        sample = draw.sample(self.schedules, min(self.options.cross_check, len(self.schedules)))
        if not sample:
            return
        if self.concurrent:
            self.notes += ("not compared with real kills: threads and tasks come in another order each time",)
            return
        self.reasons += mismatches(self.imaging, sample)
        self.lives += sum(2 * len(schedule) for schedule in sample)
        self.notes += (f"{len(sample)} images were compared with what real kills leave",)

    def verdict(self, seconds: float) -> Verdict:
        """What can be said now."""
        return Verdict(
            agent=self.agent.name,
            crash_points=len(self.points),
            images=self.images,
            lives=self.lives,
            seconds=seconds,
            accepted=accepted_text(self.accepted),
            not_covered=tuple(self._not_covered()),
            reasons=tuple(dict.fromkeys([*self.reasons, *not_met(self.options.faults, self.met)])),
            notes=self.notes,
            findings=merge(self.findings),
            steps=safety_of(self.judge.baseline, self.deduplicated, self.held) if self.judge else (),
        )

    def _live(self, image: Image) -> Lived:
        """A life from an image; more of them while it raises and leaves everything as it was."""
        for _ in range(MAX_LIVES):
            lived = self.imaging.begin(image, self.options.perturb)
            report = lived.end.report
            if report is None or report.outcome != "raised" or lived.images.digests:
                break
        return lived

    def _live_without_faults(self, *, always: bool = False) -> None:
        """Where faults are planned, the baseline is a life without them; once."""
        if (self.options.faults or always) and self.judge is None:
            imaging = self.imaging
            self.imaging = imaging.under(())
            lived = self.imaging.replayed(self._live(Image()), self.options.perturb)
            self._take_baseline(lived)
            self._note_end(lived)
            self.imaging.forget(lived, ())
            self.lives += 1 + (lived.replay is not None)
            self.imaging = imaging

    def _replayed(self, lived: Lived) -> Lived:
        """The life with a replay of its run, unless a run that ended in an equal image has been replayed already."""
        parity = len(lived.image.history) % len(HASH_SEEDS)
        ended = lived.images.final, parity
        if ended in self.replayed and self.judge is not None and not self._is_suspicious(lived):
            return lived
        self.replayed.add(ended)
        return self.imaging.replayed(lived, self.options.perturb)

    def _take(self, lived: Lived) -> None:
        lived = self._replayed(lived)
        self.begun += 1
        self.met.update(lived.images.met)
        self.lives += 1 + (lived.replay is not None)
        self.concurrent |= lived.images.concurrent
        self.deduplicated.update(lived.images.deduplicated)
        self.unseen.update(dict.fromkeys(lived.images.unseen))
        if self.judge is None or (self.judge.baseline.finished is None and lived.replay is not None):
            self._take_baseline(lived)
        elif self._is_suspicious(lived):
            self._judge(lived)
        self._note_end(lived)
        self._follow(lived)

    def _take_baseline(self, lived: Lived) -> None:
        """The first life is what others are held against; one that waits for an answer, until a life has finished."""
        run = self.imaging.as_try(lived)
        self.judge = self.options.judge(self.agent, run)
        self.unbacked = frozenset(lived.images.unbacked)
        self._judge(lived)
        if run.finished is not None:
            beside = self.judge.judge_other_run(self.imaging.beside(lived, OTHER_RUN, self.options.perturb))
            self.findings += [replace(found, reproduce=f"crashwindow verify {self.agent.name}") for found in beside]
            self.lives += 1
        if run.finished is not None and not run.rows:
            self.reasons.append("nothing was exercised: the agent called no provider of its World")

    def _is_suspicious(self, lived: Lived) -> bool:
        """Whether a life is worth the full judgement. The account that goes with the digest tells at no cost."""
        report, images = lived.end.report, lived.images
        if (
            report is None
            or images.unaccounted
            or images.lost
            or images.odd
            or not self.unbacked.issuperset(images.unbacked)
        ):
            return True
        if report.outcome == "raised":
            return not images.digests
        if self.options.expected is not None and report.outcome == "finished":
            return True
        if lived.replay is None:
            return False
        replayed = lived.replay.end.report
        return (
            replayed is None
            or replayed.outcome != "finished"
            or replayed.result != report.result
            or bool(replayed.unasked or lived.replay.images.digests)
        )

    def _judge(self, lived: Lived) -> None:
        assert self.judge is not None  # noqa: S101 - the baseline comes first
        if self.imaging.resumed(lived) is not None:
            return  # only the end of the run shows what it has done in vain
        judgement = self.judge.judge(self.imaging.as_try(lived))
        self.findings += judgement.findings
        self.accepted += judgement.accepted

    def _note_end(self, lived: Lived) -> None:
        where = format_schedule(lived.image.schedule)
        for end in (lived.end, *([lived.replay.end] if lived.replay else [])):
            if end.unplanned is not None:
                self.reasons.append(f"under {where!r}, {unplanned_text(end, '')}")
        report = lived.end.report
        if report is None:
            return
        if report.outcome == "held":
            self.held[report.waits_for] += 1
        elif report.outcome == "raised" and self.imaging.resumed(lived) is not None:
            return
        elif report.outcome == "raised" and lived.images.met:
            self.reasons.append(f"{_told(where)}, the agent raised {report.error}, by a fault in each of its lives")
        elif report.outcome == "raised" and not lived.image.schedule:
            self.reasons.append(f"without any crash, the agent raised {report.error} ({report.where})")

    def _follow(self, lived: Lived) -> None:
        fresh = list(self.imaging.successors(lived, self.seen))
        if fresh or not self.points:
            self.points.update(dict.fromkeys(self.imaging.passed(lived)))
            self.one_life = self.one_life or len(self.points)
        answer = self._answer(lived)
        if answer is not None:
            fresh.append(answer)
        self.images += len(fresh)
        most = self.options.max_crashes
        for image in fresh:
            if most is not None and len(image.schedule) > most:
                self.too_long += 1
            elif image.schedule == lived.image.schedule:
                self.frontier.appendleft(image)  # it is no crash further away
            else:
                self.frontier.append(image)
                if not image.interleaving and all(point.place != DELIVERED for point in image.schedule):
                    self.schedules.append(image.schedule)
        self.imaging.forget(lived, fresh)

    def _answer(self, lived: Lived) -> Image | None:
        """The image after an answer was delivered, once for every state that waits for it."""
        report = lived.end.report
        if report is None or report.outcome not in ("suspended", "held"):
            return None
        image = self.imaging.delivered(lived)
        if image is None:
            if report.outcome == "suspended":
                step = report.waits_for
                self.reasons.append(f"the run waits for {step!r}; give the answer with --deliver {step}=JSON")
            return None
        return image

    def _is_bounded(self, began: float) -> bool:
        options = self.options
        most = self._most_images()
        if self.begun >= most:
            self.bounded_by = f"--max-images {most}"
        elif options.budget is not None and time.monotonic() - began > options.budget:
            self.bounded_by = f"--budget {options.budget:g}s"
        else:
            return False
        self.left += len(self.frontier)
        self.frontier.clear()
        return True

    def _most_images(self) -> int:
        """The bound where none is given.

        Twenty times what one life passes is far from any agent whose states meet again; once an agent is known to be
        unsafe, four times is enough to see in which ways.
        """
        if self.options.max_images is not None:
            return self.options.max_images
        return 4 * self.one_life + 50 if self.findings else 20 * self.one_life + 1000

    def _not_covered(self) -> Iterator[str]:
        if self.left:
            yield f"{self.left} images found and not begun ({self.bounded_by})"
        if self.too_long:
            most = self.options.max_crashes
            yield f"sequences of more than {most} crashes (--max-crashes {most}), {self.too_long} images"
        for step, times in self.held.items():
            yield f"what follows once a person has settled {step!r}, held in {times} lives"
        if self.concurrent:
            seen = self.options.interleavings + 1
            yield f"orders of threads and tasks beyond the {seen} explored (--interleavings explores more)"
        for deed in self.unseen:
            yield f"what lies outside of store and providers: {deed}"


def _told(schedule: str) -> str:
    return f"under {schedule!r}" if schedule else "without any crash"
