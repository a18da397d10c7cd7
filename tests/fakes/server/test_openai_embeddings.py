"""OpenAI embeddings and models as its SDK sees them."""

from __future__ import annotations

import base64
import math
from array import array
from typing import Any

import httpx2
import pytest
from openai import BadRequestError

MODEL = "text-embedding-3-small"


def test_an_embedding_is_a_unit_vector_that_depends_on_its_input_alone(served: Any, openai_client: Any) -> None:
    address = served()
    client = openai_client(address)
    first, second, other = (
        client.embeddings.create(model=MODEL, input=text).data[0].embedding for text in ("cat", "cat", "dog")
    )
    assert (
        first == second == openai_client(served(seed=7)).embeddings.create(model=MODEL, input="cat").data[0].embedding
    )
    assert first != other
    assert (len(first), math.hypot(*first)) == (1536, pytest.approx(1, abs=1e-6))
    row, *_ = address.ledger.rows()
    assert (row.operation, row.target, row.nature, row.tokens_out) == ("embeddings", MODEL, "bills", 0)


def test_base64_and_float_are_the_same_numbers(served: Any, openai_client: Any) -> None:
    client = openai_client(served())
    by_default = client.embeddings.create(model=MODEL, input="cat").data[0].embedding
    floats = client.embeddings.create(model=MODEL, input="cat", encoding_format="float").data[0].embedding
    packed: Any = client.embeddings.create(model=MODEL, input="cat", encoding_format="base64").data[0].embedding
    assert array("f", base64.b64decode(packed)).tolist() == floats == by_default


def test_many_inputs_come_back_in_their_order(served: Any, openai_client: Any) -> None:
    client = openai_client(served())
    texts = ["cat", "dog", "cow"]
    many = client.embeddings.create(model=MODEL, input=texts)
    each = [client.embeddings.create(model=MODEL, input=text).data[0].embedding for text in texts]
    assert [(found.index, found.embedding) for found in many.data] == list(enumerate(each))


def test_tokens_are_input_too_and_each_is_billed(served: Any, openai_client: Any) -> None:
    client = openai_client(served())
    one = client.embeddings.create(model=MODEL, input=[1, 2, 3])
    two = client.embeddings.create(model=MODEL, input=[[1, 2, 3], [4]])
    assert (len(one.data), one.usage.prompt_tokens) == (1, 3)
    assert (len(two.data), two.usage.total_tokens) == (2, 4)
    assert two.data[0].embedding == one.data[0].embedding


def test_a_shorter_vector_points_the_way_the_longer_one_begins(served: Any, openai_client: Any) -> None:
    client = openai_client(served())
    model = "text-embedding-3-large"
    long = client.embeddings.create(model=model, input="cat").data[0].embedding
    short = client.embeddings.create(model=model, input="cat", dimensions=8).data[0].embedding
    length = math.hypot(*long[:8])
    assert (len(long), len(short)) == (3072, 8)
    assert short == pytest.approx([number / length for number in long[:8]], abs=1e-5)


@pytest.mark.parametrize(
    ("asked", "param", "code"),
    [
        ({"input": ""}, "input", "empty_string"),
        ({"input": []}, "input", "empty_array"),
        ({"input": ["cat", ""]}, "input[1]", "empty_string"),
        ({"input": ["cat", 5]}, "input[1]", "invalid_type"),
        ({"input": ["cat"] * 2049}, "input", "array_above_max_length"),
        ({"dimensions": 0}, "dimensions", "integer_below_min_value"),
        ({"dimensions": 1537}, "dimensions", None),
        ({"encoding_format": "hex"}, "encoding_format", "invalid_value"),
        ({"inputs": "cat"}, "inputs", "unknown_parameter"),
    ],
)
def test_a_malformed_parameter_is_refused_in_openais_words(
    served: Any, openai_client: Any, *, asked: dict[str, Any], param: str, code: str | None
) -> None:
    with pytest.raises(BadRequestError) as caught:
        openai_client(served()).post("/embeddings", body={"model": MODEL, "input": "cat", **asked}, cast_to=object)
    assert (caught.value.param, caught.value.code) == (param, code)


def test_models_are_listed_and_any_is_there_by_name(served: Any, openai_client: Any) -> None:
    address = served()
    client = openai_client(address)
    names = [model.id for model in client.models.list()]
    assert {"gpt-5", MODEL} <= set(names)
    assert client.models.retrieve("ft:gpt-4o:acme/mine").id == "ft:gpt-4o:acme/mine"
    assert [(row.operation, row.nature) for row in address.ledger.rows()] == [("models", "reads")] * 2


def test_no_model_has_a_name_that_is_no_text(served: Any) -> None:
    body, headers = rb'{"model": "\ud800", "input": "cat"}', {"authorization": "Bearer sk"}
    answer = httpx2.post(f"{served().url}/v1/embeddings", content=body, headers=headers, trust_env=False)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "model_not_found")
