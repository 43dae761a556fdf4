"""The kernel that adds the audit's own columns to the rows of a chunk, see `vocabulary.JOINED`.

Columns are lines of one table, after those of the facts. Some facts are needed for few rows only, for example the first record of a chain.
The kernel returns the numbers of these rows, and slower code fills in the facts.
"""

# Numba's functions have no types that a checker knows.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

from typing import Final

from rocketproof_model.routines.compiled import compiled_brief
from rocketproof_protocol.flags import COMPRESSED, TRANSACTION_BITS
from rocketproof_protocol.properties import ORIGIN_MESSAGE_ID, RETRY_TOPIC

from ..stored.facts import COLUMNS
from ..stored.kinds import BIT
from ..stored.layout import ENTRY
from .vocabulary import I64, JOINED, Class

NUMBER: Final = {name: number for number, name in enumerate((*COLUMNS, *JOINED))}
"""The line of each column, facts and joined columns."""
CLASS, LIMIT, QUEUES, HAS_QUEUES = range(4)
"""Facts about each name, and last about the absent name: class, limit of its group, number of queues, whether the audit reads their
entries."""
COMPRESSED_ROWS, CHAINED_ROWS, TRANSACTION_ROWS, OPERATION_ROWS = range(4)
"""Lines of row numbers: bodies marked as compressed; records that were sent back; records of transactions; records whose bodies name
ended half messages."""

_CHAINED: Final = BIT[RETRY_TOPIC] | BIT[ORIGIN_MESSAGE_ID]
_RETRY, _DEAD, _HALF, _OPERATIONS = (Class.encode(name) for name in ("retry", "dead", "half", "operations"))
_LOW, _HIGH = I64.lo, I64.hi

_TOPIC, _REAL, _RETRIED, _PHYSICAL = (NUMBER[name] for name in ("topic", "realTopic", "retryTopic", "physicalOffset"))
_LEVEL, _FLAGS, _PROPERTIES, _BODY = (NUMBER[name] for name in ("delayLevel", "sysFlag", "properties", "bodyLength"))
_TOPIC_CLASS, _REAL_CLASS, _RETRY_CLASS = (NUMBER[name] for name in ("topicClass", "realClass", "retryClass"))
_REAL_SAME, _REAL_QUEUES, _DELAY, _LIMIT = (NUMBER[name] for name in ("realSame", "realQueues", "levelDelay", "retryMaxTimes"))
_ENTRY_KNOWN, _ENTRY_THERE, _ENTRY_TAGS, _FALSELY_COMPRESSED = (
    NUMBER[name] for name in ("entryKnown", "entryThere", "entryTags", "falselyCompressed")
)
_READABLE, _HERE, _ORIGIN, _SAME, _TIMES = (
    NUMBER[name] for name in ("originRead", "originHere", "originKnown", "originSame", "originTimes")
)


@compiled_brief
def join(table, rows, names, waits, dispatched, picked):  # pragma: no cover (compiled)
    """Fill in the joined columns of the first `rows` rows; return how many row numbers each line of `picked` got.

    The entry columns hold the results of `find_entries`. Columns that only few rows need get their default. `waits`: the wait of each delay
    level, first that of no level. Lines of `picked` get numbers of rows.
    """
    compressed = chained = transactions = operations = 0
    for row in range(rows):
        topic, real_topic, retry_topic = table[_TOPIC, row], table[_REAL, row], table[_RETRIED, row]
        flags, class_ = table[_FLAGS, row], names[CLASS, topic]  # an absent topic has the number -1: the last column
        table[_TOPIC_CLASS, row] = class_
        table[_REAL_CLASS, row] = names[CLASS, real_topic]
        table[_RETRY_CLASS, row] = names[CLASS, retry_topic]
        table[_REAL_SAME, row] = 1 if real_topic == topic else 0
        table[_REAL_QUEUES, row] = names[QUEUES, real_topic]
        table[_LIMIT, row] = names[LIMIT, topic]
        table[_DELAY, row] = waits[min(max(table[_LEVEL, row], 0), waits.size - 1)]
        table[_ENTRY_KNOWN, row] = names[HAS_QUEUES, topic] if table[_PHYSICAL, row] <= dispatched else 0
        table[_ENTRY_THERE, row] = 1 if table[_ENTRY_THERE, row] == ENTRY else 0
        # An address in the queue's extension exceeds the numbers of rules.
        table[_ENTRY_TAGS, row] = min(max(table[_ENTRY_TAGS, row], _LOW), _HIGH)
        table[_FALSELY_COMPRESSED, row] = 0
        table[_READABLE, row] = 1
        table[_HERE, row] = 0
        table[_ORIGIN, row] = 0
        table[_SAME, row] = 0
        table[_TIMES, row] = 0
        if flags & COMPRESSED and table[_BODY, row] > 0:
            picked[COMPRESSED_ROWS, compressed] = row
            compressed += 1
        if class_ in (_RETRY, _DEAD) and table[_PROPERTIES, row] & _CHAINED == _CHAINED:
            picked[CHAINED_ROWS, chained] = row
            chained += 1
        if flags & TRANSACTION_BITS or class_ == _HALF:
            picked[TRANSACTION_ROWS, transactions] = row
            transactions += 1
        if class_ == _OPERATIONS:
            picked[OPERATION_ROWS, operations] = row
            operations += 1
    return compressed, chained, transactions, operations
