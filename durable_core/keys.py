"""How the function of an effect is given its idempotency key."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import cast

KEY_ARGUMENT = "idempotency_key"
"""The keyword by which an effect's function is given its key."""


def own_key(fn: Callable[..., object], kwargs: dict[str, object]) -> str | None:
    """The key that the caller hands over, if any."""
    bound = fn.keywords if isinstance(fn, partial) else {}
    return cast("str | None", (bound | kwargs).get(KEY_ARGUMENT))


def takes_key(fn: Callable[..., object]) -> bool:
    """Whether `fn` can be given a key."""
    while isinstance(fn, partial):
        fn = fn.func
    code = getattr(getattr(fn, "__func__", fn), "__code__", None)
    if code is None:
        return _signature_takes_key(fn)
    # A signature says the same, at ten times the cost.
    if KEY_ARGUMENT in code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]:
        return True
    wrapped = getattr(fn, "__wrapped__", None)  # what a decorator takes it hands on
    return bool(code.co_flags & inspect.CO_VARKEYWORDS) and (wrapped is None or takes_key(wrapped))


def _signature_takes_key(fn: Callable[..., object]) -> bool:
    try:
        parameters = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):  # some builtins have none
        return False
    return any(
        parameter.kind is parameter.VAR_KEYWORD
        or (parameter.name == KEY_ARGUMENT and parameter.kind is not parameter.POSITIONAL_ONLY)
        for parameter in parameters
    )
