"""All findings of a planted fault are listed in full and grouped by cause."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from seeded import SeededFault

from rocketproof_properties.validation import results
from rocketproof_properties.validation.validate import ValidationRequest, validate


def test_findings_of_a_planted_mutant_are_grouped_by_cause(tmp_path: Path) -> None:
    found = validate(ValidationRequest(SeededFault("M-15a"), tmp_path / "report", 60, 85, 2, shrink=6))
    causes = Counter(finding.cause for finding in found.findings)
    assert max(causes.values()) > 1, "sends under names that no topic may have"
    made = results.run(json.loads((tmp_path / "report/report.json").read_text()), tmp_path / "report")
    bad = [one for one in made.results if one.outcome == "differs"]
    performed = [finding for finding in found.findings if finding.file]  # the others are about the results of all programs
    assert len(bad) == len(found.findings) and len(performed) == len(list((tmp_path / "report/programs").iterdir()))
    first = next(one for result in bad for one in performed if result.witness.endswith(one.file))
    assert len(first.program.steps) == min(len(one.program.steps) for one in performed if one.cause == first.cause)
