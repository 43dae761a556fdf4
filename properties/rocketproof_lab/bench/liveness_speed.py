"""Measure the search for fair loops compared with the search that builds the graph: seconds, and memory per state.

Each row is its own process. It searches the routing model and then checks that an unregistered broker registers in the end. The property
holds and needs only the fairness of `register`. Without it the shortest lasso must be found.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from rocketproof_model import Instance, liveness, search
from rocketproof_properties.catalogue.modelfile import load
from rocketproof_properties.reports.choices import InputError

from .figures import Bench, FigureColumn, Tell, child, mebibytes, quiet, row, table, timed
from .search_speed import MODELS
from .usage import peak_memory

Fair = Literal["weak", "strong"]

KEYS = (
    "scope", "unfair", "threads", "distinct", "generated", "verdict", "steps", "loop", "search_cpu_seconds", "search_peak_rss_bytes",
    "cpu_seconds", "wall_seconds", "peak_rss_bytes", "bytes_per_state",
)  # fmt: skip
FAIR: dict[str, Fair] = {"fetch_route": "weak", "send": "strong", "handle": "weak", "register": "strong", "refresh": "weak"}
UNFAIR = ("", "register")


def measure(
    *, scopes: Sequence[str] = ("small", "main"), threads: int = 1, tell: Tell = quiet, into: list[Bench] | None = None
) -> list[Bench]:
    """Return rows of KEYS: each scope with all of FAIR, and without the fairness of `unfair`. Rows are added to `into` as they arrive."""
    file = MODELS / "routing.py"
    if not file.is_file():
        raise InputError("the benchmark's models are not installed; run `rocketproof bench liveness` in a checkout of the project")
    rows = [] if into is None else into
    with tempfile.TemporaryDirectory() as cache:
        places = {"ROCKETPROOF_CACHE": cache, "NUMBA_CACHE_DIR": cache}
        for scope in scopes:
            for unfair in UNFAIR:
                tell(f"routing, {scope}{f', {unfair} not fair' if unfair else ''}")
                order = {"file": str(file), "scope": scope, "unfair": unfair, "threads": threads}
                rows.append(row(KEYS, child([sys.executable, "-m", __name__, json.dumps(order)], places=places)))
    return rows


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


COLUMNS = (
    FigureColumn("scope", "scope"),
    FigureColumn("not fair", "unfair"),
    FigureColumn("distinct", "distinct", ",d"),
    FigureColumn("generated", "generated", ",d"),
    FigureColumn("verdict", "verdict"),
    FigureColumn("steps", "steps", ",d"),
    FigureColumn("loop at", "loop", ",d"),
    FigureColumn("search cpu s", "search_cpu_seconds", ".2f"),
    FigureColumn("MiB", "search_peak_rss_bytes", mebibytes),
    FigureColumn("loops cpu s", "cpu_seconds", ".2f"),
    FigureColumn("wall s", "wall_seconds", ".2f"),
    FigureColumn("MiB", "peak_rss_bytes", mebibytes),
    FigureColumn("bytes/state", "bytes_per_state", ".1f"),
)
text = partial(table, COLUMNS)

if __name__ == "__main__":
    sys.stdout.write(json.dumps(decide(json.loads(sys.argv[1]))) + "\n")
