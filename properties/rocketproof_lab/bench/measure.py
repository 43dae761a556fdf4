"""Measure one search, in a process of its own.

Compilation (or loading from the cache) is measured separately, by a first search that a limit ends immediately.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from rocketproof_model import Instance, search
from rocketproof_model.explicit.checkpoint import SearchCheckpoint
from rocketproof_model.result import Limits
from rocketproof_properties.catalogue.modelfile import load

from .figures import timed
from .probe import LEAST, random_reads
from .usage import peak_memory


def instance(order: dict[str, Any]) -> Instance:
    """Return a scope of a model file, or the specification in a scope with changed sizes."""
    if "file" in order:
        return load(order["file"], order["scope"]).model.given()
    import rocketproof_spec as specification

    sizes = order.get("sizes", {})
    scope = replace(specification.SCOPES[order["scope"]], **sizes)
    return specification.specify(scope).model.given(**specification.constants(order["profile"]))


def measure(order: dict[str, Any]) -> dict[str, Any]:
    """Measure one search. With `probe`, random reads in memory of its table's size are measured afterwards in the same process."""
    subject = instance(order)
    first = search.explore(subject, workers=order["threads"], limits=Limits(states=0))
    limits = Limits(seconds=order.get("seconds"), memory=order.get("memory"), disk=order.get("disk"))
    checkpoint = SearchCheckpoint(Path(order["folder"]), order["every"]) if "every" in order else None
    exploration, spent = timed(lambda: search.explore(subject, workers=order["threads"], limits=limits, checkpoint=checkpoint))
    table = int(exploration.bytes_per_state * exploration.states)
    return {
        "distinct": exploration.states,
        "generated": exploration.transitions,
        **spent,
        "compile_seconds": first.compile_seconds,
        "bytes_per_state": exploration.bytes_per_state,
        "memory_bytes": table,
        "random_reads_per_cpu_second": random_reads(table, order["threads"]) if order.get("probe") and table >= LEAST else None,
        "file_bytes": exploration.disk,
        "peak_rss_bytes": peak_memory(),
        "process_cpu_seconds": time.process_time(),
        "finished": exploration.finished,
    }
