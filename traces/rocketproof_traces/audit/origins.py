"""The first record of a chain: where a message that was sent back comes from, and what that one says (BACK-10, BACK-15).

Each record of a chain has the id of the first one, which names host and physical offset. An id names no more than that: a message that
two consumers have sent back has two chains of one id, so records behind the first one are not told apart here.
"""

from __future__ import annotations

from typing import NamedTuple

from rocketproof_protocol.properties import ORIGIN_MESSAGE_ID, RETRY_TOPIC

from ..stored.errors import StoredError
from .records import Found, Records

_ORIGIN, _RETRY_TOPIC = ORIGIN_MESSAGE_ID.encode(), RETRY_TOPIC.encode()
_IDS = (32, 56)  # digits of an id: address of 4 or of 16 bytes, port 4, physical offset 8


class Origin(NamedTuple):
    """`same`: the chain's record has the topic of the first one; `times`: how often the first one had been consumed again."""

    same: bool
    times: int


def origin(log: Records, offset: int) -> Origin | None:
    """The first record of the chain to which the record at a physical offset belongs; None if it is not in this log, or its file has gone
    since the audit began."""
    try:
        record = log.at(offset)
        first = None if record is None else _first(log, record.properties.get(_ORIGIN, b""))
        if record is None or first is None:
            return None
        told = record.properties.get(_RETRY_TOPIC)
        return Origin(told == first.properties.get(_RETRY_TOPIC, first.topic), first.head.reconsume_times)
    except StoredError:
        return None


def _first(log: Records, id_: bytes) -> Found | None:
    try:
        named = bytes.fromhex(id_.decode("ascii")) if len(id_) in _IDS else b""
    except ValueError:
        named = b""
    offset = int.from_bytes(named[-8:], "big")
    first = log.at(offset) if named else None
    is_it = first is not None and first.head.store_host == named[:-8] and first.head.physical_offset == offset
    return first if is_it else None
