"""What is printed of a check: the progress line on stderr, the verdict matrix on stdout.

The matrix states each property's sentence once and then one line for each verdict, so that it reads at 80 columns and at
160. What needs attention is marked at the start of its line: `!` differs, `?` undecided.
"""

from __future__ import annotations

import shlex
import textwrap
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any

from rich.console import Console
from rich.status import Status
from rich.text import Text

from rocketproof_model.result import BOUND, INTERRUPTED, MEMORY, STATES, TIME, Progress

from .. import output
from .decide import Unit
from .matrix import Report
from .rows import LIMITS, Row

STOPPED = {
    TIME: "stopped by the time limit",
    MEMORY: "stopped by the memory limit",
    STATES: "stopped by the limit of states",
    INTERRUPTED: "stopped by Ctrl-C",
    BOUND: "nothing found within the bound",
}
_HANGING = ("    ", "      ")
_HEAD = ("profile", "engine", "verdict", "expected", "states or proof", "witness")


class ProgressLine:
    """A listener that shows where a run is: one changing line on a terminal, else a plain line every few seconds."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._status: Status | None = None
        self._start = time.monotonic()
        self._last = float("-inf")
        self._count = ""

    def __enter__(self) -> ProgressLine:
        if self._console.is_terminal:
            self._status = self._console.status("starting")
            self._status.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        if self._status is not None:
            self._status.stop()

    def begin(self, number: int, of: int, unit: Unit) -> None:
        self._count = f"[{number}/{of}]"
        self._say(f"{self._count} {unit}")

    def progress(self, unit: Unit, at: Progress) -> None:
        if at.engine == "stateful":
            self._say(f"{self._count} {unit}, {at.states:,} programs, {at.depth:,} steps")
            return
        states = f", {at.states:,} states" if at.states else ""
        self._say(f"{self._count} {unit}, depth {at.depth}{states}")

    def _say(self, text: str) -> None:
        now = time.monotonic()
        line = f"{text}, {now - self._start:.0f} s"
        if self._status is not None:
            self._status.update(Text(line))
        elif now - self._last >= output.SPARSE_SECONDS:
            self._last = now
            output.tell(line)


def print_report(report: Report, left_out: Sequence[str] = (), console: Console | None = None) -> None:
    """Print the matrix, the witnesses, the gaps in coverage and the closing line."""
    console = console or output.stdout()
    width = output.width_of(console)
    for line in (
        *matrix_lines(report.rows, width),
        *witness_lines(report.rows),
        *coverage_lines(report, width),
        *problem_lines(report, left_out, width),
    ):
        console.print(line)
    console.print(closing(report), style="bold")


def matrix_lines(rows: Sequence[Row], width: int) -> Iterable[Text]:
    folded = _fold(rows)
    rows = [row for row, _, _ in folded]
    table = [_cells(*one) for one in folded]
    sizes = [max(len(c[i]) for c in (_HEAD, *table)) for i in range(len(_HEAD))]
    shown = [i for i in range(len(_HEAD)) if any(c[i] for c in table)]
    indent = 4 + sum(sizes[i] + 2 for i in shown)
    side = width - indent >= 30
    yield Text(_pad(_HEAD, sizes, shown) + ("condition" if side else ""), "dim")
    by_property: dict[tuple[str, str], list[tuple[Row, tuple[str, ...]]]] = {}
    for row, cells in zip(rows, table, strict=True):
        by_property.setdefault((row.id, row.sentence), []).append((row, cells))
    for (id_, said), members in by_property.items():
        sentence = textwrap.wrap(f"{id_}  {said}", width, subsequent_indent=" " * (len(id_) + 2))
        yield Text("\n".join(sentence), "bold").append("")
        for row, cells in members:
            yield _line(row, cells, sizes, shown, width, indent if side else 0)


def _fold(rows: Sequence[Row]) -> list[tuple[Row, str, str]]:
    """Rows of one verdict under one condition become one, with their profiles and what was explored in all of them."""
    found: dict[Row, list[Row]] = {}
    for row in rows:
        plain = replace(row, profile="", scope="", witness=None, seconds=0.0, states=None, transitions=None, depth=None)
        found.setdefault(plain if row.engine == "symbolic" else replace(plain, proof=""), []).append(row)
    return [(row, " ".join(dict.fromkeys(r.profile for r in same)), _explored(same)) for row, same in found.items()]


def _explored(rows: Sequence[Row]) -> str:
    counts = sorted({r.states for r in rows if r.states is not None})
    if len(counts) < 2 or any(r.engine != "explicit" for r in rows):
        return rows[0].proof
    return f"{counts[0]:,}-{counts[-1]:,} states"


def _line(row: Row, cells: tuple[str, ...], sizes: list[int], shown: list[int], width: int, side: int) -> Text:
    style = {True: "green", False: "bold red", None: "bold yellow"}[row.agrees] if not row.vacuous else "bold red"
    words = "; ".join(part for part in (row.condition, _remark(row)) if part)
    line = Text(_pad(cells, sizes, shown, mark(row)), style)
    if not words:
        line.rstrip()
    elif side:
        line.append(f"\n{' ' * side}".join(textwrap.wrap(words, width - side)), "default")
    else:
        line.rstrip()
        line.append("\n" + "\n".join(textwrap.wrap(words, width, initial_indent=" " * 6, subsequent_indent=" " * 6)), "default")
    return line


def _pad(cells: Sequence[str], sizes: list[int], shown: list[int], sign: str = " ") -> str:
    return f"  {sign} " + "".join(cells[i].ljust(sizes[i] + 2) for i in shown)


def mark(row: Row) -> str:
    """`!` for a row that makes the check fail, `?` for one that was not decided, else a blank."""
    return "!" if row.vacuous or row.agrees is False else "?" if row.agrees is None else " "


def _cells(row: Row, profiles: str, proof: str) -> tuple[str, ...]:
    length = "" if row.length is None else f"{row.length} step{'' if row.length == 1 else 's'}"
    return (profiles, row.engine, row.verdict, row.expected, proof, length)


def _remark(row: Row) -> str:
    if row.vacuous:
        return "vacuous: its premise never held in any explored state; widen the scope or fix the premise"
    said = STOPPED.get(row.reason, row.reason) if row.verdict in ("unknown", "not inductive") else row.note
    if row.agrees is False and row.why:
        return f"{said}{'; ' if said else ''}expected because {row.why}"
    return said


def witness_lines(rows: Sequence[Row]) -> Iterable[Text]:
    titles = {
        "violated": "Counterexamples, and the commands that show them:",
        "holds": "Examples of what is reachable:",
        "not inductive": "Counterexamples to induction, whose first state may be unreachable:",
    }
    for verdict, title in titles.items():
        same: dict[tuple[object, ...], list[Row]] = {}
        for row in rows:
            if row.witness is not None and row.verdict == verdict:
                same.setdefault((row.id, row.sentence, row.condition, row.engine, row.length), []).append(row)
        if same:
            yield Text(f"\n{title}")
        for alike in same.values():
            *others, shown = alike
            profiles = ", ".join(dict.fromkeys(r.profile for r in others))
            yield Text(f"  {show_command(shown.witness or '')}").append(f"  # and for {profiles}" if profiles else "", "dim")


def show_command(path: str) -> str:
    """The command that shows a witness file."""
    return f"rocketproof show {shlex.quote(path)}"


def coverage_lines(report: Report, width: int, guards: bool = True) -> Iterable[Text]:
    """How many actions happened, those that did not, and `guards` that gave only one answer."""
    if any(r.engine in ("explicit", "stateful") and r.agrees is None and r.reason in LIMITS for r in report.rows):
        yield Text("\nCoverage is not judged: the run was stopped before its end")
        return
    if report.covered:
        yield Text(f"\nCoverage of actions{' and guards' if guards else ''}:")
    same: dict[tuple[Any, ...], list[str]] = {}
    for label, count in report.covered.items():
        same.setdefault((count, *(replace(g, profile="") for g in report.gaps if g.profile == label)), []).append(label)
    for ((taken, of), *found), labels in same.items():
        yield Text(f"  {' '.join(labels)}: {taken} of {of} actions happened")
        silent: dict[str, list[str]] = {}
        never: dict[tuple[str, str], list[str]] = {}
        for gap in found:
            if gap.missing == "action":
                never.setdefault((gap.guard, gap.sentence), []).append(gap.action)
            elif guards:
                silent.setdefault(gap.guard, []).append(gap.action)
        for (guard, said), actions in never.items():
            yield output.wrapped(f"{', '.join(actions)} never happened{_stopped(guard, said, len(actions))}", width, *_HANGING)
        if silent:
            listed = "; ".join(f"'{guard}' of {_few(actions)}" for guard, actions in silent.items())
            yield output.wrapped(f"guards that never refused: {listed}", width, *_HANGING)


def _few(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 4 else f"{len(names)} actions"


def _stopped(guard: str, sentence: str, actions: int) -> str:
    if not guard:
        return ": no state was explored"
    return f": no state passed {'its' if actions == 1 else 'their'} guard '{guard}' ({sentence})"


def problem_lines(report: Report, left_out: Sequence[str], width: int) -> Iterable[Text]:
    yield Text("")
    for line in left_out:
        yield Text(f"not asked: {line}")
    for line in report.problems:
        yield Text(f"error: {line}", "bold red")


def closing(report: Report) -> str:
    """One line: how many verdicts, whether they are the expected ones, how long it took."""
    rows = report.rows
    count = f"{len(rows)} verdict{'' if len(rows) == 1 else 's'}"
    different = sum(1 for r in rows if r.agrees is False)
    undecided = sum(1 for r in rows if r.agrees is None)
    vacuous = sum(1 for r in rows if r.vacuous)
    parts = [
        f"{different} not as expected" if different else "",
        f"{undecided} undecided" if undecided else "",
        f"{vacuous} vacuous" if vacuous else "",
        f"{len(report.problems)} error{'' if len(report.problems) == 1 else 's'}" if report.problems else "",
        "stopped by Ctrl-C" if report.interrupted else "",
    ]
    said = ", ".join(part for part in parts if part) or "all as expected"
    return f"{count}, {said}, {report.seconds:.1f} s"


def print_program(text: str, path: str) -> None:
    """A program of messages as it is kept, and how it is run."""
    console = output.stdout()
    for line in text.splitlines():
        console.print(Text(line))
    console.print(
        f"\nIt is a test: pytest {shlex.quote(path)} performs it and passes while the broker does what is shown.",
        style="dim",
    )
