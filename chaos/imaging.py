"""Lives in crash images: starting one, and finding the images that it leaves behind."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path

from chaos.agent import Agent
from chaos.faults import Struck
from chaos.images import Change, read, read_changes, write
from chaos.launchers import Launcher
from chaos.life import History, Images, ImageSpec, LifeEnd, LifeSpec, Report, Segment, Try
from chaos.points import Point, Schedule, parse_schedule
from chaos.tries import MAX_LIVES, Setting
from durable_core import deliver
from durable_core.entries import Entry
from durable_core.stores.memory import MemoryStore
from fakes import Row

DELIVERED = "(delivered)"
"""The place of an answer that the harness delivers between two lives."""


@dataclass(frozen=True, slots=True)
class Image:
    """A crash image: its data, and the crash points that lead to it, one per life.

    `interleaving` is the seed by which threads and tasks are ordered; 0 leaves them alone.
    """

    history: History = ()
    schedule: Schedule = ()
    interleaving: int = 0


@dataclass(frozen=True, slots=True)
class Lived:
    """A life that began in an image, what it wrote, and the life that replays it when the run has ended."""

    image: Image
    end: LifeEnd
    segment: Segment
    replay: Lived | None = None

    @property
    def images(self) -> Images:
        """What it has left; nothing, when it could not report."""
        report = self.end.report
        return report.images if report and report.images else Images()


@dataclass(frozen=True, slots=True)
class Imaging:
    """Starts lives in images of one agent.

    Attributes:
        agent: under test.
        launcher: gives lives a process.
        setting: what is the same in all lives.
        exact: contents count when images are compared.
        accept_in_flight: the last answer of each step may be lost when a life ends.
    """

    agent: Agent
    launcher: Launcher
    setting: Setting
    exact: bool = False
    accept_in_flight: bool = False
    _numbers: count[int] = field(default_factory=count)

    def live(self, image: Image, perturb: tuple[str, ...]) -> Lived:
        """One life from an image, and a replay in a further life if the run came to its end."""
        return self.replayed(self.begin(image, perturb), perturb)

    def begin(self, image: Image, perturb: tuple[str, ...]) -> Lived:
        """One life from an image, and no replay."""
        number = len(image.history) + 1
        segment = self._segment()
        spec = LifeSpec(
            number=number,
            folder=str(self.setting.folder),
            store="",
            run_id=self.setting.prefix,
            seed=self.setting.seed,
            policies=self.setting.policies,
            faults=self.setting.faults,
            seconds=self.setting.seconds,
            turn=number - 1 if "hash" in perturb else 0,
            image=ImageSpec(
                history=image.history,
                segment=segment,
                exact=self.exact,
                accept_in_flight=self.accept_in_flight,
                perturb=perturb,
                interleaving=image.interleaving,
            ),
        )
        end = self.launcher.run(spec)
        path = Path(segment)
        return Lived(image, end, Segment(segment, path.stat().st_size if path.exists() else 0))

    def replayed(self, lived: Lived, perturb: tuple[str, ...]) -> Lived:
        """The life with a replay of the run in a further life, if the run came to its end."""
        if lived.end.report is None or lived.end.report.outcome != "finished":
            return lived
        after = replace(lived.image, history=(*lived.image.history, lived.segment))
        return replace(lived, replay=self.begin(after, perturb))

    def carry_out(self, schedule: Schedule, perturb: tuple[str, ...]) -> Try:
        """Live through one schedule, and on to the end of the run."""
        image, missed = self._crash_at(schedule, perturb)
        for _ in range(MAX_LIVES + len(self.setting.faults)):
            lived = self.live(image, perturb)
            if lived.replay is not None:
                break
            image = self.delivered(lived) or self.resumed(lived) or image
        return self.as_try(lived, missed)

    def under(self, faults: tuple[str, ...]) -> Imaging:
        """The same under other faults."""
        return replace(self, setting=replace(self.setting, faults=faults))

    def resumed(self, lived: Lived) -> Image | None:
        """The image after a life that raised where faults are planned: it is resumed without a crash.

        None where there are none, or where the life has left everything as it was.
        """
        report = lived.end.report
        if not self.setting.faults or report is None or report.outcome != "raised" or not lived.images.digests:
            return None
        return replace(lived.image, history=(*lived.image.history, replace(lived.segment, error=report.error)))

    def state_after(self, schedule: Schedule, perturb: tuple[str, ...]) -> list[Change]:
        """The durable state that a schedule leaves behind."""
        image, _ = self._crash_at(schedule, perturb)
        return [change for _, change in read_changes(image.history)]

    def _crash_at(self, schedule: Schedule, perturb: tuple[str, ...]) -> tuple[Image, Point | None]:
        """The image after a schedule, and the point of it that no life passed, if there was one."""
        image, missed = Image(), None
        while len(image.schedule) < len(schedule):
            point = schedule[len(image.schedule)]
            lived = self.begin(image, perturb)
            answered = self.delivered(lived) if point.place == DELIVERED else None
            if answered is not None:
                image = answered
                continue
            crashed = self.crashed(lived, point)
            if crashed is None:
                resumed = self.resumed(lived)
                if resumed is not None and len(resumed.history) < len(schedule) + MAX_LIVES + len(self.setting.faults):
                    image = resumed
                    continue
                missed = point
                break
            image = crashed
        return image, missed

    def crashed(self, lived: Lived, point: Point) -> Image | None:
        """The image that a life leaves when it is killed at a point; None when it does not pass the point."""
        size = next((size for size, passed in _points(lived.segment) if passed == point), None)
        if size is None:
            return None
        image = lived.image
        cut = Segment(lived.segment.path, size)
        return replace(image, history=(*image.history, cut), schedule=(*image.schedule, point))

    def successors(self, lived: Lived, seen: set[int]) -> Iterator[Image]:
        """The images that a life has left and that were not seen; they are seen from now on.

        What lies beyond a finding is marked as seen, and not started: it can only show the same again. Of a life that
        is resumed without a crash, the last image is one without a crash too; only its end shows what it has done.
        """
        images = lived.images
        fresh = [index for index, digest in enumerate(images.digests) if digest not in seen]
        seen.update(images.digests)
        clean = [index for index in fresh if images.dirty_from is None or index < images.dirty_from]
        resumed = self.resumed(lived)
        if resumed is not None and fresh[-1:] == [len(images.digests) - 1]:
            yield resumed
            clean = [index for index in clean if index != fresh[-1]]
        if not clean:
            return
        points = list(_points(lived.segment))
        for index in clean:
            size, point = _label(points, images.offsets[index], _end_of(images, index, lived.segment))
            crashed = Segment(lived.segment.path, size)
            schedule = (*lived.image.schedule, point)
            yield replace(lived.image, history=(*lived.image.history, crashed), schedule=schedule)

    def passed(self, lived: Lived) -> Iterator[Point]:
        """The points that a life has passed."""
        return (point for _, point in _points(lived.segment))

    def delivered(self, lived: Lived) -> Image | None:
        """The image after the answer that the life waits for was delivered; None when there is none to deliver."""
        report = lived.end.report
        if report is None or report.waits_for not in self.setting.deliver:
            return None
        history = (*lived.image.history, lived.segment)
        store = MemoryStore()
        for _, change in read_changes(history):
            if isinstance(change, Entry):
                store.append(self.setting.prefix, change, None)
        deliver(store, self.setting.prefix, report.waits_for, self.setting.deliver[report.waits_for])
        segment = self._segment()
        line = write(store.entries(self.setting.prefix)[-1])
        Path(segment).write_bytes(line)
        point = parse_schedule(f"{DELIVERED}@recorded")
        return replace(
            lived.image,
            history=(*history, Segment(segment, len(line))),
            schedule=(*lived.image.schedule, *point),
        )

    def beside(self, lived: Lived, run_id: str, perturb: tuple[str, ...]) -> Try:
        """Another run with the same providers, after the first one: its ledger goes on, its checkpoint is its own."""
        changes = read_changes((*lived.image.history, lived.segment))
        rows = [write(change) for _, change in changes if isinstance(change, Row)]
        segment = self._segment()
        Path(segment).write_bytes(b"".join(rows))
        image = Image(history=(Segment(segment, sum(map(len, rows))),))
        other = replace(self, setting=replace(self.setting, prefix=run_id, faults=()))
        return other.as_try(other.begin(image, perturb))

    def forget(self, lived: Lived, kept: Iterable[Image]) -> None:
        """Cut the segments of a life down to what images need."""
        if lived.replay is not None:
            self.forget(lived.replay, ())
        sizes = [segment.size for image in kept for segment in image.history if segment.path == lived.segment.path]
        if sizes:
            os.truncate(lived.segment.path, max(sizes))
        else:
            Path(lived.segment.path).unlink(missing_ok=True)

    def as_try(self, lived: Lived, missed: Point | None = None) -> Try:
        """The life with all that came before it, as the checks want it."""
        history = (*lived.image.history, lived.segment)
        replay = lived.replay
        changes = list(read(history if replay is None else (*history, replay.segment)))
        killed = tuple(self._killed(lived, number, changes) for number in range(1, len(history)))
        last = replace(lived.end, report=_with_trace(lived.end.report, _trace(changes, len(history))))
        return Try(
            schedule=lived.image.schedule,
            missed=missed,
            lives=(*killed, last),
            replay=replay.end if replay else None,
            entries=tuple(change for _, change in changes if isinstance(change, Entry)),
            rows=tuple(change for _, change in changes if isinstance(change, Row)),
            struck=tuple((life, change.fault) for life, change in changes if isinstance(change, Struck)),
        )

    def _segment(self) -> str:
        return str(self.setting.folder / f"segment-{next(self._numbers)}")

    def _killed(self, lived: Lived, number: int, changes: list[tuple[int, Change | Point]]) -> LifeEnd:
        """An earlier life, as it would have ended under a kill; or as a fault has ended it."""
        spec = replace(lived.end.spec, number=number)
        error, trace = lived.image.history[number - 1].error, _trace(changes, number)
        if error:
            return LifeEnd(spec=spec, report=Report(outcome="raised", trace=trace, error=error), exit=0)
        return LifeEnd(spec=spec, report=Report(outcome="killed", trace=trace), exit=-9)


def _trace(changes: list[tuple[int, Change | Point]], number: int) -> tuple[Point, ...]:
    return tuple(change for life, change in changes if life == number and isinstance(change, Point))


def _with_trace(report: Report | None, trace: tuple[Point, ...]) -> Report | None:
    return report and replace(report, trace=trace)


def _points(segment: Segment) -> Iterator[tuple[int, Point]]:
    """The points in a segment, each with the size of the prefix that ends with it."""
    if not segment.size:
        return
    size = 0
    for line in Path(segment.path).read_bytes()[: segment.size].split(b"\n")[:-1]:
        size += len(line) + 1
        if line.startswith(b"p"):
            yield size, parse_schedule(line[1:].decode())[0]


def _end_of(images: Images, index: int, segment: Segment) -> int:
    """Where the next change begins that makes another image."""
    later = images.offsets[index + 1 :]
    return later[0] if later else segment.size + 1


def _label(points: list[tuple[int, Point]], begin: int, end: int) -> tuple[int, Point]:
    """The point that stands for an image, and the prefix that ends with it.

    Of all points passed while the image stood, it is the last one of the place that made the image: `send@unrecorded`
    rather than `send@applied`, since with the answer in hand the crash is hardest to see.
    """
    inside = [(size, point) for size, point in points if begin < size < end]
    if not inside:
        size, point = max(((size, point) for size, point in points if size <= begin), key=lambda pair: pair[0])
        return max(size, begin), point
    return [pair for pair in inside if pair[1].place == inside[0][1].place][-1]
