"""The programs of a cover: each performs one path through a scope's state graph, with topics and groups of its own."""

from __future__ import annotations

import random
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, NamedTuple

from . import settings
from .cover.paths import Path, cover
from .cover.scopes import DRIVEN, NAME_SERVER_SCOPES, OWN
from .cover.statespace import StateGraph, explore
from .program import Program
from .vocabulary import STEPS, Step

PACKED: Final = 40
"""Maximum number of transitions of a program with several paths."""
SOURCE: Final = "cover: "
"""The beginning of the source of a cover's programs. The rest is the scope and its part."""


class TakenEdge(NamedTuple):
    """A transition of a program: the graph and its edge by number, the path, and the index of its first step.

    Each path of a program has its own topics and groups.
    """

    graph: int
    edge: int
    path: int
    step: int


@dataclass(frozen=True, eq=False)
class CoverPlan:
    """The state graphs of all driven scopes, the programs, and the transitions that each program takes, by its number.

    `lacking`: the numbers of the graphs that the target cannot perform. They have no programs.
    """

    graphs: tuple[StateGraph, ...]
    programs: tuple[Program, ...]
    taken: Mapping[int, tuple[TakenEdge, ...]]
    lacking: frozenset[int]


@cache
def state_graphs(scope: str, profile: str) -> tuple[StateGraph, ...]:
    """Explore the parts of a driven scope under a profile."""
    return tuple(explore(part) for part in DRIVEN[scope](profile))


def plan(
    profile: str,
    seed: int,
    *,
    configure: bool,
    start: bool,
    end: bool,
    start_name_server: bool = True,
    name_server: bool = True,
    only: Collection[str] = (),
) -> CoverPlan:
    """Return the cover for a target that can change settings, start brokers and name servers, and kill brokers as stated.

    `name_server`: the target has one. `only`: these scopes. Equal arguments give equal programs.
    """
    graphs = tuple(graph for scope in DRIVEN if not only or scope in only for graph in state_graphs(scope, profile))
    programs: list[Program] = []
    taken: dict[int, tuple[TakenEdge, ...]] = {}
    lacking = set[int]()
    for number, graph in enumerate(graphs):
        needs = graph.model.needs
        has = settings.can_be_had(needs, configure=configure, start=start, start_name_server=start_name_server)
        lacks = not has or (needs == settings.ENDED and not end)
        if lacks or (graph.model.scope in NAME_SERVER_SCOPES and not name_server):
            lacking.add(number)
            continue
        chance = random.Random(f"{seed}/{graph.name}")
        for paths in _packed(cover(graph, chance, graph.model.longest), graph.model.longest if needs == settings.ENDED else PACKED):
            steps: list[Step] = []
            edges: list[TakenEdge] = []
            for at, path in enumerate(paths):
                steps += (_renamed(step, at) for step in graph.model.prelude)
                for edge in path:
                    edges.append(TakenEdge(number, edge, at, len(steps)))
                    steps += (_renamed(step, at) for step in graph.edges[edge].steps)
            programs.append(Program(len(programs) + 1, f"{SOURCE}{graph.name}", tuple(steps), needs))
            taken[len(programs)] = tuple(edges)
    return CoverPlan(graphs, tuple(programs), taken, frozenset(lacking))


def _packed(paths: Iterable[Path], longest: int) -> Iterator[list[Path]]:
    """Group consecutive paths of together at most `longest` transitions: a program costs more than a short path."""
    group: list[Path] = []
    for path in paths:
        if group and sum(map(len, group)) + len(path) > longest:
            yield group
            group = []
        group.append(path)
    if group:
        yield group


def _renamed(step: Step, number: int) -> Step:
    """Return the step with the topics, the group and the fictitious broker of the path with this number in its program."""
    name, args = step
    return step if not number else (name, {key: _own(key, value, number) for key, value in (args | _addressed(name)).items()})


def _addressed(name: str) -> dict[str, Any]:
    """Return the address of a fictitious broker, which is a default of the step."""
    return {"address": STEPS[name].arguments["address"]} if "address" in STEPS[name].arguments else {}


def _own(key: str, value: Any, number: int) -> Any:
    if isinstance(value, Mapping) and key in ("topics", "brokers"):
        return {_own("topic", name, number): row for name, row in value.items()}
    if key == "address":
        host, _, port = str(value).rpartition(":")
        return f"{host.rpartition('.')[0]}.{number + 1}:{port}"
    return f"{value}{number}" if key in ("topic", "group", "name") and value in OWN else value
