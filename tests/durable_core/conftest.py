"""Stores to run agents on."""

from collections.abc import Iterator
from contextlib import closing

import pytest

from durable_core import Store, open_store
from durable_core.stores.memory import MemoryStore


@pytest.fixture
def store() -> MemoryStore:
    """A new and empty store."""
    return MemoryStore()


@pytest.fixture(params=["memory", "file", "sqlite"])
def each_store(request: pytest.FixtureRequest, tmp_path: object) -> Iterator[Store]:
    """Every kind of store in turn, new and empty."""
    urls = {"memory": "memory:", "file": f"file://{tmp_path}/runs", "sqlite": f"sqlite:///{tmp_path}/runs.db"}
    with closing(open_store(urls[request.param])) as store:
        yield store
