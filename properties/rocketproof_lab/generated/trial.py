"""One change, tried: the programs that go through it are performed on the changed implementation until one finds something."""

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
"""Programs at a time, and as many again that let time pass."""
LONGEST: Final = 240.0
"""Seconds for the programs of one change. In 90 those of ten changes in a hundred did not end, on a machine with a load of 14 to 27."""
_TEXT: Final = 300
"""Characters that are kept of what was found."""


def attempt(change: Tried, programs: Sequence[Program], profile: str) -> GeneratedResult:
    """What came of a change."""
    began = time.monotonic()
    target = Forked(profile, change.ready())
    row = GeneratedResult(change.id, change.part, change.module, change.kind, SURVIVED, worth=len(programs))
    try:
        with tempfile.TemporaryDirectory(prefix="rocketproof-") as name:
            found = perform(target, Path(name) / "run", programs, AT_A_TIME, LONGEST, lambda what, done, of: None)
    except TargetError as problem:
        row.verdict, row.by, row.how = NOTICED, "target", str(problem)[:_TEXT]
    else:
        verdicts = [one.verdict for one in found.findings] + [one for judged in found.judged for one in judged.unconfirmed]
        row.programs = len(found.judged)
        if verdicts:
            row.verdict, row.by, row.how = NOTICED, verdicts[0].property, verdicts[0].text[:_TEXT]
        elif found.stopped.startswith("--time"):
            row.verdict, row.how = UNDECIDED, f"only {row.programs} of {len(programs)} programs within {LONGEST:g} s"
        elif found.undecided and not found.stopped:
            row.verdict, row.how = UNDECIDED, f"{found.undecided[0].what}: {found.undecided[0].reason}"[:_TEXT]
        elif found.stopped:
            row.verdict, row.by, row.how = NOTICED, "target", found.stopped[:_TEXT]
    finally:
        target.end()
    row.seconds = time.monotonic() - began
    return row
