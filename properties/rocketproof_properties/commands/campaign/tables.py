"""Convert a campaign into rows of the result tables."""

from __future__ import annotations

from collections.abc import Iterator

from ...reports.tables import NO_PLACE, TableTarget, run_row
from .run import CampaignResult
from .totals import CampaignFinding


def append(target: TableTarget, done: CampaignResult, profile: str) -> None:
    """Add a campaign to the tables. Raises InputError."""
    run = run_row("campaign", profile, done.seconds, done.exit_code, stopped=bool(done.stopped), programs=done.totals.programs)
    target.append(run, {"findings": _findings(done.findings)})


def _findings(findings: list[CampaignFinding]) -> Iterator[dict[str, object]]:
    for finding in findings:
        expected = finding.is_expected()
        yield {
            **NO_PLACE, "store": finding.part, "profile": finding.profile, "rule": finding.property or "specification",
            "severity": "note" if expected else "error", "outcome": "ok" if expected else "differs",
            "place": f"{finding.condition or finding.part}: {' ; '.join(finding.steps)}", "file": finding.file,
            "expected": finding.expected or "a step of the specification", "found": finding.text, "reason": finding.sentence,
        }  # fmt: skip
