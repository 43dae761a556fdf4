"""Shared parts of all measurements: rows of figures, clocks, child processes, medians and ratios, and tables.

The machine's speed drifts: compare only figures of the same run.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rocketproof_model import RocketproofError, interrupts
from rocketproof_properties.brokers.children import completed

Bench = dict[str, Any]
"""One row: a figure or None for each key of its benchmark."""

Tell = Callable[[str], None]
"""Reports a line about the next measurement."""

T = TypeVar("T")


def quiet(line: str) -> None:
    """Discard the line."""


def timed(work: Callable[[], T], clock: Callable[[], float] = time.process_time) -> tuple[T, Bench]:
    """Return the result of the work, with its `cpu_seconds` by this clock (by default the process's) and `wall_seconds`. Raises
    KeyboardInterrupt if an interrupt ended it early, even if the work returned a partial result."""
    cpu, wall = clock(), time.perf_counter()
    result = work()
    spent = {"cpu_seconds": clock() - cpu, "wall_seconds": time.perf_counter() - wall}
    interrupts.stop_if_interrupted()
    return result, spent


def own_path() -> dict[str, str]:
    """Return the environment variable with which another process finds this process's modules."""
    return {"PYTHONPATH": os.pathsep.join(place for place in sys.path if place and Path(place).is_dir())}


def caches(folder: Path) -> dict[str, str]:
    """Return the environment variables that place the caches of bytecode, machine code and verdicts into a folder."""
    places = {"ROCKETPROOF_CACHE": str(folder / "code"), "PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}
    return {**places, **own_path()}


def child(command: Sequence[str], text: str = "", places: Mapping[str, str] | None = None) -> Bench:
    """Return the JSON that a child process prints, run with these changes of the environment. Raises RocketproofError if it fails."""
    env = {**os.environ, **own_path(), **(places or {})}
    process = completed(command, text=text, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if process.returncode:
        last = (process.stderr.strip().splitlines() or ["no message"])[-1]
        raise RocketproofError(f"measuring with {' '.join(command)} failed: {last}; run it by hand to see why")
    figures: Bench = json.loads(process.stdout)
    return figures


def medians(rows: Sequence[Bench], *keys: str) -> Bench:
    """Combine several rows: medians of both times and of these keys, the largest memory, and the other values of the first row."""
    middle = {key: statistics.median(each[key] for each in rows) for key in ("cpu_seconds", "wall_seconds", *keys)}
    return {**rows[0], **middle, "peak_rss_bytes": max(each["peak_rss_bytes"] or 0 for each in rows) or None}


def ratio(mine: Sequence[float], others: Sequence[float]) -> float | None:
    """Return the median of the ratios round by round, None if no round has both values."""
    shares = [own / other for own, other in zip(mine, others, strict=False) if other]
    return statistics.median(shares) if shares else None


def row(keys: Sequence[str], figures: Bench) -> Bench:
    """Return a row of these keys in their order, None for missing figures."""
    return {key: figures.get(key) for key in keys}


class FigureColumn(NamedTuple):
    """A column of a table: its head, the key in the rows, and the format of a figure (a format string or a function). Columns without a
    format contain words and are left-aligned."""

    head: str
    key: str
    form: str | Callable[[Any], str] = ""

    def cell(self, row: Bench) -> str:
        figure = row[self.key]
        return "" if figure is None else self.form(figure) if callable(self.form) else format(figure, self.form)


def mebibytes(count: float) -> str:
    return f"{count / (1 << 20):,.0f}"


def table(columns: Sequence[FigureColumn], rows: Sequence[Bench]) -> str:
    """Return the machine's description, followed by the rows under the heads of their columns."""
    lines = [[column.head for column in columns], *([column.cell(each) for column in columns] for each in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    sides = ["<" if column.form == "" else ">" for column in columns]
    text = ["  ".join(f"{c:{side}{width}}" for c, side, width in zip(line, sides, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}", *text])
