"""The first record of a send-back chain: a record that was sent back has its id (BACK-10, BACK-15).

The id contains a host and a physical offset and nothing else. If two consumers send back a message, both chains have the same id. So the
later records of chains are not distinguished here.
"""

from __future__ import annotations

from typing import NamedTuple

from rocketproof_protocol.properties import ORIGIN_MESSAGE_ID, RETRY_TOPIC

from ..stored.errors import Unreadable
from .records import Records

_ORIGIN, _RETRY_TOPIC = ORIGIN_MESSAGE_ID.encode(), RETRY_TOPIC.encode()
_IDS = (32, 56)  # digits of an id: address of 4 or of 16 bytes, port 4, physical offset 8


class Origin(NamedTuple):
    """The first record of a chain, as seen from a later record.

    - `read`: the property is a valid id.
    - `here`: the id is in this log and has the record's own store host.
    - `known`: the first record is there.
    - `same`: both have the same topic.
    - `times`: the reconsumeTimes of the first record.
    """

    read: bool
    here: bool = False
    known: bool = False
    same: bool = False
    times: int = 0


def origin(log: Records, record_at: int) -> Origin | None:
    """Return the first record of the chain of the record at a physical offset; None if it is unknown.

    It is unknown if a record cannot be read, also if its file was deleted during the audit; `log.problems` states this.
    """
    try:
        record = log.at(record_at)
        if record is None:
            return None
        id_ = record.properties.get(_ORIGIN, b"")
        id_bytes = _bytes(id_)
        if not id_bytes:
            return Origin(read=False)
        origin_at = int.from_bytes(id_bytes[-8:], "big")
        is_here = id_bytes[:-8] == record.head.store_host and log.start <= origin_at
        first = log.at(origin_at) if origin_at < record_at else None
        if first is None or first.head.store_host != id_bytes[:-8] or first.head.physical_offset != origin_at:
            return Origin(read=True, here=is_here)
        retry_topic = record.properties.get(_RETRY_TOPIC)
        return Origin(True, is_here, True, retry_topic == first.properties.get(_RETRY_TOPIC, first.topic), first.head.reconsume_times)
    except Unreadable as error:
        log.problems.append(str(error))
        return None


def _bytes(id_: bytes) -> bytes:
    """Return address, port and physical offset of an id; empty bytes if it is not an id."""
    try:
        return bytes.fromhex(id_.decode("ascii")) if len(id_) in _IDS else b""
    except ValueError:
        return b""
