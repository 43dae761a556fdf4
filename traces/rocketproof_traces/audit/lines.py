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
def _follow(topic, queue_id, physical, member, keys, values, count, queue_of, previous, last, begun):  # pragma: no cover (compiled)
    """Number the queue of each row, and find the member before each member; returns how many queues are known now."""
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
        if member[i]:
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
        self.records, self.members, self.matched = (np.zeros(capacity, np.int64) for _ in range(3))
        self.first = {name: np.zeros(capacity, np.int64) for name in self.columns}
        self.final = {name: np.zeros(capacity, np.int64) for name in self.columns}
        if not old:
            return
        n = self.count
        for name in ("_last", "_begun", "topic", "queue_id", "records", "members", "matched"):
            getattr(self, name)[:n] = old[name][:n]
        for name in self.columns:
            self.first[name][:n] = old["first"][name][:n]
            self.final[name][:n] = old["final"][name][:n]
        scratch = np.zeros(n, np.int64)
        _follow(self.topic[:n], self.queue_id[:n], self._begun[:n].copy(), np.zeros(n, np.bool_), self._keys, self._values, 0,
                scratch, scratch.copy(), np.zeros(capacity, np.int64), np.zeros(capacity, np.int64))  # fmt: skip

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
        queue_of, previous = np.empty(len(member), np.int64), np.empty(len(member), np.int64)
        known = self.count
        self.count = _follow(
            rows["topic"], rows["queueId"], rows["physicalOffset"], member, self._keys, self._values, known, queue_of, previous,
            self._last, self._begun,
        )  # fmt: skip
        new = np.flatnonzero(queue_of >= known)
        self.topic[queue_of[new]], self.queue_id[queue_of[new]] = rows["topic"][new], rows["queueId"][new]
        there = queue_of >= 0
        for counts, rows_of in ((self.records, there), (self.members, member & there), (self.matched, matched & there)):
            counts[: self.count] += np.bincount(queue_of[rows_of], minlength=self.count)
        starts = np.flatnonzero(member & there & (previous == NEVER))
        follows = np.flatnonzero(previous != NEVER)
        carried = previous[follows] == CARRIED
        earlier = {}
        for name in self.columns:
            column = rows[name]
            self.first[name][queue_of[starts]] = column[starts]
            earlier[name] = np.where(carried, self.final[name][queue_of[follows]], column[np.where(carried, 0, previous[follows])])
        ended = np.flatnonzero(self._last[: self.count] >= 0)
        for name in self.columns:
            self.final[name][ended] = rows[name][self._last[ended]]
        self._last[ended] = CARRIED
        return follows, earlier
