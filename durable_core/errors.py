"""Every error of the core. Each message names its subject, the fact, the cause and the fix."""

from __future__ import annotations


class DurableError(Exception):
    """Base of all errors raised by `durable_core`."""


class ReplayDivergence(DurableError):
    """A replay asked for something else than was recorded.

    Common causes: a branch on the clock, on `random`, on the environment or on set order
    outside a step; a failure that was caught but not named in `record_errors`; new code on an
    old run. The run is poisoned: every later step of this life raises the same error.
    """


class DuplicateStepId(DurableError):
    """One step id was used for two steps of one life, so one record would answer for both."""


class NestedStep(DurableError):
    """A step was started inside another step; on replay the inner one would never be asked for."""


class InvalidId(DurableError):
    """A run id or step id that is empty, too long or holds control characters."""


class EffectWithoutKey(DurableError):
    """An effect whose function cannot take an idempotency key and that names no `if_unknown`."""


class NotRecordable(DurableError):
    """A value that would not come back from its record as it went in."""


class RecordUnreadable(DurableError):
    """A record that today's return annotation cannot read."""


class OutcomeUnknown(DurableError):
    """An effect was begun in an earlier life and nobody knows whether it happened.

    It is held until `deliver` records the outcome of `step_id`; it is never sent again blindly.
    """

    def __init__(self, message: str, step_id: str) -> None:
        super().__init__(message)
        self.step_id = step_id


class Suspended(DurableError):
    """The run waits for a record that somebody else must `deliver` for `step_id`."""

    def __init__(self, message: str, step_id: str) -> None:
        super().__init__(message)
        self.step_id = step_id


class AlreadyRecorded(DurableError):
    """The step has a record; a record is written once."""


class UnknownRun(DurableError):
    """The store has never admitted a run of that id."""


class RunIsHeld(DurableError):
    """Another living owner holds the lease of the run."""


class LeaseLost(DurableError):
    """The fencing token is stale: somebody else advances the run now."""


class StoreError(DurableError):
    """The store could not do its work; the message names the store. What was recorded stays."""


class CorruptCheckpoint(StoreError):
    """The checkpoint is damaged where it cannot be mended. It is never read as a fresh run."""
