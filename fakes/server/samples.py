"""A value for a JSON schema, as far as tools and structured answers use it. Patterns are not among that."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import TypeGuard

from fakes.lifelike import line

_DEEP = 4
"""From here on the shortest value that fits: a schema may contain itself."""
_DEEPEST = 40
_MOST = 5000
"""Values in one, and the most items, or characters, that a schema can ask for; no real one asks for so many."""
_HUGE = 1e100
"""Beyond it a bound is none."""
_FORMATS = {
    "date": "2026-11-30",
    "date-time": "2026-11-30T12:00:00Z",
    "duration": "P1D",
    "email": "ada@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "time": "12:00:00Z",
    "uri": "https://example.com/",
    "uuid": "00000000-0000-4000-8000-000000000000",
}


def sample(schema: object, random: Random) -> object:
    """A value that fits: types, enums, unions, references, formats, lengths, bounds."""
    return _Sampler(schema, random).value(schema, 0)


@dataclass(slots=True)
class _Sampler:
    root: object
    random: Random
    left: int = _MOST

    def value(self, schema: object, depth: int) -> object:  # noqa: PLR0911 - a keyword a line
        self.left -= 1
        if not isinstance(schema, Mapping) or depth > _DEEPEST or self.left < 0:
            return line(self.random)
        if "const" in schema:
            return schema["const"]
        if _is_list(schema.get("enum")):
            return schema["enum"][0]
        if "$ref" in schema:
            return self.value(self._resolved(str(schema["$ref"])), depth + 1)
        if _is_list(schema.get("allOf")):
            return self.value(self._merged(schema), depth + 1)
        for union in ("anyOf", "oneOf"):
            if _is_list(schema.get(union)):
                return self.value(_branch(schema[union], depth), depth + 1)
        return self._typed(schema, depth)

    def _typed(self, schema: Mapping[str, object], depth: int) -> object:  # noqa: PLR0911 - a type a line
        kind = schema.get("type", "object" if "properties" in schema else None)
        match kind[0] if isinstance(kind, list) and kind else kind:
            case "integer":
                return _integer(schema, self.random)
            case "number":
                return _number(schema, self.random)
            case "boolean":
                return self.random.random() < 0.5  # noqa: PLR2004 - a coin
            case "null":
                return None
            case "array":
                return self._array(schema, depth)
            case "object":
                return self._object(schema, depth)
            case _:
                return _text(schema, self.random)

    def _array(self, schema: Mapping[str, object], depth: int) -> list[object]:
        first = schema.get("prefixItems")
        values = [self.value(item, depth + 1) for item in first] if isinstance(first, list) else []
        least = _count(schema, "minItems", 0 if values or depth >= _DEEP else 1)
        count = min(max(least, len(values)), _count(schema, "maxItems", least))
        more = [self.value(schema.get("items", {}), depth + 1) for _ in range(count - len(values))]
        return [*values, *more]

    def _object(self, schema: Mapping[str, object], depth: int) -> dict[str, object]:
        fields, required = schema.get("properties"), schema.get("required", [])
        wanted = fields if isinstance(fields, Mapping) else {}
        if depth >= _DEEP and isinstance(required, list):
            wanted = {name: of for name, of in wanted.items() if name in required}
        return {str(name): self.value(of, depth + 1) for name, of in wanted.items()}

    def _merged(self, schema: Mapping[str, object]) -> dict[str, object]:
        """All of the parts as one schema: what they say of an object's fields together, of all else the last word."""
        merged: dict[str, object] = {name: value for name, value in schema.items() if name != "allOf"}
        parts = schema["allOf"]
        for part in parts if isinstance(parts, list) else ():
            seen = self._resolved(str(part["$ref"])) if isinstance(part, Mapping) and "$ref" in part else part
            known = seen if isinstance(seen, Mapping) else {}
            fields = [of.get("properties") for of in (merged, known)]
            together = {name: of for each in fields if isinstance(each, Mapping) for name, of in each.items()}
            merged = {**merged, **known, **({"properties": together} if together else {})}
        return merged

    def _resolved(self, reference: str) -> object:
        found = self.root
        for part in reference.removeprefix("#").split("/"):
            if part:
                found = found.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
        return found


def _is_list(value: object) -> bool:
    return isinstance(value, list) and bool(value)


def _branch(branches: list[object], depth: int) -> object:
    """The first, until it gets deep; then one that cannot contain the whole again."""
    return min(branches, key=_weight) if depth >= _DEEP else branches[0]


def _weight(schema: object) -> int:
    if not isinstance(schema, Mapping):
        return 0
    return 2 if "$ref" in schema else {"object": 2, "array": 1}.get(str(schema.get("type")), 0)


def _count(schema: Mapping[str, object], name: str, default: int) -> int:
    value = schema.get(name)
    return min(value, _MOST) if isinstance(value, int) and value >= 0 else default


def _text(schema: Mapping[str, object], random: Random) -> str:
    text = _FORMATS.get(str(schema.get("format"))) or line(random)
    while len(text) < _count(schema, "minLength", 0):
        text += f" {line(random)}"
    return text[: _count(schema, "maxLength", len(text))]


def _integer(schema: Mapping[str, object], random: Random) -> int:
    low, high = _bounds(schema)
    least = None if low is None else math.floor(low) + 1 if low == schema.get("exclusiveMinimum") else math.ceil(low)
    most = None if high is None else math.ceil(high) - 1 if high == schema.get("exclusiveMaximum") else math.floor(high)
    if least is None:
        least = 1 if most is None else min(1, most)
    value = random.randint(least, max(least, least + 99 if most is None else min(most, least + 99)))
    step = schema.get("multipleOf")
    return -(-value // step) * step if isinstance(step, int) and step > 0 else value


def _number(schema: Mapping[str, object], random: Random) -> float:
    low, high = _bounds(schema)
    if low is None and high is None:
        return random.randint(1, 1000) / 10
    if low is None or high is None:
        return (low + random.randint(1, 1000) / 10) if low is not None else ((high or 0) - random.randint(1, 1000) / 10)
    return low + (high - low) * random.randint(1, 9) / 10


def _bounds(schema: Mapping[str, object]) -> tuple[float | None, float | None]:
    """The lower and the upper one, whether they are exclusive or not."""
    lows = [schema.get(name) for name in ("minimum", "exclusiveMinimum")]
    highs = [schema.get(name) for name in ("maximum", "exclusiveMaximum")]
    return max(filter(_is_number, lows), default=None), min(filter(_is_number, highs), default=None)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and -_HUGE < value < _HUGE
