"""The last steps of every report: accepted findings, causes of findings, their order and text, and files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from . import accept, drafts, report
from .causes import in_order, name_causes
from .report import ValidationReport
from .text import text_of


def finish(validation: ValidationReport, folder: Path, entries: Sequence[accept.Accepted], notes: Iterable[str] = ()) -> None:
    """Name the causes, order the findings for display, mark accepted ones, and write the report with draft bug reports.

    Raises InputError.
    """
    _judge_accepted(validation, entries)
    validation.notes += notes
    name_causes(validation.findings, folder, validation.profile)
    validation.findings = in_order(validation.findings)
    for finding in validation.findings:
        finding.details = text_of(finding, validation, folder).whole({})
    report.write(validation, folder)
    drafts.write(validation, folder)


def _judge_accepted(validation: ValidationReport, entries: Sequence[accept.Accepted]) -> None:
    """Mark the accepted findings and known violations that the target has fixed, and record problems with the entries."""
    today = datetime.now(UTC).date()
    not_shown = [row.id for row in validation.vanished] + [witness.hazard for witness in validation.not_reproduced]
    sorted_ = accept.sort([finding.verdict for finding in validation.findings], entries, today, not_shown)
    entry_of = dict(sorted_.taken)
    validation.over, validation.fixed = [*sorted_.over], sorted_.fixed
    for finding in validation.findings:
        finding.accepted = entry_of.get(finding.verdict)
    validation.notes = (
        [] if validation.stopped or validation.undecided else [*sorted_.notes]
    )  # an entry may accept something that is undecided
