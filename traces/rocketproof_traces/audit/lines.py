"""Which record of a queue comes before which: queues are numbered as they are met, and the last record of each is carried along."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rocketproof_model.compiled import compiled

from ..stored.facts import Column

NEVER, CARRIED = -1, -2
_NONE = np.int64(-(1 << 63))


@compiled
def _follow(
    topic, queue_id, physical, member, matched, keys, values, count, queue_of, previous, last, begun, counts
):  # pragma: no cover (compiled)
    """Number the queue of each row, find the member before each member, and count; returns how many queues are known now."""
    mask = keys.size - 1
    for i in range(topic.size):
        previous[i] = -1
        if topic[i] < 0:
            queue_of[i] = -1
            continue
        key = (topic[i] << 32) | (queue_id[i] & 0xFFFFFFFF)
        mixed = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
        at = np.int64(mixed >> np.uint64(20)) & mask
        while keys[at] != key and values[at] >= 0:
            at = (at + 1) & mask
        if values[at] < 0:
            keys[at] = key
            values[at] = count
            last[count] = -1
            begun[count] = physical[i]
            count += 1
        number = values[at]
        queue_of[i] = number
        counts[0, number] += 1
        if member[i]:
            counts[1, number] += 1
            counts[2, number] += matched[i]
            previous[i] = last[number]
            last[number] = i
    return count


class Lines:
    """The queues of one stretch of the log. `columns`: what is kept of each queue's first and last member."""

    def __init__(self, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self.count = 0
        self._grow(1 << 12)

    def _grow(self, capacity: int) -> None:
        """Room for so many queues, a power of two, as places in the table of keys are masked; what is known stays."""
        old = dict(self.__dict__) if self.count else {}
        self._keys, self._values = np.full(2 * capacity, _NONE), np.full(2 * capacity, -1, np.int64)
        self._last, self._begun = np.full(capacity, NEVER, np.int64), np.zeros(capacity, np.int64)
        self.topic, self.queue_id = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
        self._counts = np.zeros((3, capacity), np.int64)
        self.first = {name: np.zeros(capacity, np.int64) for name in self.columns}
        self.final = {name: np.zeros(capacity, np.int64) for name in self.columns}
        if not old:
            return
        n = self.count
        for name in ("_last", "_begun", "topic", "queue_id", "_counts"):
            getattr(self, name)[..., :n] = old[name][..., :n]
        for name in self.columns:
            self.first[name][:n] = old["first"][name][:n]
            self.final[name][:n] = old["final"][name][:n]
        scratch, none = np.zeros((3, capacity), np.int64), np.zeros(n, np.bool_)
        _follow(self.topic[:n], self.queue_id[:n], self._begun[:n].copy(), none, none, self._keys, self._values, 0, *scratch[:2, :n],
                scratch[2], scratch[2], np.zeros_like(self._counts))  # fmt: skip

    @property
    def records(self) -> Column:
        """How many records each queue has here."""
        found: Column = self._counts[0, : self.count]
        return found

    @property
    def members(self) -> Column:
        """How many of them belong to its succession."""
        found: Column = self._counts[1, : self.count]
        return found

    @property
    def matched(self) -> Column:
        """How many members have an entry that points at them."""
        found: Column = self._counts[2, : self.count]
        return found

    @property
    def begun(self) -> Column:
        """The physical offset of the first record of each queue, member or not."""
        return self._begun[: self.count]

    def follow(
        self, rows: dict[str, Column], member: NDArray[np.bool_], matched: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], dict[str, Column]]:
        """The members that follow another one of their queue, as row numbers, and the columns of those that they follow."""
        if self.count + len(member) > len(self._last):
            self._grow(1 << (2 * (self.count + len(member))).bit_length())
        queue_of, previous = np.empty((2, len(member)), np.int64)
        known = self.count
        self.count = _follow(
            rows["topic"], rows["queueId"], rows["physicalOffset"], member, matched, self._keys, self._values, known, queue_of, previous,
            self._last, self._begun, self._counts,
        )  # fmt: skip
        if self.count > known:
            new = np.flatnonzero(queue_of >= known)
            self.topic[queue_of[new]], self.queue_id[queue_of[new]] = rows["topic"][new], rows["queueId"][new]
        starts = np.flatnonzero(member & (queue_of >= 0) & (previous == NEVER))
        follows = np.flatnonzero(previous != NEVER)
        before = previous[follows]
        carried = np.flatnonzero(before == CARRIED)
        whose = queue_of[follows[carried]]
        earlier = {}
        for name in self.columns:
            column = rows[name]
            self.first[name][queue_of[starts]] = column[starts]
            earlier[name] = column[before]  # any for those that are carried, which come next
            earlier[name][carried] = self.final[name][whose]
        ended = np.flatnonzero(self._last[: self.count] >= 0)
        for name in self.columns:
            self.final[name][ended] = rows[name][self._last[ended]]
        self._last[ended] = CARRIED
        return follows, earlier
