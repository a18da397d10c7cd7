"""The process that starts programs: each in a group of its own, with the given environment, leaving none behind."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Collection
from functools import partial
from pathlib import Path
from typing import NoReturn

from chaos.coverage import save_coverage
from chaos.life import LifeSpec, ProgramSpec
from chaos.living import redirect_output
from chaos.programs.strays import adopt_orphans, end_strays
from chaos.programs.warmth import Warmth, run_python
from chaos.warm import WarmParent, other_threads, send_line


def serve_programs(descriptor: int) -> None:
    """Start what is asked for until the other side is gone. The setup stands on standard input."""
    control = socket.socket(fileno=descriptor)  # its end is ours: a death with the parent would leave strays behind
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the harness, and that ends this
    setup = json.load(sys.stdin)
    os.chdir(setup["cwd"])
    adopt_orphans()
    warmth = Warmth(frozenset(setup["variables"]))
    warmth.import_all(setup["imports"])
    send_line(control.fileno(), {"threads": other_threads(), "cold": sorted(warmth.cold)})

    def bury(spec: LifeSpec, living: Collection[int]) -> None:
        end_strays(spec, living)
        warmth.learn(spec)

    WarmParent(partial(become, warmth), control, bury).serve()


def become(warmth: Warmth, spec: LifeSpec, reply: int) -> NoReturn:
    """Be the program of a life, which is told of by its number. Does not return."""
    program = spec.program
    if program is None:
        raise ValueError("a life of a program needs to be told which")
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    redirect_output(Path(spec.folder) / "output.log")
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.environ.update(program.environment)
    send_line(reply, {"pid": os.getpid()})
    os.set_inheritable(reply, False)  # noqa: FBT003 - the name says it
    if not program.warm:
        _execute(program)
    code = run_python(program.command)
    warmth.tell(spec)
    sys.stdout.flush()
    sys.stderr.flush()
    save_coverage()
    os._exit(code)


def _execute(program: ProgramSpec) -> NoReturn:
    try:
        os.execvp(program.command[0], program.command)  # noqa: S606 - what the user asks for, without a shell
    except OSError as error:
        print(f"{program.command[0]} cannot be run: {error.strerror}", file=sys.stderr)  # noqa: T201 - to its log
        os._exit(127)
