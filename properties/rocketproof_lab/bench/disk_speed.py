"""What it costs a search to keep its progress, to go on in files when memory ends, and to use two threads.

Each search runs in processes of its own, in turns with the same one in memory by one thread, which is its measure. In files it has a
quarter of the memory that this one took.
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
    """Rows of KEYS: the scope `small` of the specification with so many sends, then routing with B P M K C = 2 2 4 3 1.

    Figures are the least of the rounds, ratios (None for what is in memory) the medians of those within a round. Rows are added to `into`
    as they come. Raises RocketproofError if two ways count different states, InputError where the models are not installed.
    """
    if not (MODELS / "routing.py").is_file():
        raise InputError("the benchmark's models are not installed; run `rocketproof bench disk` in a checkout of the project")
    rows = [] if into is None else into
    for many in sends:
        rows += ways(f"small, {many} sends", {"scope": "small", "sizes": {"sends": many}, "profile": PROFILE}, rounds, tell)
    rows += ways("routing, four", {"file": str(MODELS / "routing.py"), "scope": "four"}, rounds, tell)
    return rows


def ways(model: str, order: Bench, rounds: int, tell: Tell) -> list[Bench]:
    """One model's rows."""
    found: dict[str, list[Bench]] = {}
    with tempfile.TemporaryDirectory() as cache:
        places = {"ROCKETPROOF_CACHE": cache, "NUMBA_CACHE_DIR": cache}
        for number in range(rounds):
            for work, more in WORKS.items():
                tell(f"{model}: {work}, round {number + 1} of {rounds}")
                with tempfile.TemporaryDirectory() as folder:
                    told = {"threads": 1, **order, **more, "folder": f"{folder}/kept"}
                    if "disk" in more:
                        told["memory"] = int(found[_IN_MEMORY][0]["memory_bytes"]) // _SHARE
                    one = child([sys.executable, "-m", "rocketproof_lab.bench.measure", json.dumps(told)], places=places)
                found.setdefault(work, []).append(one)
                if one["distinct"] != found[_IN_MEMORY][0]["distinct"]:
                    raise RocketproofError(f"{model}, {work}: {one['distinct']} states, {found[_IN_MEMORY][0]['distinct']} in memory")
    return [_row(model, work, measured, found[_IN_MEMORY]) for work, measured in found.items()]


def _row(model: str, work: str, found: list[Bench], measure: list[Bench]) -> Bench:
    best = {key: min(one[key] for one in found) for key in ("cpu_seconds", "wall_seconds", "memory_bytes", "file_bytes")}
    states = found[0]["distinct"]
    pairs = list(zip(found, measure, strict=True))
    ratios = {
        f"{kind}_of_memory": statistics.median(one[f"{kind}_seconds"] / other[f"{kind}_seconds"] for one, other in pairs)
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
