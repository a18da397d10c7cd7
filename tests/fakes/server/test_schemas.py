"""What the providers' SDKs declare, asked and checked by schemathesis over HTTP. Streams are tested elsewhere."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from requests import Session
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.core.errors import UnsupportedSchema
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from tests.fakes.server.documents import Document, Operation, documented

ALL = [pytest.param(document, operation, id=str(operation)) for document, operation in documented()]
WITH_BODY = [param for param in ALL if param.values[1].request is not None]
CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
bounded = partial(settings, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))
"""The same examples in every run, and no more than told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Asks one operation, and checks each answer. `statuses` counts them."""

    url: str
    session: Session
    headers: dict[str, str]
    operation: APIOperation[Any, Any, Any, Any]
    plain: Any
    statuses: Counter[int] = field(default_factory=Counter)

    def ask(self, case: Case, *, echoes: bool = False) -> Any:
        """Never a stream. An answer that echoes is checked for its kind alone."""
        if isinstance(case.body, dict) and case.body.get("stream") is True:
            case.body["stream"] = False
        answer = case.call(base_url=self.url, session=self.session, headers=self.headers)
        self.statuses[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS[:-1] if echoes and answer.status_code == 200 else CHECKS)
        return answer.json()

    def ask_plainly(self, **path: str) -> Any:
        body = {} if self.plain is None else {"body": self.plain, "media_type": "application/json"}
        return self.ask(self.operation.Case(path_parameters=path, **body))

    def ask_bytes(self, body: bytes) -> Any:
        return self.ask(self.operation.Case(body=body, media_type="application/json"))


@st.composite
def bad_cases(draw: st.DrawFn, operation: APIOperation[Any, Any, Any, Any]) -> Case:
    """Requests that the schema forbids; some of what is forbidden schemathesis cannot make."""
    try:
        return draw(operation.as_strategy(GenerationMode.NEGATIVE))
    except UnsupportedSchema:
        reject()


Asking = Callable[[Document, Operation], Asker]


@pytest.fixture
def asking(served: Callable[..., Any]) -> Iterator[Asking]:
    with Session() as session:
        url = served().url

        def asker(document: Document, operation: Operation) -> Asker:
            headers, read = dict(document.headers), document.read(operation)
            return Asker(url=url, session=session, headers=headers, operation=read, plain=operation.plain)

        yield asker


@pytest.mark.parametrize(("document", "operation"), WITH_BODY)
def test_all_that_an_sdk_can_ask_is_answered_as_it_declares(
    asking: Asking, document: Document, operation: Operation
) -> None:
    asker = asking(document, operation)
    asker.ask_plainly()
    assert asker.statuses == {200: 1}

    @bounded(max_examples=60)
    @given(asker.operation.as_strategy())
    def ask(case: Case) -> None:
        asker.ask(case)

    ask()
    assert asker.statuses[200] > 10, "of the examples, too few were good"


@pytest.mark.parametrize(("document", "operation"), WITH_BODY)
def test_what_no_sdk_would_ask_is_refused_or_taken_and_breaks_nothing(
    asking: Asking, document: Document, operation: Operation
) -> None:
    asker = asking(document, operation)

    @bounded(max_examples=25)
    @given(bad_cases(asker.operation))
    def ask(case: Case) -> None:
        asker.ask(case, echoes=operation.echoes)

    ask()
    assert sum(asker.statuses.values()) > asker.statuses[200], "of the examples, none was bad"


@pytest.mark.parametrize(("document", "operation"), WITH_BODY)
def test_bytes_that_are_no_json_are_refused_in_the_providers_words(
    asking: Asking, document: Document, operation: Operation
) -> None:
    asker = asking(document, operation)
    whole = json.dumps(operation.plain).encode()
    cut = st.integers(0, len(whole) - 1).map(lambda at: whole[:at])
    not_utf8 = st.integers(0, len(whole)).map(lambda at: whole[:at] + b"\xff" + whole[at:])

    @bounded(max_examples=50)
    @given(cut | not_utf8 | st.binary())
    def ask(body: bytes) -> None:
        asker.ask_bytes(body)

    ask()
    assert asker.statuses.keys() == {400}


@pytest.mark.parametrize(("document", "operation"), ALL)
def test_who_brings_no_key_is_refused_in_the_providers_words(
    asking: Asking, document: Document, operation: Operation
) -> None:
    asker = asking(document, operation)
    for name in {"Authorization", "X-Api-Key"} & asker.headers.keys():
        del asker.headers[name]
    asker.ask_plainly(id="any")
    assert asker.statuses == {401: 1}


@pytest.mark.parametrize(("document", "operation"), [param for param in ALL if param not in WITH_BODY])
def test_what_can_be_read_is_answered_as_the_sdk_declares(
    asking: Asking, document: Document, operation: Operation
) -> None:
    send = document.operations[0]
    sent = asking(document, send).ask_plainly()
    asker = asking(document, operation)
    asker.ask_plainly(id=sent["id"])

    @bounded(max_examples=25)
    @given(asker.operation.as_strategy())
    def ask(case: Case) -> None:
        asker.ask(case)

    ask()
    assert asker.statuses[200]
