"""The lines of a journal: checksummed, chained, and told apart into good, torn and damaged.

The first line is a header, every other an entry, each behind a checksum of its own and all earlier lines:

    3814d59d {"journal":1,"run_id":"issue-42"}
    3ec53455 ["start","",null,"",false,null,1700000000.0]<tab>"sharks"

So a line that is damaged, lost, doubled or moved is noticed. A *torn tail* is what a writer that died did not finish
and therefore never acknowledged: a last line without its newline, or one in which sectors that never reached the
disk read as zeros (JSON holds no raw NUL). Everything else that fails its checksum is damage.
"""

from __future__ import annotations

import json
from pathlib import Path
from zlib import crc32

from durable_core.entries import OUTCOMES, Entry
from durable_core.errors import CorruptCheckpoint, StoreError

FORMAT = 1
"""The version in the header. A newer one is refused."""

_SUM = 9
"""Bytes of `<crc32 in 8 hex digits><space>`."""


class Lines:
    """What is known of a journal: how far it was read and found good, and what the next line goes on from."""

    def __init__(self, path: Path, run_id: str) -> None:
        self._path = path
        self._run_id = run_id
        self.end = 0  # bytes
        self.count = 0
        self.settled: set[str] = set()  # the steps that have an outcome
        self._crc = 0  # of all bodies so far

    def header(self) -> bytes:
        """The first line."""
        return self.line(json.dumps({"journal": FORMAT, "run_id": self._run_id}, separators=(",", ":")).encode())

    def line(self, body: bytes) -> bytes:
        """The line that `body` makes next."""
        return b"%08x %b\n" % (crc32(body, self._crc), body)

    def add(self, line: bytes, entry: Entry | None) -> None:
        """Count a good line, of an entry or of the header."""
        self.end += len(line)
        self.count += 1
        self._crc = int(line[: _SUM - 1], 16)
        if entry is not None and entry.kind in OUTCOMES:
            self.settled.add(entry.step_id)

    def take(self, data: bytes) -> tuple[list[Entry], bytes]:
        """Verify the bytes from `end` on and count what is good: its entries, and the torn tail.

        Raises:
            CorruptCheckpoint: something that had been acknowledged is damaged.
            StoreError: a newer version wrote it.
        """
        *lines, tail = data.split(b"\n")
        if self.count == 0:
            header = lines.pop(0) if lines else b""
            run_id = read_header(self._path, header)
            if run_id != self._run_id:
                raise damage(self._path, 1, f"the file belongs to run {run_id!r}, not {self._run_id!r}")
            self.add(header + b"\n", None)
        entries = []
        for number, line in enumerate(lines, 1):
            body = line[_SUM:]
            if line[:_SUM] != b"%08x " % crc32(body, self._crc):
                if tail or number < len(lines) or b"\0" not in line:
                    raise damage(self._path, self.count + 1, "the checksum is wrong")
                tail = line + b"\n"
                break
            try:
                entry = Entry.from_bytes(body)
            except (TypeError, ValueError) as error:
                raise damage(self._path, self.count + 1, f"the line is whole but no entry ({error})") from error
            entries.append(entry)
            self.add(line + b"\n", entry)
        if self._hides_a_line(tail):
            raise damage(self._path, self.count + 1, "its newline is damaged")
        if self.count == 1:
            raise damage(self._path, 2, "the first entry, which is written at once with the header, is missing")
        return entries, tail

    def _hides_a_line(self, tail: bytes) -> bool:
        """Whether the tail begins with a whole line, and after that something else than its newline.

        An acknowledged line then, not a torn one. Zeros behind a whole line are the sector its newline was in.
        """
        crc = self._crc
        for end in range(_SUM, len(tail.rstrip(b"\0"))):
            if tail[:_SUM] == b"%08x " % crc:
                return True
            crc = crc32(tail[end : end + 1], crc)
        return False


def read_header(path: Path, line: bytes) -> str:
    """The run id in the header line, given without its end.

    Raises:
        CorruptCheckpoint: this is no header.
        StoreError: it is one of a newer format.
    """
    header = line[_SUM:]
    if line[:_SUM] != b"%08x " % crc32(header):
        raise damage(path, 1, "the header is missing or its checksum is wrong")
    try:
        fields = json.loads(header)
        version, run_id = int(fields["journal"]), str(fields["run_id"])
    except (KeyError, TypeError, ValueError) as error:
        raise damage(path, 1, "the header does not name a format and a run") from error
    if version > FORMAT:
        raise StoreError(
            f"{path}: the file has format {version} and this durable_core reads up to {FORMAT}: a newer one wrote it; "
            "install that version"
        )
    return run_id


def damage(path: Path, line: int, fact: str) -> CorruptCheckpoint:
    """The error for a journal that cannot be mended."""
    return CorruptCheckpoint(
        f"{path}, line {line}: {fact}: the file was changed, or the disk lost what had been acknowledged, so what the "
        "run did cannot be known; nothing was executed or changed. Restore the file from a copy; without one, look at "
        "what the providers did, move the file away and start under a new run id"
    )
