"""Measure the search for fair loops compared with the search that builds the graph: seconds, and memory per state.

Each row is its own process. It searches the routing model and then checks that an unregistered broker registers in the end. The property
holds and needs only the fairness of `register`. Without it the shortest lasso must be found.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

from rocketproof_model import Instance, liveness, search
from rocketproof_properties.catalogue.modelfile import load

from .figures import MODELS, Bench, FigureColumn, FigureTable, Tell, apart, benchmark, code_caches, mebibytes, needs_checkout, timed
from .usage import peak_memory

Fair = Literal["weak", "strong"]

TABLE = FigureTable(
    (
        FigureColumn("scope", "scope"), FigureColumn("not fair", "unfair"), FigureColumn("distinct", "distinct", ",d"),
        FigureColumn("generated", "generated", ",d"), FigureColumn("verdict", "verdict"), FigureColumn("steps", "steps", ",d"),
        FigureColumn("loop at", "loop", ",d"), FigureColumn("search cpu s", "search_cpu_seconds", ".2f"),
        FigureColumn("MiB", "search_peak_rss_bytes", mebibytes), FigureColumn("loops cpu s", "cpu_seconds", ".2f"),
        FigureColumn("wall s", "wall_seconds", ".2f"), FigureColumn("MiB", "peak_rss_bytes", mebibytes),
        FigureColumn("bytes/state", "bytes_per_state", ".1f"),
    ),
    more=("threads",),
)  # fmt: skip
FAIR: dict[str, Fair] = {"fetch_route": "weak", "send": "strong", "handle": "weak", "register": "strong", "refresh": "weak"}
UNFAIR = ("", "register")


@benchmark
def measure(*, scopes: Sequence[str] = ("small", "main"), threads: int = 1, tell: Tell) -> Iterator[Bench]:
    """Return rows of TABLE: each scope with all of FAIR, and without the fairness of `unfair`."""
    file = needs_checkout(MODELS / "routing.py", "liveness")
    with tempfile.TemporaryDirectory() as cache:
        for scope in scopes:
            for unfair in UNFAIR:
                tell(f"routing, {scope}{f', {unfair} not fair' if unfair else ''}")
                order = {"file": str(file), "scope": scope, "unfair": unfair, "threads": threads}
                yield TABLE.row(apart(decide, order, places=code_caches(cache)))


def instance(file: str, scope: str, unfair: str) -> Instance:
    """Return the routing model with fairness and the claim."""
    model = load(file, scope).model
    model.actions = [replace(action, fair=None if action.name == unfair else FAIR.get(action.name)) for action in model.actions]
    registered = model.variable("registered")
    model.leads_to("registers", ~registered[1], registered[1], "an unregistered broker registers in the end")
    return model.given()


def decide(order: dict[str, Any]) -> Bench:
    """Return one row. Compilation happens before, on the smallest scope."""
    threads = order["threads"]
    liveness.check(instance(order["file"], "small", order["unfair"]), workers=threads)
    subject = instance(order["file"], order["scope"], order["unfair"])
    exploration, searched = timed(lambda: search.explore(subject, [], workers=threads))
    before = peak_memory()
    (outcome,), spent = timed(lambda: liveness.check(subject, workers=threads, exploration=exploration))
    peak, witness = peak_memory(), outcome.witness
    return {
        **order, "distinct": exploration.states, "generated": exploration.transitions, "verdict": outcome.verdict,
        "steps": None if witness is None else len(witness), "loop": None if witness is None else witness.loop,
        "search_cpu_seconds": searched["cpu_seconds"], "search_peak_rss_bytes": before, **spent,
        "peak_rss_bytes": peak, "bytes_per_state": None if peak is None else peak / exploration.states,
    }  # fmt: skip
