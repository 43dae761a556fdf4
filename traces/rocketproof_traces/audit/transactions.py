"""Compare the records that end half messages with these half messages, and decode operation records (TRX-04 to TRX-07).

Half messages of the same segment of the log are kept as columns. Those of earlier segments are looked up in the log one by one.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from rocketproof_protocol.flags import COMMIT, PREPARED, TRANSACTION_BITS
from rocketproof_protocol.numbers import java_long
from rocketproof_protocol.properties import REAL_QID, REAL_TOPIC, TIMER_OUT_MS, TRAN_MSG
from rocketproof_protocol.topics import HALF_TOPIC, SCHEDULE

from ..stored.errors import Unreadable
from ..stored.facts import Column
from ..stored.kinds import BIT
from ..stored.names import NameTable
from ..stored.texts import integer_of
from .records import LogRecord, Records
from .vocabulary import Class

_HALF, _SCHEDULE, _ORDINARY, _NONE = (Class.encode(name) for name in ("half", "schedule", "ordinary", "none"))
_MESSAGE: Final = ("bodyLength", "bodyCRC", "flag", "bornTimestamp", "bornAddress", "bornPort")
_KEPT: Final = ("physicalOffset", "queueOffset", "topic", "queueId", *_MESSAGE)
_NO_TOPIC: Final = -2
_OFFSETS: Final = range(10**18)
"""Offsets that rules can add in 64 bits."""


class HalfMessages:
    """The half messages of a segment of the log in order, including delayed half messages and retries that are committed like half
    messages.

    The columns are `_KEPT`. Topic and queue are the target's.
    """

    def __init__(self, log: Records, names: NameTable) -> None:
        self._log, self._names = log, names
        self._columns = np.empty((len(_KEPT), 256), np.int64)
        self._count = 0

    def take(self, rows: dict[str, Column]) -> None:
        """Keep the half messages of some rows."""
        # HAZ-39, and HAZ-47: a delayed retry is not a half message, but is committed like one.
        delayed = (rows["topicClass"] == _SCHEDULE) & ((rows["realClass"] == _HALF) | ((rows["properties"] & BIT[TRAN_MSG]) != 0))
        in_half = (rows["topicClass"] == _HALF) | delayed
        selected = np.flatnonzero(in_half | (rows["sysFlag"] & TRANSACTION_BITS == PREPARED))
        past = self._count + len(selected)
        if past > self._columns.shape[1]:
            self._columns = np.concatenate((self._columns, np.empty((len(_KEPT), past), np.int64)), axis=1)
        for column, name in zip(self._columns, _KEPT, strict=True):
            column[self._count : past] = rows[name][selected]
        for name, real in (("topic", "realTopic"), ("queueId", "realQueueId")):
            column = self._columns[_KEPT.index(name), self._count : past]
            column[:] = np.where(in_half[selected], rows[real][selected], column)
        self._count = past

    def outcomes(self, rows: dict[str, Column]) -> dict[str, Column]:
        """Return columns of the vocabulary `outcome` for the rows that end a half message of this log.

        A further column is `number`, the half message's queue offset. If a half message cannot be read, its row is omitted and
        `Records.problems` states why.
        """
        candidates = np.flatnonzero(rows["sysFlag"] & COMMIT)  # a rollback has this bit too
        bits = rows["sysFlag"][candidates] & TRANSACTION_BITS
        named, topic_class, real_class, retry_class, level = (
            rows[name][candidates] for name in ("preparedTransactionOffset", "topicClass", "realClass", "retryClass", "delayLevel")
        )
        # 0 is the offset of the log's first record, but also the value in messages that end nothing: sent back, or sent with these bits.
        first = (topic_class == _ORDINARY) & (real_class != _NONE) & (retry_class == _NONE)
        timed = (rows["properties"][candidates] & BIT[TIMER_OUT_MS]) != 0  # a delivered timer keeps its real topic
        ends = (named > 0) | (named == 0) & first & ~timed & (level == 0)
        ends &= self._log.has(named)
        chosen, bits, named = candidates[ends], bits[ends], named[ends]
        halves, unreadable = self._find(named)
        if unreadable.any():
            chosen, bits, named = chosen[~unreadable], bits[~unreadable], named[~unreadable]
            halves = {name: column[~unreadable] for name, column in halves.items()}
        delayed = rows["topicClass"][chosen] == _SCHEDULE
        topic = np.where(delayed, rows["realTopic"][chosen], rows["topic"][chosen])
        queue = np.where(delayed, rows["realQueueId"][chosen], rows["queueId"][chosen])
        exists = halves["physicalOffset"] >= 0
        same_message = exists.copy()
        for name in _MESSAGE:
            same_message &= halves[name] == rows[name][chosen]
        return {
            **{name: rows[name][chosen] for name in ("physicalOffset", "topic", "queueId", "queueOffset")},
            "half": named,
            "halfThere": exists.astype(np.int64),
            "sameTopic": (exists & (halves["topic"] == topic)).astype(np.int64),
            "sameQueue": (exists & (halves["queueId"] == queue)).astype(np.int64),
            "sameMessage": same_message.astype(np.int64),
            "committed": (bits == COMMIT).astype(np.int64),
            "number": halves["queueOffset"],
        }

    def _find(self, offsets: Column) -> tuple[dict[str, Column], NDArray[np.bool_]]:
        """Return the half messages at physical offsets (-1 in every column if there is none), and which cannot be read."""
        known = self._columns[0, : self._count]
        at = np.minimum(np.searchsorted(known, offsets), max(self._count - 1, 0))
        columns = np.full((len(_KEPT), len(offsets)), -1, np.int64)
        in_segment = known[at] == offsets if self._count else np.zeros(len(offsets), np.bool_)
        columns[:, in_segment] = self._columns[:, at[in_segment]]
        unreadable = np.zeros(len(offsets), np.bool_)
        for n in np.flatnonzero(~in_segment):
            try:
                columns[:, n] = self._look_up(int(offsets[n]))
            except Unreadable as error:  # also if its file was deleted during the audit
                self._log.problems.append(str(error))
                unreadable[n] = True
        return dict(zip(_KEPT, columns, strict=True)), unreadable

    def _look_up(self, offset: int) -> list[int]:
        """Return the columns of a half message in the log. Raises Unreadable."""
        record = self._log.at(offset)
        columns = [] if record is None else self._half_message(offset, record)
        return columns or [-1] * len(_KEPT)

    def _half_message(self, offset: int, record: LogRecord) -> list[int]:
        """Return the columns of a record that is a half message, an empty list for any other record."""
        head = record.head
        topic, queue = record.topic, head.queue_id
        real_topic = record.properties.get(REAL_TOPIC.encode(), b"")
        is_half = record.properties.get(TRAN_MSG.encode(), b"")
        if topic == HALF_TOPIC.encode() or (topic == SCHEDULE.encode() and (real_topic == HALF_TOPIC.encode() or is_half)):
            topic = real_topic
            text = record.properties.get(REAL_QID.encode(), b"")
            number = integer_of(text)
            queue = -1 if number is None else number
        elif head.sys_flag & TRANSACTION_BITS != PREPARED:
            return []
        address, port = head.born_host[:-4], int.from_bytes(head.born_host[-4:], "big", signed=True)
        born = int.from_bytes(address, "big") if len(address) == 4 else -1
        topic_number = self._names.number(topic) if topic and len(topic) <= 255 else _NO_TOPIC
        message = (head.body_length, head.body_crc, head.flag, head.born_timestamp, born, port)
        return [offset, head.queue_offset, topic_number, queue, *message]


def numbers_of(body: bytes) -> list[int] | None:
    """Return the queue offsets in the body of an operation record; None if the body has another form.

    4.x writes one offset, 5.x several with a comma after each.
    """
    numbers = [java_long(word) for word in body.decode("utf-8", "replace").removesuffix(",").split(",")]
    offsets = [number for number in numbers if number is not None and number in _OFFSETS]
    return offsets if len(offsets) == len(numbers) else None
