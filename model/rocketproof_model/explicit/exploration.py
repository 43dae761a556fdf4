"""The result of a search: its verdicts, and the states by level, from which the graph is built."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..errors import LimitReached, ModelError
from ..result import MEMORY, STATES, Explored
from . import loops
from .graph import Graph, explored_graph
from .kernel import Kernel
from .table import StateTable, split

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Exploration(Explored):
    """The result of a search, with the table of states and the number of states of each level. `compile_seconds` is CPU time.

    A search that continued in files has no table, and `disk` is the peak of its files' bytes. It has no states and no graph; methods that
    need them raise LimitReached.

    `symmetric` names the indices whose elements were identified. `states` then counts orbits. The numbers of transitions, deadlocks and
    satisfying or violating states are those of one state per orbit. `asymmetry` is the reason why declared symmetry was not used.
    """

    bytes_per_state: float
    disk: int
    compile_seconds: float
    symmetric: tuple[str, ...]
    asymmetry: str
    kernel: Kernel = field(repr=False)
    table: StateTable | None = field(repr=False)
    sizes: list[int] = field(repr=False)

    def levels(self) -> list[Words]:
        """Return the packed states of each level, in no order."""
        return split(self._gathered(), self.sizes, self.kernel.layout.words)

    def _gathered(self) -> Words:
        if self.table is None:
            raise LimitReached(MEMORY)
        return self.table.gathered(self.sizes, 0, len(self.sizes))

    def represented(self) -> int:
        """Return the number of explored states without symmetry."""
        orbits, words = self.kernel.orbits, self.kernel.layout.words
        return sum(loops.canonical(orbits, level, len(level) // words) for level in self.levels()) if orbits else self.states

    def graph(self, most: int = 2_000_000, *, staying: bool = True, workers: int = 1) -> Graph:
        """Return the explored states and transitions as arrays, without edges from a state to itself unless `staying`.

        Raises LimitReached if the search is unfinished or has more than `most` states, and ModelError if the states are orbits.
        """
        if self.symmetric:
            raise ModelError(f"{self.instance.model.name} was explored up to symmetry, which has no graph", "explore with symmetry=False")
        if not self.finished:
            raise LimitReached(self.reason)
        if self.states > most:
            raise LimitReached(STATES)
        return explored_graph(
            self.kernel, self.kernel.consts(self.instance), self._gathered(), self.sizes, staying=staying, workers=workers
        )
