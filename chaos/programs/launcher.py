"""The launcher of programs: starts each life, ends it at its point, and says how it ended."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from chaos.errors import LaunchError
from chaos.life import LifeEnd, LifeSpec, ProgramSpec, Report
from chaos.parents import Parent, start_parents
from chaos.points import Point
from chaos.programs.gate import LifeAtGate
from chaos.programs.program import Program
from chaos.programs.python_command import installed_imports
from chaos.programs.stage import Stage, Stages, variable_names
from chaos.programs.syscalls import Syscalls, is_syscall
from fakes.server.listening import Listener
from fakes.server.recorded import Recording
from fakes.server.script import Script

_SAID = 200
"""Bytes of the last line of its output that a life is quoted with."""


@dataclass(frozen=True, slots=True)
class Programs:
    """Each life is a process of its own, started from a small one that buries what it leaves."""

    program: Program
    stages: Stages
    parents: Sequence[Parent]
    syscalls: Syscalls
    notes: tuple[str, ...] = ()
    _open: dict[str, Stage] = field(default_factory=dict)

    @contextmanager
    def surroundings(self, spec: LifeSpec) -> Iterator[None]:
        """The fakes, and a folder for state, as long as a try goes on."""
        with self.stages.stage(spec) as stage:
            self._open[spec.folder] = stage
            try:
                yield
            finally:
                del self._open[spec.folder]

    def run(self, spec: LifeSpec) -> LifeEnd:
        """Live one life to its end."""
        stage = self._open[spec.folder]
        life = stage.begin(spec)
        parent = self.parents[spec.turn % len(self.parents)]
        with self._traced(spec, life) as prefix, parent.begin(self._begun(stage, spec, prefix)) as replies:
            life.has_started(json.loads(replies.readline() or b'{"pid": null}')["pid"])
            status = json.loads(replies.readline() or b'{"exit": -9, "hung": false}')
        life.is_over()
        return _end(spec, life, status["exit"], hung=status["hung"], said=_last_line(Path(spec.folder)))

    def close(self) -> None:
        """End what is still running."""
        for parent in self.parents:
            parent.control.close()
            parent.wait()
        self.stages.listener.close()

    def _begun(self, stage: Stage, spec: LifeSpec, prefix: Sequence[str]) -> LifeSpec:
        process = ProgramSpec(
            command=(*prefix, *stage.places(spec).command(self.program.command)),
            environment=stage.environment(spec),
            warm=self.program.warm and not prefix,
        )
        return replace(spec, program=process)

    def _traced(self, spec: LifeSpec, life: LifeAtGate) -> AbstractContextManager[Sequence[str]]:
        """What stands before the command: strace, for a life whose system calls are listed, or that ends at one."""
        folder = Path(spec.folder)
        if isinstance(spec.kill_at, Point) and is_syscall(spec.kill_at):
            return self.syscalls.striking(life, spec.kill_at, folder)
        if self.program.syscalls and spec.number == 1 and spec.kill_at is None:
            return self.syscalls.listing(life, folder)
        return nullcontext(())


def programs_launcher(
    program: Program, syscalls: Syscalls, script: Script | None = None, recording: Recording | None = None
) -> Programs:
    """The launcher of a program's lives.

    Raises:
        LaunchError: this system, or this program, cannot do it; says what works.
    """
    if sys.platform == "win32":
        raise LaunchError("real kills need SIGKILL, which Windows does not have; they work on Linux, and in WSL")
    if sys.platform != "linux":
        raise LaunchError("programs are started from a process that adopts their orphans, which needs Linux")
    if program.syscalls:
        syscalls.check()
    imports = installed_imports(program.command) if program.warm else []
    setup: dict[str, object] = {"cwd": str(Path.cwd()), "imports": imports, "variables": variable_names(program)}
    parents = start_parents("chaos.programs.start:serve_programs", setup, count=2 if program.warm else 1)
    notes = tuple(_notes(imports, parents[0].told["cold"])) if program.warm else ()
    return Programs(program, Stages(program, Listener(), script, recording), parents, syscalls, notes)


def _notes(imports: Sequence[str], cold: Sequence[str]) -> Iterator[str]:
    warm = [name for name in _tops(imports) if name not in cold]
    yield f"lives were forked from a process that had imported {', '.join(warm) or 'nothing'}"
    if cold:
        yield f"imported in every life, where the environment is read meanwhile: {', '.join(cold)}"


def _tops(imports: Sequence[str]) -> list[str]:
    """The packages among modules, without those of Python itself."""
    tops = dict.fromkeys(name.partition(".")[0] for name in imports)
    return [name for name in tops if name not in sys.stdlib_module_names]


def _end(spec: LifeSpec, life: LifeAtGate, code: int, *, hung: bool, said: str) -> LifeEnd:
    trace = tuple(point for _, point in life.trace)
    report: Report | None = None
    if life.was_killed:
        report = Report(outcome="killed", trace=trace)
    elif hung or code < 0:
        pass  # nobody planned that death
    elif code == 0:
        report = Report(outcome="finished", trace=trace, shown="exit code 0")
    else:
        report = Report(outcome="raised", trace=trace, error=f"exit code {code}" + (f": {said}" if said else ""))
    return LifeEnd(spec=spec, report=report, exit=code, hung=hung and not life.was_killed)


def _last_line(folder: Path) -> str:
    """The last thing that a life has printed."""
    log = folder / "output.log"
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _SAID))
        return file.read().decode("utf-8", "backslashreplace").strip().rpartition("\n")[2]
