"""Measure the cost of saving a search's progress, of continuing in files when memory is full, and of two threads.

Each search runs in its own process, alternating with the same search in memory with one thread, the reference. In files it gets a quarter
of the memory that the reference used.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Sequence

from rocketproof_model import RocketproofError

from .figures import MODELS, Bench, FigureColumn, FigureTable, Tell, apart, benchmark, code_caches, mebibytes, needs_checkout
from .measure import measure as measure_search
from .search_speed import PROFILE

TABLE = FigureTable(
    (
        FigureColumn("model", "model"), FigureColumn("work", "work"), FigureColumn("distinct", "distinct", ",d"),
        FigureColumn("cpu s", "cpu_seconds", ".2f"), FigureColumn("wall s", "wall_seconds", ".2f"),
        FigureColumn("MiB", "memory_bytes", mebibytes), FigureColumn("bytes/state", "bytes_per_state", ".1f"),
        FigureColumn("MiB of files", "file_bytes", mebibytes), FigureColumn("bytes/state", "file_bytes_per_state", ".1f"),
        FigureColumn("cpu, of memory's", "cpu_of_memory", ".2f"), FigureColumn("wall", "wall_of_memory", ".2f"),
    ),
)  # fmt: skip
_IN_MEMORY = "in memory"
_SHARE = 4
WORKS: dict[str, Bench] = {
    _IN_MEMORY: {},
    "2 threads": {"threads": 2},
    "kept every 2 s": {"every": 2.0},
    "in files": {"every": 30.0, "disk": 1 << 36},
}


@benchmark
def measure(*, sends: Sequence[int] = (1, 2, 4, 8), rounds: int = 3, tell: Tell) -> Iterator[Bench]:
    """Return rows of TABLE: the scope `small` of the specification with each number of sends, then routing with B P M K C = 2 2 4 3 1.

    Figures are the minimum of the rounds, ratios (None for the search in memory) the medians of the ratios within a round.

    Raises RocketproofError if two variants count different states, InputError if the models are not installed.
    """
    routing = needs_checkout(MODELS / "routing.py", "disk")
    for count in sends:
        yield from variants(f"small, {count} sends", {"scope": "small", "sizes": {"sends": count}, "profile": PROFILE}, rounds, tell)
    yield from variants("routing, four", {"file": str(routing), "scope": "four"}, rounds, tell)


def variants(model: str, order: Bench, rounds: int, tell: Tell) -> list[Bench]:
    """Return one model's rows."""
    measurements: dict[str, list[Bench]] = {}
    with tempfile.TemporaryDirectory() as cache:
        for number in range(rounds):
            for work, more in WORKS.items():
                tell(f"{model}: {work}, round {number + 1} of {rounds}")
                with tempfile.TemporaryDirectory() as folder:
                    settings = {"threads": 1, **order, **more, "folder": f"{folder}/kept"}
                    if "disk" in more:
                        settings["memory"] = int(measurements[_IN_MEMORY][0]["memory_bytes"]) // _SHARE
                    measured_once = apart(measure_search, settings, places=code_caches(cache))
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
    return TABLE.row({"model": model, "work": work, "distinct": states, **best, **each, **ratios})
