"""The kernel that adds what the audit knows besides a walk's facts to the rows of a chunk, see `vocabulary.JOINED`.

Columns are lines of one table, behind those of the facts. What few rows ask for, such as the first record of a chain, is filled in by
slower code: the kernel gives the rows' numbers.
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
"""The line of each column, facts and joined ones."""
CLASS, LIMIT, QUEUES, HAS_QUEUES = range(4)
"""Of each name, and last of none: its class, its group's limit, how many queues it has, whether the audit reads their entries."""
COMPRESSED_ROWS, CHAINED_ROWS, TRANSACTION_ROWS, OPERATION_ROWS = range(4)
"""Whose bodies are said to be compressed; that were sent back; of transactions; whose bodies name ended half messages."""

_CHAINED: Final = BIT[RETRY_TOPIC] | BIT[ORIGIN_MESSAGE_ID]
_RETRY, _DEAD, _HALF, _OPERATIONS = (Class.encode(name) for name in ("retry", "dead", "half", "operations"))
_LOW, _HIGH = I64.lo, I64.hi

_TOPIC, _REAL, _RETRIED, _PHYSICAL = (NUMBER[name] for name in ("topic", "realTopic", "retryTopic", "physicalOffset"))
_LEVEL, _FLAGS, _PROPERTIES, _BODY = (NUMBER[name] for name in ("delayLevel", "sysFlag", "properties", "bodyLength"))
_TOPIC_CLASS, _REAL_CLASS, _RETRY_CLASS = (NUMBER[name] for name in ("topicClass", "realClass", "retryClass"))
_REAL_SAME, _REAL_QUEUES, _DELAY, _LIMIT = (NUMBER[name] for name in ("realSame", "realQueues", "levelDelay", "retryMaxTimes"))
_KNOWN, _THERE, _TAGS, _FALSELY = (NUMBER[name] for name in ("entryKnown", "entryThere", "entryTags", "falselyCompressed"))
_READ, _HERE, _ORIGIN, _SAME, _TIMES = (NUMBER[name] for name in ("originRead", "originHere", "originKnown", "originSame", "originTimes"))


@compiled_brief
def join(table, rows, names, waits, dispatched, picked):  # pragma: no cover (compiled)
    """Fill in the joined columns of the first so many rows. Those of the entries hold what `find_entries` has found; the others that few
    rows ask for get what they are where nothing is asked. `waits`: of each delay level, of none first. Lines of `picked` get the numbers
    of rows; returns how many each has."""
    compressed = chained = transactions = operations = 0
    for row in range(rows):
        topic, real, retry = table[_TOPIC, row], table[_REAL, row], table[_RETRIED, row]
        flags, class_ = table[_FLAGS, row], names[CLASS, topic]  # a topic that is not there has the number -1, the last one
        table[_TOPIC_CLASS, row] = class_
        table[_REAL_CLASS, row] = names[CLASS, real]
        table[_RETRY_CLASS, row] = names[CLASS, retry]
        table[_REAL_SAME, row] = 1 if real == topic else 0
        table[_REAL_QUEUES, row] = names[QUEUES, real]
        table[_LIMIT, row] = names[LIMIT, topic]
        table[_DELAY, row] = waits[min(max(table[_LEVEL, row], 0), waits.size - 1)]
        table[_KNOWN, row] = names[HAS_QUEUES, topic] if table[_PHYSICAL, row] <= dispatched else 0
        table[_THERE, row] = 1 if table[_THERE, row] == ENTRY else 0
        # An address in the queue's extension is beyond what a rule may compute with.
        table[_TAGS, row] = min(max(table[_TAGS, row], _LOW), _HIGH)
        table[_FALSELY, row] = 0
        table[_READ, row] = 1
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
