"""The results of generated changes, and the file that stores them so that a run can resume."""

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
    """The result of a change.

    `verdict` is one of:

    - noticed: `by` names the property of a finding, or "target" if it did not start or ended.
    - survived.
    - unreached: no program reaches it.
    - equivalent or unseen: it is not visible over the wire. `how` states why.
    - undecided.

    `worth`: number of programs that reach it. `programs`: number of judged programs.
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
    """The results with the options of the run. `stopped`: what ended the run early, "" if nothing did."""

    options: Mapping[str, Any]
    rows: list[GeneratedResult] = field(default_factory=list)
    stopped: str = ""
    seconds: float = 0.0

    @property
    def counts(self) -> Counter[str]:
        return Counter(row.verdict for row in self.rows)

    @property
    def share(self) -> float | None:
        """The noticed share of the changes that are visible over the wire, None without any. Unreached changes count."""
        counts = self.counts
        visible = counts[NOTICED] + counts[SURVIVED] + counts[UNREACHED]
        return counts[NOTICED] / visible if visible else None

    @property
    def exit_code(self) -> int:
        """1 if a change survived or is not reached, otherwise 3 if one is undecided, otherwise 0."""
        counts = self.counts
        return exit_code(findings=counts[SURVIVED] + counts[UNREACHED] > 0, undecided=counts[UNDECIDED] > 0)

    def record(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "version": VERSION,
            **self.options,
            "stopped": self.stopped or None,
            "seconds": round(self.seconds, 3),
            "counts": {verdict: self.counts[verdict] for verdict in VERDICTS},
            "changes": [row.record() for row in self.rows],
        }


def known(path: Path, options: Mapping[str, Any]) -> dict[str, GeneratedResult]:
    """Return the decided results of an earlier run by id. Raises InputError if the file is not such a run or its options differ."""
    try:
        saved: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
        if saved["schema"] != SCHEMA or saved["version"] != VERSION:
            raise KeyError
        differing = [name for name, value in options.items() if saved[name] != value]
        rows = [GeneratedResult(**row) for row in saved["changes"]]
    except OSError as error:
        raise InputError(f"--resume {path} cannot be read ({error.strerror}); give the file that --json wrote") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"--resume {path} is no result of mutate --generated; give the file that --json wrote") from None
    if differing:
        raise InputError(f"--resume {path} is of a run with another {differing[0]}; give the same one, or leave out --resume")
    return {row.id: row for row in rows if row.verdict != UNDECIDED}
