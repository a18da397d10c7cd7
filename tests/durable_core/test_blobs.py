"""Large results lie beside the checkpoint, by their sha256, so that the checkpoint stays small."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest

from durable_core import CorruptCheckpoint, Run, Store, open_store, resume
from durable_core.checkpoint import BLOB_ABOVE
from durable_core.stores.memory import MemoryStore


def fetching(size: int, calls: list[int] | None = None) -> Callable[[Run], tuple[bytes, str]]:
    def fetch() -> tuple[bytes, str]:
        (calls if calls is not None else []).append(1)
        return bytes(range(256)) * (size // 256), "🦈"

    def agent(run: Run) -> tuple[bytes, str]:
        return run.step("fetch", fetch)

    return agent


def test_a_large_result_is_executed_once_and_comes_back(each_store: Store) -> None:
    calls: list[int] = []
    first = resume(each_store, "run", fetching(500_000, calls))
    assert first == resume(each_store, "run", fetching(500_000, calls)) == (bytes(range(256)) * 1953, "🦈")
    assert calls == [1]
    assert all(len(entry.to_bytes()) < 300 for entry in each_store.entries("run"))


@pytest.mark.parametrize(("more", "beside"), [(0, False), (1, True)])
def test_the_size_of_the_json_decides(store: MemoryStore, more: int, *, beside: bool) -> None:
    def agent(run: Run) -> int:
        return len(run.step("s", lambda: "x" * (BLOB_ABOVE - 2 + more)))

    assert resume(store, "run", agent) == resume(store, "run", agent)
    record = store.entries("run")[1]
    assert (record.blob is not None) == beside
    assert (record.payload == b"") == beside


def test_a_blob_is_named_by_its_sha256(store: MemoryStore) -> None:
    resume(store, "run", fetching(200_000))
    record = store.entries("run")[1]
    digest = record.blob
    assert digest is not None
    assert record.at > 0
    assert hashlib.sha256(store.get_blob("run", digest)).hexdigest() == digest


def test_a_large_error_comes_back_too(each_store: Store) -> None:
    def fail() -> None:
        raise ValueError("x" * 200_000)

    def agent(run: Run) -> int:
        try:
            run.step("s", fail, record_errors=(ValueError,))
        except ValueError as error:
            return len(str(error))
        raise AssertionError

    assert resume(each_store, "run", agent) == resume(each_store, "run", agent) == 200_000


def test_what_is_stored_grows_with_what_is_new(tmp_path: Path) -> None:
    """200 steps that each return the same 100 KB take 100 KB once, and little more."""
    store = open_store(f"file://{tmp_path}/runs")

    def agent(run: Run) -> int:
        return sum(len(run.step(f"s:{number}", lambda: "x" * 100_000)) for number in range(200))

    assert resume(store, "run", agent) == resume(store, "run", agent) == 20_000_000
    store.close()
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 200_000


@pytest.mark.parametrize("swallow", [False, True])
def test_a_blob_that_is_gone_or_changed_stops_the_run(tmp_path: Path, *, swallow: bool) -> None:
    store = open_store(f"file://{tmp_path}/runs")
    resume(store, "run", fetching(200_000))
    (blob,) = (path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_size > 100_000)
    blob.write_bytes(b"changed")
    calls: list[int] = []

    def agent(run: Run) -> object:
        try:
            return fetching(200_000, calls)(run)
        except CorruptCheckpoint:
            if not swallow:
                raise
            return run.step("again", calls.append, 1)

    for _ in range(2):
        with pytest.raises(CorruptCheckpoint, match="blob"):
            resume(store, "run", agent)
        blob.unlink(missing_ok=True)
    assert calls == []
    store.close()
