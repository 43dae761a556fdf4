"""Measure the cost of saving a search's progress, of continuing in files when memory is full, and of two threads.

Each search runs in its own process, alternating with the same search in memory with one thread, the reference. In files it gets a quarter
of the memory that the reference used.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from functools import partial

from rocketproof_model import RocketproofError
from rocketproof_properties.reports.choices import InputError

from .figures import Bench, FigureColumn, Tell, child, mebibytes, quiet, row, table
from .search_speed import MODELS, PROFILE

KEYS = (
    "model", "work", "distinct", "cpu_seconds", "wall_seconds", "memory_bytes", "bytes_per_state", "file_bytes", "file_bytes_per_state",
    "cpu_of_memory", "wall_of_memory",
)  # fmt: skip
_IN_MEMORY = "in memory"
_SHARE = 4
WORKS: dict[str, Bench] = {
    _IN_MEMORY: {},
    "2 threads": {"threads": 2},
    "kept every 2 s": {"every": 2.0},
    "in files": {"every": 30.0, "disk": 1 << 36},
}


def measure(*, sends: Sequence[int] = (1, 2, 4, 8), rounds: int = 3, tell: Tell = quiet, into: list[Bench] | None = None) -> list[Bench]:
    """Return rows of KEYS: the scope `small` of the specification with each number of sends, then routing with B P M K C = 2 2 4 3 1.

    Figures are the minimum of the rounds, ratios (None for the search in memory) the medians of the ratios within a round. Rows are added
    to `into` as they arrive. Raises RocketproofError if two variants count different states, InputError if the models are not installed.
    """
    if not (MODELS / "routing.py").is_file():
        raise InputError("the benchmark's models are not installed; run `rocketproof bench disk` in a checkout of the project")
    rows = [] if into is None else into
    for count in sends:
        rows += variants(f"small, {count} sends", {"scope": "small", "sizes": {"sends": count}, "profile": PROFILE}, rounds, tell)
    rows += variants("routing, four", {"file": str(MODELS / "routing.py"), "scope": "four"}, rounds, tell)
    return rows


def variants(model: str, order: Bench, rounds: int, tell: Tell) -> list[Bench]:
    """Return one model's rows."""
    measurements: dict[str, list[Bench]] = {}
    with tempfile.TemporaryDirectory() as cache:
        places = {"ROCKETPROOF_CACHE": cache, "NUMBA_CACHE_DIR": cache}
        for number in range(rounds):
            for work, more in WORKS.items():
                tell(f"{model}: {work}, round {number + 1} of {rounds}")
                with tempfile.TemporaryDirectory() as folder:
                    settings = {"threads": 1, **order, **more, "folder": f"{folder}/kept"}
                    if "disk" in more:
                        settings["memory"] = int(measurements[_IN_MEMORY][0]["memory_bytes"]) // _SHARE
                    measured_once = child([sys.executable, "-m", "rocketproof_lab.bench.measure", json.dumps(settings)], places=places)
                measurements.setdefault(work, []).append(measured_once)
                if measured_once["distinct"] != measurements[_IN_MEMORY][0]["distinct"]:
                    raise RocketproofError(
                        f"{model}, {work}: {measured_once['distinct']} states, {measurements[_IN_MEMORY][0]['distinct']} in memory"
                    )
    return [_row(model, work, measured, measurements[_IN_MEMORY]) for work, measured in measurements.items()]


def _row(model: str, work: str, measured: list[Bench], reference: list[Bench]) -> Bench:
    best = {key: min(run[key] for run in measured) for key in ("cpu_seconds", "wall_seconds", "memory_bytes", "file_bytes")}
    states = measured[0]["distinct"]
    pairs = list(zip(measured, reference, strict=True))
    ratios = {
        f"{kind}_of_memory": statistics.median(own[f"{kind}_seconds"] / other[f"{kind}_seconds"] for own, other in pairs)
        for kind in ("cpu", "wall")
        if work != _IN_MEMORY
    }
    each = {"bytes_per_state": best["memory_bytes"] / states, "file_bytes_per_state": best["file_bytes"] / states}
    return row(KEYS, {"model": model, "work": work, "distinct": states, **best, **each, **ratios})


COLUMNS = (
    FigureColumn("model", "model"),
    FigureColumn("work", "work"),
    FigureColumn("distinct", "distinct", ",d"),
    FigureColumn("cpu s", "cpu_seconds", ".2f"),
    FigureColumn("wall s", "wall_seconds", ".2f"),
    FigureColumn("MiB", "memory_bytes", mebibytes),
    FigureColumn("bytes/state", "bytes_per_state", ".1f"),
    FigureColumn("MiB of files", "file_bytes", mebibytes),
    FigureColumn("bytes/state", "file_bytes_per_state", ".1f"),
    FigureColumn("cpu, of memory's", "cpu_of_memory", ".2f"),
    FigureColumn("wall", "wall_of_memory", ".2f"),
)
text = partial(table, COLUMNS)
