"""OpenAI embeddings. Equal inputs have equal vectors, in every life and run; what the texts mean is not in them."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import sys
from array import array
from collections.abc import Mapping, Sequence

from fakes.llm import tokens
from fakes.provider import Work
from fakes.server.dialects.openai.parameters import EMBEDDINGS, check, check_choice, empty, model_of, too_long
from fakes.server.fields import Fields
from fakes.server.trouble import Trouble, invalid
from fakes.server.wire import Answer, Asked, Desk, Request, Route, json_answer

_MOST_INPUTS = 2048
_SIZES = {"text-embedding-3-large": 3072}
_SIZE = 1536
"""Of all other models."""

_Input = str | tuple[int, ...]
"""A text, or its tokens."""


def create(_desk: Desk, request: Request, _found: Mapping[str, str]) -> Asked:
    """POST /v1/embeddings."""
    body = request.json()
    check(body, EMBEDDINGS)
    model, inputs = model_of(body), _inputs(body)
    encoding = body.text("encoding_format", "float")
    check_choice(encoding, ("float", "base64"), "encoding_format")
    size = _size(body, model)

    def work(_number: int) -> Work:
        used = sum(tokens(given) if isinstance(given, str) else len(given) for given in inputs)
        return Work(json.dumps({"prompt_tokens": used, "total_tokens": used}), tokens_in=used)

    def render(usage: str) -> Answer:
        # Vectors are long, and follow from the request; so the ledger keeps the rest.
        vectors = (_vector(model, given, size) for given in inputs)
        data = [
            {
                "object": "embedding",
                "index": index,
                "embedding": vector.tolist() if encoding == "float" else _packed(vector),
            }
            for index, vector in enumerate(vectors)
        ]
        return json_answer({"object": "list", "data": data, "model": model, "usage": json.loads(usage)})

    return Asked(operation="embeddings", target=model, nature="bills", parameters=body.values, work=work, render=render)


ROUTES = (Route("POST", "/v1/embeddings", create),)


def _inputs(body: Fields) -> list[_Input]:
    given = body.values.get("input")
    if isinstance(given, str):
        return [_one(given, "input")]
    items = body.items("input", required=True)
    if not items:
        raise empty("input")
    if all(type(item) is int for item in items):
        return [_one(items, "input")]
    if len(items) > _MOST_INPUTS:
        raise too_long("input", _MOST_INPUTS, len(items))
    return [_one(item, f"input[{index}]") for index, item in enumerate(items)]


def _one(given: object, where: str) -> _Input:
    if given in ("", []):
        raise empty(where, "string" if given == "" else "array")
    if isinstance(given, str):
        return given
    if isinstance(given, Sequence) and all(type(token) is int for token in given):
        return tuple(given)
    raise _wrong(where)


def _wrong(where: str) -> Trouble:
    return invalid(
        f"Invalid type for '{where}': expected a string, or an array of tokens.", param=where, code="invalid_type"
    )


def _size(body: Fields, model: str) -> int:
    most = _SIZES.get(model, _SIZE)
    size = body.number("dimensions", most)
    if size > most:
        raise invalid(
            f"Invalid value for 'dimensions' = {size}. Must be less than or equal to {most}.", param="dimensions"
        )
    return size


def _vector(model: str, given: _Input, size: int) -> array[float]:
    """A unit vector in single precision. A shorter one is the beginning of the longer one, as of the real ones."""
    seed = f"{model}/{given if isinstance(given, str) else list(given)}".encode("utf-8", "surrogatepass")
    drawn = array("i")
    drawn.frombytes(hashlib.shake_128(seed).digest(size * drawn.itemsize))
    length = math.sqrt(sum(number * number for number in drawn)) or 1.0
    return array("f", [number / length for number in drawn])


def _packed(vector: array[float]) -> str:
    if sys.byteorder == "big":
        vector = vector[:]
        vector.byteswap()
    return base64.b64encode(vector.tobytes()).decode()
