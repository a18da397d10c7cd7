"""Stores by URL."""

from __future__ import annotations

import difflib
from pathlib import Path
from urllib.parse import unquote

from durable_core.errors import StoreError
from durable_core.stores.file import FileStore
from durable_core.stores.memory import MemoryStore
from durable_core.stores.protocol import Store
from durable_core.stores.sqlite import SqliteStore

_FORMS = {
    "memory": "memory:",
    "file": "file:runs (relative) or file:///srv/runs (absolute)",
    "sqlite": "sqlite:///runs.db (relative) or sqlite:////srv/runs.db (absolute)",
}

_LATER = ("postgresql", "redis", "dynamodb")


def open_store(url: str, *, create: bool = True) -> Store:
    """Open the store that `url` names. Close it after use.

    - `memory:` is new every time and survives nothing.
    - `file:runs` is a folder, from the working directory; `file:///srv/runs` is absolute. `%20` means a space.
    - `sqlite:///runs.db` is a file, from the working directory; `sqlite:////srv/runs.db` is absolute. This is
      SQLAlchemy's rule (docs.sqlalchemy.org, "Database URLs").

    With `create=False` a file or folder that is not there is an error, for those who only look into a store.

    Raises:
        StoreError: the URL names no store of this version, or the store cannot be opened.
    """
    scheme, colon, rest = url.partition(":")
    if not colon:
        raise StoreError(f"store URL {url!r} has no scheme; {_forms()}")
    if scheme in _LATER:
        raise StoreError(f"store URL {url!r}: a {scheme} store is not in this version; {_forms()}")
    if scheme not in _FORMS:
        near = difflib.get_close_matches(scheme.lower(), [*_FORMS, *_LATER], n=1)
        guess = f", did you mean {near[0]!r}?" if near else ";"
        raise StoreError(f"store URL {url!r} has the unknown scheme {scheme!r}{guess} {_forms()}")
    if "?" in rest:
        raise StoreError(f"store URL {url!r} has options after '?', and no store takes any; leave them out")
    match scheme:
        case "memory" if not rest:
            return MemoryStore()
        case "file" if rest.startswith("///") or (rest and not rest.startswith("//")):
            return FileStore(_existing(url, unquote(rest.removeprefix("//")), create))
        case "sqlite" if rest.removeprefix("///") in {"", "//", ":memory:"}:
            raise StoreError(f"store URL {url!r} names no file, so nothing would survive; for that there is 'memory:'")
        case "sqlite" if rest.startswith("///"):
            return SqliteStore(_existing(url, rest.removeprefix("///"), create))
    raise StoreError(f"store URL {url!r} is not of the form {_FORMS[scheme]}")


def _existing(url: str, path: str, create: bool) -> str:  # noqa: FBT001 - handed on as it came
    if not create and not Path(path).exists():
        raise StoreError(f"store URL {url!r}: there is nothing at {Path(path).absolute()}; correct the path")
    return path


def _forms() -> str:
    return "write " + ", ".join(_FORMS.values())
