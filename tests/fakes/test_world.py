"""The world: lives, witnesses, wrong names, determinism."""

from __future__ import annotations

import dataclasses
import os
import random
import subprocess
import sys
import textwrap
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fakes
from fakes import Call, Caller, ConnectionLost, Fault, ProviderError, Row, World

DIALOGUE = """
import sys
from fakes import World
with World(seed=7, steady=sys.argv[1] == "steady") as world:
    print(world.llm.complete("hello"), world.llm.complete("plan", lines=(2, 9)))
    print(world.search.query("sharks"), world.search.query("sharks", count=6))
    print(world.email.send(to="ada@example.com", body="b"), world.payments.charge(customer="cus_1", cents=1))
    print([(row.body, row.answer) for row in world.ledger.rows()])
"""


@pytest.mark.parametrize("mode", ["steady", "lively"])
def test_the_same_seed_gives_the_same_answers_in_every_process_and_under_every_hash_seed(mode: str) -> None:
    said = {
        subprocess.run(
            [sys.executable, "-c", DIALOGUE, mode],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for hash_seed in ("0", "1", "4242")
    }
    assert len(said) == 1


def test_another_seed_gives_other_answers() -> None:
    texts = set()
    for seed in range(5):
        with World(seed=seed) as world:
            texts.add(world.llm.complete("hello").text)
    assert len(texts) == 5


def test_the_program_s_own_random_numbers_are_left_alone() -> None:
    random.seed(1)
    expected = [random.random() for _ in range(3)]
    random.seed(1)
    with World() as world:
        drawn = []
        for _ in range(3):
            world.llm.complete("hello")
            world.search.query("sharks")
            drawn.append(random.random())
    assert drawn == expected


def test_every_world_on_a_ledger_is_the_next_life(tmp_path: Path) -> None:
    for _ in range(3):
        with World(tmp_path / "ledger.db") as world:
            world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
    with World(tmp_path / "ledger.db") as world:
        assert [(row.life, row.outcome) for row in world.ledger.rows()] == [
            (1, "applied"),
            (2, "deduplicated"),
            (3, "deduplicated"),
        ]


@dataclasses.dataclass
class Recorder:
    """Keeps what it sees, with the number of rows in the ledger at that moment."""

    seen: list[tuple[str, str, list[str]]] = dataclasses.field(default_factory=list)
    outcomes: Callable[[], list[str]] = list

    def caller(self) -> Caller:
        return Caller(4, "the step")

    def before(self, call: Call) -> None:
        self.seen.append(("before", call.operation, self.outcomes()))

    def applied(self, call: Call) -> None:
        self.seen.append(("applied", call.operation, self.outcomes()))


def test_a_witness_sees_a_call_before_the_ledger_does_and_after_it_has_settled() -> None:
    recorder = Recorder()
    with World(witness=recorder) as world:
        recorder.outcomes = lambda: [row.outcome for row in world.ledger.rows()]
        world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        world.email.send(to="ada@example.com", body="hello", idempotency_key="k")
        assert {(row.life, row.step) for row in world.ledger.rows()} == {(4, "the step")}
    assert recorder.seen == [
        ("before", "send", []),
        ("applied", "send", ["applied"]),
        ("before", "send", ["applied"]),
        ("applied", "send", ["applied", "deduplicated"]),
    ]


def test_a_witness_hears_of_an_applied_call_before_its_answer_is_lost() -> None:
    recorder = Recorder()
    with World(witness=recorder, faults=[Fault.parse("email.send:lost_after")]) as world, suppress(ConnectionLost):
        world.email.send(to="ada@example.com", body="hello")
    assert [moment for moment, _, _ in recorder.seen] == ["before", "applied"]


@pytest.mark.parametrize("kind", ["rate_limit", "lost_before", "server_error"])
def test_a_witness_never_hears_that_a_call_was_applied_that_was_not(kind: str) -> None:
    recorder = Recorder()
    with World(witness=recorder, faults=[Fault.parse(f"email.send:{kind}")]) as world, suppress(ProviderError):
        world.email.send(to="ada@example.com", body="hello")
    assert [moment for moment, _, _ in recorder.seen] == ["before"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policies": {"emial": "none"}}, "provider 'emial' does not exist; did you mean 'email'?"),
        ({"policies": {"email": "resent"}}, "key policy 'resent' does not exist; did you mean 'resend'?"),
        ({"faults": [Fault.parse("lm.complete:slow=1")]}, "provider 'lm' does not exist; did you mean 'llm'?"),
        ({"faults": [Fault.parse("email.sent:slow=1")]}, "operation 'sent' does not exist; did you mean 'send'?"),
    ],
)
def test_a_wrong_name_is_refused_before_a_file_is_made(
    options: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        World(tmp_path / "ledger.db", **options)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_an_exception_in_the_work_leaves_the_key_free() -> None:
    with World() as world:
        call = world.email.call("send", "ada@example.com", "acts", "k", body="b")
        with pytest.raises(ZeroDivisionError):
            world.email.perform(call, lambda _: 1 // 0)  # type: ignore[arg-type,return-value]
        assert [row.outcome for row in world.ledger.rows()] == ["failed"]
        world.email.perform(call, lambda _: fakes.Work("1"))
        assert world.ledger.effects().total() == 1


calls = st.lists(st.tuples(st.sampled_from([None, "a", "b", "c"]), st.booleans()), max_size=12)


@settings(deadline=None)
@given(calls)
def test_applied_effects_are_the_distinct_keys_plus_the_calls_without_one(
    sequence: list[tuple[str | None, bool]],
) -> None:
    """Whatever the order, and whichever answers are lost on the way back."""
    lost = [Fault.parse(f"email.send#{n}:lost_after") for n, (_, is_lost) in enumerate(sequence, 1) if is_lost]
    with World(faults=lost) as world:
        for key, _ in sequence:
            with suppress(ConnectionLost):
                world.email.send(to="ada@example.com", body="hello", idempotency_key=key)
        keys = [key for key, _ in sequence]
        expected = len(set(keys) - {None}) + keys.count(None)
        assert world.ledger.effects().total() == expected
        rows = {row.id: row for row in world.ledger.rows()}
        assert len(rows) == len(sequence)
        assert all(_answers(rows, row) for row in rows.values() if row.outcome == "deduplicated")


def _answers(rows: dict[int, Row], row: Row) -> bool:
    first = rows[row.original or 0]
    return first.outcome == "applied" and first.key == row.key and first.id < row.id


def test_the_package_s_own_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    example = textwrap.dedent((fakes.__doc__ or "").split("\n\n", 1)[1])
    exec(example, {"World": World, "Fault": Fault, "suppress": suppress, "ConnectionLost": ConnectionLost})


def test_every_public_name_is_there_and_sorted() -> None:
    assert all(hasattr(fakes, name) for name in fakes.__all__)
    assert len(set(fakes.__all__)) == len(fakes.__all__)


def test_answers_are_frozen_slotted_dataclasses() -> None:
    for answer in (fakes.Completion, fakes.Document, fakes.Sent, fakes.Charge, fakes.Refund, Row):
        assert "__slots__" in vars(answer)
        assert vars(answer)["__dataclass_params__"].frozen
