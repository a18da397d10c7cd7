"""Errors of the harness: what keeps it from saying anything about the agent."""

from __future__ import annotations


class HarnessError(Exception):
    """Base: the set-up is broken or a name is wrong. The command line exits with 2."""


class AgentError(HarnessError):
    """The agent under test cannot be found, imported or called with that input."""


class ScheduleError(HarnessError):
    """A schedule or point that cannot be read, or that the agent does not have."""


class LaunchError(HarnessError):
    """A life cannot be started on this machine or with this launcher."""


class OptionError(HarnessError):
    """An option has a value that is not known."""
