"""Fingerprints: short digests of values that are the same in every process.

Equal values have equal fingerprints whatever the hash seed, the insertion order of a dict or the
iteration order of a set. Objects that are not data (clients, locks, open files) count by their
type alone, so an SDK client may be an argument of a step.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from typing import Protocol, runtime_checkable

_DIGEST_BYTES = 6


@runtime_checkable
class _Model(Protocol):
    """What a pydantic model looks like from outside."""

    def model_dump(self) -> dict[str, object]: ...


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
    then, now = (dict(part.split("=", 1) for part in text[1:-1].split(",") if part) for text in (recorded, asked))
    return sorted(name for name in then.keys() | now.keys() if then.get(name) != now.get(name))


def _canonical(value: object) -> bytes:  # noqa: PLR0911 - a table of types reads best as one list
    """A self-delimiting spelling: two different values never share one."""
    if isinstance(value, str):
        return _tagged(b"s", value.encode("utf-8", "surrogatepass"))
    if value is None or isinstance(value, bool | int | float | complex):
        return _tagged(type(value).__name__.encode(), repr(value).encode())
    if isinstance(value, bytes | bytearray):
        return _tagged(b"b", bytes(value))
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _named(value, {field.name: getattr(value, field.name) for field in dataclasses.fields(value)})
    if isinstance(value, Mapping):
        return _tagged(b"d", b"".join(sorted(_canonical(key) + _canonical(item) for key, item in value.items())))
    if isinstance(value, AbstractSet):
        return _tagged(b"S", b"".join(sorted(map(_canonical, value))))
    if isinstance(value, list | tuple):
        return _tagged(b"l", b"".join(map(_canonical, value)))
    if isinstance(value, _Model) and not isinstance(value, type):
        return _named(value, value.model_dump())
    return _canonical_object(value)


def _canonical_object(value: object) -> bytes:
    if isinstance(value, partial):
        return _tagged(b"p", _canonical([value.func, value.args, value.keywords]))
    name = getattr(value, "__qualname__", None)
    if isinstance(name, str):
        return _tagged(b"n", name.encode())
    if type(value).__module__ in _PLAIN_DATA_MODULES:
        return _tagged(type(value).__name__.encode(), str(value).encode())
    return _tagged(b"o", type(value).__qualname__.encode())


_PLAIN_DATA_MODULES = frozenset({"datetime", "decimal", "uuid", "fractions", "pathlib", "ipaddress", "zoneinfo"})


def _named(value: object, fields: Mapping[str, object]) -> bytes:
    return _tagged(b"c", type(value).__qualname__.encode() + _canonical(dict(fields)))


def _tagged(tag: bytes, body: bytes) -> bytes:
    return b"%s%d:%s" % (tag, len(body), body)
