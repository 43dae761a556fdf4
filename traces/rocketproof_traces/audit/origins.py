"""The first record of a chain: where a message that was sent back comes from, and what that one says (BACK-10, BACK-15).

Each record of a chain has the id of the first one, which names host and physical offset. An id names no more than that: a message that
two consumers have sent back has two chains of one id, so records behind the first one are not told apart here.
"""

from __future__ import annotations

from typing import NamedTuple

from rocketproof_protocol.properties import ORIGIN_MESSAGE_ID, RETRY_TOPIC

from ..stored.errors import Unreadable
from .records import Records

_ORIGIN, _RETRY_TOPIC = ORIGIN_MESSAGE_ID.encode(), RETRY_TOPIC.encode()
_IDS = (32, 56)  # digits of an id: address of 4 or of 16 bytes, port 4, physical offset 8


class Origin(NamedTuple):
    """`read`: it is an id; `here`: of a place in this log, and of the record's own store host. `known`: the first record lies there;
    `same`: the chain's record has its topic; `times`: how often it had been consumed again."""

    read: bool
    here: bool = False
    known: bool = False
    same: bool = False
    times: int = 0


def origin(log: Records, offset: int) -> Origin | None:
    """Return the first record of the chain to which the record at a physical offset belongs; None where that is unknown.

    It is unknown where a record cannot be read, also because its file has gone since the audit began; `log.problems` says so.
    """
    try:
        record = log.at(offset)
        if record is None:
            return None
        id_ = record.properties.get(_ORIGIN, b"")
        named = _bytes(id_)
        if not named:
            return Origin(read=False)
        place = int.from_bytes(named[-8:], "big")
        here = named[:-8] == record.head.store_host and log.start <= place
        first = log.at(place) if place < offset else None
        if first is None or first.head.store_host != named[:-8] or first.head.physical_offset != place:
            return Origin(read=True, here=here)
        told = record.properties.get(_RETRY_TOPIC)
        return Origin(True, here, True, told == first.properties.get(_RETRY_TOPIC, first.topic), first.head.reconsume_times)
    except Unreadable as error:
        log.problems.append(str(error))
        return None


def _bytes(id_: bytes) -> bytes:
    """Address, port and physical offset; nothing for what is no id."""
    try:
        return bytes.fromhex(id_.decode("ascii")) if len(id_) in _IDS else b""
    except ValueError:
        return b""
