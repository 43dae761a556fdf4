"""Measure the fixed cost of commands: CPU seconds of whole processes on a model of 288 states.

The first process of each command starts with empty caches of bytecode and machine code, the others with full caches.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .figures import PROJECT, Bench, FigureColumn, FigureTable, Tell, benchmark, caches, needs_checkout
from .peers import spend

EXAMPLE = PROJECT / "model" / "examples" / "two_phase_commit.py"
COMMAND = (sys.executable, "-m", "rocketproof_properties.commands")
COMMANDS = {
    "help": ("--help",),
    "check of an invariant": ("check", str(EXAMPLE), "--property", "consistent"),
    "check of all, liveness too": ("check", str(EXAMPLE)),
    "graph": ("graph", str(EXAMPLE), "--output", "states.dot"),
}
TABLE = FigureTable(
    (
        FigureColumn("command", "command"), FigureColumn("runs", "runs", "d"), FigureColumn("cold, CPU s", "cold_cpu_seconds", ".2f"),
        FigureColumn("min", "cpu_min", ".2f"), FigureColumn("median", "cpu_median", ".2f"), FigureColumn("max", "cpu_max", ".2f"),
        FigureColumn("wall s", "wall_median", ".2f"), FigureColumn("peak bytes", "peak_rss_bytes", ",d"),
    ),
)  # fmt: skip


@benchmark
def measure(*, runs: int = 5, tell: Tell) -> Iterator[Bench]:
    """Return rows of TABLE, one for each of COMMANDS. Times are in seconds. `cold_cpu_seconds` is the first process.

    Raises InputError if the model is not installed, PeerError if a command fails.
    """
    needs_checkout(EXAMPLE, "start")
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
        yield TABLE.row(figures)
