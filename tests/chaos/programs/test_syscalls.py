"""Kills at system calls: what strace lists, and a program that dies within SQLite's commit."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from chaos.errors import LaunchError
from chaos.points import Point, Window
from chaos.programs.syscalls import Syscalls, durable_points, is_syscall
from chaos.verdict import Word

needs_strace = pytest.mark.skipif(
    shutil.which("strace") is None and "CI" not in os.environ, reason="strace is not installed, and this is not CI"
)

LOG = Path("/dev/shm/crashwindow-x/try-y/output.log")

SQLITE = """
import sqlite3
db = sqlite3.connect(state / "done.db", isolation_level=None)
db.execute("CREATE TABLE IF NOT EXISTS done (step)")
if not db.execute("SELECT 1 FROM done").fetchone():
    body = {"from": "desk@example.com", "to": ["ada@example.com"], "subject": "Hello", "text": "Hello"}
    post(os.environ["RESEND_API_URL"] + "/emails", body, **key("mail"))
    db.execute("INSERT INTO done VALUES ('mail')")
"""


def points_in(*lines: str) -> list[str]:
    return [str(point) for _, point in durable_points(lines, LOG)]


def test_writes_to_files_and_what_is_sent_are_points_each_kind_counted_for_itself() -> None:
    assert points_in(
        '7  1.0 pwrite64(3</home/me/x.db>, "abc", 3, 0) = 3',
        "7  1.1 fdatasync(3</home/me/x.db>) = 0",
        '7  1.2 pwrite64(3</home/me/x.db>, "abc", 3, 3) = 3',
        '7  1.3 sendto(5<TCP:[1->2]>, "POST", 4, 0, NULL, 0) = 4',
        '7  1.4 unlink("/home/me/x.db-journal") = 0',
    ) == ["(pwrite64)@before", "(fdatasync)@before", "(pwrite64)#2@before", "(sendto)@before", "(unlink)@before"]


def test_pipes_devices_and_the_log_of_the_life_are_none_but_are_counted_as_strace_counts_them() -> None:
    assert points_in(
        '7  1.0 write(1<pipe:[9]>, "x", 1) = 1',
        '7  1.1 write(2</dev/null>, "x", 1) = 1',
        f'7  1.2 write(1<{LOG}>, "x", 1) = 1',
        '7  1.3 write(4</dev/shm/crashwindow-x/try-y/state/new.json>, "x", 1) = 1',
    ) == ["(write)#4@before"]


def test_tasks_are_counted_apart_and_a_point_is_told_once() -> None:
    assert points_in(
        '7  1.0 write(4</a>, "x", 1) = 1',
        '8  1.1 write(4</a>, "x", 1) = 1',
        '8  1.2 write(4</a>, "x", 1) = 1',
        "8  1.3 exit_group(0) = ?",
        "8  1.4 +++ exited with 0 +++",
        "nonsense",
    ) == ["(write)@before", "(write)#2@before"]


def test_a_system_call_is_told_from_a_provider_call() -> None:
    assert is_syscall(Point("(pwrite64)", Window.BEFORE, 3))
    assert not is_syscall(Point("(stripe.charges.create)", Window.BEFORE))
    assert not is_syscall(3)
    assert not is_syscall(None)


def test_strace_has_to_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)

    with pytest.raises(LaunchError, match="apt-get install strace"):
        Syscalls(10, 0).check()


@needs_strace
def test_a_program_on_sqlite_is_killed_within_its_commit(program: Any, kill: Any) -> None:
    unkeyed = kill(program(SQLITE, name="unkeyed.py"), "(pwrite64)*", "(fdatasync)*", "(unlink)*", syscalls=500)

    assert unkeyed.word is Word.UNSAFE, unkeyed.reasons
    assert unkeyed.findings[0].check == "duplicate-effect"
    assert {str(point.place) for finding in unkeyed.findings for point in finding.schedule} <= {
        "(pwrite64)",
        "(fdatasync)",
        "(unlink)",
    }


@needs_strace
def test_with_a_key_no_system_call_is_a_crash_window(program: Any, kill: Any) -> None:
    keyed = kill(program(SQLITE, "--keyed"), syscalls=500)

    assert keyed.word is Word.WITHIN_BOUNDS, keyed.reasons
    assert keyed.kills > 10
    assert not any("system calls" in text for text in keyed.not_covered)


@needs_strace
def test_of_many_system_calls_some_are_drawn_and_the_others_named(program: Any, kill: Any) -> None:
    sampled = kill(program(SQLITE, "--keyed"), "(*)*@before", syscalls=4)

    assert sampled.word is Word.WITHIN_BOUNDS, sampled.reasons
    assert any("system calls beyond the 4 that were drawn" in text for text in sampled.not_covered)


@needs_strace
def test_the_other_processes_of_a_killed_program_die_with_it(program: Any, kill: Any, tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    lines = f"""
import subprocess
writer = "import time; time.sleep(0.2); open({str(alive)!r}, 'a').write('x')"
if not (state / "noted.json").exists():
    subprocess.Popen([sys.executable, "-c", writer])
send("mail", "ada@example.com")
"""
    verdict = kill(program(lines, "--keyed"), "(rename)@before", syscalls=500)

    assert verdict.kills == 1
    written = len(alive.read_bytes()) if alive.exists() else 0
    assert written < verdict.lives
