"""The marker `@pytest.mark.chaos(...)`: keywords for whichever method of the fixture knows them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from chaos.verdict import Verdict


class HasDefaults(Protocol):
    """Something with keywords that its methods take where a call does not say them."""

    @property
    def defaults(self) -> Mapping[str, object]:
        """By name."""


P = ParamSpec("P")
H = TypeVar("H", bound=HasDefaults)


def with_defaults(
    method: Callable[Concatenate[H, P], Verdict],
) -> Callable[Concatenate[H, P], Verdict]:
    """A method that takes what its call does not say from the test's marker."""
    known = keywords_of(method)

    @wraps(method)
    def call(self: H, /, *args: P.args, **kwargs: P.kwargs) -> Verdict:
        __tracebackhide__ = True
        for name, value in self.defaults.items():
            if name in known:
                kwargs.setdefault(name, value)
        return method(self, *args, **kwargs)

    return call


def keywords_of(method: Callable[..., Verdict]) -> frozenset[str]:
    """The keywords that a method takes."""
    parameters = inspect.signature(method).parameters.values()
    return frozenset(one.name for one in parameters if one.kind is one.KEYWORD_ONLY)
