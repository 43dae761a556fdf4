"""The frame of all measurements: rows of figures, clocks, other processes, medians and ratios, and tables.

A benchmark is a generator of rows, decorated with `benchmark`, and a `FigureTable`: the keys of its rows and the printed columns.

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
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from rocketproof_model import RocketproofError, interrupts
from rocketproof_properties.brokers.children import completed
from rocketproof_properties.reports.choices import InputError

Bench = dict[str, Any]
"""One row: a figure or None for each key of its benchmark."""

Tell = Callable[[str], None]
"""Reports a line about the next measurement."""

PROJECT = Path(__file__).resolve().parents[3]
MODELS = PROJECT / "properties" / "bench"
"""The models of the benchmarks, for us and for other tools."""
T = TypeVar("T")


def quiet(line: str) -> None:
    """Discard the line."""


def benchmark(rows: Callable[..., Iterator[Bench]]) -> Callable[..., list[Bench]]:
    """Turn a generator of rows into a function that returns them. It also takes `tell`, which reports the next step, and `into`, a list to
    which the rows are added as they arrive: after Ctrl-C it contains what was measured."""

    @wraps(rows)
    def measure(*given: Any, tell: Tell = quiet, into: list[Bench] | None = None, **named: Any) -> list[Bench]:
        measured = [] if into is None else into
        for each in rows(*given, tell=tell, **named):
            measured.append(each)
        return measured

    return measure


def needs_checkout(path: Path, command: str) -> Path:
    """Return the path of a model. Raises InputError if it is not there, as in an installed project."""
    if not path.is_file():
        raise InputError(f"the benchmark's models are not installed; run `rocketproof bench {command}` in a checkout of the project")
    return path


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


def code_caches(folder: str) -> dict[str, str]:
    """Return the environment variables that place the caches of machine code into a folder."""
    return {"ROCKETPROOF_CACHE": folder, "NUMBA_CACHE_DIR": folder}


def apart(function: Callable[..., Bench], *arguments: Any, places: Mapping[str, str] | None = None) -> Bench:
    """Return the result of a module's function in a process of its own, run with these changes of the environment.

    Raises RocketproofError if it fails.
    """
    name = f"{function.__module__}:{function.__qualname__}"
    return child([sys.executable, "-m", "rocketproof_lab.bench.figures", name, json.dumps(arguments)], places=places)


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


@dataclass(frozen=True)
class FigureTable:
    """The figures of a benchmark: the printed columns, and `more` keys of its rows."""

    columns: Sequence[FigureColumn]
    more: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """The keys of a row, in their order."""
        return tuple(dict.fromkeys((*(column.key for column in self.columns), *self.more)))

    def row(self, figures: Bench) -> Bench:
        """Return a row of all keys, None for missing figures."""
        return {key: figures.get(key) for key in self.keys}

    def text(self, rows: Sequence[Bench]) -> str:
        """Return the machine's description, followed by the rows under the heads of their columns."""
        lines = [[column.head for column in self.columns], *([column.cell(each) for column in self.columns] for each in rows)]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        sides = ["<" if column.form == "" else ">" for column in self.columns]
        text = ["  ".join(f"{c:{side}{width}}" for c, side, width in zip(line, sides, widths, strict=True)).rstrip() for line in lines]
        return "\n".join([f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}", *text])


def _answer(name: str, arguments: str) -> None:
    """Print the result of a function, for `apart`."""
    module, _, function = name.partition(":")
    sys.stdout.write(json.dumps(getattr(import_module(module), function)(*json.loads(arguments))) + "\n")


if __name__ == "__main__":
    _answer(*sys.argv[1:])
