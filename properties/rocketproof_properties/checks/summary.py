"""What a check of many properties came to: a line for each, and in full only the verdicts that are not as expected."""

from __future__ import annotations

import shlex
import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from .. import output
from . import show
from .matrix import Report
from .rows import Row

_UNDECIDED = "undecided"
_STYLES = {" ": "green", "?": "bold yellow", "!": "bold red"}


def render(report: Report, left_out: Sequence[str] = (), console: Console | None = None) -> None:
    """Print the properties with how often each verdict came out, what is not as expected, and the closing line."""
    console = console or output.stdout()
    width = output.width_of(console)
    for line in lines(report, left_out, width):
        console.print(line)
    console.print(Text("every verdict, with its condition: --all, or as data --json FILE", "dim"))
    console.print(show.closing(report), style="bold")


def lines(report: Report, left_out: Sequence[str], width: int) -> Iterable[Text]:
    """What is printed before the closing line."""
    yield from property_lines(report.rows, width)
    differ = [row for row in report.rows if show.mark(row) == "!"]
    if differ:
        yield Text("\nNot as expected:")
        yield from show.matrix_lines(differ, width)
        yield from show.witness_lines(differ)
    reasons = Counter(row.reason for row in report.rows if row.agrees is None)
    if reasons:
        yield Text("")
    for reason, count in reasons.items():
        yield Text(f"? {count} undecided: {show.STOPPED.get(reason, reason)}", "bold yellow")
    yield from _files(report.rows)
    yield from show.coverage_lines(report, width, guards=False)
    yield from show.problem_lines(report, left_out, width)


def property_lines(rows: Sequence[Row], width: int) -> Iterable[Text]:
    """A line for each property and sentence: its worst mark, its verdicts counted, and what it says."""
    claims: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        claims.setdefault((row.id, row.sentence), []).append(row)
    words = sorted({_word(row) for row in rows}, key=_order)
    first = max((len(row.id) for row in rows), default=0)
    yield Text(" " * (4 + first) + "".join(f"  {word}" for word in words), "dim")
    for (id_, said), members in claims.items():
        counts = Counter(map(_word, members))
        cells = "".join(f"  {counts[word] or '':>{len(word)}}" for word in words)
        sign = max((show.mark(row) for row in members), key=list(_STYLES).index)
        head = f"  {sign} {id_:<{first}}{cells}  "
        wrapped = textwrap.wrap(said, max(width - len(head), 40)) or [""]
        yield Text(head, _STYLES[sign]).append(f"\n{' ' * len(head)}".join(wrapped), "default")


def _word(row: Row) -> str:
    return _UNDECIDED if row.agrees is None else row.verdict


def _order(word: str) -> tuple[int, str]:
    """Places of the columns: what is usual comes first."""
    known = ("holds", "violated", "not inductive", "unknown", _UNDECIDED)
    return known.index(word) if word in known else len(known), word


def _files(rows: Sequence[Row]) -> Iterable[Text]:
    """How many witnesses were written, where, and how one is looked at."""
    found = [row for row in rows if row.witness is not None]
    if found:
        path = next((row for row in found if row.verdict == "violated"), found[0]).witness or ""
        count = len({row.witness for row in found})
        folder = shlex.quote(str(Path(path).parent))
        yield Text(f"\n{count} witness{'' if count == 1 else 'es'} in {folder}; to look at one:\n  {show.show_command(path)}")
