"""What came of generated changes: rows, and the file that keeps them, from which a run goes on."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.reports.exitcode import exit_code

SCHEMA: Final = "rocketproof-generated-changes"
VERSION: Final = 1
NOTICED, SURVIVED, UNDECIDED = "noticed", "survived", "undecided"
UNREACHED, EQUIVALENT, UNSEEN = "unreached", "equivalent", "unseen"
VERDICTS: Final = (NOTICED, EQUIVALENT, UNSEEN, UNREACHED, SURVIVED, UNDECIDED)


@dataclass
class GeneratedResult:
    """What came of a change.

    `verdict`: noticed, `by` which property of a finding, or "target" where it did not start or ended; survived; unreached: no program goes
    through it; equivalent, or unseen: nothing that goes over the wire shows it, `how` says why; undecided. `worth`: how many programs go
    through it, `programs`: how many were judged.
    """

    id: str
    part: str
    module: str
    kind: str
    verdict: str
    by: str = ""
    how: str = ""
    worth: int = 0
    programs: int = 0
    seconds: float = 0.0

    def record(self) -> dict[str, Any]:
        return {**asdict(self), "seconds": round(self.seconds, 3)}


@dataclass
class GeneratedReport:
    """The rows, how they were made, and what stopped the run before its end, "" if nothing did."""

    asked: Mapping[str, Any]
    rows: list[GeneratedResult] = field(default_factory=list)
    stopped: str = ""
    seconds: float = 0.0

    @property
    def counts(self) -> Counter[str]:
        return Counter(row.verdict for row in self.rows)

    @property
    def share(self) -> float | None:
        """The part that is noticed of those that the wire can show; None without any. What no program reaches counts, too."""
        counts = self.counts
        of = counts[NOTICED] + counts[SURVIVED] + counts[UNREACHED]
        return counts[NOTICED] / of if of else None

    @property
    def exit_code(self) -> int:
        """1 if a change survived or is not reached, else 3 if one is undecided, else 0."""
        counts = self.counts
        return exit_code(findings=counts[SURVIVED] + counts[UNREACHED] > 0, undecided=counts[UNDECIDED] > 0)

    def record(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "version": VERSION,
            **self.asked,
            "stopped": self.stopped or None,
            "seconds": round(self.seconds, 3),
            "counts": {verdict: self.counts[verdict] for verdict in VERDICTS},
            "changes": [row.record() for row in self.rows],
        }


def known(path: Path, asked: Mapping[str, Any]) -> dict[str, GeneratedResult]:
    """The decided rows of an earlier run, by their ids. Raises InputError if the file is none, or of a run that was asked otherwise."""
    try:
        found: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
        if found["schema"] != SCHEMA or found["version"] != VERSION:
            raise KeyError
        other = [name for name, value in asked.items() if found[name] != value]
        rows = [GeneratedResult(**row) for row in found["changes"]]
    except OSError as error:
        raise InputError(f"--resume {path} cannot be read ({error.strerror}); give the file that --json wrote") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"--resume {path} is no result of mutate --generated; give the file that --json wrote") from None
    if other:
        raise InputError(f"--resume {path} is of a run with another {other[0]}; give the same one, or leave out --resume")
    return {row.id: row for row in rows if row.verdict != UNDECIDED}
