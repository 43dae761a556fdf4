"""What came of the specification's mutants: rows, the file that keeps them, and from it a run that goes on."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from rocketproof_model.language import show
from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.reports.exitcode import exit_code
from rocketproof_spec import part

from .instances import PARTS, catalogued, scopes, spoilt

SCHEMA: Final = "rocketproof-specification-mutants"
VERSION: Final = 1
NOTICED, SURVIVED, UNDECIDED = "noticed", "survived", "undecided"
EQUAL, UNREACHABLE, STUTTERS, ARGUED = "equal", "unreachable", "stutters", "argued"
VERDICTS = (NOTICED, EQUAL, UNREACHABLE, STUTTERS, ARGUED, SURVIVED, UNDECIDED)


@dataclass(frozen=True)
class SpecificationResult:
    """What came of a mutant.

    `by` is what notices it: the id of a property, "implementation" or "types"; `where` the instance and `how` what was seen. A mutant
    that is `equal` has the same value in every state that types and invariants allow; one that is `unreachable` differs in no reachable
    state of any instance, of which `compared` stand for all; one that `stutters` only adds steps that change nothing or lead where others
    do; one that is `argued` differs, and `how` says why nothing has to notice it.
    """

    id: str
    part: str
    action: str
    verdict: str
    by: str = ""
    where: str = ""
    how: str = ""
    compared: int = 0

    def record(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class SpecificationReport:
    """The rows in the order of the specification, and what stopped the run before its end, "" if nothing did.

    `deviations`: where the implementation does otherwise than the specification itself, in words with the program.
    """

    rows: list[SpecificationResult] = field(default_factory=list)
    stopped: str = ""
    seconds: float = 0.0
    deviations: list[str] = field(default_factory=list)

    @property
    def counts(self) -> Counter[str]:
        return Counter(row.verdict for row in self.rows)

    @property
    def accounted(self) -> float:
        """The part of the decided mutants that did not survive."""
        counts = self.counts
        decided = len(self.rows) - counts[UNDECIDED]
        return 1.0 if not decided else 1 - counts[SURVIVED] / decided

    @property
    def exit_code(self) -> int:
        """1 if a mutant survived or the implementation deviates, else 3 if a mutant is undecided, else 0."""
        survived, undecided = self.counts[SURVIVED] > 0, self.counts[UNDECIDED] > 0
        return exit_code(findings=survived or self.deviations, undecided=undecided)

    def record(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "specification": fingerprint(),
            "stopped": self.stopped or None,
            "seconds": round(self.seconds, 3),
            "counts": {verdict: self.counts[verdict] for verdict in VERDICTS},
            "deviations": self.deviations,
            "mutants": [row.record() for row in self.rows],
        }


def known(path: Path) -> SpecificationReport:
    """An earlier run's decided rows and deviations. Raises InputError if the file is none, or of another specification."""
    try:
        found: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
        if found["schema"] != SCHEMA or found["version"] != VERSION:
            raise KeyError
        of, rows = found["specification"], [SpecificationResult(**row) for row in found["mutants"]]
        deviations = list(map(str, found["deviations"]))
    except OSError as error:
        raise InputError(f"--resume {path} cannot be read ({error.strerror}); give the file that --json wrote") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"--resume {path} is no result of mutate --specification; give the file that --json wrote") from None
    if of != fingerprint():
        raise InputError(f"--resume {path} is about another specification or catalogue; leave out --resume to try all mutants again")
    return SpecificationReport([row for row in rows if row.verdict != UNDECIDED], deviations=deviations)


@cache
def fingerprint() -> str:
    """Another one for other rules, mutants or claims. It does not know the implementation."""
    content = hashlib.sha256()
    for text in _texts():
        content.update(text.encode() + b"\n")
    return content.hexdigest()[:16]


def _texts() -> Iterable[str]:
    for part_ in PARTS:
        for scope in scopes(part_):
            for action in part(scope).model.actions:
                yield action.name
                yield from (show(guard.condition) for guard in action.guards)
                yield from (show(update.value) for update in action.updates)
            yield from spoilt(scope).mutants
    for one in catalogued():
        yield f"{one.source.key} {sorted(one.expected.items())}"
        yield from (show(claim.formula) for claim in one.source.subject().properties if (claim.id, claim.kind) in one.expected)
