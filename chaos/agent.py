"""The agent under test: found by name, and called with what its parameters ask for."""

from __future__ import annotations

import builtins
import importlib
import inspect
import json
import shlex
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Protocol

from pydantic import TypeAdapter, ValidationError

from chaos.errors import AgentError
from chaos.points import nearest
from durable_core import Run
from fakes import World


class Subject(Protocol):
    """Something under test: an agent that is called, or a program that is run.

    `takes_run` says whether its records can be seen. `disagreement` and `idle` say what is amiss when two runs without
    a kill differ, and when no provider was called; `remedy` what keeps an effect from happening again.
    """

    @property
    def name(self) -> str:
        """As a user writes it."""

    @property
    def short(self) -> str:
        """As findings call it."""

    @property
    def takes_run(self) -> bool: ...  # noqa: D102 - see above

    @property
    def disagreement(self) -> str: ...  # noqa: D102 - see above

    @property
    def idle(self) -> str: ...  # noqa: D102 - see above

    @property
    def remedy(self) -> str: ...  # noqa: D102 - see above

    def again(self, schedule: str, options: str) -> str:
        """The command that carries out a schedule again; `options` begin with a space, if there are any."""


GIVEN_BY_NAME = ("run_id", "state")
"""Parameters by which an agent with a checkpoint of its own is given the id of the run, and a folder (`Path`) that
survives its lives. The same names are substituted in commands."""


@dataclass(frozen=True, slots=True)
class Agent:
    """A callable under test. `name` is how a user writes it: `module:attribute`."""

    name: str
    function: Callable[..., object]
    input: tuple[object, ...] = ()
    _known_hints: dict[str, object] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def short(self) -> str:
        """The name in findings: the attribute alone."""
        return self.name.rpartition(":")[2]

    @property
    def takes_run(self) -> bool:
        """Whether the records of the agent can be seen, because it works through a `Run`."""
        return Run in self._hints().values()

    disagreement = (
        "two runs without a kill ask different things of the providers, and the agent shows no records to hold "
        "a run against; let it work through a Run, or take chance and time out of its requests"
    )
    idle = "the agent called no provider of its World"
    remedy = "record each finished step, and give every effect a key made of run and step: run.effect(...) does both"

    @property
    def is_async(self) -> bool:
        """Whether the agent is a coroutine function."""
        return inspect.iscoroutinefunction(self.function)

    def check_input(self) -> None:
        """Refuse input that does not fit. Raises `AgentError`."""
        self.arguments(None, run_id="", state=Path())

    def again(self, schedule: str, options: str) -> str:
        """The command that carries out a schedule again."""
        given = "".join(f" --arg {shlex.quote(_as_argument(value))}" for value in self.input)
        return f"crashwindow reproduce {self.name} {shlex.quote(schedule)}{given}{options}"

    def arguments(self, world: World | None, run_id: str, state: Path) -> dict[str, object]:
        """What the agent is called with, apart from its `Run`, by name.

        Raises:
            AgentError: the input does not fit the parameters.
        """
        hints = self._hints()
        given: dict[str, object] = {}
        if not self.takes_run:
            given = {"run_id": run_id, "state": state}
        parameters = inspect.signature(self.function).parameters
        arguments = {name: given[name] for name in parameters if name in given}
        arguments |= {name: world for name, hint in hints.items() if hint is World}
        rest = [name for name in parameters if name not in arguments and hints.get(name) is not Run]
        if len(self.input) > len(rest):
            raise AgentError(
                f"{self.name} was given {len(self.input)} inputs, {', '.join(map(repr, self.input))}, but takes "
                f"{len(rest)}: {', '.join(rest) or 'none'}"
            )
        arguments |= dict(zip(rest, self.input, strict=False))
        missing = [name for name in rest[len(self.input) :] if parameters[name].default is inspect.Parameter.empty]
        if missing:
            raise AgentError(
                f"{self.name} needs an input for {', '.join(map(repr, missing))}; pass it with --arg, or after the "
                f"agent in chaos.kill(agent, ...)"
            )
        return arguments

    def _hints(self) -> Mapping[str, object]:
        """The annotations of the parameters; an unannotated first parameter called `run` is a `Run`."""
        if not self._known_hints:  # they are costly to resolve, and asked for in every life
            function = _underlying(self.function)
            self._known_hints.update(typing.get_type_hints(function, localns=_Names(function)))
            self._known_hints.pop("return", None)
            if next(iter(inspect.signature(self.function).parameters), None) == "run":
                self._known_hints.setdefault("run", Run)
        return self._known_hints


def _underlying(function: Callable[..., object]) -> Callable[..., object]:
    """The function that the annotations stand at: inside a partial, or behind an object that can be called."""
    while isinstance(function, partial):
        function = function.func
    return function if hasattr(function, "__annotations__") else type(function).__call__


class _Names(dict[str, object]):
    """What names in annotations mean; a name that is known inside a function alone is neither `Run` nor `World`."""

    def __init__(self, function: Callable[..., object]) -> None:
        super().__init__()
        self._globals: Mapping[str, object] = getattr(inspect.unwrap(function), "__globals__", {})

    def __missing__(self, name: str) -> object:
        return self._globals.get(name, getattr(builtins, name, object))


def agent_of(function: Callable[..., object], given: tuple[object, ...] = ()) -> Agent:
    """A callable of this process as an agent, under the name that says where it is defined."""
    qualname = getattr(function, "__qualname__", type(function).__qualname__)
    return Agent(name_of(function) or f"{function.__module__}:{qualname}", function, given)


def find_agent(name: str, input: Sequence[object] = ()) -> Agent:  # noqa: A002 - the word of design and CLI
    """Import `module:attribute`; the working directory is searched first.

    Raises:
        AgentError: there is no such module or attribute (the nearest is named), or it cannot be called.
    """
    module_name, colon, attribute = name.partition(":")
    if not colon or not module_name or not attribute:
        raise AgentError(f"agent {name!r} is not written as module:attribute, such as scenarios.newsletter:keyed")
    found: object = _import(module_name, name)
    for part in attribute.split("."):
        if not hasattr(found, part):
            known = [key for key, value in vars(found).items() if callable(value) and not key.startswith("_")]
            raise AgentError(f"{module_name} has no {attribute!r}{nearest(part, known)}")
        found = getattr(found, part)
    if not callable(found):
        raise AgentError(f"{name} is a {type(found).__name__}, not something that can be called")
    return Agent(name, found, tuple(input))


def read_input(agent: Agent, texts: Sequence[str]) -> Agent:
    """The agent with its input read from text: by annotation, else as JSON, else as it stands."""
    hints = agent._hints()  # noqa: SLF001 - one idea in two functions
    parameters = [name for name, hint in hints.items() if hint not in (Run, World)]
    values = []
    for index, text in enumerate(texts):
        hint = hints.get(parameters[index], object) if index < len(parameters) else object
        values.append(_read(agent, text, hint))
    return Agent(agent.name, agent.function, tuple(values))


def name_of(function: Callable[..., object]) -> str | None:
    """`module:attribute` when a fresh interpreter would find the same function under it, else None."""
    module, attribute = getattr(function, "__module__", None), getattr(function, "__qualname__", "")
    if not isinstance(module, str) or module == "__main__" or not attribute.isidentifier():
        return None
    return f"{module}:{attribute}" if getattr(sys.modules.get(module), attribute, None) is function else None


def _import(module_name: str, name: str) -> object:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name == error.name or module_name.startswith(f"{error.name}.")):
            raise AgentError(f"{name} cannot be imported: it imports {error.name!r}, which is not installed") from None
        raise AgentError(
            f"there is no module {module_name!r}{nearest(module_name, _modules_near(module_name))}"
        ) from None
    except Exception as error:  # whatever the user's module does while it is imported
        raise AgentError(f"{name} cannot be imported: {type(error).__name__}: {error}") from error


def _modules_near(module_name: str) -> list[str]:
    """Modules a user may have meant: beside the one named, and in the working directory."""
    package = module_name.rpartition(".")[0]
    try:
        folders = [Path(path) for path in importlib.import_module(package).__path__] if package else [Path.cwd()]
    except ImportError:
        folders = [Path.cwd()]
        package = ""
    prefix = f"{package}." if package else ""
    files = [file.stem for folder in folders for file in sorted(folder.glob("*.py")) if not file.stem.startswith("_")]
    packages = [file.parent.name for folder in folders for file in sorted(folder.glob("*/__init__.py"))]
    return [prefix + stem for stem in files + packages] + (
        [] if package else ["scenarios.newsletter", "scenarios.research", "scenarios.refund"]
    )


def _read(agent: Agent, text: str, hint: object) -> object:
    if hint in (object, typing.Any):
        try:
            return json.loads(text)
        except ValueError:
            return text
    adapter: TypeAdapter[object] = TypeAdapter(hint)  # type: ignore[arg-type]  # an annotation, whatever it is
    try:
        return adapter.validate_python(text)
    except ValidationError:
        pass
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        raise AgentError(f"{agent.name} cannot take {text!r}: {error.errors()[0]['msg']}, for {hint}") from None


def _as_argument(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=repr)
