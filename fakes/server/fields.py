"""JSON from outside, read with the types that it must have."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from fakes.server.trouble import Trouble, invalid


@dataclass(frozen=True, slots=True)
class Fields:
    """A JSON object from outside: each field is asked for with the type it must have, or is trouble.

    `where` is the path to it, for error messages: `messages[2].`
    """

    values: Mapping[str, object]
    where: str = ""

    def text(self, name: str, default: str | None = None) -> str:
        """A string; without a default the field is required."""
        value = self.values.get(name)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self.wrong(name, "a string")
        return value

    def optional(self, name: str) -> str | None:
        """A string, or None where there is none."""
        return None if self.values.get(name) is None else self.text(name)

    def flag(self, name: str, *, default: bool = False) -> bool:
        """True or false."""
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise self.wrong(name, "a boolean")
        return value

    def number(self, name: str, default: int | None = None) -> int:
        """A whole number; without a default the field is required."""
        value = self.values.get(name)
        if value is None and default is not None:
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not _is_whole(value):
            raise self.wrong(name, "an integer")
        return int(value)

    def items(self, name: str, *, required: bool = False) -> Sequence[object]:
        """An array, empty where there is none."""
        value = self.values.get(name)
        if value is None and not required:
            return ()
        if not isinstance(value, list):
            raise self.wrong(name, "an array")
        return value

    def objects(self, name: str, *, required: bool = False) -> Iterator[Fields]:
        """An array of objects."""
        for index, item in enumerate(self.items(name, required=required)):
            if not isinstance(item, dict):
                raise self.wrong(f"{name}[{index}]", "an object")
            yield Fields(item, f"{self.where}{name}[{index}].")

    def object(self, name: str, *, required: bool = False) -> Fields:
        """An object, empty where there is none."""
        value = self.values.get(name)
        if value is None and not required:
            return Fields({}, f"{self.where}{name}.")
        if not isinstance(value, dict):
            raise self.wrong(name, "an object")
        return Fields(value, f"{self.where}{name}.")

    def has(self, name: str) -> bool:
        """Whether the field is there, and is not null."""
        return self.values.get(name) is not None

    def wrong(self, name: str, expected: str) -> Trouble:
        """The trouble with a field that is missing, or is not what it must be."""
        value = self.values.get(name)
        where = f"{self.where}{name}"
        if value is None and name not in self.values and "[" not in name:
            return invalid(f"Missing required parameter: '{where}'.", param=where, code="missing_required_parameter")
        return invalid(f"Invalid type for '{where}': expected {expected}.", param=where, code="invalid_type")


def _is_whole(value: float) -> bool:
    return isinstance(value, int) or (math.isfinite(value) and value == int(value))
