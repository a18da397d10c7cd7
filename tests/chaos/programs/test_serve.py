"""`crashwindow serve`: the fakes on a port, with the variables to export, until Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CRASHWINDOW = Path(sys.executable).parent / "crashwindow"


@contextmanager
def served(*options: str) -> Iterator[tuple[dict[str, str], subprocess.Popen[str]]]:
    """The exported variables, and the process; ended by Ctrl-C."""
    with subprocess.Popen(
        [CRASHWINDOW, "serve", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        variables = {}
        for line in process.stdout:
            match = re.fullmatch(r"export (\w+)=(\S+)\n", line)
            if match is None:
                assert "until Ctrl-C" in line
                break
            variables[match[1]] = match[2].strip("'")
        try:
            yield variables, process
        finally:
            process.send_signal(signal.SIGINT)
            variables["said"], variables["complained"] = process.communicate(timeout=60)


def call(url: str, body: object = None, **headers: str) -> dict[str, object]:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json", **headers})
    found: dict[str, object] = json.load(urllib.request.urlopen(request))
    return found


def send(variables: dict[str, str], key: str) -> dict[str, object]:
    mail = {"from": "desk@example.com", "to": ["ada@example.com"], "subject": "Hello", "text": "Hello"}
    headers = {"Authorization": f"Bearer {variables['RESEND_API_KEY']}", "Idempotency-Key": key}
    return call(f"{variables['RESEND_API_URL']}/emails", mail, **headers)


def test_it_serves_until_it_is_interrupted_and_tells_what_was_done(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    with served("--ledger", str(ledger)) as (variables, process):
        assert send(variables, "one") == send(variables, "one")

    assert process.returncode == 0
    assert variables["said"] == "# 2 calls, 1 effects, 0 tokens billed\n"
    assert variables["complained"] == ""
    assert ledger.exists()


def test_the_ledger_can_be_asked_and_the_clock_moved(tmp_path: Path) -> None:
    with served() as (variables, _):
        url = variables["CRASHWINDOW_URL"]
        send(variables, "one")
        assert call(f"{url}/crashwindow/clock", {"ahead": 25 * 3600}) == {"ahead": 25 * 3600}
        send(variables, "one")

        ledger = call(f"{url}/crashwindow/ledger")

    effect = {"provider": "resend", "operation": "emails.send", "target": "ada@example.com", "times": 2}
    assert ledger["effects"] == [effect]
    assert [row["outcome"] for row in ledger["calls"]] == ["applied", "applied"]
    assert ledger["tokens"] == {"in": 0, "out": 0}


def test_a_program_of_any_language_finds_all_of_it_in_its_environment() -> None:
    with served("--tls") as (variables, _):
        assert {"OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "STRIPE_API_KEY", "SMTP_PORT", "HTTPS_PROXY"} <= set(variables)
        assert Path(variables["SSL_CERT_FILE"]).read_text().startswith("-----BEGIN CERTIFICATE-----")

    assert not Path(variables["SSL_CERT_FILE"]).exists()


def test_what_cannot_be_served_is_refused_in_a_line(tmp_path: Path) -> None:
    def refused(*options: str) -> str:
        done = subprocess.run([CRASHWINDOW, "serve", *options], capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 2
        return done.stderr

    broken = tmp_path / "broken.json"
    broken.write_text('[{"said": "hello"}]')
    assert "did you mean 'resend'" in refused("--policy", "resnd=none")
    assert "names no provider 'email'" in refused("--fault", "email.send:lost_after")
    assert "has 'said'" in refused("--script", str(broken))
    assert "--ledger" in refused("--ledger", str(tmp_path))
    with served() as (variables, _):
        port = variables["CRASHWINDOW_URL"].rpartition(":")[2]
        assert f"port {port} of 127.0.0.1 cannot be served" in refused("--port", port)
