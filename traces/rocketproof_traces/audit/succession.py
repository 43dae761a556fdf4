"""Rows that follow one another in the log, each beside the one before it, the last one of the chunk before included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..stored.facts import Column
from ..stored.table import ROWS
from .programs import Breach, Decider


class Succession:
    """Of one stretch of the log. `columns` are those that are kept of its rows, `after` the later rows of the pairs decided last."""

    def __init__(self, decider: Decider, columns: Sequence[str]) -> None:
        self._lines = dict(zip(columns, np.zeros((len(columns), ROWS + 1), np.int64), strict=True))
        self.after: Mapping[str, Column] = {name: line[1:] for name, line in self._lines.items()}
        self._decide = decider.bind({name: line[:-1] for name, line in self._lines.items()}, self.after)
        self._first: dict[str, int] = {}

    def take(self, rows: Mapping[str, Column], limit: int, known: Mapping[str, int]) -> tuple[dict[str, int], list[Breach]]:
        """What `Decider.decide` tells of at most ROWS rows more, which are in the order of the log."""
        start = 1 if self._first else 0
        end = start + len(next(iter(rows.values())))
        for name, line in self._lines.items():
            line[start:end] = rows[name]
        told = self._decide(end - 1, limit, known)
        self._first = self._first or {name: int(line[0]) for name, line in self._lines.items()}
        for line in self._lines.values():
            line[0] = line[end - 1]
        return told

    @property
    def edges(self) -> dict[str, list[int]]:
        """Each column of the first row and of the last one."""
        return {name: [first, int(self._lines[name][0])] for name, first in self._first.items()}
