"""Killing a program at its provider calls, whatever it is written in, and judging what comes of it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from chaos.errors import OptionError
from chaos.exploring import Progress, exploring_with
from chaos.faults import over_http
from chaos.options import Options
from chaos.programs.launcher import programs_launcher
from chaos.programs.program import Program
from chaos.programs.syscalls import Syscalls
from chaos.saved import save
from chaos.verdict import Verdict
from fakes.server.recorded import Recording, RecordingUnreadable
from fakes.server.script import Script, ScriptUnreadable

_BETWEEN = "crashes elsewhere than at a provider call: --at syscalls kills at whatever the program makes durable"


def program_options(**chosen: object) -> Options:
    """Options for programs, whose providers are those of the server.

    Raises:
        OptionError: a fault cannot be read, or names what there is not.
    """
    return Options(providers=over_http(), **chosen)  # type: ignore[arg-type]  # the fields of Options


def execute(program: Program, options: Options | None = None, progress: Progress | None = None) -> Verdict:
    """Start a program, kill it at its points, start it again until it ends, and judge every run that comes of it.

    Args:
        program: under test.
        options: made by `program_options`.
        progress: told of every finished try.

    Raises:
        HarnessError: an option, a name or the set-up is wrong.
    """
    began = time.monotonic()
    program.check()
    options = options or program_options()
    says, recorded = read_answers(program.script, program.recorded)
    syscalls = Syscalls(program.syscalls, options.seed)
    with exploring_with(program, options, lambda: programs_launcher(program, syscalls, says, recorded)) as found:
        found.uncovered = tuple(_uncovered(program, syscalls))
        found.carry_out_saved(options.save)
        found.explore(progress or _ignore)
        misses = [*(says.misses if says else ()), *(recorded.misses if recorded else ())]
        found.reasons += dict.fromkeys(misses)
        verdict = found.verdict(time.monotonic() - began)
        save(program.name, options.save, verdict.findings, options.faults)
        return verdict


def read_answers(script: Path | None, recording: Path | None) -> tuple[Script | None, Recording | None]:
    """A script and a recording, where files of them are named. Raises `OptionError` on one that cannot be used."""
    try:
        return (
            None if script is None else Script.read(script),
            None if recording is None else Recording.read(recording),
        )
    except (ScriptUnreadable, RecordingUnreadable) as error:
        raise OptionError(str(error)) from None


def _uncovered(program: Program, syscalls: Syscalls) -> Iterator[str]:
    if not program.syscalls:
        yield _BETWEEN
    elif syscalls.left_out:
        yield f"{syscalls.left_out} system calls beyond the {program.syscalls} that were drawn; --most N takes more"


def _ignore(*_: int) -> None:
    """Nobody watches."""
