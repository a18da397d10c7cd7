"""What the lives of one try have in common: the fakes at one address, their ledger, and a folder for state."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from chaos.life import LifeSpec
from chaos.programs.gate import LifeAtGate, ProgramGate
from chaos.programs.program import Places, Program
from chaos.programs.strays import LIFE_VARIABLE, life_mark
from chaos.programs.syscalls import is_syscall
from fakes import Fault, Ledger
from fakes.provider import wall_clock
from fakes.server.dialects import variables
from fakes.server.listening import LOOPBACK, Listener
from fakes.server.proxy import Proxy, proxying
from fakes.server.recorded import Recording
from fakes.server.script import Script
from fakes.server.site import Site
from fakes.server.smtp import serving_smtp

_OURS = ("CRASHWINDOW_URL", "CRASHWINDOW_RUN_ID", "CRASHWINDOW_STATE")


@dataclass(slots=True)
class Stage:
    """The surroundings of one try's lives.

    Attributes:
        program: under test.
        address: of the fakes.
        gate: where lives are ended.
        variables: environment variables that point SDKs here.
        folder: of the try; state is in `folder/state`.
    """

    program: Program
    address: str
    gate: ProgramGate
    variables: dict[str, str]
    folder: Path

    def begin(self, spec: LifeSpec) -> LifeAtGate:
        """Open the gate for the next life."""
        kill_at = None if is_syscall(spec.kill_at) else spec.kill_at
        self.gate.life = LifeAtGate(spec.number, kill_at, self.program.signal, self.program.grace, spec.seed)
        return self.gate.life

    def places(self, spec: LifeSpec) -> Places:
        """What is substituted in the command."""
        return Places(spec.run_id, str(self.folder / "state"), self.address)

    def environment(self, spec: LifeSpec) -> dict[str, str]:
        """What the process of a life finds, beside what the harness itself was started with."""
        places = self.places(spec)
        ours = {
            **dict(zip(_OURS, (places.server, places.run_id, places.state), strict=True)),
            LIFE_VARIABLE: life_mark(spec),
            "PYTHONHASHSEED": str(1 + spec.turn % 2),  # odd and even lives differ in it, as restarts do
            "PYTHONDONTWRITEBYTECODE": "1",  # a life should not be the first to compile a module
            "PYTHONUNBUFFERED": "1",
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
        }
        return self.variables | ours | places.environment(self.program.environment)


@dataclass(slots=True)
class Stages:
    """The stages of the tries that are under way."""

    program: Program
    listener: Listener
    script: Script | None = None
    recording: Recording | None = None

    @contextmanager
    def stage(self, spec: LifeSpec) -> Iterator[Stage]:
        """The surroundings of a try, as long as its lives need them; `spec` is that of its first life."""
        folder = Path(spec.folder)
        gate = ProgramGate(LifeAtGate(1, None, self.program.signal, self.program.grace, spec.seed))
        _lay_out(self.program, folder / "state")
        with ExitStack() as stack:
            ledger = stack.enter_context(Ledger(folder / "ledger.db"))
            site = Site(
                ledger=ledger,
                policies=spec.policies,
                faults=[Fault.parse(text) for text in spec.faults],
                seed=spec.seed,
                steady=True,
                answers=self.script and self.script.anew(),
                recording=self.recording and self.recording.anew(),
                gate=gate,
                clock=lambda: wall_clock() + self.program.later * (gate.life.number - 1),
            )
            address = stack.enter_context(self.listener.serving(site))
            mail = stack.enter_context(self.listener.open(serving_smtp(site)))
            names = variables(address) | {"SMTP_HOST": LOOPBACK, "SMTP_PORT": str(mail)}
            if self.program.tls:
                names |= stack.enter_context(self.listener.open(proxying(site, folder))).variables()
            if "GOOGLE_API_KEY" in os.environ:  # it would come before GEMINI_API_KEY, and it may be a real one
                names["GOOGLE_API_KEY"] = names["GEMINI_API_KEY"]
            yield Stage(self.program, address, gate, names, folder)


def variable_names(program: Program) -> list[str]:
    """The environment variables that are others in every life."""
    proxy = Proxy("", Path()).variables() if program.tls else {}
    return [*variables(""), *proxy, *program.environment, "SMTP_HOST", "SMTP_PORT", *_OURS]


def _lay_out(program: Program, state: Path) -> None:
    """A folder of its own for the try: never the user's, always a copy."""
    if program.state is None:
        state.mkdir(mode=0o700)
    else:
        shutil.copytree(program.state, state, symlinks=True)
