"""What one planted fault shows is one cause, and all of it is listed."""

from __future__ import annotations

import json
from pathlib import Path

from seeded import SeededFault

from rocketproof_properties.validation import results
from rocketproof_properties.validation.validate import ValidationRequest, validate


def test_what_a_planted_mutant_shows_is_listed_in_full_and_shown_as_one_cause(tmp_path: Path) -> None:
    found = validate(ValidationRequest(SeededFault("M-15a"), tmp_path / "report", 60, 1, 2, shrink=6))
    assert len(found.findings) > 1 and len({one.cause for one in found.findings}) == 1
    made = results.run(json.loads((tmp_path / "report/report.json").read_text()), tmp_path / "report")
    bad = [one for one in made.results if one.outcome == "differs"]
    assert len(bad) == len(found.findings) == len(list((tmp_path / "report/programs").iterdir()))
    first = next(one for one in found.findings if bad[0].witness.endswith(one.file))
    assert len(first.program.steps) == min(len(one.program.steps) for one in found.findings)
