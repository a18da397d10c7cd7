"""A program under test: its command, its environment, and what is different in each of its lives."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from chaos.errors import AgentError, OptionError

KILL = "KILL"
SIGNALS = (KILL, "TERM", "INT", "HUP", "QUIT")
"""By which a life can be ended; all but the first leave it time to end itself."""

_PYTHONS = ("python", "python3", "pypy", "pypy3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """A command under test.

    Attributes:
        command: with its arguments. `{run_id}`, `{state}` and `{server}` are substituted in it, in `environment`, and
            in the environment that it inherits: the id of the run, a folder that survives its lives, the address of
            the fakes.
        environment: variables besides those that point SDKs at the fakes.
        state: a folder that is copied for each try, and whose copy is its `{state}`; None for an empty one.
        signal: ends a life. `grace` is how many seconds it has to end itself, if it is not KILL.
        later: seconds that each life begins later than the one before, for the windows of keys.
        tls: providers are reached through a proxy with a certificate of our own, for SDKs without a base URL.
        warm: a Python program is forked from a process that has imported what it imports.
        syscalls: kills also at system calls that make something durable; so many of them at most.
        script: file of what models say, in order; lifelike answers if None.
        recorded: file of answers recorded elsewhere, which come instead of all others.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    state: Path | None = None
    signal: str = KILL
    grace: float = 2.0
    later: float = 0.0
    tls: bool = False
    warm: bool = False
    syscalls: int = 0
    script: Path | None = None
    recorded: Path | None = None

    takes_run = False
    disagreement = (
        "two runs without a kill ask different things of the providers, although equal requests are answered equally: "
        "the program keeps state outside of {state}, or its requests hold time or chance"
    )
    idle = (
        "the program called no provider at CRASHWINDOW_URL; is its SDK told of it? crashwindow serve prints the "
        "variables, and --tls catches SDKs that have none"
    )
    remedy = (
        "record each finished step, and send a key made of run and step with every effect, as the header "
        "Idempotency-Key or by the SDK's option for it"
    )

    @property
    def name(self) -> str:
        """The command as it is typed."""
        return shlex.join(self.command)

    @property
    def short(self) -> str:
        """The command without its interpreter and folders."""
        first, *rest = self.command
        if Path(first).name.startswith(_PYTHONS) and rest[:1] == ["-m"] and len(rest) > 1:
            rest = [rest[1].rpartition(".")[2], *rest[2:]]
        elif rest and Path(first).name.startswith((*_PYTHONS, "node", "ruby", "deno", "bun")):
            rest = [Path(rest[0]).name, *rest[1:]]
        else:
            rest = [Path(first).name, *rest]
        return shlex.join(rest)

    def check(self) -> None:
        """Refuse what cannot be started.

        Raises:
            AgentError: there is no such command.
            OptionError: an option of it is wrong.
        """
        if not self.command:
            raise AgentError(
                "there is no command to run; write it after --, as in: crashwindow exec -- python agent.py"
            )
        if shutil.which(self.command[0]) is None:
            raise AgentError(f"there is no program {self.command[0]!r} that can be run, here or on PATH")
        if self.signal not in SIGNALS:
            raise OptionError(f"--signal {self.signal} ends no life here; there are {', '.join(SIGNALS)}")
        if self.syscalls and self.signal != KILL:
            raise OptionError("--at syscalls ends lives by SIGKILL alone; leave --signal out")
        if self.grace < 0 or self.later < 0:
            raise OptionError("--grace and --later are seconds, and count from 0")
        if self.state is not None and not self.state.is_dir():
            raise OptionError(
                f"--state {self.state} is no folder; it is copied for each try, and {{state}} is the copy"
            )
        reserved = sorted(name for name in self.environment if not name or "=" in name or "\0" in name)
        if reserved:
            raise OptionError(f"--env {reserved[0]!r} is no name of a variable")

    def again(self, schedule: str, options: str) -> str:
        """The command that carries out a schedule again."""
        return f"crashwindow exec{options}{self._options()} --points {shlex.quote(schedule)} -- {self.name}"

    def _options(self) -> str:
        parts = [part for name, value in self.environment.items() for part in ("--env", f"{name}={value}")]
        parts += [] if self.state is None else ["--state", str(self.state)]
        parts += [] if self.signal == KILL else ["--signal", self.signal, "--grace", f"{self.grace:g}s"]
        parts += ["--later", f"{self.later:g}s"] if self.later else []
        parts += [] if self.script is None else ["--script", str(self.script)]
        parts += [] if self.recorded is None else ["--recorded", str(self.recorded)]
        parts += ["--tls"] * self.tls + ["--warm"] * self.warm + ["--at", "syscalls"] * bool(self.syscalls)
        return "".join(f" {shlex.quote(part)}" for part in parts)


@dataclass(frozen=True, slots=True)
class Places:
    """What is substituted in one try."""

    run_id: str
    state: str
    server: str

    def put_into(self, text: str) -> str:
        """The text with the places filled in; every other brace stays."""
        for name, value in (("{run_id}", self.run_id), ("{state}", self.state), ("{server}", self.server)):
            text = text.replace(name, value)
        return text

    def command(self, parts: Sequence[str]) -> tuple[str, ...]:
        """A command with the places filled in."""
        return tuple(map(self.put_into, parts))

    def environment(self, added: Mapping[str, str]) -> dict[str, str]:
        """What differs from the environment that is inherited: what is added, and what names a place."""
        inherited = {name: value for name, value in os.environ.items() if "{" in value}
        filled = {name: self.put_into(value) for name, value in inherited.items()}
        changed = {name: value for name, value in filled.items() if value != inherited[name]}
        return changed | {name: self.put_into(value) for name, value in added.items()}
