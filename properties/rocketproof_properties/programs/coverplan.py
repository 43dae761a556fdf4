"""The programs of a cover: each performs one path through a scope's state graph, with topics and groups of its own."""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from . import settings
from .cover.paths import cover
from .cover.scopes import DRIVEN, NOT_DRIVEN
from .cover.statespace import StateGraph, explore
from .program import Program
from .vocabulary import Step

SOURCE = "cover: "
"""The beginning of the source of a cover's programs. The rest is the scope and its part."""


class TakenEdge(NamedTuple):
    """A transition of a program: the graph and its edge, by number, and the index of the step whose response shows it."""

    graph: int
    edge: int
    step: int


@dataclass(frozen=True, eq=False)
class CoverPlan:
    """The state graphs of all driven scopes, the programs, and the transitions that each program takes, by its number.

    `lacking`: the numbers of the graphs whose settings the target cannot have. They have no programs.
    """

    graphs: tuple[StateGraph, ...]
    programs: tuple[Program, ...]
    taken: Mapping[int, tuple[TakenEdge, ...]]
    lacking: frozenset[int]

    @property
    def not_driven(self) -> Mapping[str, str]:
        return NOT_DRIVEN


@cache
def state_graphs(profile: str) -> tuple[StateGraph, ...]:
    """Explore the parts of all driven scopes under a profile."""
    return tuple(explore(part) for parts in DRIVEN.values() for part in parts(profile))


def plan(profile: str, seed: int, *, configure: bool, start: bool, end: bool, only: Collection[str] = ()) -> CoverPlan:
    """Return the cover for a target that can change settings, start brokers and kill them as stated. `only`: these scopes.

    Equal arguments give equal programs.
    """
    graphs = tuple(graph for graph in state_graphs(profile) if not only or graph.model.scope in only)
    programs: list[Program] = []
    taken: dict[int, tuple[TakenEdge, ...]] = {}
    lacking = set[int]()
    for number, graph in enumerate(graphs):
        needs = graph.model.needs
        if not settings.can_be_had(needs, configure=configure, start=start) or (needs == settings.ENDED and not end):
            lacking.add(number)
            continue
        chance = random.Random(f"{seed}/{graph.name}")
        for path in cover(graph, chance, graph.model.longest):
            steps: list[Step] = [*graph.model.prelude]
            edges: list[TakenEdge] = []
            for edge in path:
                edges.append(TakenEdge(number, edge, len(steps)))
                steps += graph.edges[edge].steps
            programs.append(Program(len(programs) + 1, f"{SOURCE}{graph.name}", tuple(steps), needs))
            taken[len(programs)] = tuple(edges)
    return CoverPlan(graphs, tuple(programs), taken, frozenset(lacking))
