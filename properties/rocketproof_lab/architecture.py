"""The diagram of the architecture page, drawn from the imports: `python -m rocketproof_lab.architecture` prints it.

An arrow leads from a package to one that it imports. Arrows that follow from others are left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

import grimp
import networkx as nx

TOP: Final = (
    "rocketproof_model",
    "rocketproof_spec",
    "rocketproof_profiles",
    "rocketproof_protocol",
    "rocketproof_impl",
    "rocketproof_traces",
    "rocketproof_properties",
    "rocketproof_lab",
    "rocketproof",
)
OPENED: Final = "rocketproof_properties"
"""The package whose own packages are nodes of the diagram."""


def imports() -> nx.DiGraph[str]:
    """Return the packages with an edge for each import between two of them, without edges that follow from others."""
    modules = grimp.build_graph(*TOP, cache_dir=None)
    graph: nx.DiGraph[str] = nx.DiGraph()
    for importer in modules.modules:
        for imported in modules.find_modules_directly_imported_by(importer):
            if package(importer) != package(imported):
                graph.add_edge(package(importer), package(imported))
    return nx.transitive_reduction(graph)


def package(module: str) -> str:
    """Return the node of a module."""
    first, *rest = module.split(".")
    return rest[0] if first == OPENED and rest else first


def diagram(graph: nx.DiGraph[str]) -> str:
    """Return the graph as a Mermaid flowchart, which GitHub and the site draw."""
    return "\n".join(["flowchart TD", *_edges(graph)])


def _edges(graph: nx.DiGraph[str]) -> Iterator[str]:
    for importer, imported in sorted(graph.edges):
        yield f"    {importer} --> {imported}"


if __name__ == "__main__":
    sys.stdout.write(diagram(imports()) + "\n")
