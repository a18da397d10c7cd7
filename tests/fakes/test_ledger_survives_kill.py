"""Real SIGKILLs: what the provider acknowledged is in the ledger, and the next life can go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import Work, World

# Prints the number of a mail once the fake has acknowledged it.
SENDER = """
import sys
from fakes import World
with World(sys.argv[1]) as world:
    for n in range(int(sys.argv[2]), 10**6):
        world.email.send(to=f"{n}@example.com", body="hello", idempotency_key=str(n))
        print(n, flush=True)
"""

# Dies by its own hand at one of the moments of one call.
AT_A_MOMENT = """
import os, signal, sys
from fakes import Unwatched, Work, World

def die(*args, **options):
    os.kill(os.getpid(), signal.SIGKILL)

class Killer(Unwatched):
    pass

moment = sys.argv[2]
world = World(sys.argv[1], witness=Killer())
if moment in ("before", "applied"):
    setattr(Killer, moment, die)
elif moment in ("keyed", "add", "settle"):
    setattr(world.ledger, moment, die)
call = world.email.call("send", "ada@example.com", "acts", "k", body="hello")
world.email.perform(call, die if moment == "working" else lambda number: Work("1"))
"""
LEFT_BEHIND = {
    "before": [],
    "keyed": [],  # inside the transaction that admits
    "add": [],
    "working": ["in progress"],
    "settle": ["in progress"],
    "applied": ["applied"],
}


def _run(code: str, *args: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", code, *args], stdout=subprocess.PIPE, text=True, env=environment)


def test_no_acknowledged_call_is_lost_whenever_the_caller_is_killed(tmp_path: Path) -> None:
    path, sent = tmp_path / "ledger.db", -1
    for life in range(1, 6):
        with _run(SENDER, str(path), str(sent + 1)) as process:
            assert process.stdout is not None
            for line in process.stdout:
                sent = int(line)
                if sent % 40 == 40 - 7 * life:  # somewhere else in every life
                    process.send_signal(signal.SIGKILL)
                    break
            sent = max([sent, *map(int, process.stdout)])  # acknowledged between the signal and the death
        assert process.returncode == -signal.SIGKILL
        with World(path) as world:
            effects = world.ledger.effects()
            assert {("email", "send", f"{n}@example.com") for n in range(sent + 1)} <= set(effects)
            assert set(effects.values()) == {1}
            assert {row.life for row in world.ledger.rows()} == set(range(1, life + 1))


@pytest.mark.parametrize("moment", LEFT_BEHIND)
def test_killed_at_any_moment_the_next_life_sends_exactly_once(moment: str, tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with _run(AT_A_MOMENT, str(path), moment) as process:
        process.wait()
    assert process.returncode == -signal.SIGKILL
    with World(path) as world:
        assert [row.outcome for row in world.ledger.rows()] == LEFT_BEHIND[moment]
        call = world.email.call("send", "ada@example.com", "acts", "k", body="hello")
        reply = world.email.perform(call, lambda _: Work("1"))
        assert reply.replayed is (moment == "applied")
        assert world.ledger.effects() == {("email", "send", "ada@example.com"): 1}
