"""What a row of a walk over the commit log is about, and the properties that its bits speak of: numbers with names.

Rules and their vocabulary are written in these terms; nothing here needs an array.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from rocketproof_protocol.properties import (
    CRC32,
    DELAY,
    INNER_MULTI_DISPATCH,
    INNER_NUM,
    KEYS,
    MAX_RECONSUME_TIMES,
    ORIGIN_MESSAGE_ID,
    PGROUP,
    REAL_QID,
    REAL_TOPIC,
    RECONSUME_TIME,
    RETRY_TOPIC,
    TAGS,
    TRAN_MSG,
    UNIQ_KEY,
    WAIT,
)


class RowKind(IntEnum):
    """What a row is about."""

    MESSAGE = 1  # a record of the first version
    MESSAGE_V2 = 2  # a record whose topic's length has two bytes
    BLANK = 3  # the rest of a file
    CORRUPT = 4  # bytes that are no record; `reason` says why, `size` how many
    EMPTY = 5  # an entry of DLedger that has no record, `size` bytes with its header


class Reason(IntEnum):
    """Why a stretch is no record. Its row has the offset of its first byte and its length; all other columns are -1."""

    NONE = 0
    MAGIC = 1  # no magic number where a record should begin
    SIZE = 2  # the size is too small, or reaches beyond the file
    LENGTHS = 3  # the lengths inside do not add up to the size, and no record follows at either end
    TRUNCATED = 4  # the file ends inside of the record
    HOLE = 5  # zeros, and data behind them
    BLANK = 6  # a blank that does not reach to the end of its file
    ZEROS = 7  # zeros to the end of a file that is not the last one with data

    @property
    def sentence(self) -> str:
        return _SENTENCES[self]


_SENTENCES = {
    Reason.NONE: "a record",
    Reason.MAGIC: "no magic number of a record or a blank",
    Reason.SIZE: "the size is too small, or reaches beyond the end of the file",
    Reason.LENGTHS: "the lengths inside the record do not add up to its size",
    Reason.TRUNCATED: "the file ends inside of the record",
    Reason.HOLE: "zeros, and data behind them",
    Reason.BLANK: "a blank that does not reach to the end of its file",
    Reason.ZEROS: "zeros to the end of a file that is not the last one with data",
}

# Properties that the kernel knows, each with its bit in `properties` (present) and `odd` (the value has another form than meant).
PROPERTIES: Final = {
    TAGS: "UTF-8",
    KEYS: "",
    WAIT: "true",
    DELAY: "int",
    REAL_TOPIC: "topic",
    REAL_QID: "int",
    TRAN_MSG: "true",
    PGROUP: "",
    RETRY_TOPIC: "topic",
    ORIGIN_MESSAGE_ID: "",
    UNIQ_KEY: "",
    RECONSUME_TIME: "int",
    MAX_RECONSUME_TIMES: "int",
    INNER_NUM: "int",
    INNER_MULTI_DISPATCH: "",
    CRC32: "",
}
BIT: Final = {name: 1 << number for number, name in enumerate(PROPERTIES)}
RUN_ON: Final = 1 << len(PROPERTIES)
"""The bit of `odd` for tags with byte 1 in them: releases before 4.9 read no such property, or a part of it."""
NO_TEXT: Final = RUN_ON << 1
"""The bit of `odd` for properties that are no UTF-8."""
