"""What all measurements share: a row of figures, both clocks, processes of their own, medians and ratios, and rows as a table.

The machine's speed drifts: compare figures of one run only.
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
"""One row: a figure, or None, under each key of its benchmark."""

Tell = Callable[[str], None]
"""Takes a line about what is measured next."""

T = TypeVar("T")


def quiet(line: str) -> None:
    """Tells nobody."""


def timed(work: Callable[[], T], clock: Callable[[], float] = time.process_time) -> tuple[T, Bench]:
    """What a work gives, and its `cpu_seconds` by this clock (by default that of the process) and `wall_seconds`. Raises KeyboardInterrupt
    where an interrupt has cut it short, also where the work returned what it had."""
    cpu, wall = clock(), time.perf_counter()
    found = work()
    spent = {"cpu_seconds": clock() - cpu, "wall_seconds": time.perf_counter() - wall}
    interrupts.stop_if_interrupted()
    return found, spent


def own_path() -> dict[str, str]:
    """The variable by which another process finds the modules of this one."""
    return {"PYTHONPATH": os.pathsep.join(place for place in sys.path if place and Path(place).is_dir())}


def caches(folder: Path) -> dict[str, str]:
    """The variables that put the caches of bytecode, machine code and verdicts below a folder."""
    places = {"ROCKETPROOF_CACHE": str(folder / "code"), "PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "PYTHONDONTWRITEBYTECODE": ""}
    return {**places, **own_path()}


def child(command: Sequence[str], text: str = "", places: Mapping[str, str] | None = None) -> Bench:
    """What a process of this bench prints as JSON, with these variables of the environment changed. Raises RocketproofError where it
    fails."""
    env = {**os.environ, **own_path(), **(places or {})}
    done = completed(command, text=text, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise RocketproofError(f"measuring with {' '.join(command)} failed: {last}; run it by hand to see why")
    found: Bench = json.loads(done.stdout)
    return found


def medians(found: Sequence[Bench], *keys: str) -> Bench:
    """One row of several: medians of both times and of these keys, the most memory, everything else as in the first."""
    middle = {key: statistics.median(each[key] for each in found) for key in ("cpu_seconds", "wall_seconds", *keys)}
    return {**found[0], **middle, "peak_rss_bytes": max(each["peak_rss_bytes"] or 0 for each in found) or None}


def ratio(mine: Sequence[float], others: Sequence[float]) -> float | None:
    """The median of one by the other, round by round; None where no round has both."""
    shares = [one / other for one, other in zip(mine, others, strict=False) if other]
    return statistics.median(shares) if shares else None


def row(keys: Sequence[str], figures: Bench) -> Bench:
    """A row of these keys in their order; None where there is no figure."""
    return {key: figures.get(key) for key in keys}


class FigureColumn(NamedTuple):
    """A column of a table: its head, the key in the rows, and how a figure is written: a format, or a function. Words have no format
    and stand left."""

    head: str
    key: str
    form: str | Callable[[Any], str] = ""

    def cell(self, row: Bench) -> str:
        figure = row[self.key]
        return "" if figure is None else self.form(figure) if callable(self.form) else format(figure, self.form)


def mebibytes(count: float) -> str:
    return f"{count / (1 << 20):,.0f}"


def table(columns: Sequence[FigureColumn], rows: Sequence[Bench]) -> str:
    """The machine that the figures belong to, then rows under the heads of their columns."""
    lines = [[column.head for column in columns], *([column.cell(each) for column in columns] for each in rows)]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    sides = ["<" if column.form == "" else ">" for column in columns]
    text = ["  ".join(f"{c:{side}{width}}" for c, side, width in zip(line, sides, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}", *text])
