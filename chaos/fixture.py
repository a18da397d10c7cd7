"""What a test is given as `chaos`: the harness, with findings as failures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from chaos.agent import agent_of
from chaos.checks.case import Expected
from chaos.errors import HarnessError, OptionError
from chaos.kill import kill
from chaos.marker import keywords_of, with_defaults
from chaos.options import Options, read_seconds
from chaos.plan import Reach
from chaos.points import nearest
from chaos.report import verdict_text
from chaos.sources import SOURCES
from chaos.verdict import Verdict, Word
from chaos.verify import verify


def read_marker(marker: pytest.Mark) -> Mapping[str, object]:
    """The keywords of `@pytest.mark.chaos(...)`.

    Raises:
        OptionError: it has something that none of the methods takes; the nearest keyword is named.
    """
    known = sorted(keywords_of(Chaos.kill) | keywords_of(Chaos.verify) | keywords_of(Chaos.exec))
    if marker.args:
        raise OptionError(
            f"@pytest.mark.chaos takes keywords alone, not {', '.join(map(repr, marker.args))}; the agent is passed to "
            f"chaos.verify, chaos.kill or chaos.exec"
        )
    for name in marker.kwargs:
        if name not in known:
            raise OptionError(f"@pytest.mark.chaos knows no keyword {name!r}{nearest(name, known)}")
    return marker.kwargs


def made_for(request: pytest.FixtureRequest) -> Chaos:
    """The harness of one test: options of the command line, and below them the markers of class and test."""
    config = request.config
    try:
        budget: str | None = config.getoption("--chaos-budget")
        seconds = None if budget is None else read_seconds("--chaos-budget", budget)
        defaults: dict[str, object] = {}
        for marker in reversed(list(request.node.iter_markers("chaos"))):  # the closest one comes last, and counts
            defaults |= read_marker(marker)
    except HarnessError as error:
        pytest.fail(f"crashwindow: {error}", pytrace=False)
    return Chaos(jobs=config.getoption("--chaos-jobs"), budget=seconds, defaults=defaults)


@dataclass(frozen=True, slots=True)
class Chaos:
    """The pytest fixture `chaos`.

    Attributes:
        jobs: tries at a time; None shares the cores among the workers of pytest-xdist.
        budget: seconds that a `verify` may take; None for as long as it takes.
        defaults: keywords of `@pytest.mark.chaos(...)`, for whichever method knows them; those of a call come first.
    """

    jobs: int | None = None
    budget: float | None = None
    defaults: Mapping[str, object] = field(default_factory=dict)

    @with_defaults
    def kill(
        self,
        agent: Callable[..., object],
        *input: object,  # noqa: A002 - the word of design and CLI
        store: str = "sqlite",
        points: Sequence[str] | None = None,
        depth: int = 1,
        random: int = 0,
        seed: int = 0,
        accept: Sequence[str] = (),
        policies: Mapping[str, str] | None = None,
        faults: Sequence[str] = (),
        expected: Expected | None = None,
        model: str | None = None,
        deliver: Mapping[str, object] | None = None,
        save: Path | None = None,
        launcher: str | None = None,
        seconds: float = 60.0,
        folder: Path | None = None,
    ) -> Verdict:
        """Kill the agent at its crash points by SIGKILL, resume it, and fail the test on any finding.

        Args:
            agent: a function whose first parameter is a `Run`, or any function that takes a `World`.
            *input: the rest of its parameters.
            store: `sqlite` or `file`, made anew for every try, or a store's URL.
            points: patterns of points (`send@*`) or schedules (`send@unrecorded > send@unrecorded`); every point if
                None.
            depth: crashes in a row that are all tried.
            random: random schedules beyond that.
            seed: of the fakes and of random schedules.
            accept: what is accepted by name: `in-flight`.
            policies: how providers treat keys: `{"llm": "none"}`.
            faults: what goes wrong beside crashes: `email.send#1:lost_after`, `store.append#2:fails`.
            expected: your own oracle: given the `Ending` of a finished run, it raises AssertionError or returns False.
            model: tells re-spent tokens in money, at the prices of this model.
            deliver: answers for what the run waits for, by step id.
            save: file of schedules that have found something; they are carried out first.
            launcher: `fork` or `spawn`.
            seconds: after which a life counts as hung.
            folder: where tries keep their files.

        Returns:
            The verdict: `safe within bounds`, since single crashes are not every sequence of them.

        Raises:
            pytest.fail.Exception: the verdict is `unsafe` or `inconclusive`, or the call itself is wrong.
        """
        __tracebackhide__ = True
        with _told():
            options = replace(
                self._shared(seed, accept, policies, faults, expected, model, deliver, save, launcher, seconds, folder),
                store=store,
                reach=Reach(points=tuple(points) if points is not None else None, depth=depth, random=random),
            )
            return _judged(kill(agent_of(agent, input), options))

    @with_defaults
    def verify(
        self,
        agent: Callable[..., object],
        *input: object,  # noqa: A002 - the word of design and CLI
        perturb: Sequence[str] | None = None,
        exact: bool = False,
        max_images: int | None = None,
        max_crashes: int | None = None,
        budget: float | None = None,
        interleavings: int = 0,
        cross_check: int = 0,
        seed: int = 0,
        accept: Sequence[str] = (),
        policies: Mapping[str, str] | None = None,
        faults: Sequence[str] = (),
        expected: Expected | None = None,
        model: str | None = None,
        deliver: Mapping[str, object] | None = None,
        save: Path | None = None,
        launcher: str | None = None,
        seconds: float = 60.0,
        folder: Path | None = None,
    ) -> Verdict:
        """Cover every sequence of crashes of the agent by crash images, and fail the test on any finding.

        Args:
            agent: a function whose first parameter is a `Run`.
            *input: the rest of its parameters.
            perturb: what differs between lives, of `clock`, `random`, `uuid`, `hash`, `answers`, `search`,
                `environment`, `cache`; all of them if None.
            exact: tell images apart by what was answered, too.
            max_images: begin no more images than this.
            max_crashes: crashes in one sequence, at most.
            budget: seconds for all of it; `--chaos-budget` if None.
            interleavings: further orders of threads and tasks.
            cross_check: images to compare with what real kills leave.
            seed: of the fakes.
            accept: what is accepted by name: `in-flight`.
            policies: how providers treat keys: `{"llm": "none"}`.
            faults: what goes wrong beside crashes: `email.send#1:lost_after`, `store.append#2:fails`.
            expected: your own oracle: given the `Ending` of a finished run, it raises AssertionError or returns False.
            model: tells re-spent tokens in money, at the prices of this model.
            deliver: answers for what the run waits for, by step id.
            save: file of schedules that have found something; they are carried out first.
            launcher: `fork`, `spawn`, or `in-process`.
            seconds: after which a life counts as hung.
            folder: where lives keep their files.

        Returns:
            The verdict: `safe`, or `safe within bounds` with what was not covered.

        Raises:
            pytest.fail.Exception: the verdict is `unsafe` or `inconclusive`, or the call itself is wrong.
        """
        __tracebackhide__ = True
        with _told():
            options = replace(
                self._shared(seed, accept, policies, faults, expected, model, deliver, save, launcher, seconds, folder),
                perturb=SOURCES if perturb is None else tuple(perturb),
                exact=exact,
                max_images=max_images,
                max_crashes=max_crashes,
                budget=self.budget if budget is None else budget,
                interleavings=interleavings,
                cross_check=cross_check,
            )
            return _judged(verify(agent_of(agent, input), options))

    @with_defaults
    def exec(
        self,
        command: Sequence[str],
        *,
        points: Sequence[str] | None = None,
        depth: int = 1,
        random: int = 0,
        syscalls: int = 0,
        env: Mapping[str, str] | None = None,
        state: Path | None = None,
        signal: str = "KILL",
        grace: float = 2.0,
        later: float = 0.0,
        tls: bool = False,
        warm: bool = False,
        script: Path | None = None,
        recorded: Path | None = None,
        seed: int = 0,
        accept: Sequence[str] = (),
        policies: Mapping[str, str] | None = None,
        faults: Sequence[str] = (),
        expected: Expected | None = None,
        model: str | None = None,
        save: Path | None = None,
        seconds: float = 60.0,
        folder: Path | None = None,
    ) -> Verdict:
        """Kill any program at every provider call, start it again until it ends, and fail the test on any finding.

        Args:
            command: the program with its arguments; `{run_id}`, `{state}` and `{server}` are substituted.
            points: patterns (`*@applied`) or whole schedules; every point if None.
            depth: how many crashes in a row are tried exhaustively.
            random: how many random schedules are tried beyond that.
            syscalls: system calls to kill at as well, at most; 0 for none.
            env: variables for the program, beside those that point SDKs at the fakes.
            state: folder that `{state}` begins as a copy of.
            signal: by which a life is ended.
            grace: seconds that it then has to end itself, if the signal is not KILL.
            later: seconds that each life begins later, for the windows of keys.
            tls: catch SDKs without a base URL by a proxy.
            warm: fork a Python program from a process that has imported what it imports.
            script: file of what models say, in order.
            recorded: file of answers recorded elsewhere.
            seed: of the fakes, of random schedules, and of what is drawn.
            accept: what is accepted by name: `in-flight`.
            policies: how providers treat keys: `{"openai": "default"}`.
            faults: what goes wrong beside crashes: `stripe.charges.create#1:lost_after`.
            expected: your own oracle: given the `Ending` of a finished run, it raises AssertionError or returns False.
            model: tells re-spent tokens in money, at the prices of this model.
            save: file of schedules that have found something; they are carried out first.
            seconds: after which a life counts as hung.
            folder: where tries keep their files.

        Returns:
            The verdict: `safe within bounds`, since a program's own writes are not every place to crash at.

        Raises:
            pytest.fail.Exception: the verdict is `unsafe` or `inconclusive`, or the call itself is wrong.
        """
        __tracebackhide__ = True
        from chaos.programs.execute import execute, program_options  # noqa: PLC0415 - with it comes a web server
        from chaos.programs.program import Program  # noqa: PLC0415

        with _told():
            program = Program(
                command=tuple(command),
                environment=env or {},
                state=state,
                signal=signal,
                grace=grace,
                later=later,
                tls=tls,
                warm=warm,
                syscalls=syscalls,
                script=script,
                recorded=recorded,
            )
            options = program_options(
                reach=Reach(points=tuple(points) if points is not None else None, depth=depth, random=random),
                accept=tuple(accept),
                policies=policies or {},
                faults=tuple(faults),
                expected=expected,
                model=model,
                save=save,
                jobs=self._cores,
                seconds=seconds,
                seed=seed,
                folder=folder,
            )
            return _judged(execute(program, options))

    @property
    def _cores(self) -> int:
        return _fair_share() if self.jobs is None else self.jobs

    def _shared(  # noqa: PLR0917 - in the order of the signatures above
        self,
        seed: int,
        accept: Sequence[str],
        policies: Mapping[str, str] | None,
        faults: Sequence[str],
        expected: Expected | None,
        model: str | None,
        deliver: Mapping[str, object] | None,
        save: Path | None,
        launcher: str | None,
        seconds: float,
        folder: Path | None,
    ) -> Options:
        """The options that kill and verify have in common."""
        return Options(
            accept=tuple(accept),
            policies=policies or {},
            faults=tuple(faults),
            expected=expected,
            model=model,
            deliver=deliver or {},
            save=save,
            launcher=launcher,
            jobs=self._cores,
            seconds=seconds,
            seed=seed,
            folder=folder,
        )


@contextmanager
def _told() -> Iterator[None]:
    """What is wrong with a call is told without our traceback."""
    __tracebackhide__ = True
    try:
        yield
    except HarnessError as error:
        pytest.fail(f"crashwindow: {error}", pytrace=False)


def _judged(verdict: Verdict) -> Verdict:
    __tracebackhide__ = True
    if verdict.word in (Word.UNSAFE, Word.INCONCLUSIVE):
        pytest.fail(verdict_text(verdict), pytrace=False)
    return verdict


def _fair_share() -> int:
    """Cores for one worker of pytest-xdist; all of them without it."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    return max(1, (os.cpu_count() or 1) // workers)
