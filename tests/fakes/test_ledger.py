"""The ledger: rows, sums, sessions, threads, files."""

from __future__ import annotations

import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from fakes import Call, Caller, ConnectionLost, Fault, Ledger, LedgerUnusable, Work, World

CALL = Call(provider="email", operation="send", target="ada@example.com", body="d1gest", nature="acts", key="k")


def test_a_row_says_who_called_what_and_what_became_of_it() -> None:
    with Ledger() as ledger:
        row = ledger.add(CALL, Caller(3, "send"), "in progress", at=12.5)
        assert ledger.settle(row, "applied", answer="{}", tokens_in=5, tokens_out=7)
        (only,) = ledger.rows()
    assert (only.id, only.provider, only.operation, only.target) == (1, "email", "send", "ada@example.com")
    assert (only.key, only.body, only.nature, only.outcome) == ("k", "d1gest", "acts", "applied")
    assert (only.life, only.step, only.at) == (3, "send", 12.5)
    assert (only.tokens_in, only.tokens_out, only.original, only.fault, only.answer) == (5, 7, None, "", "{}")


def test_a_call_is_settled_once() -> None:
    with Ledger() as ledger:
        row = ledger.add(CALL, Caller(), "in progress", at=0)
        assert ledger.settle(row, "applied")
        assert not ledger.settle(row, "failed")
        assert [row.outcome for row in ledger.rows()] == ["applied"]


def test_only_applied_calls_count_for_tokens_and_effects() -> None:
    with World(faults=[Fault.parse("llm.complete#1:server_error"), Fault.parse("email.send#1:lost_before")]) as world:
        for call in (lambda: world.llm.complete("hello"), lambda: world.email.send(to="ada@example.com", body="b")):
            with pytest.raises(Exception, match=r"500|lost"):
                call()
        assert (world.ledger.tokens(), world.ledger.effects()) == ((0, 0), {})
        said = world.llm.complete("hello", idempotency_key="k")
        world.llm.complete("hello", idempotency_key="k")
        assert world.ledger.tokens() == (said.tokens_in, said.tokens_out)


def test_rows_can_be_asked_for_from_a_point_on() -> None:
    with World() as world:
        for n in range(4):
            world.email.send(to=f"{n}@example.com", body="b")
        assert [row.target for row in world.ledger.rows(after=2)] == ["2@example.com", "3@example.com"]


def test_a_failed_transaction_leaves_nothing() -> None:
    with Ledger() as ledger:
        with suppress(RuntimeError), ledger.transaction():
            ledger.add(CALL, Caller(), "applied", at=0)
            raise RuntimeError
        assert ledger.rows() == []
        with ledger.transaction():
            ledger.add(CALL, Caller(), "applied", at=0)
        assert len(ledger.rows()) == 1


def test_a_ledger_is_its_rows(tmp_path: Path) -> None:
    with World(tmp_path / "one.db") as world:
        sent = world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        world.llm.complete("hello")
        rows = world.ledger.rows()
    with Ledger(tmp_path / "two.db") as copy:
        copy.extend(rows)
        assert copy.rows() == rows
        assert copy.last_life == 1
    with World(tmp_path / "two.db") as world:
        assert world.email.send(to="ada@example.com", body="hello", idempotency_key="k") == sent
        assert world.ledger.rows()[-1].life == 2


def test_a_call_in_progress_in_the_rows_of_another_ledger_is_over() -> None:
    with Ledger() as ledger, World() as world:
        ledger.add(CALL, Caller(), "in progress", at=0)
        world.ledger.extend(ledger.rows())
        world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        assert [row.outcome for row in world.ledger.rows()] == ["failed", "applied"]


def test_the_next_life_takes_over_a_key_that_a_dead_one_left_in_progress(tmp_path: Path) -> None:
    with World(tmp_path / "ledger.db") as world:
        world.ledger.add(CALL, Caller(), "in progress", at=0)
    with World(tmp_path / "ledger.db") as world:
        world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        assert [(row.life, row.outcome) for row in world.ledger.rows()] == [(1, "failed"), (2, "applied")]


def test_a_life_that_was_only_slow_and_wakes_up_late_applies_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with World(path) as slow:
        call = slow.email.call("send", "ada@example.com", "acts", "k", body="hello")

        def meanwhile(_number: int) -> Work:
            with World(path) as next_life:
                next_life.email.perform(call, lambda number: Work(str(number)))
            return Work("late")

        with pytest.raises(ConnectionLost, match="a later life called with the key 'k'"):
            slow.email.perform(call, meanwhile)
        assert slow.ledger.effects() == {("email", "send", "ada@example.com"): 1}
        assert slow.email.perform(call, meanwhile).answer == "2"


def test_an_earlier_life_never_takes_over_from_a_later_one(tmp_path: Path) -> None:
    with World(tmp_path / "ledger.db") as early:
        early.email.send(to="x@example.com", body="x")
        with World(tmp_path / "ledger.db") as late:
            row = late.ledger.add(CALL, Caller(2), "in progress", at=0)
            assert [known.outcome for known in early.ledger.keyed("email", "k")] == ["in progress"]
            assert late.ledger.settle(row, "applied")


def test_threads_share_a_ledger() -> None:
    with World() as world, ThreadPoolExecutor(8) as threads:
        sent = list(threads.map(lambda n: world.email.send(to="a", body="b", idempotency_key=str(n)).id, range(200)))
        assert len(set(sent)) == 200
        assert world.ledger.effects() == {("email", "send", "a"): 200}


def test_two_worlds_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with World(path) as one, World(path) as two, ThreadPoolExecutor(2) as threads:
        for world in (one, two) * 50:
            threads.submit(world.email.send, to="a", body="b")
        threads.shutdown()
        assert one.ledger.effects() == two.ledger.effects() == {("email", "send", "a"): 100}


def test_the_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    with World(tmp_path / "ledger.db") as world:
        world.email.send(to="ada@example.com", body="hello")
        files = list(tmp_path.iterdir())
        assert len(files) == 3
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_file_that_is_no_ledger_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("dear diary, " * 100)
    with pytest.raises(LedgerUnusable, match=r"notes\.txt' is unusable: file is not a database; give a new path"):
        World(path)
    assert path.read_text() == "dear diary, " * 100


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(LedgerUnusable, match="cannot be opened: No such file or directory; give a writable file"):
        World(tmp_path / "nowhere" / "ledger.db")


def test_a_closed_ledger_is_closed_and_may_be_closed_again() -> None:
    world = World()
    world.close()
    world.close()
    with pytest.raises(sqlite3.ProgrammingError):
        world.ledger.rows()
