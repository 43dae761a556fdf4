"""What a search leaves: its verdicts, and the states by level, from which comes the graph."""

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
    """With what the search leaves in memory: the table of states, and how many each level has. `compile_seconds` is CPU time.

    A search that went on in files has no table, and `disk` is how many bytes these had at most: of it there are no states and no graph,
    and what asks for them raises LimitReached.

    `symmetric` names the indices up to which states were identified: `states` are then orbits, and the numbers of transitions, deadlocks
    and states for or against a property are those of one state of each. `asymmetry` says why declared symmetry was not used.
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
        """The packed states of each level, in no order."""
        return split(self._gathered(), self.sizes, self.kernel.layout.words)

    def _gathered(self) -> Words:
        if self.table is None:
            raise LimitReached(MEMORY)
        return self.table.gathered(self.sizes, 0, len(self.sizes))

    def represented(self) -> int:
        """How many states there are without symmetry, of those that were explored."""
        orbits, words = self.kernel.orbits, self.kernel.layout.words
        return sum(loops.canonical(orbits, level, len(level) // words) for level in self.levels()) if orbits else self.states

    def graph(self, most: int = 2_000_000, *, staying: bool = True, workers: int = 1) -> Graph:
        """The explored states and transitions as arrays, those from a state to itself only if `staying`.

        LimitReached if unfinished or with more than `most` states; ModelError if the states are orbits.
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
