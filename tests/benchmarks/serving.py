"""Requests a second that the fakes answer over HTTP, beside other people's fakes of OpenAI.

All servers run at the same time, each in a process of its own, and are asked in turn by a load that is a process of
its own too: 16 connections that stay open, with the headers of OpenAI's SDK and small bodies, no two in a row alike.
Ours validates every request, and commits it and its answer to a ledger in a file before it answers; a peer keeps
what it was asked in memory, if at all.
"""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import load
from figures import Figure, Sizes, turn_by_turn
from servers import HOME, PEERS, NotHad, ours, running

CONNECTIONS = 16
NAME = "chat completions answered, ledger in a file"
NOTE = "ours commits each call to a ledger before it answers; the peer keeps none"
_PATIENCE = 30.0
"""Seconds beyond its own that a load may take."""


def serving_figures(sizes: Sizes, folder: Path) -> Iterator[Figure]:
    """Ours against each peer, and with steady answers against those that differ from call to call."""
    missing: dict[str, str] = {}
    with ExitStack() as stack:
        ports = _started(stack, sizes, folder, missing)
        measures = {place: partial(_rate, port, sizes.served, place, missing) for place, port in ports.items()}
        rates = turn_by_turn(sizes.repeats, measures)
    for place in PEERS:
        yield _beside(place, rates, missing.get(place))
    yield Figure(
        name=f"{NAME}, steady",
        value=rates["steady"],
        unit="requests/s",
        baseline="answers that differ from call to call",
        baseline_value=rates["ours"],
    )


def _started(stack: ExitStack, sizes: Sizes, folder: Path, missing: dict[str, str]) -> dict[str, int]:
    """The ports of all servers that can be had; of the others, the reason goes into `missing`."""
    ports = {
        "ours": stack.enter_context(running(ours(folder / "served.db"), folder / "ours.log")),
        "steady": stack.enter_context(running(ours(folder / "steady.db", "--steady"), folder / "steady.log")),
    }
    for place, peer in PEERS.items():
        try:
            command = peer.installed(HOME / place, fetch=sizes.fetch)
            ports[place] = stack.enter_context(running(command, folder / f"{place}.log"))
        except NotHad as error:
            missing[place] = str(error)
    return ports


def _rate(port: int, seconds: float, place: str, missing: dict[str, str]) -> float:
    """Answers a second; a peer that gives none is missing from then on."""
    try:
        return answers_a_second(port, seconds)
    except NotHad as error:
        if place not in PEERS:
            raise SystemExit(f"{place} cannot be measured: {error}") from None
        missing[place] = str(error)
        return math.nan


def _beside(place: str, rates: Mapping[str, float], missing: str | None) -> Figure:
    peer = PEERS[place]
    if missing is not None:
        note = f"{peer.name} was not measured: {missing}"
        return Figure(name=f"{NAME}, beside {peer.name}", value=rates["ours"], unit="requests/s", note=note)
    return Figure(
        name=f"{NAME}, beside {peer.name}",
        value=rates["ours"],
        unit="requests/s",
        baseline=peer.name,
        baseline_value=rates[place],
        aim=f"≥ {peer.aim} x",
        met=rates["ours"] >= peer.aim * rates[place],
        note=NOTE,
    )


def answers_a_second(port: int, seconds: float) -> float:
    """What a load process measures. Raises `NotHad` where it cannot."""
    command = [sys.executable, load.__file__, str(port), str(seconds), str(CONNECTIONS)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + _PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        raise NotHad("it is asked, and does not answer") from None
    if done.returncode:
        raise NotHad((done.stderr.strip().splitlines() or ["the load has failed"])[-1])
    return float(done.stdout)
