"""What is left of a process that was killed, in each store that outlives one."""

import os
import select
import signal
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from durable_core.conformance import START, record
from durable_core.errors import LeaseLost, RunIsHeld, StoreError
from durable_core.stores.urls import open_store

Start = Callable[..., subprocess.Popen[str]]

OWNER = """
import sys
from durable_core.conformance import START
from durable_core.stores.urls import open_store
store = open_store(sys.argv[1])
store.append("run", START, store.acquire("run"))
print("held", flush=True)
sys.stdin.read()
"""

WRITER = """
import sys
from durable_core.conformance import record
from durable_core.stores.urls import open_store
store = open_store(sys.argv[1])
lease = store.acquire("run")
number = len(store.entries("run"))
while True:
    store.append("run", record(str(number)), lease)
    print(number, flush=True)
    number += 1
"""

DELIVERER = """
import sys
from contextlib import closing
from durable_core.conformance import record
from durable_core.errors import AlreadyRecorded
from durable_core.stores.urls import open_store
with closing(open_store(sys.argv[1])) as store:
    for number in range(20):
        store.append("run", record(f"{sys.argv[2]}:{number}"), None)
    try:
        store.append("run", record("once"), None)
        print("won")
    except AlreadyRecorded:
        pass
"""

FORK = """
import os, sys
from durable_core.conformance import START, record
from durable_core.errors import StoreError
from durable_core.stores.urls import open_store
store = open_store(sys.argv[1])
lease = store.acquire("run")
store.append("run", START, lease)
child = os.fork()
if child == 0:
    for use in (
        lambda: store.append("run", record("a"), lease),
        lambda: store.append("run", record("a"), None),
        lambda: store.entries("run"),
        lambda: store.acquire("other"),
        store.runs,
    ):
        try:
            use()
        except StoreError as error:
            print("fork of it" in str(error), flush=True)
    store.close()
    print("ready", flush=True)
    sys.stdin.read()
    os._exit(0)
store.append("run", record("b"), lease)
sys.stdin.read()
os.waitpid(child, 0)
store.append("run", record("c"), lease)
store.close()
"""


@pytest.fixture(params=["file", "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return {"file": f"file://{tmp_path}/runs", "sqlite": f"sqlite:///{tmp_path}/runs.db"}[request.param]


def line(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


def take_over(url: str) -> None:
    """What a second owner leaves behind where locks or process ids do not tell the truth."""
    if url.startswith("file:"):
        lock = Path(url.removeprefix("file://"), "run.lock")
        lock.write_text(lock.read_text().replace("1 ", "2 ", 1))
        return
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
        connection.execute("UPDATE runs SET token = token + 1")


def test_a_living_owner_keeps_its_lease_and_a_killed_one_loses_it_at_once(url: str, start: Start) -> None:
    owner = start(OWNER, url)
    assert line(owner) == "held"
    with closing(open_store(url)) as store:
        with pytest.raises(RunIsHeld, match=f"process {owner.pid}, which is alive"):
            store.acquire("run")
        owner.kill()
        owner.wait()
        lease = store.acquire("run")
        assert lease.token == 2
        store.append("run", record("send"), lease)
        assert store.entries("run") == [START, record("send")]


def test_a_killed_owner_that_nobody_has_waited_for_loses_its_lease_too(url: str, start: Start) -> None:
    """A supervisor may start the next life before it collects the last one."""
    owner = start(OWNER, url)
    assert line(owner) == "held"
    owner.kill()
    os.waitid(os.P_PID, owner.pid, os.WEXITED | os.WNOWAIT)
    with closing(open_store(url)) as store:
        assert store.acquire("run").token == 2


def test_a_stopped_owner_keeps_its_lease(url: str, start: Start) -> None:
    """It may wake up at any time and go on with an effect."""
    owner = start(OWNER, url)
    assert line(owner) == "held"
    owner.send_signal(signal.SIGSTOP)
    with closing(open_store(url)) as store, pytest.raises(RunIsHeld):
        store.acquire("run")


def test_everything_acknowledged_before_a_kill_is_there(url: str, start: Start) -> None:
    """Three lives, each killed at some moment of its writing; the next goes on behind the last record."""
    for _ in range(3):
        writer = start(WRITER, url)
        for _ in range(50):
            acknowledged = int(line(writer))
        writer.kill()
        writer.wait()
        assert writer.stdout
        acknowledged = int((writer.stdout.read().split() or [str(acknowledged)])[-1])
        with closing(open_store(url)) as store:
            landed = [entry.step_id for entry in store.entries("run")]
        assert landed == [str(number) for number in range(len(landed))]
        assert len(landed) in {acknowledged + 1, acknowledged + 2}


def test_processes_may_deliver_at_once_while_the_run_is_held(url: str, start: Start) -> None:
    with closing(open_store(url)) as store:
        lease = store.acquire("run")
        deliverers = [start(DELIVERER, url, name) for name in range(4)]
        for number in range(20):
            store.append("run", record(f"owner:{number}"), lease)
        won: list[str] = [deliverer.communicate(timeout=60)[0] for deliverer in deliverers]
        landed = [entry.step_id for entry in store.entries("run")]
    assert sorted(won) == ["", "", "", "won\n"]
    assert len(landed) == 4 * 20 + 20 + 1
    for name in ("0", "1", "2", "3", "owner"):
        assert [step for step in landed if step.startswith(f"{name}:")] == [f"{name}:{n}" for n in range(20)]


def test_a_forked_child_is_told_to_open_its_own_store(url: str, start: Start) -> None:
    """And the parent's goes on undisturbed, also after the child has closed its copy."""
    parent = start(FORK, url)
    assert [line(parent) for _ in range(6)] == ["True"] * 5 + ["ready"]
    parent.communicate(timeout=60)
    assert parent.returncode == 0
    with closing(open_store(url)) as store:
        assert [entry.step_id for entry in store.entries("run")] == ["", "b", "c"]


def test_a_forked_child_does_not_keep_the_lease_of_a_killed_parent(url: str, start: Start) -> None:
    parent = start(FORK, url)
    assert [line(parent) for _ in range(6)][-1] == "ready"
    parent.kill()
    parent.wait()
    assert parent.stdout
    assert not select.select([parent.stdout], [], [], 0)[0]  # the child still holds its end of the pipe
    with closing(open_store(url)) as store:
        store.append("run", record("d"), store.acquire("run"))


def test_a_store_that_was_taken_from_refuses_to_write(url: str) -> None:
    """The token is the last word, whatever made the lease change hands."""
    with closing(open_store(url)) as store:
        lease = store.acquire("run")
        store.append("run", START, lease)
        take_over(url)
        with pytest.raises(LeaseLost):
            store.append("run", record("late"), lease)
        assert store.entries("run") == [START]


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    for url in (f"file://{tmp_path}/file/runs", f"sqlite:///{tmp_path}/none/runs.db"):
        (tmp_path / "file").write_text("")
        with pytest.raises(StoreError, match=str(tmp_path)):
            open_store(url)
