"""A web search: it only reads, and its index drifts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from random import Random

from fakes.lifelike import Lifelike, line, sentence, slug
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
            found = find(self.lifelike, call.body, number, count)
            return Work(json.dumps([asdict(document) for document in found]))

        return [Document(**document) for document in json.loads(self.perform(call, work).answer)]


def find(lifelike: Lifelike, body: str, number: int, count: int) -> list[Document]:
    """What call `number` with that body digest finds: `count` documents, the best ones of the request among them."""
    request = lifelike.of_request(body)
    found = [_document(request) for _ in range(count)]
    return found if lifelike.steady else _drifted(found, lifelike.random(number, body))


def _drifted(found: list[Document], random: Random) -> list[Document]:
    """The best document always stays; of the others at least one is new."""
    best, others = found[:1], found[1:]
    fresh = random.randint(1, len(others)) if others else 0
    kept = best + random.sample(others, len(others) - fresh)
    drifted = kept + [_document(random) for _ in range(fresh)]
    random.shuffle(drifted)
    return drifted


def _document(random: Random) -> Document:
    title = line(random)
    return Document(title, f"https://example.com/{slug(title)}", sentence(random))
