"""Verifying: every sequence of crashes, by crash images, and an honest word about what was covered."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from chaos.agent import Agent
from chaos.checks import IN_FLIGHT
from chaos.errors import HarnessError
from chaos.exploring import Progress, setting_of
from chaos.imaging import Imaging
from chaos.launchers import launcher_for
from chaos.options import Options
from chaos.points import Schedule
from chaos.saved import save
from chaos.verdict import Verdict
from chaos.verifying import Verifying


def verify(agent: Agent, options: Options | None = None, progress: Progress | None = None) -> Verdict:
    """Cover every sequence of crashes of an agent that works through a `Run`.

    Raises:
        HarnessError: an option, a name or the set-up is wrong, or the agent shows no records.
    """
    began = time.monotonic()
    with _verifying(agent, options or Options()) as found:
        found.carry_out_saved(found.options.save)
        found.explore(began, progress or (lambda *_: None))
        found.name_sources()
        found.cross_check()
        verdict = found.verdict(time.monotonic() - began)
        save(agent.name, found.options.save, verdict.findings, found.options.faults)
        return verdict


def reproduce_in_images(agent: Agent, schedule: Schedule, options: Options) -> Verdict:
    """Carry out one schedule in crash images, with the surroundings perturbed as the options say.

    Raises:
        HarnessError: an option, a name or the set-up is wrong, or the agent shows no records.
    """
    began = time.monotonic()
    with _verifying(agent, options) as found:
        found.carry_out(schedule)
        return found.verdict(time.monotonic() - began)


@contextmanager
def _verifying(agent: Agent, options: Options) -> Iterator[Verifying]:
    if not agent.takes_run:
        raise HarnessError(
            f"{agent.name} takes no Run, so its records cannot be seen and no crash image taken; "
            f"crashwindow kill tries it with real kills"
        )
    agent.check_input()
    with setting_of(options) as setting:
        launcher = launcher_for(agent, options.launcher, perturbed=True)
        try:
            accepts = IN_FLIGHT in options.accept
            imaging = Imaging(agent, launcher, setting, exact=options.exact, accept_in_flight=accepts)
            yield Verifying(agent, options, imaging, launcher.notes)
        finally:
            launcher.close()
