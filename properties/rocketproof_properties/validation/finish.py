"""What every report ends with: the causes of its findings, those that are accepted, and its files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from . import accept, drafts, report
from .causes import name_causes
from .report import ValidationReport


def finish(made: ValidationReport, folder: Path, entries: Sequence[accept.Accepted], notes: Iterable[str] = ()) -> None:
    """Name causes, mark what is accepted, and write the report with drafts for the project that makes the broker. Raises InputError."""
    _judge_accepted(made, entries)
    made.notes += notes
    name_causes(made.findings, folder, made.profile)
    report.write(made, folder)
    drafts.write(made, folder)


def _judge_accepted(made: ValidationReport, entries: Sequence[accept.Accepted]) -> None:
    """Mark the findings that are accepted, and say what is wrong with the entries."""
    today = datetime.now(UTC).date()
    sorted_ = accept.sort([one.verdict for one in made.findings], entries, today)
    by = dict(sorted_.taken)
    made.over = [*sorted_.over]
    for one in made.findings:
        one.accepted = by.get(one.verdict)
    made.notes = [] if made.stopped or made.undecided else [*sorted_.notes]  # what was not decided may be what an entry accepts
