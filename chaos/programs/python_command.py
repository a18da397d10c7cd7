"""What a command runs on Python, and what that imports: read from its source, without importing anything."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path

from chaos.errors import LaunchError

_PLAIN_FLAGS = frozenset(["-u", "-B", "-E", "-s", "-S", "-I", "-P"])


@dataclass(frozen=True, slots=True)
class PythonCommand:
    """What a Python interpreter is told to run: a module's name or a script's path, and its arguments."""

    module: str | None
    script: str | None
    arguments: tuple[str, ...]


def read_python(command: Sequence[str]) -> PythonCommand:
    """The module or script in a command.

    Raises:
        LaunchError: it is none that this interpreter could be forked for.
    """
    interpreter, *rest = command
    if not _is_ours(interpreter):
        raise LaunchError(
            f"--warm forks lives from the interpreter that runs crashwindow, {sys.executable}, and {interpreter!r} is "
            f"another; install crashwindow beside the program, or leave --warm out"
        )
    while rest and rest[0] in _PLAIN_FLAGS:
        rest = rest[1:]
    if len(rest) > 1 and rest[0] == "-m":
        return PythonCommand(rest[1], None, tuple(rest[2:]))
    if rest and not rest[0].startswith("-"):
        return PythonCommand(None, rest[0], tuple(rest[1:]))
    raise LaunchError("--warm takes python -m MODULE or python SCRIPT.py, with plain arguments")


def installed_imports(command: Sequence[str]) -> list[str]:
    """The installed modules that a Python program imports, its own modules' imports among them, in order.

    Raises:
        LaunchError: see `read_python`; or there is no such module or script, or it is no Python.
    """
    python = read_python(command)
    found: dict[str, None] = {}
    seen: set[Path] = set()
    waiting = [_source_of(python)]
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        for name in _imports_in(file):
            where = _where(name)
            if where is not None and not is_installed(where):
                waiting.append(where)
            elif where is not None or name in sys.stdlib_module_names:
                found[name] = None
    return list(found)


def _is_ours(interpreter: str) -> bool:
    """Whether a command's interpreter is this one: by its path, or by a bare name that any environment gives it."""
    path = Path(interpreter)
    if len(path.parts) == 1:
        return path.name.startswith("python")
    return path.absolute().parent == Path(sys.executable).parent and path.name.startswith("python")


def _source_of(python: PythonCommand) -> Path:
    if python.script is not None:
        path = Path(python.script)
        if not path.is_file():
            raise LaunchError(f"there is no script {python.script}")
        return path
    where = _where(python.module or "")
    if where is None:
        raise LaunchError(f"there is no module {python.module} to be found from {Path.cwd()}")
    main = where.parent / "__main__.py"
    return main if where.name == "__init__.py" and main.exists() else where


def _where(name: str) -> Path | None:
    """The file of a module, found without importing its packages; None for one that has none, or is not there."""
    places: Sequence[str] | None = [str(Path.cwd()), *sys.path]
    for part in name.split("."):
        spec = PathFinder.find_spec(part, places) if places else None
        if spec is None:
            return None
        places = spec.submodule_search_locations
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def is_installed(file: Path) -> bool:
    """Whether a module's file belongs to Python or to a package, and not to the program."""
    return "site-packages" in file.parts or "dist-packages" in file.parts or Path(ast.__file__).parent in file.parents


def _imports_in(file: Path) -> Iterator[str]:
    """Modules that are imported at the top of a file."""
    try:
        tree = ast.parse(file.read_bytes())
    except SyntaxError as error:
        raise LaunchError(f"{file} is no Python: {error.msg} in line {error.lineno}") from None
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names if alias.name != "*")
