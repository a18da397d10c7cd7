"""The sixty-step research task: a plan, 29 searches and 29 answers, a synthesis, a notification. 61 steps.

`agent` is right. `checkpoint_only` records every step, but its email carries no key. `from_zero` records nothing.
"""

from __future__ import annotations

from durable_core import Run
from fakes import Document, World

QUESTIONS = 29
READER = "analyst@example.com"


def agent(run: Run, world: World, topic: str = "deep sea mining") -> str:
    """Every step is recorded, every effect carries a key: a crash costs nothing, wherever it happens."""
    report = _research(run, world, topic)
    run.effect("notify", world.email.send, to=READER, subject=f"Report on {topic}", body=report)
    return report


def checkpoint_only(run: Run, world: World, topic: str = "deep sea mining") -> str:
    """The same with a plain step for the email: nothing is paid twice, but one crash window is open."""
    report = _research(run, world, topic)
    run.step("notify", world.email.send, to=READER, subject=f"Report on {topic}", body=report)
    return report


def from_zero(world: World, topic: str = "deep sea mining") -> str:
    """The same with no memory of what it had finished."""
    plan = world.llm.complete(_plan_prompt(topic), lines=QUESTIONS)
    findings = []
    for question in plan.text.splitlines():
        documents = world.search.query(question)
        findings.append(world.llm.complete(_answer_prompt(question, documents)).text)
    report = world.llm.complete(_synthesis_prompt(topic, findings)).text
    world.email.send(to=READER, subject=f"Report on {topic}", body=report)
    return report


def _research(run: Run, world: World, topic: str) -> str:
    plan = run.effect("plan", world.llm.complete, _plan_prompt(topic), lines=QUESTIONS)
    findings = []
    for index, question in enumerate(plan.text.splitlines()):
        documents = run.step(f"search:{index}", world.search.query, question)
        answer = run.effect(f"answer:{index}", world.llm.complete, _answer_prompt(question, documents))
        findings.append(answer.text)
    return run.effect("synthesize", world.llm.complete, _synthesis_prompt(topic, findings)).text


def _plan_prompt(topic: str) -> str:
    return f"Which questions does research on {topic} have to answer? One a line."


def _answer_prompt(question: str, documents: list[Document]) -> str:
    sources = "\n".join(f"{document.url}: {document.snippet}" for document in documents)
    return f"Answer '{question}' from these sources:\n{sources}"


def _synthesis_prompt(topic: str, findings: list[str]) -> str:
    return f"Write a report on {topic} from these findings:\n" + "\n".join(findings)
