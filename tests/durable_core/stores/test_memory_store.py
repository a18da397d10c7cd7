import pytest

from durable_core.conformance import START, StoreConformance
from durable_core.stores.memory import MemoryStore


class TestMemoryStore(StoreConformance):
    @pytest.fixture
    def store(self) -> MemoryStore:
        return MemoryStore()


def test_two_memory_stores_share_nothing() -> None:
    store = MemoryStore()
    store.append("run", START, store.acquire("run"))
    store.close()
    assert MemoryStore().runs() == []


def test_what_entries_returns_is_a_copy() -> None:
    store = MemoryStore()
    store.append("run", START, None)
    store.entries("run").clear()
    assert store.entries("run") == [START]
