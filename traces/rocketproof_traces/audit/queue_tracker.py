"""The succession of records in each queue: queues are numbered as they occur, and the last record of each is kept."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index

import numpy as np
from numpy.typing import NDArray

from rocketproof_model.routines.compiled import compiled

from ..stored.entries import key_of, place_of
from ..stored.facts import Column
from ..stored.table import ROWS, STRIDE
from .joining import NUMBER

_RECORDS, _MEMBERS, _MATCHED, _BEGUN, _NAME, _QUEUE = range(6)
_TOPIC, _QUEUE_ID, _PHYSICAL = (NUMBER[name] for name in ("topic", "queueId", "physicalOffset"))
_THERE, _PLACE = NUMBER["entryThere"], NUMBER["entryOffset"]


@compiled
def _enter(queues, keys, numbers):  # pragma: no cover (compiled)
    """Enter the numbered queues into a table of keys."""
    for number in range(len(queues)):
        key = key_of(queues[number, _NAME], queues[number, _QUEUE])
        at = place_of(key, keys)
        keys[at], numbers[at] = key, number


@compiled
def _follow(table, rows, left_out, columns, keys, numbers, count, queues, first, final, before, after):  # pragma: no cover (compiled)
    """Number the queue of each row, count its records, and pair each member with the previous member of its queue.

    Returns the number of known queues and the number of pairs.
    """
    pairs = 0
    for row in range(rows):
        topic = table[_TOPIC, row]
        if topic < 0:
            continue
        key = key_of(topic, table[_QUEUE_ID, row])
        at = place_of(key, keys)
        if keys[at] < 0:
            keys[at], numbers[at] = key, count
            queues[count, _BEGUN] = table[_PHYSICAL, row]
            queues[count, _NAME], queues[count, _QUEUE] = topic, table[_QUEUE_ID, row]
            count += 1
        number = numbers[at]
        queues[number, _RECORDS] += 1
        if left_out[row] & np.uint64(1):
            continue
        queues[number, _MEMBERS] += 1
        if table[_THERE, row] and table[_PLACE, row] == table[_PHYSICAL, row]:
            queues[number, _MATCHED] += 1
        if queues[number, _MEMBERS] == 1:
            for k in range(columns.size):
                first[number, k] = final[number, k] = table[columns[k], row]
        else:
            for k in range(columns.size):
                value = table[columns[k], row]
                before[k, pairs], after[k, pairs] = final[number, k], value
                final[number, k] = value
            pairs += 1
    return count, pairs


class QueueTracker:
    """The queues of one segment of the log.

    `columns`: the columns that are kept of each queue's first and last member. `before` and `after`: these columns of the pairs that the
    last `follow` found.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self.count = 0
        self._queues = np.zeros((0, 6), np.int64)
        self._first, self._final = np.zeros((2, 0, len(columns)), np.int64)
        self._numbers = np.array([NUMBER[name] for name in columns], np.int64)
        self._before, self._after = np.zeros((2, len(columns), STRIDE), np.int64)
        self.before: Mapping[str, Column] = dict(zip(columns, self._before, strict=True))
        self.after: Mapping[str, Column] = dict(zip(columns, self._after, strict=True))
        self._make_room(2 * ROWS)

    def _make_room(self, most: int) -> None:
        """Make room for `most` queues, a power of two, because slots in the table of keys are masked. Known queues are kept."""
        self._keys, self._values = np.full(2 * most, -1, np.int64), np.zeros(2 * most, np.int64)
        self._queues, self._first, self._final = (_longer(each, most) for each in (self._queues, self._first, self._final))
        _enter(self._queues[: self.count], self._keys, self._values)

    def follow(self, table: NDArray[np.int64], rows: int, left_out: NDArray[np.uint64]) -> int:
        """Return how many of the first `rows` rows of a table have a previous member in their queue.

        Rows with bit 0 in `left_out` are not members of the succession. A member matches if its entry points at it.
        """
        if self.count + rows > len(self._queues):
            self._make_room(1 << (self.count + rows).bit_length())
        self.count, pairs = _follow(
            table, rows, left_out, self._numbers, self._keys, self._values, self.count, self._queues,
            self._first, self._final, self._before, self._after,
        )  # fmt: skip
        return index(pairs)

    @property
    def topic(self) -> Column:
        """The number of each queue's topic."""
        return self._of(_NAME)

    @property
    def queue_id(self) -> Column:
        return self._of(_QUEUE)

    @property
    def records(self) -> Column:
        """The number of records of each queue."""
        return self._of(_RECORDS)

    @property
    def members(self) -> Column:
        """The number of records that are members of the queue's succession."""
        return self._of(_MEMBERS)

    @property
    def matched(self) -> Column:
        """The number of members whose entry points at them."""
        return self._of(_MATCHED)

    @property
    def begun(self) -> Column:
        """The physical offset of each queue's first record, member or not."""
        return self._of(_BEGUN)

    def _of(self, fact: int) -> Column:
        return self._queues[: self.count, fact]

    @property
    def first(self) -> Mapping[str, Column]:
        """The columns of each queue's first member."""
        return dict(zip(self.columns, self._first[: self.count].T, strict=True))

    @property
    def final(self) -> Mapping[str, Column]:
        """The columns of each queue's last member."""
        return dict(zip(self.columns, self._final[: self.count].T, strict=True))


def _longer(lines: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    copy = np.zeros((most, lines.shape[1]), np.int64)
    copy[: len(lines)] = lines
    return copy
