"""Print a check of many properties: one line per property, and in full only the verdicts that are not as expected."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ...reports.output import Page, TableRow, counted
from . import show, witnessfiles
from .matrix import CheckReport
from .rows import VerdictRow

_UNDECIDED = "undecided"


def render(report: CheckReport, left_out: Sequence[str] = ()) -> None:
    """Print the properties with counts of their verdicts, the verdicts that are not as expected, and the closing line."""
    page = Page()
    _print_properties(report.rows, page)
    differ = [row for row in report.rows if show.mark(row) == "!"]
    if differ:
        page.line("\nNot as expected:")
        show.print_matrix(differ, page)
        show.print_witnesses(differ, page)
    reasons = Counter(row.reason for row in report.rows if row.agrees is None)
    if reasons:
        page.line()
    for reason, count in reasons.items():
        page.line(f"? {count} undecided: {show.STOPPED.get(reason, reason)}", "bold yellow")
    _print_files(report.rows, page)
    show.print_coverage(report, page, guards=False)
    show.print_problems(report, left_out, page)
    page.line("every verdict, with its condition: --all, or as data --json FILE", "dim")
    if any(row.cached for row in report.rows):
        page.line("cached: decided by an earlier run of the same model and engine; to decide again: --fresh", "dim")
    page.line(show.closing(report), "bold")


def _print_properties(rows: Sequence[VerdictRow], page: Page) -> None:
    """Print a line for each property and sentence: its worst mark, the counts of its verdicts, and the sentence."""
    claims: dict[tuple[str, str], list[VerdictRow]] = {}
    for row in rows:
        claims.setdefault((row.id, row.sentence), []).append(row)
    words = sorted({_word(row) for row in rows}, key=_order)
    lines = []
    for (id_, sentence), members in claims.items():
        counts = Counter(map(_word, members))
        sign = max(map(show.mark, members), key=list(show.STYLES).index)
        lines.append(TableRow((id_, *(str(counts[word] or "") for word in words)), sentence, show.STYLES[sign], sign))
    page.table(lines, ("", *words), right=range(1, 1 + len(words)))


def _word(row: VerdictRow) -> str:
    return _UNDECIDED if row.agrees is None else row.verdict


def _order(word: str) -> tuple[int, str]:
    """Return the sort key of a column, with the usual verdicts first."""
    known = ("holds", "violated", "not inductive", "unknown", _UNDECIDED)
    return known.index(word) if word in known else len(known), word


def _print_files(rows: Sequence[VerdictRow], page: Page) -> None:
    """Print how many witnesses were written, their folder, and the command that shows a witness."""
    with_witness = [row for row in rows if row.witness is not None]
    if with_witness:
        path = next((row for row in with_witness if row.verdict == "violated"), with_witness[0]).witness or ""
        count = counted(len({row.witness for row in with_witness}), "witness", "witnesses")
        page.line(f"\n{count} in {shlex.quote(str(Path(path).parent))}; to look at one:\n  {witnessfiles.show_command(path)}")
