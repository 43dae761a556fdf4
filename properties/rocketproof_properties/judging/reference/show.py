"""What is printed of a replayed recording: the cases in which the implementation answers otherwise."""

from __future__ import annotations

import json

from ...reports.output import Page
from .recording import CaseOutcome, RecordingReport

CASES = 10
"""Cases that differ and are shown without `--all`."""


def print_replay(found: RecordingReport, every: bool = False) -> None:
    """Print the first recorded cases that came out differently, or `every` one, those that may with the reason, and a closing line."""
    page = Page()
    unlike = [one for one in found.outcomes if not one.same]
    for one in unlike if every else unlike[:CASES]:
        _print_outcome(one, page)
    if len(unlike) > CASES and not every:
        page.line(f"and {len(unlike) - CASES} more cases: --all shows them, --json FILE has them", "dim")
    counts = f"{found.same} alike, {len(found.excepted)} excepted, {len(found.different)} different"
    stopped = "; stopped by Ctrl-C before the others" if found.stopped else ""
    page.line(f"{len(found.outcomes)} cases compared under {found.profile}: {counts}{stopped}", "bold")


def _print_outcome(one: CaseOutcome, page: Page) -> None:
    page.line(f"{'?' if one.exception else '!'} {one.case.label}", "yellow" if one.exception else "bold red")
    for difference in one.differences:
        page.line(f"    {difference.field}")
        recorded, found = _shown(difference.recorded), _shown(difference.found)
        start = next((at for at, (a, b) in enumerate(zip(recorded, found, strict=False)) if a != b), 0)
        for what, text in (("recorded", recorded), ("found", found)):
            page.line(f"      {what:<9}{_cut(text, start, page.width - 15)}", "dim")
    for what, text in (("rules", ", ".join(one.rules)), ("excepted", one.exception)):
        if text:
            page.wrapped(text, "dim", first=f"    {what:<9}  ", indent=15)


def _shown(value: object) -> str:
    """A value on one line."""
    text = "null" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return " ".join(text.split())


def _cut(text: str, start: int, width: int) -> str:
    """A part of a text that shows what is at `start`."""
    if len(text) <= width:
        return text
    first = max(0, min(start - width // 3, len(text) - width))
    cut = text[first : first + width]
    return ("..." + cut[3:] if first else cut)[: width - 3] + ("..." if first + width < len(text) else cut[-3:])
