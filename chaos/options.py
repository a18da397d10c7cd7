"""How to explore: the options that the command line and the pytest fixture share."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from chaos.agent import Subject
from chaos.checks import IN_FLIGHT, Judge, known_secrets
from chaos.checks.case import Expected
from chaos.errors import OptionError
from chaos.faults import OF_A_WORLD, normal_fault
from chaos.launchers import IN_PROCESS, LAUNCHERS
from chaos.life import Try
from chaos.money import check_model
from chaos.plan import Reach
from chaos.points import nearest
from chaos.sources import SOURCES
from chaos.stores import check_store
from fakes import UnknownName, policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to kill. The command line and the pytest fixture offer the same.

    Attributes:
        store: `sqlite` or `file`, made anew for every try, or a store's URL.
        reach: which schedules are tried.
        accept: what is accepted by name: `in-flight`.
        policies: how providers treat keys, by provider: the name of a preset.
        faults: what goes wrong beside crashes, as text: `email.send#1:lost_after`, `store.append#2:fails`.
        deliver: answers for what the run waits for, by step id.
        launcher: `fork` or `spawn`; None for the best that this system has.
        jobs: tries at a time; None for one per core.
        seconds: after which a life counts as hung.
        seed: of the fakes and of random schedules.
        exact: contents count when crash images are compared.
        perturb: what differs between lives, of `chaos.perturb.SOURCES`; for verifying.
        max_images: lives to begin at most. `max_crashes`: crashes in a row. `budget`: seconds. For verifying.
        interleavings: seeds by which threads and tasks are ordered, beside the order they have by themselves.
        model: whose prices the tokens have that are told in money, as genai-prices names it.
        expected: the author's own oracle: given an `Ending`, it raises AssertionError or returns False.
        cross_check: images that are compared with what a real SIGKILL leaves behind.
        save: the file that keeps the schedules which have found something; they are carried out first.
        providers: those that there are, with their operations.
        folder: where the tries keep their files; None for memory where the system offers it (`/dev/shm`).
    """

    store: str = "sqlite"
    reach: Reach = field(default_factory=Reach)
    accept: tuple[str, ...] = ()
    policies: Mapping[str, str] = field(default_factory=dict)
    faults: tuple[str, ...] = ()
    deliver: Mapping[str, object] = field(default_factory=dict)
    launcher: str | None = None
    jobs: int | None = None
    seconds: float = 60.0
    seed: int = 0
    folder: Path | None = None
    save: Path | None = None
    exact: bool = False
    perturb: tuple[str, ...] = SOURCES
    max_images: int | None = None
    max_crashes: int | None = None
    budget: float | None = None
    interleavings: int = 0
    cross_check: int = 0
    model: str | None = None
    expected: Expected | None = None
    providers: Mapping[str, Sequence[str]] = field(default_factory=lambda: OF_A_WORLD)

    def __post_init__(self) -> None:
        """Give every fault its one spelling, by which it is known in ledgers. Raises `OptionError` on a bad one."""
        faults = dict.fromkeys(normal_fault(text, self.providers) for text in self.faults)
        object.__setattr__(self, "faults", tuple(faults))

    def check(self) -> None:
        """Refuse what cannot work, before any life is started.

        Raises:
            OptionError: names the option, what is wrong, and what there is.
        """
        check_store(self.store)
        self._check_names()
        for name, value, least in (
            ("--jobs", self.jobs, 1),
            ("--max-images", self.max_images, 1),
            ("--max-crashes", self.max_crashes, 1),
            ("--interleavings", self.interleavings, 0),
            ("--cross-check", self.cross_check, 0),
        ):
            if value is not None and value < least:
                raise OptionError(f"{name} {value} is too few; it counts from {least}")

    def _check_names(self) -> None:
        for accepted in self.accept:
            _check_name("nothing can be accepted as", accepted, [IN_FLIGHT])
        for source in self.perturb:
            _check_name("nothing can be perturbed that is called", source, SOURCES)
        for provider, preset in self.policies.items():
            _check_name("there is no provider", provider, list(self.providers))
            _check_policy(preset)
        if self.model is not None:
            check_model(self.model)
        if self.launcher is not None:
            _check_name("there is no launcher", self.launcher, LAUNCHERS)

    def judge(self, subject: Subject, baseline: Try) -> Judge:
        """Who holds the runs of the agent against its baseline."""
        return Judge(
            agent=subject,
            baseline=baseline,
            reproduce=partial(self.command, subject),
            accept=frozenset(self.accept),
            secrets=known_secrets(),
            expected=self.expected,
            model=self.model,
        )

    @property
    def cores(self) -> int:
        """Tries at a time. One process has one set of surroundings to perturb, so it lives one life at a time."""
        return 1 if self.launcher == IN_PROCESS else self.jobs or os.cpu_count() or 1

    def command(self, subject: Subject, schedule: str) -> str:
        """The command that carries out a schedule again, with those options that change what it does."""
        return subject.again(schedule, self._as_arguments())

    def _as_arguments(self) -> str:
        parts = [] if self.store == "sqlite" else ["--store", self.store]
        parts += [part for name in self.accept for part in ("--accept", name)]
        parts += [part for item in self.policies.items() for part in ("--policy", "=".join(item))]
        parts += [part for text in self.faults for part in ("--fault", text)]
        parts += [part for step, value in self.deliver.items() for part in ("--deliver", f"{step}={json.dumps(value)}")]
        parts += ["--seed", str(self.seed)] if self.seed else []
        return "".join(f" {shlex.quote(part)}" for part in parts)


def read_sources(text: str) -> tuple[str, ...]:
    """The sources of `--perturb`: `all`, `none`, or their names with commas between."""
    named = {"all": SOURCES, "none": ()}
    return named[text] if text in named else tuple(name.strip() for name in text.split(","))


def read_seconds(option: str, text: str) -> float:
    """Seconds from `30s`, `1.5m`, `1h` or a bare number. Raises `OptionError` on anything else."""
    units = {"s": 1, "m": 60, "h": 3600}
    number, factor = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    try:
        return float(number) * factor
    except ValueError:
        raise OptionError(f"{option} {text!r} is no time; write 30s, 2m or 1h") from None


def _check_name(fact: str, name: str, known: Sequence[str]) -> None:
    if name not in known:
        raise OptionError(f"{fact} {name!r}{nearest(name, known)}")


def _check_policy(preset: str) -> None:
    try:
        policy(preset)
    except UnknownName as error:
        raise OptionError(str(error)) from None
