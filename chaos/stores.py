"""The stores that agents are killed on: ours made anew for every try, one by URL, or a stranger's by its factory."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

from chaos.errors import OptionError
from chaos.points import nearest
from durable_core import Store, StoreError, open_store

SHORT = {"sqlite": "sqlite:///{folder}/runs.db", "file": "file://{folder}/runs"}
"""Stores that are made anew in the folder of every try."""

_FACTORY = re.compile(r"(?P<module>\w+(\.\w+)*):(?P<name>[A-Za-z_]\w*)")
_SCHEMES = ("sqlite", "file", "memory", "postgresql", "redis", "dynamodb")


def is_fresh(store: str) -> bool:
    """Whether every try has a store of its own; in others, the runs of all tries stay beside each other."""
    return store in SHORT or _is_factory(store)


def open_in(store: str, folder: str) -> Store:
    """Open the store of one try.

    Args:
        store: `sqlite` or `file`; a URL; or `module:factory`, a function that takes the folder (`Path`) and gives a
            `Store`, for stores of your own.
        folder: of the try.
    """
    if store in SHORT:
        return open_store(SHORT[store].format(folder=quote(folder)))
    if _is_factory(store):
        return _factory(store)(Path(folder))
    return open_store(store)


def check_store(store: str) -> None:
    """Refuse a store that kills cannot be tried on, before any life is started.

    Raises:
        OptionError: it is in memory, or cannot be found or opened.
    """
    if store.startswith("memory"):
        raise OptionError("a store in memory dies with the process it is in; kills need sqlite, file, or a store's URL")
    if store in SHORT:
        return
    if _is_factory(store):
        _factory(store)
        return
    try:
        open_store(store).close()
    except StoreError as error:
        raise OptionError(str(error)) from None


def _is_factory(store: str) -> bool:
    return bool(_FACTORY.fullmatch(store)) and store.partition(":")[0] not in _SCHEMES


def _factory(store: str) -> Callable[[Path], Store]:
    module_name, _, name = store.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise OptionError(f"--store {store}: {error}; write sqlite, file, a URL, or module:factory") from None
    factory: Callable[[Path], Store] | None = getattr(module, name, None)
    if not callable(factory):
        known = [key for key, value in vars(module).items() if callable(value)]
        raise OptionError(f"--store {store}: {module_name} has no factory {name!r}{nearest(name, known)}")
    return factory
