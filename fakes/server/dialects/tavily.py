"""Tavily: search."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from durable_core.fingerprint import fingerprint
from fakes.lifelike import paragraph, uuid
from fakes.provider import Work
from fakes.search import find
from fakes.server.trouble import Trouble, invalid, retry_headers
from fakes.server.wire import Answer, Asked, Desk, Request, Route, json_answer

_USUAL_RESULTS = 5
_MOST_RESULTS = 20


def search(desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /search."""
    body = request.json()
    query, count = body.text("query"), body.number("max_results", _USUAL_RESULTS)
    if not query.strip():
        raise invalid("Query is missing.", param="query")
    if not 0 <= count <= _MOST_RESULTS:
        raise invalid(f"max_results must be 0 to {_MOST_RESULTS}, not {count}.", param="max_results")
    wants = {name: body.values.get(name) not in (None, False) for name in ("include_answer", "include_raw_content")}
    digest = fingerprint(body.values)

    def work(number: int) -> Work:
        random = desk.provider.lifelike.random(number, digest)
        results = [
            {
                "title": document.title,
                "url": document.url,
                "content": document.snippet,
                "score": round(0.98 - place * 0.04 - random.random() * 0.03, 5),
                "raw_content": f"{document.snippet}\n\n{paragraph(random)}" if wants["include_raw_content"] else None,
            }
            for place, document in enumerate(find(desk.provider.lifelike, digest, number, count))
        ]
        answer = {
            "query": query,
            "follow_up_questions": None,
            "answer": paragraph(random) if wants["include_answer"] else None,
            "images": [],
            "results": results,
            "response_time": round(0.4 + random.random(), 2),
            "request_id": uuid(random),
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
class Tavily:
    """docs.tavily.com/documentation/api-reference. Searches only read; the index drifts."""

    name: str = "tavily"
    policy: str = "tavily"
    hosts: tuple[str, ...] = ("api.tavily.com",)
    operations: tuple[str, ...] = ("search",)
    routes: tuple[Route, ...] = (Route("POST", "/search", search),)

    def claims(self, request: Request) -> bool:
        """/search, unless it is Exa's, which asks first."""
        return request.path == "/search"

    def is_authorised(self, request: Request) -> bool:
        """A bearer token."""
        return request.headers.get("authorization", "").lower().startswith("bearer ")

    def refuse(self, trouble: Trouble) -> Answer:
        """`{"detail": {"error"}}`."""
        detail = {"error": trouble.message}
        return json_answer({"detail": detail}, status=trouble.status, headers=retry_headers(trouble))

    def variables(self, base: str) -> Mapping[str, str]:
        """The SDK reads the key. The URL is for the agent to pass on: `TavilyClient(api_base_url=...)`."""
        return {"TAVILY_API_KEY": "tvly-crashwindow", "TAVILY_BASE_URL": f"{base}/{self.name}"}
