"""What a run is held against: a check a function, each with a scenario that breaks it."""

from chaos.checks.judge import IN_FLIGHT, Judge
from chaos.checks.records import known_secrets

__all__ = ["IN_FLIGHT", "Judge", "known_secrets"]
