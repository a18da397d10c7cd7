"""A web search: it only reads, and its index drifts."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random

from fakes.lifelike import line, sentence, slug
from fakes.provider import Provider, Work


@dataclass(frozen=True, slots=True)
class Document:
    """One hit."""

    title: str
    url: str
    snippet: str


@dataclass(frozen=True, kw_only=True)
class Search(Provider):
    """`query` finds documents. The ledger's target is the query."""

    operations = ("query",)
    name: str = "search"

    def query(self, query: str, *, count: int = 3) -> list[Document]:
        """`count` documents. From call to call some stay, some are new, and the order shifts."""
        call = self.call("query", query, "reads", None, query=query, count=count)

        def work(number: int) -> Work:
            request = self.lifelike.of_request(call.body)
            found = [_document(request) for _ in range(count)]
            return Work(
                json.dumps(found if self.lifelike.steady else _drifted(found, self.lifelike.random(number, call.body)))
            )

        return [Document(**document) for document in json.loads(self.perform(call, work).answer)]


def _drifted(found: list[dict[str, str]], random: Random) -> list[dict[str, str]]:
    """The best document always stays; of the others at least one is new."""
    best, others = found[:1], found[1:]
    fresh = random.randint(1, len(others)) if others else 0
    kept = best + random.sample(others, len(others) - fresh)
    drifted = kept + [_document(random) for _ in range(fresh)]
    random.shuffle(drifted)
    return drifted


def _document(random: Random) -> dict[str, str]:
    title = line(random)
    return {"title": title, "url": f"https://example.com/{slug(title)}", "snippet": sentence(random)}
