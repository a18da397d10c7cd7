"""Exa: search."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from durable_core.fingerprint import fingerprint
from fakes.lifelike import paragraph, sentence, uuid, vocabulary
from fakes.provider import Work
from fakes.search import Document, find
from fakes.server.fields import Fields
from fakes.server.trouble import Trouble, invalid, retry_headers
from fakes.server.wire import Answer, Asked, Desk, Request, Route, json_answer

_USUAL_RESULTS = 10
_MOST_RESULTS = 100
_CONTENTS = ("text", "highlights", "summary")
_TAGS = {
    "invalid_request": "INVALID_REQUEST_BODY",
    "authentication": "INVALID_API_KEY",
    "not_found": "NOT_FOUND",
    "rate_limit": "RATE_LIMIT_EXCEEDED",
    "overloaded": "SERVICE_UNAVAILABLE",
    "server_error": "INTERNAL_ERROR",
}


def search(desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /search."""
    body = request.json()
    query, count, kind = body.text("query"), body.number("numResults", _USUAL_RESULTS), body.text("type", "auto")
    if not 1 <= count <= _MOST_RESULTS:
        raise invalid(f"numResults must be 1 to {_MOST_RESULTS}, not {count}.", param="numResults")
    if body.flag("stream"):
        raise invalid("The fake does not stream searches; ask without stream.", param="stream")
    wanted = _wanted(body)
    digest = fingerprint(body.values)

    def work(number: int) -> Work:
        random = desk.provider.lifelike.random(number, digest)
        found = find(desk.provider.lifelike, digest, number, count)
        answer = {
            "requestId": uuid(random).replace("-", ""),
            "resolvedSearchType": "neural",
            "searchType": kind,
            "results": [_result(document, place, random, wanted) for place, document in enumerate(found)],
            "searchTime": round(300 + random.random() * 900, 1),
            "costDollars": {"total": 0.005, "search": {"neural": 0.005}},
        }
        return Work(json.dumps(answer))

    return Asked(
        operation="search",
        target=query,
        nature="reads",
        parameters=body.values,
        work=work,
        render=lambda answer: json_answer(json.loads(answer)),
    )


@dataclass(frozen=True, slots=True)
class Exa:
    """docs.exa.ai/reference/search. Searches only read; the index drifts."""

    name: str = "exa"
    policy: str = "exa"
    hosts: tuple[str, ...] = ("api.exa.ai",)
    operations: tuple[str, ...] = ("search",)
    routes: tuple[Route, ...] = (Route("POST", "/search", search),)

    def claims(self, request: Request) -> bool:
        """/search with Exa's header."""
        return request.path == "/search" and "x-api-key" in request.headers

    def is_authorised(self, request: Request) -> bool:
        """A key, in a header of its own or as a bearer token."""
        token = request.headers.get("authorization", "").lower().startswith("bearer ")
        return token or bool(request.headers.get("x-api-key"))

    def refuse(self, trouble: Trouble) -> Answer:
        """`{"requestId", "error", "tag"}`."""
        error = {
            "requestId": fingerprint(trouble.message),
            "error": trouble.message,
            "tag": _TAGS.get(trouble.kind, "INVALID_REQUEST"),
        }
        return json_answer(error, status=trouble.status, headers=retry_headers(trouble))

    def variables(self, base: str) -> Mapping[str, str]:
        """The SDK reads the key. The URL is for the agent to pass on: `Exa(base_url=...)`."""
        return {"EXA_API_KEY": "exa-crashwindow", "EXA_BASE_URL": f"{base}/{self.name}"}


def _wanted(body: Fields) -> frozenset[str]:
    """Which contents each result is to bring along."""
    contents = body.object("contents")
    return frozenset(name for name in _CONTENTS if contents.values.get(name) not in (None, False))


def _result(document: Document, place: int, random: Random, wanted: frozenset[str]) -> dict[str, object]:
    day, author = random.randint(1, 28), random.choice(vocabulary().people)
    result: dict[str, object] = {
        "id": document.url,
        "title": document.title,
        "url": document.url,
        "score": round(0.42 - place * 0.004 - random.random() * 0.003, 6),
        "publishedDate": f"2026-{random.randint(1, 9):02}-{day:02}T00:00:00.000Z",
        "author": author,
    }
    text = f"{document.snippet}\n\n{paragraph(random)}"
    contents = {"text": text, "highlights": [document.snippet], "summary": sentence(random)}
    return result | {name: content for name, content in contents.items() if name in wanted}
