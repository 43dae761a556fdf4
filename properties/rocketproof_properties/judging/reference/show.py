"""Print a replayed recording: the cases in which the implementation responds differently."""

from __future__ import annotations

import json

from ...reports.output import Page
from .recording import CaseOutcome, RecordingReport

CASES = 10
"""Number of differing cases that are printed without `--all`."""


def print_replay(report: RecordingReport, every: bool = False) -> None:
    """Print the first differing cases, or `every` such case, with the reason if they are excepted, and a closing line."""
    page = Page()
    differing = [outcome for outcome in report.outcomes if not outcome.same]
    for outcome in differing if every else differing[:CASES]:
        _print_outcome(outcome, page)
    if len(differing) > CASES and not every:
        page.line(f"and {len(differing) - CASES} more cases: --all shows them, --json FILE has them", "dim")
    counts = f"{report.same} alike, {len(report.excepted)} excepted, {len(report.different)} different"
    stopped = "; stopped by Ctrl-C before the others" if report.stopped else ""
    page.line(f"{len(report.outcomes)} cases compared under {report.profile}: {counts}{stopped}", "bold")


def _print_outcome(outcome: CaseOutcome, page: Page) -> None:
    page.line(f"{'?' if outcome.exception else '!'} {outcome.case.label}", "yellow" if outcome.exception else "bold red")
    for difference in outcome.differences:
        page.line(f"    {difference.field}")
        recorded, found = _shown(difference.recorded), _shown(difference.found)
        start = next((at for at, (a, b) in enumerate(zip(recorded, found, strict=False)) if a != b), 0)
        for label, text in (("recorded", recorded), ("found", found)):
            page.line(f"      {label:<9}{_cut(text, start, page.width - 15)}", "dim")
    for label, text in (("rules", ", ".join(outcome.rules)), ("excepted", outcome.exception)):
        if text:
            page.wrapped(text, "dim", first=f"    {label:<9}  ", indent=15)


def _shown(value: object) -> str:
    """Return a value on one line."""
    text = "null" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())


def _cut(text: str, start: int, width: int) -> str:
    """Return a part of a text that contains the position `start`."""
    if len(text) <= width:
        return text
    first = max(0, min(start - width // 3, len(text) - width))
    cut = text[first : first + width]
    return ("..." + cut[3:] if first else cut)[: width - 3] + ("..." if first + width < len(text) else cut[-3:])
