"""Names that policies and faults may use: refused when nothing has them, before a file is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fakes.errors import UnknownName
from fakes.faults import Fault
from fakes.policy import KeyPolicy, policy


def check_names(
    policies: Mapping[str, str | KeyPolicy], faults: Sequence[Fault], providers: Mapping[str, Sequence[str]]
) -> None:
    """Refuse what could never take effect; `providers` are those there are, with their operations.

    Raises:
        UnknownName: of a provider, preset or operation that there is not; with the nearest name.
    """
    for name, chosen in policies.items():
        if name not in providers:
            raise UnknownName("provider", name, providers)
        if isinstance(chosen, str):
            policy(chosen)
    for fault in faults:
        if fault.provider not in providers:
            raise UnknownName(f"fault {fault}: provider", fault.provider, providers)
        operations = providers[fault.provider]
        if fault.operation not in ("*", *operations):
            raise UnknownName(f"fault {fault}: operation", fault.operation, operations)
