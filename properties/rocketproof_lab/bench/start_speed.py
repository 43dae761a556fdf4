"""Measure the fixed cost of commands: CPU seconds of whole processes on a model of 288 states.

The first process of each command starts with empty caches of bytecode and machine code, the others with full caches.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from functools import partial
from pathlib import Path

from rocketproof_properties.reports.choices import InputError

from .figures import Bench, FigureColumn, Tell, caches, quiet, row, table
from .peers import spend

EXAMPLE = Path(__file__).resolve().parents[3] / "model" / "examples" / "two_phase_commit.py"
COMMAND = (sys.executable, "-m", "rocketproof_properties.commands")
COMMANDS = {
    "help": ("--help",),
    "check of an invariant": ("check", str(EXAMPLE), "--property", "consistent"),
    "check of all, liveness too": ("check", str(EXAMPLE)),
    "graph": ("graph", str(EXAMPLE), "--output", "states.dot"),
}
KEYS = ("command", "runs", "cold_cpu_seconds", "cpu_min", "cpu_median", "cpu_max", "wall_median", "peak_rss_bytes")


def measure(*, runs: int = 5, tell: Tell = quiet, into: list[Bench] | None = None) -> list[Bench]:
    """Return rows of KEYS, one for each of COMMANDS. Times are in seconds. `cold_cpu_seconds` is the first process.

    Rows are added to `into` as they arrive. Raises InputError if the model is not installed, PeerError if a command fails.
    """
    if not EXAMPLE.is_file():
        raise InputError("the model to start with is not installed; run `rocketproof bench start` in a checkout of the project")
    rows = [] if into is None else into
    for name, tokens in COMMANDS.items():
        tell(f"{name}: {runs} processes behind one with empty caches")
        with tempfile.TemporaryDirectory() as folder:
            cold, *warm = (spend([*COMMAND, *tokens], Path(folder), caches(Path(folder))) for _ in range(runs + 1))
        cpu = [usage.cpu_seconds for usage in warm]
        figures = {
            "command": name,
            "runs": runs,
            "cold_cpu_seconds": cold.cpu_seconds,
            "cpu_min": min(cpu),
            "cpu_median": statistics.median(cpu),
            "cpu_max": max(cpu),
            "wall_median": statistics.median(usage.wall_seconds for usage in warm),
            "peak_rss_bytes": max(usage.peak_rss_bytes or 0 for usage in warm) or None,
        }
        rows.append(row(KEYS, figures))
    return rows


COLUMNS = (
    FigureColumn("command", "command"), FigureColumn("runs", "runs", "d"), FigureColumn("cold, CPU s", "cold_cpu_seconds", ".2f"),
    FigureColumn("min", "cpu_min", ".2f"), FigureColumn("median", "cpu_median", ".2f"), FigureColumn("max", "cpu_max", ".2f"),
    FigureColumn("wall s", "wall_median", ".2f"), FigureColumn("peak bytes", "peak_rss_bytes", ",d"),
)  # fmt: skip
text = partial(table, COLUMNS)
