"""Fingerprints: short digests of values that are the same in every process.

Equal data has equal fingerprints whatever the hash seed, the insertion order of a dict or the
iteration order of a set; a list counts as a tuple. Objects that are not data (clients, locks, open
files) count by their type alone, and so do dataclasses that hold one: an SDK client may be an argument of a step.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING

from pydantic import BaseModel

from durable_core.codec import model_parts

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_DIGEST_BYTES = 6


def fingerprint(value: object) -> str:
    """Twelve hex digits that stand for `value` in every process."""
    return hashlib.blake2b(_canonical(value), digest_size=_DIGEST_BYTES).hexdigest()


def fingerprint_call(args: Sequence[object], kwargs: Mapping[str, object]) -> str:
    """One fingerprint per argument, as text: `(0=…,1=…,to=…)`."""
    parts = [f"{index}={fingerprint(value)}" for index, value in enumerate(args)]
    parts += [f"{name}={fingerprint(kwargs[name])}" for name in sorted(kwargs)]
    return f"({','.join(parts)})"


def changed_arguments(recorded: str, asked: str) -> list[str]:
    """The names of the arguments whose fingerprints differ between two calls."""
    then, now = (
        dict(part.rpartition("=")[::2] for part in text[1:-1].split(",") if part) for text in (recorded, asked)
    )
    return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


def _canonical(value: object) -> bytes:  # noqa: C901, PLR0911 - a table of types reads best as one list
    """A self-delimiting spelling: two different values never share one."""
    if isinstance(value, str):
        return _tagged(b"s", value.encode("utf-8", "surrogatepass"))
    if value is None or isinstance(value, bool | float | complex):
        return _tagged(b"v", f"{type(value).__name__} {value!r}".encode())
    if isinstance(value, int):
        return _tagged(b"v", b"%s %x" % (type(value).__name__.encode(), value))  # decimals have a limit of 4300 digits
    if isinstance(value, list | tuple):
        return _tagged(b"l", b"".join(map(_canonical, value)))
    if isinstance(value, Mapping):
        return _tagged(b"d", b"".join(sorted(_canonical(key) + _canonical(item) for key, item in value.items())))
    if isinstance(value, bytes | bytearray):
        return _tagged(b"b", bytes(value))
    if isinstance(value, AbstractSet):
        return _tagged(b"S", b"".join(sorted(map(_canonical, value))))
    if isinstance(value, Enum):
        return _named(value, [value.name, value.value])
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _canonical_dataclass(value)
    if isinstance(value, BaseModel):
        return _named(value, model_parts(value))
    if isinstance(value, Sequence):  # a range or a deque
        return _named(value, list(value))
    return _canonical_object(value)


def _canonical_dataclass(value: DataclassInstance) -> bytes:
    """Its fields; its type alone when it holds what is no data, such as a client with a connection."""
    fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if any(_is_opaque(part) for part in fields.values()):
        return _tagged(b"o", type(value).__qualname__.encode())
    return _named(value, fields)


def _is_opaque(value: object) -> bool:
    return _canonical(value).startswith(b"o")


def _canonical_object(value: object) -> bytes:
    if isinstance(value, partial):
        return _tagged(b"p", _canonical([value.func, value.args, value.keywords]))
    name = getattr(value, "__qualname__", None)
    if isinstance(name, str):
        return _tagged(b"n", name.encode())
    for known in type(value).__mro__:  # also a subclass of these, as a frozen clock's datetime is in tests
        if known.__module__.partition(".")[0] in _PLAIN_DATA_MODULES and "__repr__" in vars(known):
            return _tagged(b"t", f"{known.__name__} {value}".encode())
    return _tagged(b"o", type(value).__qualname__.encode())


_PLAIN_DATA_MODULES = frozenset({"datetime", "decimal", "uuid", "fractions", "pathlib", "ipaddress", "zoneinfo", "re"})


def _named(value: object, parts: object) -> bytes:
    return _tagged(b"c", _canonical(type(value).__qualname__) + _canonical(parts))


def _tagged(tag: bytes, body: bytes) -> bytes:
    return b"%s%d:%s" % (tag, len(body), body)
