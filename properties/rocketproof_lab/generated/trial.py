"""Try one change: run the programs that reach it on the changed implementation until one finds something."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rocketproof_properties.brokers.deployment import TargetError
from rocketproof_properties.programs.program import Program

from .baseline import perform
from .results import NOTICED, SURVIVED, UNDECIDED, GeneratedResult
from .switched import Tried
from .target import Forked

AT_A_TIME: Final = 8
"""Number of concurrent programs, and the same number of programs that let time pass."""
LONGEST: Final = 240.0
"""Time limit in seconds for the programs of one change. With 90 s, 10 % of the changes did not end on a machine with a load of 14 to 27."""
_TEXT: Final = 300
"""Maximum number of characters saved of a finding's text."""


def attempt(change: Tried, programs: Sequence[Program], profile: str) -> GeneratedResult:
    """Return the result of a change."""
    began = time.monotonic()
    target = Forked(profile, change.ready())
    row = GeneratedResult(change.id, change.part, change.module, change.kind, SURVIVED, worth=len(programs))
    try:
        with tempfile.TemporaryDirectory(prefix="rocketproof-") as name:
            report = perform(target, Path(name) / "run", programs, AT_A_TIME, LONGEST, lambda what, done, of: None)
    except TargetError as problem:
        row.verdict, row.by, row.how = NOTICED, "target", str(problem)[:_TEXT]
    else:
        verdicts = [finding.verdict for finding in report.findings] + [each for judged in report.judged for each in judged.unconfirmed]
        row.programs = len(report.judged)
        if verdicts:
            row.verdict, row.by, row.how = NOTICED, verdicts[0].property, verdicts[0].text[:_TEXT]
        elif report.stopped.startswith("--time"):
            row.verdict, row.how = UNDECIDED, f"only {row.programs} of {len(programs)} programs within {LONGEST:g} s"
        elif report.undecided and not report.stopped:
            row.verdict, row.how = UNDECIDED, f"{report.undecided[0].what}: {report.undecided[0].reason}"[:_TEXT]
        elif report.stopped:
            row.verdict, row.by, row.how = NOTICED, "target", report.stopped[:_TEXT]
    finally:
        target.end()
    row.seconds = time.monotonic() - began
    return row
