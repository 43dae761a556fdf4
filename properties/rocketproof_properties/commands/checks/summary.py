"""Print a check of many properties on one screen: counts by theme, every deviation in full, and three counterexamples to look at.

A few properties get a line each instead of the counts by theme.
`--all` prints every verdict instead (`show.print_report`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from ...catalogue.themes import OTHER, THEMES, theme_of
from ...reports.output import Page, TableRow, counted
from . import show, witnessfiles
from .matrix import CheckReport
from .rows import VerdictRow

INSTRUCTIVE: Final = (
    ("INV-32", "creation"),
    ("LIV-03", "small"),
    ("INV-28", "persistence"),
    ("INV-06", "recovery"),
    ("INV-13", "creation"),
)
"""Properties and scopes whose counterexamples are shown first: a queue that no consumer reads, a topic that one broker never gets, a
table lost in a crash, an acknowledged message that is lost, a topic without queues."""
FEW: Final = 12
"""Up to this number of properties, each has a line with its sentence."""
EXAMPLES: Final = 3
"""How many counterexamples are named."""
_COLUMNS: Final = ("holds", "violated as documented", "unexpected", "undecided")
_STYLES: Final = {"unexpected": "bold red", "undecided": "bold yellow"}


def render(report: CheckReport, left_out: Sequence[str] = ()) -> None:
    """Print the counts by theme, the verdicts that are not as expected, three counterexamples, and where to find the rest."""
    page = Page()
    if len({row.id for row in report.rows}) <= FEW:
        _print_properties(report.rows, page)
    else:
        _print_themes(report.rows, page)
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
    _print_examples(report.rows, page)
    show.print_problems(report, left_out, page)
    _print_more(report, page)
    page.line(show.closing(report), "bold")


def _print_themes(rows: Sequence[VerdictRow], page: Page) -> None:
    """Print a line for each theme: its properties, and the counts of their verdicts."""
    themes: dict[str, list[VerdictRow]] = {}
    for row in rows:
        themes.setdefault(theme_of(row.id, row.sentence), []).append(row)
    columns = _columns(Counter(map(_column, rows)))

    def line(name: str, members: Sequence[VerdictRow], style: str, zero: str) -> TableRow:
        counts = Counter(map(_column, members))
        style = style or next((style for column, style in _STYLES.items() if counts[column]), "")
        numbers = (f"{counts[column]:,}" if counts[column] else zero for column in columns)
        return TableRow((name, str(len({row.id for row in members})), *numbers), style=style)

    order = [*THEMES, OTHER]
    lines = [line(name, themes[name], "", "") for name in sorted(themes, key=order.index)]
    if len(lines) > 1:
        lines.append(line("all", rows, "bold", "0"))
    page.table(lines, ("", "properties", *columns), right=range(1, 2 + len(columns)), indent=0)


def _print_properties(rows: Sequence[VerdictRow], page: Page) -> None:
    """Print a line for each property and sentence: its worst mark, the counts of its verdicts, and the sentence."""
    claims: dict[tuple[str, str], list[VerdictRow]] = {}
    for row in rows:
        claims.setdefault((row.id, row.sentence), []).append(row)
    columns = _columns(Counter(map(_column, rows)))
    lines = []
    for (id_, sentence), members in claims.items():
        counts = Counter(map(_column, members))
        sign = max(map(show.mark, members), key=list(show.STYLES).index)
        lines.append(TableRow((id_, *(f"{counts[column] or ''}" for column in columns)), sentence, show.STYLES[sign], sign))
    page.table(lines, ("", *columns), right=range(1, 1 + len(columns)), indent=0)


def _columns(total: Counter[str]) -> list[str]:
    """Return the columns to show: those with a verdict, and always the first two."""
    return [column for column in _COLUMNS if total[column] or column in _COLUMNS[:2]]


def _column(row: VerdictRow) -> str:
    """Return the column of `_COLUMNS` in which a verdict counts.

    A property that holds and a state that can be reached hold. So does one that bounded programs did not refute, as expected.
    """
    if show.mark(row) == "!":
        return "unexpected"
    if row.agrees is None:
        return "undecided"
    return "violated as documented" if row.verdict == "violated" else "holds"


def _print_examples(rows: Sequence[VerdictRow], page: Page) -> None:
    """Print expected counterexamples from different themes, each with the command that shows it."""
    examples = _examples(rows)
    if not examples:
        return
    page.line("\nCounterexamples to documented violations, and the commands that show them:")
    for row in examples:
        steps = "" if row.length is None else f", {counted(row.length, 'step')}"
        page.wrapped(f"{row.id}  {row.sentence} ({row.profile}: {row.condition}{steps})", indent=8)
        page.line(f"        {witnessfiles.show_command(row.witness or '')}")


def _examples(rows: Sequence[VerdictRow]) -> list[VerdictRow]:
    """Return at most `EXAMPLES` expected violations with a witness, the instructive ones first, then the shortest of each further theme."""
    violated = [row for row in rows if row.verdict == "violated" and row.agrees and row.witness is not None and row.engine == "explicit"]
    latest = {(row.id, row.scope): row for row in violated}  # of several profiles and conditions, the last one: the newest profile
    chosen = [latest[key] for key in INSTRUCTIVE if key in latest]
    themes = {theme_of(row.id, row.sentence) for row in chosen}
    for row in sorted(violated, key=lambda row: (row.length or 0, row.id)):
        if (theme := theme_of(row.id, row.sentence)) not in themes:
            themes.add(theme)
            chosen.append(row)
    return chosen[:EXAMPLES]


def _print_more(report: CheckReport, page: Page) -> None:
    """Print where to find what is not on this page."""
    lines = []
    witnesses = len({row.witness for row in report.rows if row.witness is not None})
    if witnesses:
        lines.append((f"{counted(witnesses, 'witness', 'witnesses')} in a browser:", "rocketproof explore"))
    never = len({gap.action for gap in report.gaps if gap.missing == "action"})
    if show.is_cut(report):
        lines.append(("coverage is not judged: the run was stopped", ""))
    elif never:
        lines.append((f"{counted(never, 'action')} never happened in some scope:", "rocketproof check --all"))
    lines.append(("every verdict, with its condition:", "--all, --json FILE, --html FOLDER"))
    cached = sum(row.cached for row in report.rows)
    if cached:
        lines.append((f"{cached:,} verdicts of an earlier run; decide again:", "--fresh"))
    page.table([TableRow((what, how)) for what, how in lines], indent=0)
