"""Facts of a segment of the log for the whole store: hosts, checkpoint times, ends of half messages.

The facts are small, or grow only with the transactions. They are part of the segment's result and pass through JSON.
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import index
from typing import Any

import numpy as np

from rocketproof_model.routines.compiled import compiled_brief

from ..stored.facts import Column

COLUMNS = ("storeTimestamp", "storeAddress", "storePort", "physicalOffset")
MOST_HOSTS = 64  # hosts whose location is kept


@compiled_brief
def _extremes(numbers, *others):  # pragma: no cover (compiled)
    """Return the smallest and the largest number, and whether each of the other arrays has only one value."""
    low = high = numbers[0]
    is_same = True
    for row in range(numbers.size):
        low, high = min(low, numbers[row]), max(high, numbers[row])
        for other in others:
            is_same &= other[row] == other[0]
    return low, high, is_same


class SegmentNotes:
    """The facts of one segment. `times`: the times of the checkpoint."""

    def __init__(self, times: Iterable[int]) -> None:
        self._unmatched_times = set(times)
        self._matched_times: list[int] = []
        self._hosts: dict[tuple[int, int], list[int]] = {}  # address and port: number of records, physical offset of the first
        self._ends: dict[str, list[int]] = {name: [] for name in ("half", "commit", "queue", "number", "operation", "at")}
        self._stored: list[int] = []  # the smallest and the largest store timestamp

    def take(self, rows: Mapping[str, Column]) -> None:
        """Take records in the order of the log, with COLUMNS."""
        stored, address, port, place = (rows[name] for name in COLUMNS)
        low, high, is_same = _extremes(stored, address, port)
        self._stored = [min(low, *self._stored), max(high, *self._stored)] if self._stored else [low, high]
        for time in [each for each in self._unmatched_times if low <= each <= high]:
            if (stored == time).any():
                self._unmatched_times.remove(time)
                self._matched_times.append(time)
        if is_same:
            self._host(int(address[0]), int(port[0]), len(address), int(place[0]))
            return
        hosts = np.stack((address, port), axis=1)
        for (host_address, host_port), first, count in zip(*np.unique(hosts, axis=0, return_index=True, return_counts=True), strict=True):
            self._host(index(host_address), index(host_port), index(count), int(place[first]))

    def _host(self, address: int, port: int, count: int, place: int) -> None:
        if (address, port) in self._hosts:
            self._hosts[address, port][0] += count
        elif len(self._hosts) < MOST_HOSTS:
            self._hosts[address, port] = [count, place]

    def commits(self, rows: Mapping[str, Column]) -> None:
        """Take rows of `outcome`."""
        selected = (rows["committed"] == 1) & (rows["halfThere"] == 1)
        for name, column in (("half", "number"), ("commit", "physicalOffset"), ("queue", "queueId"), ("number", "queueOffset")):
            self._ends[name] += rows[column][selected].tolist()

    def operations(self, rows: Mapping[str, Column]) -> None:
        """Take rows of `operation`."""
        selected = rows["readable"] == 1
        self._ends["operation"] += rows["half"][selected].tolist()
        self._ends["at"] += rows["physicalOffset"][selected].tolist()

    def data(self) -> dict[str, Any]:
        """Return the facts for the segment's result."""
        hosts = [[*host, *count_and_place] for host, count_and_place in self._hosts.items()]
        return {"hosts": hosts, "times": self._matched_times, "stored": self._stored, **self._ends}
