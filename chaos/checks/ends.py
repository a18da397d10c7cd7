"""Checks of the end: the run comes to one, a replay comes to the same, and the author's own oracle agrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from chaos.causes import cause_of_error, cause_of_refusal
from chaos.checks.case import Case, Ending, Fact
from chaos.life import Try
from fakes import Row

_RECORD_IT = "make every value that the path or the result depends on a recorded step: run.now, run.random, run.step"


def replay(case: Case) -> Iterator[Fact]:
    """A further life on the finished run gives its result and asks for its records, neither more nor less."""
    run = case.run
    if run.replay is None or run.finished is None or run.finished.report is None:
        return
    report, first = run.replay.report, run.finished.report
    if report is None:
        return  # nobody planned that death; it makes the verdict inconclusive
    fix = _RECORD_IT
    if report.outcome != "finished":
        cause, fix = cause_of_error(report.error, fix)
        text = f"a replay of the finished run does not come to its end: {report.error or report.outcome}"
    elif report.result != first.result:
        text = f"a replay of the finished run gives {report.shown}, the run itself gave {first.shown}"
        cause = "the result holds a value that is not recorded, such as the time, a choice or an environment variable"
    elif report.unasked:
        text = f"a replay of the finished run does not ask for the records of {', '.join(report.unasked)}"
        cause = "step ids, or the path, differ from life to life"
    else:
        return
    yield Fact(check="replay-differs", text=text, cause=cause, fix=fix)


def outcome(case: Case) -> Iterator[Fact]:
    """Without records the result of the baseline is the measure; the fakes answer both runs equally."""
    run, baseline = case.run, case.baseline
    if case.agent.takes_run or run.finished is None or baseline.finished is None:
        return
    ended, expected = run.finished.report, baseline.finished.report
    if ended and expected and ended.result != expected.result:
        yield Fact(
            check="other-outcome",
            text=f"the run ended with {ended.shown}; without a crash it ends with {expected.shown}",
            cause="the resumed run went on from another state than the killed one had reached",
            fix="record each finished step and go on from the records",
        )


def end(case: Case) -> Iterator[Fact]:
    """A run that was killed, or met a fault, comes to its end in the lives that follow.

    A fault that strikes in the last life too leaves it no chance; the verdict says so.
    """
    run = case.run
    last = run.lives[-1].report
    if last is None or last.outcome != "raised" or not (run.schedule or run.met):
        return
    if run.lives[-1].spec.number in run.met:
        return
    cause, fix = cause_of_error(last.error, "let a resumed life go on from what the killed one left behind")
    refused = _refused_again(run)
    if refused is not None:
        cause, fix = cause_of_refusal(refused, case.agent)
    yield Fact(
        check="does-not-end",
        text=f"the run does not end: it is resumed again and again, and every life fails with {last.error}"
        + (f" ({last.where})" if last.where else ""),
        cause=cause,
        fix=fix,
        concerns=lambda row: row.outcome in ("refused", "failed"),
    )


def _refused_again(run: Try) -> Row | None:
    """The call at which the last life failed, if an earlier life had had the same one applied, under another key."""
    own = [row for row in run.rows if row.life == run.lives[-1].spec.number and row.nature == "acts"]
    if not own or own[-1].outcome not in ("failed", "refused"):
        return None
    last = own[-1]
    for row in run.rows:
        same = (row.provider, row.operation, row.target) == (last.provider, last.operation, last.target)
        if same and row.outcome == "applied" and row.life < last.life and row.key != last.key:
            return last
    return None


def swallowed(case: Case) -> Iterator[Fact]:
    """What ends a life reaches the engine: a broad `except` does not make a run out of its ruins."""
    for life in case.run.lives:
        if life.report is not None and life.report.swallowed:
            yield Fact(
                check="swallowed-signal",
                text=f"the agent caught {life.report.swallowed} and went on to return as if nothing were",
                cause="a broad except around steps also catches what tells the run to stop",
                fix="catch the errors that you expect, by class; let DurableError pass",
            )
            return


def expected(case: Case) -> Iterator[Fact]:
    """What only the author knows."""
    run = case.run
    if case.expected is None or run.finished is None or run.finished.report is None:
        return
    acting = (row for row in run.rows if row.nature == "acts" and row.outcome == "applied")
    effects = Counter((row.provider, row.operation, row.target) for row in acting)
    try:
        verdict = case.expected(Ending(run.finished.report.shown, run.rows, effects))
        complaint = "it returned False" if verdict is False else None
    except AssertionError as error:
        complaint = str(error).partition("\n")[0] or "an assertion failed"
    if complaint is not None:
        yield Fact(
            check="not-as-expected",
            text=f"the finished run is not as expected=… wants it: {complaint}",
            cause="the run ended in a state that its author did not mean, whatever its records say",
            fix="correct the agent, or the expectation",
            concerns=lambda row: row.nature == "acts",
        )
