"""Providers for the peers, which have none that bill and act across processes: one SQLite ledger beside the folder.

It deduplicates on keys as Stripe or Resend do. It is in SQLite so that no peer takes a torn ledger for a torn
checkpoint: a provider's own books are not what is under test.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path


class Providers:
    """A model that bills and a mail service that acts."""

    def __init__(self, folder: Path) -> None:
        folder.parent.mkdir(parents=True, exist_ok=True)
        self.db = sqlite3.connect(folder.with_name(f"ledger-{folder.name}.db"), isolation_level=None)
        self.db.execute("CREATE TABLE IF NOT EXISTS calls (kind TEXT, what TEXT, key TEXT UNIQUE, reference TEXT)")

    def complete(self, prompt: str, key: str | None) -> str:
        """An answer of the model; billed again unless the key is known."""
        self._enter("model", prompt, key, None)
        return f"an answer to {prompt}"

    def send(self, to: str, key: str | None = None, reference: str | None = None) -> str:
        """A mail; sent again unless the key is known."""
        self._enter("mail", to, key, reference)
        return "sent"

    def find(self, reference: str) -> bool:
        """Whether a mail went out under a reference."""
        return bool(self.db.execute("SELECT 1 FROM calls WHERE reference = ?", (reference,)).fetchone())

    def books(self) -> list[tuple[str, str, int]]:
        """What was billed and sent, and how often."""
        return self.db.execute("SELECT kind, what, count(*) FROM calls GROUP BY 1, 2 ORDER BY 1, 2").fetchall()

    def _enter(self, kind: str, what: str, key: str | None, reference: str | None) -> None:
        self.db.execute("INSERT OR IGNORE INTO calls VALUES (?, ?, ?, ?)", (kind, what, key, reference))


if __name__ == "__main__":
    sys.stdout.write(str(Providers(Path(sys.argv[1])).books()))
