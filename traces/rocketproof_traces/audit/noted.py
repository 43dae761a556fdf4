"""What a stretch of the log notes for the whole store: hosts, times of the checkpoint, ends of half messages.

All of it is small, or grows with the transactions only; it goes through JSON with the stretch's result.
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
MOST_HOSTS = 64  # of which the places are kept


@compiled_brief
def _ranged(numbers, *others):  # pragma: no cover (compiled)
    """The least and the greatest number, and whether each of the others has one number only."""
    low = high = numbers[0]
    is_same = True
    for row in range(numbers.size):
        low, high = min(low, numbers[row]), max(high, numbers[row])
        for other in others:
            is_same &= other[row] == other[0]
    return low, high, is_same


class Noted:
    """Of one stretch. `times`: those of the checkpoint."""

    def __init__(self, times: Iterable[int]) -> None:
        self._open = set(times)
        self._met: list[int] = []
        self._hosts: dict[tuple[int, int], list[int]] = {}  # address and port: how many records, where the first lies
        self._ends: dict[str, list[int]] = {name: [] for name in ("half", "commit", "queue", "number", "operation", "at")}
        self._stored: list[int] = []  # the least and the greatest store timestamp

    def take(self, rows: Mapping[str, Column]) -> None:
        """Rows of records, in the order of the log, by COLUMNS."""
        stored, address, port, place = (rows[name] for name in COLUMNS)
        low, high, is_same = _ranged(stored, address, port)
        self._stored = [min(low, *self._stored), max(high, *self._stored)] if self._stored else [low, high]
        for time in [each for each in self._open if low <= each <= high]:
            if (stored == time).any():
                self._open.remove(time)
                self._met.append(time)
        if is_same:
            self._host(int(address[0]), int(port[0]), len(address), int(place[0]))
            return
        hosts = np.stack((address, port), axis=1)
        for (where, at), first, count in zip(*np.unique(hosts, axis=0, return_index=True, return_counts=True), strict=True):
            self._host(index(where), index(at), index(count), int(place[first]))

    def _host(self, address: int, port: int, count: int, place: int) -> None:
        if (address, port) in self._hosts:
            self._hosts[address, port][0] += count
        elif len(self._hosts) < MOST_HOSTS:
            self._hosts[address, port] = [count, place]

    def commits(self, rows: Mapping[str, Column]) -> None:
        """Rows of `outcome`."""
        chosen = (rows["committed"] == 1) & (rows["halfThere"] == 1)
        for name, column in (("half", "number"), ("commit", "physicalOffset"), ("queue", "queueId"), ("number", "queueOffset")):
            self._ends[name] += rows[column][chosen].tolist()

    def operations(self, rows: Mapping[str, Column]) -> None:
        """Rows of `operation`."""
        chosen = rows["readable"] == 1
        self._ends["operation"] += rows["half"][chosen].tolist()
        self._ends["at"] += rows["physicalOffset"][chosen].tolist()

    def data(self) -> dict[str, Any]:
        """What goes into the stretch's result."""
        hosts = [[*host, *said] for host, said in self._hosts.items()]
        return {"hosts": hosts, "times": self._met, "stored": self._stored, **self._ends}
