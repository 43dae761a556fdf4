"""The results of the specification's mutants, and the file that stores them so that a run can resume."""

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

from .instances import PARTS, catalogued, mutated_model, scopes

SCHEMA: Final = "rocketproof-specification-mutants"
VERSION: Final = 1
NOTICED, SURVIVED, UNDECIDED = "noticed", "survived", "undecided"
EQUAL, UNREACHABLE, STUTTERS, ARGUED = "equal", "unreachable", "stutters", "argued"
VERDICTS = (NOTICED, EQUAL, UNREACHABLE, STUTTERS, ARGUED, SURVIVED, UNDECIDED)


@dataclass(frozen=True)
class SpecificationResult:
    """The result of a mutant.

    `by` is what notices it: the id of a property, "implementation" or "types". `where` is the instance, `how` the observation. Verdicts of
    mutants that are not noticed:

    - `equal`: the same value in every state that types and invariants allow.
    - `unreachable`: no difference in any reachable state of any instance. The number `compared` of states represents all of them.
    - `stutters`: it only adds steps that change nothing or lead to the target of another step.
    - `argued`: it differs, and `how` states why nothing must notice it.
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
    """The results in the order of the specification. `stopped`: what ended the run early, "" if nothing did.

    `deviations`: differences between the implementation and the unchanged specification, in words with the program.
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
        """The share of decided mutants that did not survive."""
        counts = self.counts
        decided = len(self.rows) - counts[UNDECIDED]
        return 1.0 if not decided else 1 - counts[SURVIVED] / decided

    @property
    def exit_code(self) -> int:
        """1 if a mutant survived or the implementation deviates, otherwise 3 if a mutant is undecided, otherwise 0."""
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
    """Return the decided results and deviations of an earlier run. Raises InputError if the file is not such a run or belongs to another
    specification."""
    try:
        saved: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
        if saved["schema"] != SCHEMA or saved["version"] != VERSION:
            raise KeyError
        saved_fingerprint, rows = saved["specification"], [SpecificationResult(**row) for row in saved["mutants"]]
        deviations = list(map(str, saved["deviations"]))
    except OSError as error:
        raise InputError(f"--resume {path} cannot be read ({error.strerror}); give the file that --json wrote") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"--resume {path} is no result of mutate --specification; give the file that --json wrote") from None
    if saved_fingerprint != fingerprint():
        raise InputError(f"--resume {path} is about another specification or catalogue; leave out --resume to try all mutants again")
    return SpecificationReport([row for row in rows if row.verdict != UNDECIDED], deviations=deviations)


@cache
def fingerprint() -> str:
    """Return a hash of the rules, mutants and claims. It does not cover the implementation."""
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
            yield from mutated_model(scope).mutants
    for instance in catalogued():
        yield f"{instance.source.key} {sorted(instance.expected.items())}"
        yield from (show(claim.formula) for claim in instance.source.subject().properties if (claim.id, claim.kind) in instance.expected)
