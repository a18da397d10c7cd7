"""Errors of providers can be recorded, rebuilt, pickled and read."""

from __future__ import annotations

import copy
import pickle

import pytest

from fakes import (
    CardDeclined,
    ConnectionLost,
    KeyAlreadyUsed,
    KeyInFlight,
    KeyMismatch,
    KeyRequired,
    KeyTooLong,
    MalformedAnswer,
    ProviderError,
    RateLimited,
    ServerError,
    UnknownName,
)
from fakes.errors import dump_error, load_error

ERRORS: list[ProviderError] = [
    RateLimited("slow down", provider="payments", operation="charge", retry_after=1.5),
    ServerError("500", provider="payments", operation="charge", status=500),
    ConnectionLost("lost", provider="payments", operation="charge"),
    MalformedAnswer("cut", provider="payments", operation="charge", status=200),
    *(
        coded("no", provider="payments", operation="charge", status=409, code="c")
        for coded in (KeyMismatch, KeyInFlight, KeyAlreadyUsed, KeyRequired, KeyTooLong, CardDeclined)
    ),
]
each_error = pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)


def _same(one: ProviderError, other: ProviderError) -> bool:
    return (type(one), str(one), one.args, vars(one)) == (type(other), str(other), other.args, vars(other))


@each_error
def test_an_error_is_rebuilt_from_its_args_and_attributes(error: ProviderError) -> None:
    rebuilt = type(error).__new__(type(error))
    rebuilt.args = error.args
    rebuilt.__dict__.update(error.__dict__)
    assert _same(rebuilt, error)


@each_error
def test_an_error_survives_pickle_copy_and_json(error: ProviderError) -> None:
    assert _same(pickle.loads(pickle.dumps(error)), error)
    assert _same(copy.copy(error), error)
    assert _same(load_error(dump_error(error)), error)


@each_error
def test_an_error_knows_provider_operation_and_status(error: ProviderError) -> None:
    assert (error.provider, error.operation) == ("payments", "charge")
    assert error.status is None or 200 <= error.status < 600


def test_an_unknown_name_without_a_near_one_lists_what_there_is() -> None:
    assert str(UnknownName("provider", "zzz", ["llm", "email"])) == "provider 'zzz' does not exist; Known: email, llm"
