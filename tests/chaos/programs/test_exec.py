"""Any program, unmodified: killed at its provider calls, started again, held against a run without a kill."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from chaos.errors import AgentError, LaunchError, OptionError
from chaos.verdict import Word

ONE_MAIL = "\nsend('mail', 'ada@example.com')\n"


def test_a_program_without_a_key_sends_twice_when_it_dies_after_the_effect(program: Any, kill: Any) -> None:
    command = program(ONE_MAIL)

    verdict = kill(command)

    assert verdict.word is Word.UNSAFE
    (finding,) = verdict.findings
    assert finding.check == "duplicate-effect"
    assert "ada@example.com was sent 2 times, expected 1" in finding.fact
    assert finding.window in ("applied", "answered")
    assert finding.reproduce.startswith("crashwindow exec ")
    assert "--points '(resend.emails.send)@" in finding.reproduce
    assert finding.reproduce.endswith(f"-- {' '.join(command)}")


def test_with_a_key_of_run_and_step_it_sends_once(program: Any, kill: Any) -> None:
    verdict = kill(program(ONE_MAIL, "--keyed"))

    assert verdict.word is Word.WITHIN_BOUNDS
    assert verdict.kills == 3
    assert any("elsewhere than at a provider call" in text for text in verdict.not_covered)
    assert any("which is a race" in note for note in verdict.notes)


def test_a_kill_during_the_recovery_is_tried_at_depth_two(program: Any, kill: Any) -> None:
    verdict = kill(program(ONE_MAIL, "--keyed"), depth=2)

    assert verdict.word is Word.WITHIN_BOUNDS
    assert verdict.tries > 3


def test_a_finding_is_reproduced_by_its_schedule(program: Any, kill: Any) -> None:
    verdict = kill(program(ONE_MAIL), "(resend.emails.send)@applied > (resend.emails.send)@applied")

    assert verdict.tries == 1
    assert "was sent 3 times" in verdict.findings[0].fact


def test_every_try_has_a_state_folder_of_its_own_that_begins_as_a_copy(program: Any, kill: Any, tmp_path: Path) -> None:
    template = tmp_path / "template"
    template.mkdir()
    (template / "to.txt").write_text("ada@example.com")
    lines = "\nto = (state / 'to.txt').read_text(); send('mail', to); (state / 'to.txt').write_text('nobody')\n"

    verdict = kill(program(lines, "--keyed"), state=template)

    assert verdict.word is Word.WITHIN_BOUNDS
    assert (template / "to.txt").read_text() == "ada@example.com"
    assert [file.name for file in template.iterdir()] == ["to.txt"]


def test_the_names_of_run_state_and_server_are_filled_in_everywhere(program: Any, kill: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("INHERITED", "at {state}")
    lines = """
run, server, body = sys.argv[1:4]
assert run == os.environ["CRASHWINDOW_RUN_ID"] and server == os.environ["CRASHWINDOW_URL"], sys.argv
assert os.environ["INHERITED"] == f"at {state}" and os.environ["GIVEN"] == f"{run} in {state}", os.environ
assert body == '{"other": "{braces}"}'
send("mail", "ada@example.com")
"""
    command = program(lines, "{run_id}", "{server}", '{"other": "{braces}"}', "--keyed")

    verdict = kill(command, "*@applied", environment={"GIVEN": "{run_id} in {state}"})

    assert verdict.word is Word.WITHIN_BOUNDS, verdict.reasons


def test_a_program_that_keeps_state_elsewhere_is_told_so(program: Any, kill: Any, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    lines = f"\nmark = pathlib.Path({str(elsewhere)!r})\nif not mark.exists():\n    mark.write_text('')\n{ONE_MAIL}"

    verdict = kill(program(lines.replace("\nsend", "\n    send")))

    assert verdict.word is Word.INCONCLUSIVE
    assert "state outside of {state}" in verdict.reasons[0]


def test_a_program_that_calls_nobody_exercises_nothing(program: Any, kill: Any) -> None:
    verdict = kill(program("\nprint('nothing to do')\n"))

    assert verdict.word is Word.INCONCLUSIVE
    assert "called no provider" in verdict.reasons[0]


def test_a_program_that_fails_without_any_kill_is_quoted(program: Any, kill: Any) -> None:
    verdict = kill(program("\nsend('mail', 'ada@example.com'); sys.exit('the disk is full')\n"))

    assert verdict.word is Word.INCONCLUSIVE
    assert "exit code 1: the disk is full" in verdict.reasons[0]


def test_a_program_that_cannot_go_on_does_not_end(program: Any, kill: Any) -> None:
    lines = "\nlock = state / 'lock'\nassert not lock.exists(), 'locked'\nlock.write_text('')\n" + ONE_MAIL

    verdict = kill(program(lines + "lock.unlink()\n", "--keyed"), "*@applied")

    assert [finding.check for finding in verdict.findings] == ["does-not-end"]
    assert "AssertionError: locked" in verdict.findings[0].fact


def test_a_program_that_hangs_is_ended(program: Any, kill: Any) -> None:
    began = time.monotonic()

    verdict = kill(program("\nimport time; time.sleep(60)\n"), seconds=1.0)

    assert "did not end within 1 s" in verdict.reasons[0]
    assert time.monotonic() - began < 20


def test_an_effect_noted_before_it_happens_is_lost(program: Any, kill: Any) -> None:
    lines = """
if "told" not in done:
    step("told", lambda: True)
    send("mail", "ada@example.com")
"""
    verdict = kill(program(lines, "--keyed"))

    assert "lost-effect" in {finding.check for finding in verdict.findings}
    assert verdict.findings[0].window == "before"


def test_what_a_fixed_program_does_twice_is_found_when_its_key_expires_between_lives(program: Any, kill: Any) -> None:
    keyed = program(ONE_MAIL, "--keyed")

    assert kill(keyed, "*@applied", later=23 * 3600.0).word is Word.WITHIN_BOUNDS
    assert kill(keyed, "*@applied", later=25 * 3600.0).findings[0].check == "duplicate-effect"


def test_a_provider_without_keys_is_one_policy_away(program: Any, kill: Any) -> None:
    verdict = kill(program(ONE_MAIL, "--keyed"), "*@applied", policies={"resend": "none"})

    assert verdict.findings[0].check == "duplicate-effect"
    assert "does not deduplicate" in verdict.findings[0].cause


def test_a_lost_reply_without_any_kill_is_a_fault(program: Any, kill: Any) -> None:
    retried = """
try:
    send("mail", "ada@example.com")
except OSError:
    send("mail", "ada@example.com")
"""
    faults = ("resend.emails.send#1:lost_after",)

    unkeyed = kill(program(retried, name="unkeyed.py"), "*@before", faults=faults)
    keyed = kill(program(retried, "--keyed"), "*@before", faults=faults)

    assert unkeyed.findings[0].check == "duplicate-effect"
    assert unkeyed.findings[0].schedule == ()
    assert keyed.word is Word.WITHIN_BOUNDS


def test_a_graceful_end_leaves_time_to_note_the_answer(program: Any, kill: Any) -> None:
    patient = "\nimport signal\nsignal.signal(signal.SIGTERM, lambda *_: None)\n" + ONE_MAIL

    killed = kill(program(patient), "*@applied")
    graceful = kill(program(patient), "*@applied", signal="TERM", grace=5.0)

    assert killed.findings[0].check == "duplicate-effect"
    assert graceful.word is Word.WITHIN_BOUNDS
    assert graceful.kills == 1


def test_who_does_not_heed_the_signal_is_killed_after_the_grace(program: Any, kill: Any) -> None:
    deaf = "\nimport signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    began = time.monotonic()

    verdict = kill(
        program(
            deaf
            + "if len(done) == 0:\n    send('mail', 'ada@example.com'); time.sleep(0.1 if '--x' in sys.argv else 0)\n"
        ),
        "*@before",
        signal="TERM",
        grace=0.1,
    )

    assert verdict.kills == 1
    assert time.monotonic() - began < 20


def test_processes_that_a_life_leaves_behind_are_ended_and_buried(program: Any, kill: Any, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    lines = f"""
import subprocess
for command in (["sleep", "300"], ["sh", "-c", "(sleep 300 & echo $! >> {pids})"]):
    child = subprocess.Popen(command, start_new_session=True)
    open({str(pids)!r}, "a").write(str(child.pid) + "\\n")
"""
    verdict = kill(program(lines + ONE_MAIL, "--keyed"), "*@applied")

    assert verdict.word is Word.WITHIN_BOUNDS
    left = [pid for pid in pids.read_text().split() if Path(f"/proc/{pid}").exists()]
    assert left == []


def test_a_python_program_is_forked_warm_with_its_imports(program: Any, kill: Any) -> None:
    lines = "\nimport openai\nassert 'openai' in sys.modules\n" + ONE_MAIL

    verdict = kill(program(lines, "--keyed"), warm=True)

    assert verdict.word is Word.WITHIN_BOUNDS
    assert any("had imported openai" in note for note in verdict.notes)


def test_another_interpreter_cannot_be_forked_warm(program: Any, kill: Any) -> None:
    with pytest.raises(LaunchError, match="forks lives from the interpreter that runs crashwindow"):
        kill(("sh", "-c", "true"), warm=True)


def test_models_can_speak_by_a_script(program: Any, kill: Any, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('["first", "second"]')
    lines = """
def ask(name):
    body = {"model": "m", "messages": [{"role": "user", "content": name}]}
    answer = step(name, lambda: post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", body))
    return answer["choices"][0]["message"]["content"]
assert [ask("one"), ask("two")] == ["first", "second"]
"""
    accepted = kill(program(lines), script=script, accept=("in-flight",))
    assert accepted.word is Word.WITHIN_BOUNDS, (accepted.reasons, accepted.findings)
    assert accepted.accepted

    short = kill(program(lines + "ask('three')\n", name="long.py"), script=script)
    assert short.word is Word.INCONCLUSIVE
    assert any("has 2 replies" in reason for reason in short.reasons)


def test_a_program_may_send_by_smtp(program: Any, kill: Any) -> None:
    lines = """
import smtplib
from email.message import EmailMessage
message = EmailMessage()
message["From"], message["To"], message["Subject"] = "desk@example.com", "ada@example.com", "Hello"
def by_smtp():
    with smtplib.SMTP(os.environ["SMTP_HOST"], int(os.environ["SMTP_PORT"])) as post_office:
        post_office.send_message(message)
step("mail", by_smtp)
"""
    verdict = kill(program(lines), "*@applied")

    assert "(smtp.send)@applied" in verdict.findings[0].reproduce
    assert "ada@example.com" in verdict.findings[0].fact


def test_a_program_without_a_base_url_is_caught_by_the_proxy(program: Any, kill: Any) -> None:
    lines = """
body = {"from": "desk@example.com", "to": ["ada@example.com"], "subject": "Hello", "text": "Hello"}
step("mail", lambda: post("https://api.resend.com/emails", body))
"""
    verdict = kill(program(lines), "*@applied", tls=True)

    assert verdict.findings[0].check == "duplicate-effect"


@pytest.mark.parametrize(
    ("command", "keywords", "error", "message"),
    [
        ((), {}, AgentError, "there is no command to run"),
        (("no-such-program",), {}, AgentError, "there is no program 'no-such-program'"),
        (("true",), {"signal": "STOP"}, OptionError, "--signal STOP ends no life"),
        (("true",), {"grace": -1.0}, OptionError, "count from 0"),
        (("true",), {"state": Path("/nowhere")}, OptionError, "is no folder"),
        (("true",), {"environment": {"A=B": ""}}, OptionError, "is no name of a variable"),
        (("true",), {"syscalls": 5, "signal": "TERM"}, OptionError, "by SIGKILL alone"),
        (("true",), {"policies": {"resnd": "none"}}, OptionError, "did you mean 'resend'"),
        (("true",), {"faults": ("email.send#1:lost_after",)}, OptionError, "names no provider 'email'"),
        (("true",), {"script": Path("/nowhere.json")}, OptionError, "cannot be read"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_starts(
    kill: Any, command: Any, keywords: Any, error: Any, message: Any
) -> None:
    with pytest.raises(error, match=message):
        kill(command, **keywords)


def test_a_run_is_the_same_in_all_its_lives_and_another_in_every_try(program: Any, kill: Any, tmp_path: Path) -> None:
    log = tmp_path / "log.db"
    with sqlite3.connect(log) as db:
        db.execute("CREATE TABLE seen (folder, run)")
    lines = f"""
import sqlite3
with sqlite3.connect({str(log)!r}) as db:
    db.execute("INSERT INTO seen VALUES (?, ?)", (str(state), os.environ["CRASHWINDOW_RUN_ID"]))
"""
    kill(program(lines + ONE_MAIL, "--keyed"))

    with sqlite3.connect(log) as db:
        seen = db.execute("SELECT folder, count(*), count(DISTINCT run) FROM seen GROUP BY folder").fetchall()
    assert all(runs == 1 for _, _, runs in seen)
    assert sorted(lives for _, lives, _ in seen) == [1, 1, 2, 2, 2]
