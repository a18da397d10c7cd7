"""The search: a read that drifts."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from fakes import World


def test_from_call_to_call_some_documents_stay_some_change_and_the_order_shifts() -> None:
    with World() as world:
        answers = [world.search.query("sharks", count=5) for _ in range(20)]
    pages = [{document.url for document in answer} for answer in answers]
    assert all(one & other and one != other for one, other in pairwise(pages))
    assert (
        len({answer.index(best) for answer in answers for best in answer if best.url in set.intersection(*pages)}) > 1
    )


@settings(deadline=None)
@given(count=st.integers(min_value=0, max_value=8), query=st.text())
def test_as_many_documents_as_asked_for(count: int, query: str) -> None:
    with World() as world:
        assert len(world.search.query(query, count=count)) == count


def test_another_query_finds_other_documents() -> None:
    with World(steady=True) as world:
        assert not {*world.search.query("sharks")} & {*world.search.query("whales")}


def test_a_steady_index_does_not_drift() -> None:
    with World(steady=True) as world:
        assert world.search.query("sharks") == world.search.query("sharks")


def test_a_search_reads_and_neither_bills_nor_acts() -> None:
    with World(policies={"search": "ietf"}) as world:
        world.search.query("sharks")
        (row,) = world.ledger.rows()
        assert (row.nature, row.key, row.target, row.answer) == ("reads", None, "sharks", "")
        assert (world.ledger.tokens(), world.ledger.effects()) == ((0, 0), {})
