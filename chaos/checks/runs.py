"""A check of two runs beside each other."""

from __future__ import annotations

from collections.abc import Iterator

from chaos.checks.case import Fact
from chaos.life import Try


def keys_of_two_runs(second: Try) -> Iterator[Fact]:
    """Two runs never send the same idempotency key, or the provider takes the second one for a retry of the first.

    `second` is a try of another run whose ledger begins with the calls of a first one.
    """
    own = second.lives[-1].spec.number
    earlier = {(row.provider, row.key): row for row in second.rows if row.life < own and row.key}
    for row in second.rows:
        if row.life == own and (row.provider, row.key) in earlier:
            yield Fact(
                check="key-collision",
                step=row.step or f"{row.provider}.{row.operation}",
                text=f"a second run sent the key {row.key!r}, which the first run had used: its "
                f"{row.provider}.{row.operation} to {row.target} was {row.outcome}, and never happened",
                cause="the key is not made of the run, so two runs share it",
                fix=f'make the key of run and step: run.key("{row.step or row.operation}"), as run.effect does',
                concerns=lambda other, key=row.key: other.key == key,  # type: ignore[misc]
            )
            return
