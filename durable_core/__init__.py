"""The minimal checkpoint-and-step core: record each finished step, replay the record instead of the work."""

from durable_core.errors import (
    AlreadyRecorded,
    CorruptCheckpoint,
    DuplicateStepId,
    DurableError,
    EffectWithoutKey,
    InvalidId,
    LeaseLost,
    NestedStep,
    NotRecordable,
    OutcomeUnknown,
    RecordUnreadable,
    ReplayDivergence,
    RunIsHeld,
    StoreError,
    Suspended,
    UnknownRun,
)
from durable_core.resume import deliver, resume
from durable_core.run import Run
from durable_core.step import current_step
from durable_core.stores.protocol import Lease, Store
from durable_core.stores.urls import open_store

__all__ = [
    "AlreadyRecorded",
    "CorruptCheckpoint",
    "DuplicateStepId",
    "DurableError",
    "EffectWithoutKey",
    "InvalidId",
    "Lease",
    "LeaseLost",
    "NestedStep",
    "NotRecordable",
    "OutcomeUnknown",
    "RecordUnreadable",
    "ReplayDivergence",
    "Run",
    "RunIsHeld",
    "Store",
    "StoreError",
    "Suspended",
    "UnknownRun",
    "current_step",
    "deliver",
    "open_store",
    "resume",
]
