"""What OpenAI checks of each parameter, and the words in which it complains: platform.openai.com/docs/api-reference."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from fakes.server.fields import Fields
from fakes.server.trouble import Trouble, invalid


@dataclass(frozen=True, slots=True)
class Rule:
    """What a parameter must be. `expected` is how the complaint spells it; a number lies between `low` and `high`."""

    expected: str
    types: tuple[type, ...]
    low: float = -math.inf
    high: float = math.inf

    def check(self, name: str, value: object) -> None:
        """Trouble unless the value fits."""
        if not isinstance(value, self.types) or (isinstance(value, bool) and bool not in self.types):
            raise invalid(
                f"Invalid type for '{name}': expected {self.expected}, but got {kind_of(value)} instead.",
                param=name,
                code="invalid_type",
            )
        if isinstance(value, int | float) and not self.low <= value <= self.high:
            raise self._out_of_bounds(name, value)

    def _out_of_bounds(self, name: str, value: float) -> Trouble:
        kind = self.expected.split()[-1]
        side, sign, bound = ("above_max", "<=", self.high) if value > self.high else ("below_min", ">=", self.low)
        words = {"above_max": "above maximum", "below_min": "below minimum"}[side]
        return invalid(
            f"Invalid '{name}': {kind} {words} value. Expected a value {sign} {bound:g}, but got {value} instead.",
            param=name,
            code=f"{kind}_{side}_value",
        )


TEXT = Rule("a string", (str,))
FLAG = Rule("a boolean", (bool,))
OBJECT = Rule("an object", (dict,))
ARRAY = Rule("an array", (list,))
TEXT_OR_ARRAY = Rule("one of a string or an array", (str, list))
TEXT_OR_OBJECT = Rule("one of a string or an object", (str, dict))


def whole(low: float = -math.inf, high: float = math.inf) -> Rule:
    """A whole number."""
    return Rule("an integer", (int,), low, high)


def decimal(low: float, high: float) -> Rule:
    """A number."""
    return Rule("a decimal", (int, float), low, high)


_COMMON: Mapping[str, Rule] = {
    "metadata": OBJECT,
    "model": TEXT,
    "moderation": OBJECT,
    "parallel_tool_calls": FLAG,
    "prompt_cache_key": TEXT,
    "prompt_cache_options": OBJECT,
    "prompt_cache_retention": TEXT,
    "safety_identifier": TEXT,
    "service_tier": TEXT,
    "store": FLAG,
    "stream": FLAG,
    "stream_options": OBJECT,
    "temperature": decimal(0, 2),
    "tool_choice": TEXT_OR_OBJECT,
    "tools": ARRAY,
    "top_logprobs": whole(0, 20),
    "top_p": decimal(0, 1),
    "user": TEXT,
}
CHAT: Mapping[str, Rule] = {
    **_COMMON,
    "audio": OBJECT,
    "frequency_penalty": decimal(-2, 2),
    "function_call": TEXT_OR_OBJECT,
    "functions": ARRAY,
    "logit_bias": OBJECT,
    "logprobs": FLAG,
    "max_completion_tokens": whole(0),
    "max_tokens": whole(0),
    "messages": ARRAY,
    "modalities": ARRAY,
    "n": whole(1, 128),
    "prediction": OBJECT,
    "presence_penalty": decimal(-2, 2),
    "reasoning_effort": TEXT,
    "response_format": OBJECT,
    "seed": whole(),
    "stop": TEXT_OR_ARRAY,
    "verbosity": TEXT,
    "web_search_options": OBJECT,
}
RESPONSES: Mapping[str, Rule] = {
    **_COMMON,
    "access_programs": OBJECT,
    "background": FLAG,
    "background_options": OBJECT,
    "context_management": ARRAY,
    "conversation": TEXT_OR_OBJECT,
    "image": OBJECT,
    "include": ARRAY,
    "input": TEXT_OR_ARRAY,
    "instructions": TEXT,
    "max_output_tokens": whole(16),
    "max_tool_calls": whole(0),
    "previous_response_id": TEXT,
    "prompt": OBJECT,
    "reasoning": OBJECT,
    "text": OBJECT,
    "truncation": TEXT,
}
EMBEDDINGS: Mapping[str, Rule] = {
    "dimensions": whole(1),
    "encoding_format": TEXT,
    "input": TEXT_OR_ARRAY,
    "model": TEXT,
    "user": TEXT,
}


def check(body: Fields, rules: Mapping[str, Rule]) -> None:
    """Refuse a parameter that there is not, or that is not what it must be. null is as good as absent.

    Raises:
        Trouble: 400, in OpenAI's words.
    """
    for name, value in body.values.items():
        if name not in rules:
            raise invalid(f"Unknown parameter: '{name}'.", param=name, code="unknown_parameter")
        if value is not None:
            rules[name].check(name, value)


def check_choice(value: str, choices: tuple[str, ...], param: str) -> None:
    """Refuse a word that is none of those that are understood. Raises Trouble."""
    if value not in choices:
        supported = ", ".join(f"'{choice}'" for choice in choices[:-1])
        supported = f"{supported}, and '{choices[-1]}'" if supported else f"'{choices[-1]}'"
        raise invalid(
            f"Invalid value: '{value}'. Supported values are: {supported}.", param=param, code="invalid_value"
        )


def too_long(param: str, most: int, length: int) -> Trouble:
    """An array with more than is taken."""
    return invalid(
        f"Invalid '{param}': array too long. Expected an array with maximum length {most}, but got an array with length"
        f" {length} instead.",
        param=param,
        code="array_above_max_length",
    )


def empty(param: str, kind: str = "array") -> Trouble:
    """An array or string that must hold something."""
    article = f"an {kind}" if kind == "array" else f"a {kind}"
    return invalid(
        f"Invalid '{param}': empty {kind}. Expected {article} with minimum length 1, but got an empty {kind} instead.",
        param=param,
        code=f"empty_{kind}",
    )


def model_of(body: Fields, default: str | None = None) -> str:
    """The model, whatever it is called. Raises Trouble: no model has a name that is no text."""
    model = body.text("model", default)
    try:
        model.encode()
    except UnicodeEncodeError:  # a lone surrogate
        raise no_model(model) from None
    return model


def no_model(model: str) -> Trouble:
    """There is no such model."""
    return Trouble(
        "not_found",
        404,
        f"The model `{model}` does not exist or you do not have access to it.",
        param="model",
        code="model_not_found",
    )


def kind_of(value: object) -> str:
    """What a value is, in the words of a complaint."""
    names: Mapping[type, str] = {
        dict: "an object",
        list: "an array",
        str: "a string",
        bool: "a boolean",
        int: "an integer",
        float: "a decimal",
    }
    return names.get(type(value), "null")
