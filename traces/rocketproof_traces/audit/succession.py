"""Pairs of successive rows of the log, across chunks: the last row of a chunk is paired with the first row of the next."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call,misc,import-untyped,untyped-decorator"
from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index

import numpy as np
from numpy.typing import NDArray

from rocketproof_model.routines.compiled import compiled_brief

from ..stored.facts import Column
from ..stored.table import STRIDE
from .programs import Decider, ViolatingRow


@compiled_brief
def _copy(table, lines, rows, into, start):  # pragma: no cover (compiled)
    """Copy the first rows of some lines of a table."""
    for k in range(lines.size):
        for row in range(rows):
            into[k, start + row] = table[lines[k], row]


class Succession:
    """The pairs of one segment of the log. `columns` are kept of its rows; `after` are the later rows of the last checked pairs."""

    def __init__(self, decider: Decider, columns: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self._kept = np.zeros((len(columns), STRIDE), np.int64)
        self._first = np.zeros(len(columns), np.int64)
        self._begun = 0
        self.after: Mapping[str, Column] = dict(zip(columns, self._kept[:, 1:], strict=True))
        self._decide = decider.bind(dict(zip(columns, self._kept[:, :-1], strict=True)), self.after)

    def take(
        self, table: NDArray[np.int64], lines: NDArray[np.int64], rows: int, limit: int, known: Mapping[str, int]
    ) -> tuple[dict[str, int], list[ViolatingRow]]:
        """Check the next rows of the log and return what `Decider.decide` returns.

        They are the first `rows` rows of a table whose `lines` contain the columns.
        """
        _copy(table, lines, rows, self._kept, self._begun)
        decision = self._decide(self._begun + rows - 1, limit, known)
        if not self._begun:
            self._first[:] = self._kept[:, 0]
        self._kept[:, 0] = self._kept[:, self._begun + rows - 1]
        self._begun = 1
        return decision

    @property
    def edges(self) -> dict[str, list[int]]:
        """The columns of the first and of the last row."""
        return {name: [index(first), index(last)] for name, first, last in zip(self.columns, self._first, self._kept[:, 0], strict=True)}
