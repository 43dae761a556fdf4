"""Measure waiting times: the first commands of the README, a command's start, a small model, and the steps of `.ci`.

A cold process has empty caches of bytecode, machine code and verdicts. A warm process has the caches of earlier processes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from rocketproof_properties.brokers.children import started
from rocketproof_properties.reports.choices import InputError

from .figures import PROJECT, Bench, FigureColumn, FigureTable, Tell, benchmark, caches, needs_checkout
from .peers import spend
from .start_speed import COMMAND, EXAMPLE

CI: Final = PROJECT / ".rocketproof" / "ci"


def _seconds(seconds: float) -> str:
    return f"{seconds:,.2f}" if seconds < 10 else f"{seconds:,.0f}"


TABLE = FigureTable(
    (
        FigureColumn("part", "part"), FigureColumn("run", "run"), FigureColumn("load", "load", "d"),
        FigureColumn("CPU s", "cpu_seconds", _seconds), FigureColumn("wall s", "wall_seconds", _seconds),
        FigureColumn("CPU s before", "cpu_before", _seconds), FigureColumn("wall s before", "wall_before", _seconds),
    ),
)  # fmt: skip


class TimedCommand(NamedTuple):
    """A command with its runs in order. Cold runs have empty caches, and each run has its own additional words."""

    words: Sequence[str]
    runs: Mapping[str, Sequence[str]]


_BOTH: Final[Mapping[str, Sequence[str]]] = {"cold": (), "warm": ()}
PARTS: Final = {
    "start": TimedCommand((*COMMAND, "--help"), _BOTH),
    "model": TimedCommand(
        (*COMMAND, "check", str(EXAMPLE), "--property", "consistent"), {"cold": (), "warm": ("--fresh",), "unchanged": ()}
    ),
    "check": TimedCommand((*COMMAND, "check"), {"cold": (), "warm": ("--fresh",), "unchanged": ()}),
    "tests": TimedCommand((sys.executable, "-m", "pytest", "-q", str(PROJECT / "tests")), _BOTH),
}
"""`check` and `tests` are the first and the second command of the README, in an installed project."""
RECORDS: Final = {"ci": CI / "run.json", "nightly": CI / "nightly.json"}
"""Files with the durations of the last runs of .ci/run and .ci/nightly, step by step."""


@benchmark
def measure(parts: Sequence[str] = (), *, load: int = 0, before: Path | None = None, tell: Tell) -> Iterator[Bench]:
    """Return rows of TABLE for these parts, or for all, while `load` busy processes run. Times are in seconds, of all processes.

    `before` is the output of an earlier version's `--json`. Raises InputError for an unknown part or without a checkout, PeerError if a
    command fails.
    """
    for name in parts:
        if name not in (*PARTS, *RECORDS):
            raise InputError(f"--part {name}: there are {', '.join((*PARTS, *RECORDS))}")
    needs_checkout(EXAMPLE, "feedback")
    known = {} if before is None else _known(before)
    with busy(load):
        for name in parts or (*PARTS, *RECORDS):
            for figures in _part(name, tell):
                earlier = known.get((figures["part"], figures["run"], load), {})
                was = {"cpu_before": earlier.get("cpu_seconds"), "wall_before": earlier.get("wall_seconds")}
                yield TABLE.row({**figures, "load": load, **was})


def _part(name: str, tell: Tell) -> Iterator[Bench]:
    if name in RECORDS:
        yield from _recorded(name)
        return
    command = PARTS[name]
    with tempfile.TemporaryDirectory() as folder:
        for run, words in command.runs.items():
            tell(f"{name}, {run}")
            usage = spend([*command.words, *words], PROJECT if name == "tests" else Path(folder), caches(Path(folder)))
            yield {"part": name, "run": run, "cpu_seconds": usage.cpu_seconds, "wall_seconds": usage.wall_seconds}


def _recorded(name: str) -> Iterator[Bench]:
    if not RECORDS[name].is_file():
        return
    for step in json.loads(RECORDS[name].read_text("utf-8"))["steps"]:
        yield {"part": name, "run": step["name"], "cpu_seconds": step["cpu_seconds"], "wall_seconds": step["wall_seconds"]}


def _known(path: Path) -> dict[tuple[str, str, int], Any]:
    try:
        return {(figures["part"], figures["run"], figures["load"]): figures for figures in json.loads(path.read_text("utf-8"))}
    except OSError as error:
        raise InputError(f"--before {path} cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"--before {path} is not what `rocketproof bench feedback --json` writes") from None


@contextmanager
def busy(processes: int) -> Iterator[None]:
    """Run this many processes that compute continuously."""
    with ExitStack() as stack:
        for _ in range(processes):
            stack.enter_context(started([sys.executable, "-c", "while True: pass"], stdin=subprocess.DEVNULL))
        yield
