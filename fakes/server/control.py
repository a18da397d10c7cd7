"""What a test in any language may ask a running server: its ledger, and to move the clock that keys expire by."""

from __future__ import annotations

from dataclasses import asdict
from typing import Protocol

from fakes.ledger import Ledger
from fakes.server.trouble import Trouble, invalid
from fakes.server.wire import Answer, Request, json_answer

PREFIX = "/crashwindow/"


class Controlled(Protocol):
    """A site, as far as it can be asked and told."""

    ledger: Ledger
    ahead: float


def controlled(site: Controlled, request: Request) -> Answer:
    """Answer a request below `/crashwindow/`.

    GET ledger      {"calls": [every row], "effects": [...], "tokens": {"in", "out"}}
    POST clock      {"ahead": SECONDS}: from now on the windows of keys are measured by a clock that is so far ahead
    """
    match request.method, request.path.removeprefix(PREFIX):
        case "GET", "ledger":
            return json_answer(_ledger(site.ledger))
        case "POST", "clock":
            try:
                site.ahead = _seconds(request)
            except Trouble as trouble:
                return json_answer({"error": trouble.message}, status=trouble.status)
            return json_answer({"ahead": site.ahead})
        case _:
            return json_answer({"error": f"there are GET {PREFIX}ledger and POST {PREFIX}clock"}, status=404)


def _ledger(ledger: Ledger) -> dict[str, object]:
    tokens_in, tokens_out = ledger.tokens()
    effects = [
        {"provider": provider, "operation": operation, "target": target, "times": times}
        for (provider, operation, target), times in ledger.effects().items()
    ]
    calls = [{name: value for name, value in asdict(row).items() if name != "answer"} for row in ledger.rows()]
    return {"calls": calls, "effects": effects, "tokens": {"in": tokens_in, "out": tokens_out}}


def _seconds(request: Request) -> float:
    value = request.json().values.get("ahead")
    if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
        raise invalid('write {"ahead": SECONDS}, a number from 0')
    return float(value)
