"""Records that end half messages, each beside the half message that it names, and what operation records name (TRX-04 to TRX-07).

Half messages of the same stretch of the log are kept as columns; those of an earlier one are looked up in the log one by one.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rocketproof_protocol.flags import COMMIT, PREPARED, TRANSACTION_BITS
from rocketproof_protocol.numbers import java_long
from rocketproof_protocol.properties import REAL_QID, REAL_TOPIC, TRAN_MSG
from rocketproof_protocol.topics import HALF_TOPIC, SCHEDULE

from ..stored.errors import Unreadable
from ..stored.facts import Column
from ..stored.kinds import BIT
from ..stored.names import NameTable
from ..stored.texts import integer_of
from .records import FoundRecords, Records
from .vocabulary import Class

_HALF, _SCHEDULE, _ORDINARY, _NONE = (Class.encode(name) for name in ("half", "schedule", "ordinary", "none"))
_MESSAGE: Final = ("bodyLength", "bodyCRC", "flag", "bornTimestamp", "bornAddress", "bornPort")
_KEPT: Final = ("physicalOffset", "queueOffset", "topic", "queueId", *_MESSAGE)
_NO_TOPIC: Final = -2
_OFFSETS: Final = range(10**18)
"""Offsets with which rules can compute in 64 bits."""


class Halves:
    """The half messages of a stretch of the log, in order, those among them whose delay hides them, and retries that are committed as such.
    Columns: `_KEPT`, topic and queue being those that they are for."""

    def __init__(self, log: Records, names: NameTable) -> None:
        self._log, self._names = log, names
        self._columns = np.empty((len(_KEPT), 256), np.int64)
        self._count = 0

    def take(self, rows: dict[str, Column]) -> None:
        """Keep the half messages of some rows."""
        # HAZ-39, and HAZ-47: a retry that waits is no half message, and is committed as one all the same.
        delayed = (rows["topicClass"] == _SCHEDULE) & ((rows["realClass"] == _HALF) | ((rows["properties"] & BIT[TRAN_MSG]) != 0))
        in_half = (rows["topicClass"] == _HALF) | delayed
        chosen = np.flatnonzero(in_half | (rows["sysFlag"] & TRANSACTION_BITS == PREPARED))
        past = self._count + len(chosen)
        if past > self._columns.shape[1]:
            self._columns = np.concatenate((self._columns, np.empty((len(_KEPT), past), np.int64)), axis=1)
        for column, name in zip(self._columns, _KEPT, strict=True):
            column[self._count : past] = rows[name][chosen]
        for name, real in (("topic", "realTopic"), ("queueId", "realQueueId")):
            column = self._columns[_KEPT.index(name), self._count : past]
            column[:] = np.where(in_half[chosen], rows[real][chosen], column)
        self._count = past

    def outcomes(self, rows: dict[str, Column]) -> dict[str, Column]:
        """Of the rows that end a half message of this log columns of the vocabulary `outcome`; `number` besides: the half message's queue
        offset. A half message that cannot be read is unknown: its row is left out, and `Records.problems` says why."""
        asked = np.flatnonzero(rows["sysFlag"] & COMMIT)  # that of a rollback has it too
        bits = rows["sysFlag"][asked] & TRANSACTION_BITS
        named, topic_class, real_class, retry_class, level = (
            rows[name][asked] for name in ("preparedTransactionOffset", "topicClass", "realClass", "retryClass", "delayLevel")
        )
        # The first record of a log lies at 0, and so says a message that ends none: one that was sent back, or sent with such bits.
        first = (topic_class == _ORDINARY) & (real_class != _NONE) & (retry_class == _NONE)
        ends = (named > 0) | (named == 0) & first & (level == 0)
        ends &= self._log.has(named)
        chosen, bits, named = asked[ends], bits[ends], named[ends]
        halves, unread = self._find(named)
        if unread.any():
            chosen, bits, named = chosen[~unread], bits[~unread], named[~unread]
            halves = {name: column[~unread] for name, column in halves.items()}
        moved = rows["topicClass"][chosen] == _SCHEDULE
        topic = np.where(moved, rows["realTopic"][chosen], rows["topic"][chosen])
        queue = np.where(moved, rows["realQueueId"][chosen], rows["queueId"][chosen])
        there = halves["physicalOffset"] >= 0
        same = there.copy()
        for name in _MESSAGE:
            same &= halves[name] == rows[name][chosen]
        return {
            **{name: rows[name][chosen] for name in ("physicalOffset", "topic", "queueId", "queueOffset")},
            "half": named,
            "halfThere": there.astype(np.int64),
            "sameTopic": (there & (halves["topic"] == topic)).astype(np.int64),
            "sameQueue": (there & (halves["queueId"] == queue)).astype(np.int64),
            "sameMessage": same.astype(np.int64),
            "committed": (bits == COMMIT).astype(np.int64),
            "number": halves["queueOffset"],
        }

    def _find(self, places: Column) -> tuple[dict[str, Column], NDArray[np.bool_]]:
        """The half messages at physical offsets; -1 in every column where there is none. And which ones cannot be read."""
        known = self._columns[0, : self._count]
        at = np.minimum(np.searchsorted(known, places), max(self._count - 1, 0))
        found = np.full((len(_KEPT), len(places)), -1, np.int64)
        here = known[at] == places if self._count else np.zeros(len(places), np.bool_)
        found[:, here] = self._columns[:, at[here]]
        unread = np.zeros(len(places), np.bool_)
        for n in np.flatnonzero(~here):
            try:
                found[:, n] = self._look_up(int(places[n]))
            except Unreadable as error:  # also where its file has gone since the audit began
                self._log.problems.append(str(error))
                unread[n] = True
        return dict(zip(_KEPT, found, strict=True)), unread

    def _look_up(self, place: int) -> list[int]:
        """Raises Unreadable."""
        record = self._log.at(place)
        said = [] if record is None else self._said(place, record)
        return said or [-1] * len(_KEPT)

    def _said(self, place: int, record: FoundRecords) -> list[int]:
        """What a record says of itself if it is a half message."""
        head = record.head
        topic, queue = record.topic, head.queue_id
        meant = record.properties.get(REAL_TOPIC.encode(), b"")
        marked = record.properties.get(TRAN_MSG.encode(), b"")
        if topic == HALF_TOPIC.encode() or (topic == SCHEDULE.encode() and (meant == HALF_TOPIC.encode() or marked)):
            topic = meant
            text = record.properties.get(REAL_QID.encode(), b"")
            told = integer_of(text)
            queue = -1 if told is None else told
        elif head.sys_flag & TRANSACTION_BITS != PREPARED:
            return []
        address, port = head.born_host[:-4], int.from_bytes(head.born_host[-4:], "big", signed=True)
        born = int.from_bytes(address, "big") if len(address) == 4 else -1
        number = self._names.number(topic) if topic and len(topic) <= 255 else _NO_TOPIC
        message = (head.body_length, head.body_crc, head.flag, head.born_timestamp, born, port)
        return [place, head.queue_offset, number, queue, *message]


def numbers_of(body: bytes) -> list[int] | None:
    """The queue offsets in the body of an operation record: one in 4.x, several with a comma behind each in 5.x; None for what is none."""
    found = [java_long(word) for word in body.decode("utf-8", "replace").removesuffix(",").split(",")]
    places = [place for place in found if place is not None and place in _OFFSETS]
    return places if len(places) == len(found) else None
