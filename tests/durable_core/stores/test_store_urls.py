from contextlib import closing
from pathlib import Path

import pytest

from durable_core.conformance import START
from durable_core.errors import StoreError
from durable_core.stores.memory import MemoryStore
from durable_core.stores.urls import open_store


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("file:runs", "runs/a.journal"),
        ("file:./runs", "runs/a.journal"),
        ("file://{here}/deep/runs", "deep/runs/a.journal"),
        ("file:my%20runs", "my runs/a.journal"),
        ("sqlite:///runs.db", "runs.db"),
        ("sqlite:///{here}/runs.db", "runs.db"),
    ],
)
def test_a_url_says_where_the_runs_are(url: str, place: str, here: Path) -> None:
    with closing(open_store(url.format(here=here))) as store:
        store.append("a", START, None)
        assert (here / place).is_file()


def test_memory_is_new_every_time() -> None:
    store = open_store("memory:")
    assert isinstance(store, MemoryStore)
    assert open_store("memory:") is not store


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgresql://localhost/runs", "postgresql store is not in this version"),
        ("redis://localhost", "redis store is not in this version"),
        ("dynamodb://table", "dynamodb store is not in this version"),
        ("sqlight:///runs.db", "did you mean 'sqlite'"),
        ("SQLITE:///runs.db", "did you mean 'sqlite'"),
        ("postgres://localhost", "did you mean 'postgresql'"),
        ("xyz:runs", "unknown scheme 'xyz'; write memory:, file:runs"),
        ("runs.db", "no scheme"),
        ("", "no scheme"),
        ("memory:x", "not of the form memory:"),
        ("file:", "not of the form file:runs"),
        ("file://runs", "not of the form file:runs"),
        ("sqlite:runs.db", "not of the form sqlite:///runs.db"),
        ("sqlite://runs.db", "not of the form sqlite:///runs.db"),
        ("sqlite://", "there is 'memory:'"),
        ("sqlite:///", "there is 'memory:'"),
        ("sqlite:///:memory:", "there is 'memory:'"),
        ("sqlite:///runs.db?mode=ro", "options"),
    ],
)
def test_a_url_that_names_no_store_is_refused_with_what_to_write(url: str, message: str, here: Path) -> None:
    with pytest.raises(StoreError) as refused:
        open_store(url)
    assert repr(url) in str(refused.value)
    assert message in str(refused.value)
    assert list(here.iterdir()) == []
