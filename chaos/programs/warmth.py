"""Warm starts of Python programs: what they import is imported once, and each life is a fork.

Only what is installed is imported ahead. The program's own modules run in every life: they may read their environment
while they are imported, and that is another in every life. An installed package that does the same, as resend does,
is found out and left to the lives too.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import sys
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

from chaos.life import LifeSpec
from chaos.programs.python_command import is_installed, read_python

_MODULES = "modules.json"
"""In the folder of a try: what its program had imported when it ended."""


@dataclass(slots=True)
class Warmth:
    """What the parent of the lives has imported for them.

    Attributes:
        variables: names of environment variables that are others in every life.
        cold: packages whose modules read one of them while they are imported, and whoever holds on to such a package.
        learned: a life has told what it had imported by its end; SDKs import much of theirs when it is first used.
    """

    variables: Collection[str]
    cold: set[str] = field(default_factory=set)
    learned: bool = False

    def import_all(self, names: Iterable[str]) -> None:
        """Import what can be; what fails here fails in the program, which may not mind."""
        with _reading(self.variables) as readers:
            for name in names:
                if _top(name) not in self.cold:
                    _import(name)
        self.cold |= readers
        self._forget()

    def learn(self, spec: LifeSpec) -> None:
        """Import what a life that has ended had imported, if nothing was learned before."""
        told = Path(spec.folder) / _MODULES
        if self.learned or not told.exists():
            return
        self.learned = True
        self.import_all(name for name in json.loads(told.read_text()) if name not in sys.modules)
        gc.freeze()

    def tell(self, spec: LifeSpec) -> None:
        """In a life, at its end: what it has imported."""
        if not self.learned:
            files = {name: getattr(module, "__file__", None) for name, module in list(sys.modules.items())}
            names = [name for name, file in files.items() if file and is_installed(Path(file)) and name != "__main__"]
            new = Path(spec.folder) / f"{_MODULES}.{os.getpid()}"
            new.write_text(json.dumps(names))
            new.replace(Path(spec.folder) / _MODULES)

    def _forget(self) -> None:
        """Take the cold packages out of this process again, so that each life imports them for itself."""
        while cold := {_top(name) for name in list(sys.modules) if _holds(name, self.cold)} - self.cold:
            self.cold |= cold
        for name in [name for name in sys.modules if _top(name) in self.cold]:
            del sys.modules[name]


def run_python(command: Sequence[str]) -> int:
    """Run a program in this process as its interpreter would, to the end of its threads; gives its exit code."""
    python = read_python(command)
    code = 0
    try:
        if python.module is not None:
            sys.path.insert(0, str(Path.cwd()))
            sys.argv = [python.module, *python.arguments]
            runpy.run_module(python.module, run_name="__main__", alter_sys=True)
        elif python.script is not None:
            sys.path.insert(0, str(Path(python.script).resolve().parent))
            sys.argv = [python.script, *python.arguments]
            runpy.run_path(python.script, run_name="__main__")
    except SystemExit as leaving:
        code = _code_of(leaving)
    except BaseException as error:  # noqa: BLE001 - as the interpreter does at its top
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001 - what an interpreter does at its end
    atexit._run_exitfuncs()  # noqa: SLF001 - as above
    return code


def _code_of(leaving: SystemExit) -> int:
    if leaving.code is None or isinstance(leaving.code, int):
        return leaving.code or 0
    print(leaving.code, file=sys.stderr)  # noqa: T201 - as the interpreter does
    return 1


def _import(name: str) -> None:
    try:
        importlib.import_module(name)
    except Exception:  # noqa: BLE001 - a module may do anything while it is imported
        return


@contextmanager
def _reading(variables: Collection[str]) -> Iterator[set[str]]:
    """The top packages of the modules that read one of the variables while they are imported."""
    readers: set[str] = set()
    kind = type(os.environ)
    original: dict[str, Callable[..., object]] = {name: getattr(kind, name) for name in ("__getitem__", "__contains__")}

    def watched(method: Callable[..., object]) -> Callable[..., object]:
        def read(environ: object, name: object) -> object:
            if name in variables:
                readers.update(_importers(sys._getframe(1)))  # noqa: SLF001 - who asks
            return method(environ, name)

        return read

    for name, method in original.items():
        setattr(kind, name, watched(method))
    try:
        yield readers
    finally:
        for name, method in original.items():
            setattr(kind, name, method)


def _importers(frame: FrameType | None) -> Iterator[str]:
    """The top package of the innermost module that is being imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            yield _top(str(frame.f_globals.get("__name__", "")))
            return
        frame = frame.f_back


def _holds(name: str, cold: Collection[str]) -> bool:
    """Whether a module has something of a cold package among its names."""
    for value in list(vars(sys.modules[name]).values()) if cold and hasattr(sys.modules[name], "__dict__") else ():
        owner = getattr(value, "__module__", None) or getattr(value, "__name__", None)
        if isinstance(owner, str) and _top(owner) in cold:
            return True
    return False


def _top(name: str) -> str:
    return name.partition(".")[0]
