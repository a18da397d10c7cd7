"""`chaos.exec` in a user's test."""

from __future__ import annotations

import pytest

MAILER = """
import json, os, urllib.request
mail = {"from": "desk@example.com", "to": ["ada@example.com"], "subject": "Hello", "text": "Hello"}
headers = {"Authorization": "Bearer re_x", "Content-Type": "application/json"}
if KEYED:
    headers["Idempotency-Key"] = os.environ["CRASHWINDOW_RUN_ID"] + ":mail"
request = urllib.request.Request(os.environ["RESEND_API_URL"] + "/emails", json.dumps(mail).encode(), headers)
urllib.request.urlopen(request)
"""


def test_a_program_is_killed_in_a_test(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    pytester.makepyfile(
        mailer=MAILER.replace("KEYED", "True"),
        unkeyed=MAILER.replace("KEYED", "False"),
        test_it="""
            import sys
            import pytest

            def test_keyed(chaos):
                assert chaos.exec([sys.executable, "mailer.py"]).kills == 3

            def test_unkeyed(chaos):
                chaos.exec([sys.executable, "unkeyed.py"], points=["*@applied"])

            @pytest.mark.chaos(points=["*@before"], syscalls=0)
            def test_marked(chaos):
                assert chaos.exec([sys.executable, "unkeyed.py"]).kills == 1

            def test_nothing(chaos):
                chaos.exec(["no-such-program"])
        """,
    )

    result = pytester.runpytest_subprocess("-q")

    result.assert_outcomes(passed=2, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*UNSAFE  unkeyed.py: email to ada@example.com was sent 2 times, expected 1*",
            "*crashwindow: there is no program 'no-such-program'*",
        ]
    )
