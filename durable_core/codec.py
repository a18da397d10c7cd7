"""Values to JSON and back, by return annotation, through pydantic.

A value is accepted only when decoding its record gives the same value again, type for type, so a
replay can never see something else than the first life did. What does not survive is refused with
the path to it.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import typing
from collections.abc import Callable, Coroutine, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, time
from types import FunctionType, GenericAlias, MethodType
from typing import cast
from weakref import WeakKeyDictionary

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError
from pydantic_core import PydanticSerializationError

from durable_core.errors import NotRecordable, RecordUnreadable

# Values go in tuples of one: pydantic hands a configuration on to a dataclass inside, but takes none for one itself.
_CONFIG = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64", ser_json_inf_nan="constants")

_HINT_ANNOTATE = "give the function a return annotation, or pass returns=…, so that the type is known on replay"


@dataclass(frozen=True, slots=True)
class Codec:
    """Encodes and decodes the values of one type. `hint` is that type as one would write it."""

    hint: object
    adapter: TypeAdapter[tuple[object]]

    def encode(self, subject: str, value: object) -> tuple[bytes, object]:
        """The JSON of `value` without newlines, and the value that a replay will decode from it.

        Raises:
            NotRecordable: the value would not come back as it is; names `subject` and the path.
        """
        try:
            return self.survive(value)
        except ValueError as error:
            raise self._refused(subject, value, str(error)) from None

    def survive(self, value: object) -> tuple[bytes, object]:
        """As `encode`, for callers with words of their own. Raises ValueError, which says at which path and why."""
        try:
            line = self.adapter.dump_json((value,), by_alias=False, round_trip=True, warnings=False)
            decoded = self._load(line)
            difference = _difference(value, decoded)
        except ValidationError as error:
            raise ValueError(_reason(error)) from None
        except Exception as error:  # noqa: BLE001 - serializers, validators and __eq__ of anybody's types may raise anything
            raise ValueError(f"at {_unwritable(value) or _ITSELF}: {_reason(error)}") from None
        if difference is not None:
            path, fact = difference
            raise ValueError(f"at {path or _ITSELF}: {fact}")
        return line[1:-1], decoded

    def decode(self, subject: str, payload: bytes) -> object:
        """The value of a record.

        Raises:
            RecordUnreadable: today's type cannot read what was recorded; names `subject` and the type.
        """
        try:
            return self._load(b"[" + payload + b"]")
        except Exception as error:  # noqa: BLE001 - validators of anybody's types may raise anything
            raise RecordUnreadable(
                f"{subject} has a record that {_spell(self.hint)} cannot read ({_reason(error)}); nothing further was "
                f"executed. The type has changed since the run began: keep the old shape readable, or finish the run "
                f"on the old code"
            ) from None

    def _load(self, line: bytes) -> object:
        return self.adapter.validate_json(line, by_alias=False, by_name=True)[0]

    def _refused(self, subject: str, value: object, fact: str) -> NotRecordable:
        if isinstance(value, Coroutine):
            value.close()  # or Python would warn of a coroutine that was never awaited
            return NotRecordable(f"{subject} returned a coroutine from a plain function; make the function `async def`")
        advice = f"return a value that fits {_spell(self.hint)}, or correct the annotation"
        return NotRecordable(
            f"{subject} returned a {_spell(type(value))} that does not survive recording, {fact}; "
            f"{_HINT_ANNOTATE if self.hint is object else advice}"
        )


def codec_of(function: Callable[..., object]) -> Codec:
    """The codec of what `function` returns; plain JSON when it does not say."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__func__", function)  # every look at a method makes a new object
    if not isinstance(function, FunctionType):
        return codec_for(_return_hint(function))
    codec = _codecs.get(function)
    if codec is None:
        codec = _codecs[function] = codec_for(_return_hint(function))
    return codec


_codecs: WeakKeyDictionary[FunctionType, Codec] = WeakKeyDictionary()
"""Annotations are costly to resolve: once per function is enough."""


@functools.lru_cache(maxsize=1024)
def codec_for(hint: Hashable) -> Codec:
    """The codec of one type.

    Raises:
        NotRecordable: pydantic knows no JSON for the type.
    """
    try:
        return Codec(hint, TypeAdapter(cast("type[tuple[object]]", GenericAlias(tuple, (hint,))), config=_CONFIG))
    except (PydanticUserError, PydanticUndefinedAnnotation) as error:
        raise NotRecordable(
            f"{_spell(hint)} cannot be recorded: {_reason(error)}. Return plain data instead: a dataclass, a pydantic "
            f"model, or dicts and lists"
        ) from None


PLAIN = codec_for(object)
"""Dicts with text keys, lists, text, numbers, booleans and None."""


def _return_hint(function: Callable[..., object]) -> Hashable:
    if isinstance(function, type):
        return function
    if not isinstance(function, FunctionType | MethodType) and not hasattr(function, "__wrapped__"):
        function = type(function).__call__
    function = inspect.unwrap(function)
    hint = getattr(function, "__annotations__", {}).get("return", object)
    if isinstance(hint, str):
        hint = _resolve(hint, function)
    return object if hint in (typing.Any, None, type(None)) else cast("Hashable", hint)


def _resolve(hint: str, function: Callable[..., object]) -> object:
    """The type that an annotation written as text stands for, whether or not the parameters' can be read."""

    def alone() -> None: ...

    alone.__annotations__ = {"return": hint}
    try:
        return typing.get_type_hints(alone, getattr(function, "__globals__", {}), include_extras=True)["return"]
    except Exception as error:  # noqa: BLE001 - the text is evaluated, and may raise anything
        raise NotRecordable(
            f"the return annotation of {function.__qualname__} cannot be read: {error}. Define the type at module "
            f"level, or pass returns=…"
        ) from None


_ITSELF = "the value itself"


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        path = "".join(f"[{part!r}]" for part in first["loc"][1:])
        return f"at {path or _ITSELF}: {first['msg']}"
    if isinstance(error, PydanticSerializationError | PydanticUserError | PydanticUndefinedAnnotation):
        return str(error).partition("\n")[0].partition(". ")[0].removeprefix("Error serializing to JSON: ")
    return f"{type(error).__name__}: {error}"


def _spell(hint: object) -> str:
    return hint.__qualname__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)


def _unwritable(value: object) -> str:
    """The path to the smallest part of `value` that has no JSON."""
    path = ""
    for _ in range(_DEEP):
        label, parts = _parts(value) or ("", {})
        bad = next((key for key, part in parts.items() if not _is_writable(part)), _ITSELF)
        if bad is _ITSELF:
            break
        path, value = path + label % (bad,), parts[bad]
    return path


_DEEP = 20
"""Where a path stops that leads around in a circle."""


def _is_writable(value: object) -> bool:
    try:
        PLAIN.adapter.dump_json((value,), warnings=False)
    except Exception:  # noqa: BLE001 - as in `encode`
        return False
    return True


_ATOMS = frozenset({str, int, bool, bytes, type(None)})


def _difference(before: object, after: object) -> tuple[str, str] | None:
    """Where a decoded value is first not the value that was encoded, type for type, and what is wrong there."""
    if not _is_same_type(before, after):
        return "", f"a {_spell(type(before))} would come back as a {_spell(type(after))}"
    if type(before) in _ATOMS:
        equal = before == after
    elif isinstance(before, float):
        equal = repr(before) == repr(after)  # tells -0.0 from 0.0 and takes nan as equal to nan
    elif isinstance(before, datetime | time) and isinstance(after, datetime | time):
        if before.tzinfo is not None and before.tzinfo.utcoffset(None) is None:
            return "", f"the zone {before.tzinfo} would come back as a fixed offset; record UTC, and the zone's name"
        equal = (before, before.utcoffset(), before.fold) == (after, after.utcoffset(), after.fold)
    elif (parts := _parts(before)) and (others := _parts(after)):
        return _part_difference(*parts, others[1]) or _key_difference(before, after)
    else:
        equal = before == after
    return None if equal else ("", f"{_shorten(before)} would come back as {_shorten(after)}")


def _is_same_type(before: object, after: object) -> bool:
    """The same class; or two that take each other's objects for their own, as a frozen clock's do in tests."""
    one, other = type(before), type(after)
    return one is other or (isinstance(before, other) and isinstance(after, one))


def _part_difference(
    label: str, parts: Mapping[Hashable, object], others: Mapping[Hashable, object]
) -> tuple[str, str] | None:
    for key, part in parts.items():
        if key not in others:
            return label % (key,), f"a {_spell(type(key))} would not come back as it is"
        difference = _difference(part, others[key])
        if difference is not None:
            path, fact = difference
            return label % (key,) + path, fact
    if len(others) > len(parts):
        return label % next((key,) for key in others if key not in parts), "would appear"
    return None


def _key_difference(before: object, after: object) -> tuple[str, str] | None:
    """The same for the keys of a mapping, which may be equal and of another type."""
    if (
        not isinstance(before, Mapping)
        or not isinstance(after, Mapping)
        or {*map(type, before), *map(type, after)} <= {str}
    ):
        return None
    return _difference(frozenset(before), frozenset(after))


def _parts(value: object) -> tuple[str, Mapping[Hashable, object]] | None:
    """The parts of a container, and how the path to one is written; None for everything else."""
    if isinstance(value, Mapping):
        return "[%r]", value
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray):
        return "[%r]", dict(enumerate(value))
    if isinstance(value, AbstractSet):
        return "{%r}", {item: item for item in value}
    if isinstance(value, BaseModel):
        return ".%s", model_parts(value) | (value.__pydantic_private__ or {})
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return ".%s", {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def model_parts(model: BaseModel) -> dict[Hashable, object]:
    """The fields of a pydantic model, the extra ones too, as they are: what its `==` goes by, and nothing cached."""
    names = type(model).model_fields
    fields: dict[Hashable, object] = {name: item for name, item in model.__dict__.items() if name in names}
    return fields | (model.__pydantic_extra__ or {})


def _shorten(value: object, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"
