"""Web searches, asked by the SDKs of Tavily and Exa."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import requests
from exa_py import Exa
from tavily import InvalidAPIKeyError, TavilyClient, UsageLimitExceededError
from tavily.errors import BadRequestError

from fakes import Fault


@pytest.fixture
def tavily() -> Callable[[Any], TavilyClient]:
    return lambda address: TavilyClient(api_key="tvly-any", api_base_url=address.url)


def exa_at(address: Any) -> Exa:
    return Exa(api_key="any", base_url=address.url)


def test_tavily_finds_as_many_documents_as_were_asked_for_best_first(
    served: Callable[..., Any], tavily: Callable[[Any], TavilyClient]
) -> None:
    address = served()
    for asked, count in (({}, 5), ({"max_results": 2}, 2), ({"max_results": 0}, 0)):
        found = tavily(address).search("sharks", **asked)
        scores = [result["score"] for result in found["results"]]
        assert (found["query"], len(scores)) == ("sharks", count)
        assert scores == sorted(scores, reverse=True)
    assert {(row.operation, row.target, row.nature) for row in address.ledger.rows()} == {("search", "sharks", "reads")}


def test_tavily_answers_and_brings_the_raw_content_when_asked_to(
    served: Callable[..., Any], tavily: Callable[[Any], TavilyClient]
) -> None:
    address = served()
    bare = tavily(address).search("sharks")
    rich = tavily(address).search("sharks", include_answer=True, include_raw_content="markdown")
    assert (bare["answer"], bare["results"][0]["raw_content"]) == (None, None)
    assert rich["answer"]
    assert all(result["raw_content"].startswith(result["content"]) for result in rich["results"])


def test_what_is_found_drifts_from_call_to_call_and_keeps_the_best(
    served: Callable[..., Any], tavily: Callable[[Any], TavilyClient]
) -> None:
    address = served()
    seen = [{result["url"] for result in tavily(address).search("sharks")["results"]} for _ in range(6)]
    seen += [{result.url for result in exa_at(address).search("sharks", num_results=5).results} for _ in range(6)]
    assert len({frozenset(urls) for urls in seen}) > 6
    assert set.intersection(*seen[:6])
    assert set.intersection(*seen[6:])


def test_what_is_found_is_the_same_in_a_steady_site(
    served: Callable[..., Any], tavily: Callable[[Any], TavilyClient]
) -> None:
    address = served(steady=True)
    first, second = (tavily(address).search("sharks") for _ in range(2))
    assert first == second
    found = [[result.url for result in exa_at(address).search("sharks").results] for _ in range(2)]
    assert found[0] == found[1]


def test_exa_brings_the_contents_that_are_asked_for(served: Callable[..., Any]) -> None:
    address = served()
    exa = exa_at(address)
    bare = exa.search("sharks", contents=False, num_results=3)
    rich = exa.search("sharks", contents={"highlights": True, "summary": True}, num_results=3)
    assert len(bare.results) == len(rich.results) == 3
    assert not any(result.text or result.highlights or result.summary for result in bare.results)
    assert all(result.highlights and result.summary and not result.text for result in rich.results)
    assert all(result.text for result in exa.search("sharks").results)
    assert bare.cost_dollars.total > 0


def test_each_of_the_two_is_told_from_the_other_by_its_header(served: Callable[..., Any]) -> None:
    address = served()
    exa_at(address).search("sharks")
    TavilyClient(api_key="any", api_base_url=address.url).search("sharks")
    TavilyClient(api_key="any", api_base_url=f"{address.url}/tavily").search("sharks")
    assert [row.provider for row in address.ledger.rows()] == ["exa", "tavily", "tavily"]


def test_their_errors_are_those_that_the_sdks_know(
    served: Callable[..., Any], tavily: Callable[[Any], TavilyClient]
) -> None:
    faults = [Fault.parse("tavily.search#1:rate_limit=1"), Fault.parse("exa.search#1:rate_limit=1")]
    address = served(faults=faults)
    with pytest.raises(UsageLimitExceededError, match="429"):
        tavily(address).search("sharks")
    with pytest.raises(ValueError, match=r"status code 429: .*RATE_LIMIT_EXCEEDED"):
        exa_at(address).search("sharks")
    with pytest.raises(BadRequestError, match="max_results must be 0 to 20, not 21"):
        tavily(address).search("sharks", max_results=21)
    with pytest.raises(BadRequestError, match="Query is missing"):
        tavily(address).search(" ")
    with pytest.raises(ValueError, match=r"status code 400: .*numResults must be 1 to 100, not 0"):
        exa_at(address).search("sharks", num_results=0)
    with pytest.raises(ValueError, match=r"status code 400: .*does not stream"):
        list(exa_at(address).stream_search("sharks"))
    with TavilyClient(session=requests.Session(), api_base_url=address.url) as anonymous:
        with pytest.raises(InvalidAPIKeyError):
            anonymous.search("sharks")
        anonymous.session.close()


def test_an_answer_that_is_lost_raises_and_asking_again_does_no_harm(
    served: Callable[..., Any], tavily: Callable[[Any], TavilyClient]
) -> None:
    address = served(faults=[Fault.parse("tavily.*#1:lost_after"), Fault.parse("exa.*#1:lost_after")])
    for ask in (tavily(address).search, exa_at(address).search):
        with pytest.raises(requests.ConnectionError):
            ask("sharks")
        ask("sharks")
    assert not address.ledger.effects()
    assert len(address.ledger.rows()) == 4
