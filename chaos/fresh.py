"""What a fresh interpreter does for a launcher: import the agent by name, then serve lives or live one."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

from chaos.agent import Agent, find_agent
from chaos.coverage import save_coverage, start_coverage
from chaos.life import SPEC
from chaos.lives import live, prepare_images
from chaos.warm import end_with_parent, other_threads, send_line, send_report, warm_parent


def serve(descriptor: int) -> None:
    """Be a warm parent until the other side is gone."""
    control = socket.socket(fileno=descriptor)
    agent = _import_agent(control)
    warm_parent(agent, control).serve()


def live_once(descriptor: int) -> None:
    """Live one life and end."""
    control = socket.socket(fileno=descriptor)
    agent = _import_agent(control)
    with control.makefile("rb") as specs:
        spec = SPEC.validate_json(specs.readline())
    live(agent, spec, lambda report: send_report(control.fileno(), report))
    save_coverage()
    os._exit(0)


def _import_agent(control: socket.socket) -> Agent:
    """Import what the setup names and say whether that worked; leave when it did not."""
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C ends the harness, and that ends this
    setup = json.load(sys.stdin)
    sys.path[:] = setup["path"]
    os.chdir(setup["cwd"])
    start_coverage(setup["coverage"])
    if setup["perturbed"]:
        prepare_images()
    try:
        agent = find_agent(setup["agent"], setup["input"])
    except Exception as error:  # noqa: BLE001 - told to the other side, which raises it
        send_line(control.fileno(), {"error": str(error)})
        sys.exit(1)
    send_line(control.fileno(), {"threads": other_threads()})
    return agent
