"""The state graph of a small scope for networkx: states as nodes, transitions as edges, in breadth-first order.

It is meant for scopes small enough to look at; the engines search the large ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import networkx as nx

from rocketproof_model import EvaluationError, Instance, Property
from rocketproof_model.interpreter import State, holds
from rocketproof_model.language import IndexType

from ..common.errors import TraceError
from .reached import reached

if TYPE_CHECKING:
    Graph = nx.MultiDiGraph[int]

LIMIT = 5_000


def state_graph(instance: Instance, limit: int = LIMIT, properties: Sequence[Property] | None = None) -> Graph:
    """All reachable states. Raises TraceError if there are more than `limit`, or if an action fails.

    Nodes are numbered from 0, the initial state, by distance and in the order of the actions. Their attributes: each
    element of the state by name (bools and numbers as they are, other values as text), `initial`, `deadlock`, `depth`,
    and `property ID` for each `always` and `reachable` property. An edge has `action`, `label` and, for each `step`
    property, `property ID`.
    """
    claims = instance.model.properties if properties is None else properties
    place = f"graph of {instance.model.name}"
    graph: Graph = nx.MultiDiGraph(name=instance.model.name)
    try:
        reached_states = reached(instance, limit)
        if not reached_states.complete:
            raise TraceError(place, f"has more than {limit} states", "choose a smaller scope or a higher limit")
        for node, (state, depth) in enumerate(zip(reached_states.states, reached_states.depths, strict=True)):
            graph.add_node(node, **_node(instance, state, claims), initial=depth == 0, deadlock=True, depth=depth)
        steps = [c for c in claims if c.kind == "step"]
        for edge in reached_states.edges:
            action = instance.model.actions[edge.action]
            before, after = reached_states.states[edge.source], reached_states.states[edge.target]
            truth = {f"property {c.id}": holds(instance, c.formula, before, after) for c in steps}
            label = action.label(edge.args)
            graph.add_edge(edge.source, edge.target, label, action=action.name, label=label, **truth)
            graph.nodes[edge.source]["deadlock"] = False
    except EvaluationError as error:
        raise TraceError(place, f"an action has no meaning ({error})", "correct the model's guards or types") from None
    return graph


def _node(instance: Instance, state: State, claims: Sequence[Property]) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for element in instance.model.shown():
        type_ = element.variable.type
        plain = type_.sort == "bool" or (type_.sort == "int" and not isinstance(type_, IndexType))
        row[element.label] = element.data(state) if plain and element.container is None else element.text(state)
    return row | {f"property {c.id}": holds(instance, c.formula, state) for c in claims if c.kind in ("always", "reachable")}


_OWN = ("initial", "deadlock", "depth")


def to_dot(graph: Graph) -> str:
    """Graphviz text. A node shows its number and what differs from the initial state; dashed ones have no successor."""
    start = graph.nodes[0]
    lines = [f"digraph {_quoted(str(graph.graph.get('name', 'model')))} {{", '  node [shape=box, fontname="monospace"];']
    for node, row in graph.nodes(data=True):
        odd = [f"{k} = {v}" for k, v in row.items() if k not in _OWN and not k.startswith("property ") and v != start[k]]
        marks = {"label": "\n".join([str(node), *odd])}
        if row["initial"]:
            marks["peripheries"] = "2"
        if row["deadlock"]:
            marks["style"] = "dashed"
        truths = [f"{k.removeprefix('property ')}: {v}" for k, v in row.items() if k.startswith("property ")]
        if truths:
            marks["tooltip"] = ", ".join(truths)
        lines.append(f"  {node} [{', '.join(f'{k}={_quoted(v)}' for k, v in marks.items())}];")
    lines += [f"  {a} -> {b} [label={_quoted(row['label'])}];" for a, b, row in graph.edges(data=True)]
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def to_graphml(graph: Graph) -> str:
    """GraphML text, for Gephi, yEd or networkx itself."""
    out = BytesIO()
    nx.write_graphml_xml(graph, out, encoding="utf-8", prettyprint=True, named_key_ids=False)
    return out.getvalue().decode("utf-8") + "\n"
