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
from collections.abc import Callable, Hashable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, time
from types import CodeType, GenericAlias
from typing import cast

from pydantic import BaseModel, ConfigDict, PydanticSchemaGenerationError, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
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
            line = self.adapter.dump_json((value,), warnings=False)
            (decoded,) = self.adapter.validate_json(line)
        except (PydanticSerializationError, ValidationError, UnicodeError, RecursionError, TypeError) as error:
            raise _refused(subject, value, self.hint, _reason(error)) from None
        for path, fact in _differences(value, decoded, ""):
            raise _refused(subject, value, self.hint, f"at {path or 'the value itself'}: {fact}")
        return line[1:-1], decoded

    def decode(self, subject: str, payload: bytes) -> object:
        """The value of a record.

        Raises:
            RecordUnreadable: today's type cannot read what was recorded; names `subject` and the type.
        """
        try:
            return self.adapter.validate_json(b"[" + payload + b"]")[0]
        except ValidationError as error:
            raise RecordUnreadable(
                f"{subject} has a record that {_spell(self.hint)} cannot read ({_reason(error)}); nothing further was "
                f"executed. The type has changed since the run began: keep the old shape readable, or finish the run "
                f"on the old code"
            ) from None


def codec_of(function: Callable[..., object]) -> Codec:
    """The codec of what `function` returns; plain JSON when it does not say."""
    return codec_for(_return_hint(function))


@functools.lru_cache(maxsize=1024)
def codec_for(hint: Hashable) -> Codec:
    """The codec of one type.

    Raises:
        NotRecordable: pydantic knows no JSON for the type.
    """
    try:
        return Codec(hint, TypeAdapter(cast("type[tuple[object]]", GenericAlias(tuple, (hint,))), config=_CONFIG))
    except (PydanticSchemaGenerationError, PydanticUserError) as error:
        raise NotRecordable(
            f"{_spell(hint)} cannot be recorded: {_reason(error)}. Return plain data instead: a dataclass, a pydantic "
            f"model, or dicts and lists"
        ) from None


PLAIN = codec_for(object)
"""Dicts with text keys, lists, text, numbers, booleans and None."""


def _return_hint(function: Callable[..., object]) -> Hashable:
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)  # decorators share one piece of code, the functions inside do not
    if not hasattr(function, "__annotations__") or isinstance(function, type):
        function = function if isinstance(function, type) else type(function).__call__
    hint = getattr(function, "__annotations__", {}).get("return", object)
    if isinstance(hint, str):
        code = getattr(function, "__code__", None)
        hint = _resolve(code, function) if isinstance(code, CodeType) else object
    return object if hint in (typing.Any, None) else hint


_resolved: dict[CodeType, Hashable] = {}


def _resolve(code: CodeType, function: Callable[..., object]) -> Hashable:
    """Text annotations are costly to resolve: once per piece of code is enough."""
    if code not in _resolved:
        try:
            _resolved[code] = typing.get_type_hints(function).get("return", object)
        except NameError as error:
            raise NotRecordable(
                f"the return annotation of {function.__qualname__} cannot be read: {error}. Define the type at module "
                f"level, or pass returns=…"
            ) from None
    return _resolved[code]


def _refused(subject: str, value: object, hint: object, fact: str) -> NotRecordable:
    close = getattr(value, "close", None)
    if isinstance(value, typing.Coroutine) and close:
        close()  # or Python would warn of a coroutine that was never awaited
        return NotRecordable(f"{subject} returned a coroutine from a plain function; make the function `async def`")
    advice = _HINT_ANNOTATE if hint is object else f"return a value that fits {_spell(hint)}, or correct the annotation"
    return NotRecordable(
        f"{subject} returned a {_spell(type(value))} that does not survive recording, {fact}; {advice}"
    )


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False)[0]
        path = "".join(f"[{part!r}]" for part in first["loc"][1:])
        return f"at {path or 'the value itself'}: {first['msg']}"
    return str(error).partition("\n")[0].removeprefix("Error serializing to JSON: ")


def _spell(hint: object) -> str:
    return hint.__qualname__ if isinstance(hint, type) and not typing.get_args(hint) else str(hint)


def _differences(before: object, after: object, path: str) -> Iterator[tuple[str, str]]:
    """Where a decoded value is not the value that was encoded, type for type."""
    if type(before) is not type(after):
        yield path, f"a {_spell(type(before))} would come back as a {_spell(type(after))}"
    elif isinstance(before, float) and isinstance(after, float):
        if repr(before) != repr(after):  # tells -0.0 from 0.0 and takes nan as equal to nan
            yield path, f"{before!r} would come back as {after!r}"
    elif isinstance(before, datetime | time) and isinstance(after, datetime | time):
        yield from _clock_differences(before, after, path)
    elif (parts := _parts(before)) is not None and (others := _parts(after)) is not None:
        yield from _part_differences(parts, others, path)
    elif before != after:
        yield path, f"{_shorten(before)} would come back as {_shorten(after)}"


def _clock_differences(before: datetime | time, after: datetime | time, path: str) -> Iterator[tuple[str, str]]:
    if before != after or before.utcoffset() != after.utcoffset():
        yield path, f"{before!r} would come back as {after!r}"
    elif hasattr(before.tzinfo, "key"):
        yield path, f"the time zone {before.tzinfo} would come back as a fixed offset; record UTC, and the zone's name"


def _part_differences(
    parts: Mapping[str, object], others: Mapping[str, object], path: str
) -> Iterator[tuple[str, str]]:
    for name, part in parts.items():
        if name not in others:
            yield path + name, "would be missing"
        else:
            yield from _differences(part, others[name], path + name)
    for name in others.keys() - parts.keys():
        yield path + name, "would appear"


def _parts(value: object) -> Mapping[str, object] | None:
    """The parts of a container by the path to each; None for everything else."""
    if isinstance(value, Mapping):
        return {f"[{key!r}]": item for key, item in value.items()}
    if isinstance(value, list | tuple):
        return {f"[{index}]": item for index, item in enumerate(value)}
    if isinstance(value, AbstractSet):
        return {f"{{{item!r}}}": item for item in value}
    if isinstance(value, BaseModel):
        return {f".{name}": item for name, item in value.__dict__.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f".{field.name}": getattr(value, field.name) for field in dataclasses.fields(value)}
    return None


def _shorten(value: object, limit: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}…"


def same(before: object, after: object) -> bool:
    """Whether two values are the same, type for type; nan is the same as nan."""
    return next(_differences(before, after, ""), None) is None
