"""The kinds of rows of a walk over the commit log, the reasons for corruption, and the known properties: numbers with names.

Rules and their vocabulary use these terms. Nothing here needs an array.
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
    TIMER_OUT_MS,
    TRAN_MSG,
    UNIQ_KEY,
    WAIT,
)


class RowKind(IntEnum):
    """The content of a row."""

    MESSAGE = 1  # a record of the first version
    MESSAGE_V2 = 2  # a record with two bytes for the length of its topic
    BLANK = 3  # the padding up to the end of a file
    CORRUPT = 4  # `size` bytes that are not a record, because of `reason`
    EMPTY = 5  # an entry of DLedger without a record; `size` includes its header


class Reason(IntEnum):
    """Why a stretch is not a record. Its row has the offset of its first byte and its length; all other columns are -1."""

    NONE = 0
    MAGIC = 1  # no magic number where a record should begin
    SIZE = 2  # the size is too small, or reaches beyond the file
    LENGTHS = 3  # the lengths inside do not add up to the size, and no record follows either end
    TRUNCATED = 4  # the file ends inside of the record
    HOLE = 5  # zeros followed by data
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

# Properties known to the kernel, with the form of their value. Each has a bit in `properties` (present) and in `odd` (another form).
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
    TIMER_OUT_MS: "",
}
BIT: Final = {name: 1 << number for number, name in enumerate(PROPERTIES)}
RUN_ON: Final = 1 << len(PROPERTIES)
"""The bit of `odd` for tags that contain byte 1: releases before 4.9 read no tags, or only a part of them."""
NO_TEXT: Final = RUN_ON << 1
"""The bit of `odd` for properties that are not UTF-8."""
