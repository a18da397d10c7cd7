"""Email as every way of sending it has it: addresses, and what a MIME message says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from email import message_from_bytes
from email.message import Message
from email.policy import compat32
from email.utils import getaddresses

from fakes.server.trouble import Trouble, invalid

_MADE_ANEW = frozenset({"date", "message-id", "content-type", "mime-version", "content-transfer-encoding"})
"""Headers of no interest when two messages are compared: a client makes them for each, boundaries included."""

_ADDRESS = re.compile(r"[^<>]*<([^\s<>@,]+@[^\s<>@,]+)>|([^\s<>@,]+@[^\s<>@,]+)")


def address_of(text: str, field: str) -> str:
    """The bare address of `ada@example.com` or `Ada <ada@example.com>`.

    Raises:
        Trouble: it is neither; 400, with the field's name.
    """
    match = _ADDRESS.fullmatch(text.strip())
    if match is None:
        raise not_an_address(field)
    return match[1] or match[2]


def not_an_address(field: str) -> Trouble:
    """The trouble with a field that holds no address."""
    return invalid(
        f"Invalid `{field}` field. The email address needs to follow the `email@example.com` or"
        " `Name <email@example.com>` format.",
        param=field,
        code="invalid_address",
    )


def target_of(recipients: Iterable[str]) -> str:
    """The recipients of one message, as the ledger's target."""
    return ", ".join(dict.fromkeys(recipients))


def parsed(content: bytes) -> Message:
    """A MIME message. Any bytes are one."""
    return message_from_bytes(content, policy=compat32)


def recipients_in(message: Message) -> list[str]:
    """All addresses that a message's own headers send it to."""
    fields = [str(value) for name in ("to", "cc", "bcc") for value in message.get_all(name, [])]
    return [address for _, address in getaddresses(fields) if "@" in address]


def substance_of(message: Message) -> list[object]:
    """What two messages have in common that say the same: the parts, and the headers that somebody wrote."""
    headers = [[name.lower(), str(value)] for name, value in message.items() if name.lower() not in _MADE_ANEW]
    parts = [part for part in message.walk() if not part.is_multipart()]
    return [headers, *([part.get_content_type(), part.get_payload(decode=True)] for part in parts)]
