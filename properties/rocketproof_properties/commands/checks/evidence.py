"""What the files of a verdict are written from: those of a fresh verdict and those of a cached one are the same."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from rocketproof_model.language import show
from rocketproof_model.result import Outcome

from ...reports.files import keep_witness
from . import certificates, witnessfiles
from .plan import CheckTask
from .rows import VerdictRow


@dataclass(frozen=True)
class VerdictEvidence:
    """`witness` is the text of a witness file, None for a verdict without one. `invariants` are the terms that a proof takes beside its
    claim, None where there is no proof for a certificate."""

    witness: str | None
    invariants: tuple[str, ...] | None

    @classmethod
    def of(cls, task: CheckTask, outcome: Outcome) -> Self:
        """The evidence for an engine's answer."""
        witness = None if outcome.verdict == "unknown" or outcome.witness is None else witnessfiles.text(task, outcome.witness)
        invariants = outcome.details.get("invariants")
        return cls(witness, None if invariants is None else tuple(map(show, invariants)))

    def written(self, row: VerdictRow, task: CheckTask, path: str, folder: Path | None) -> VerdictRow:
        """The row with its witness at this path and its certificate in the folder, if one is given. Files of an older run are replaced, or
        removed. Raises InputError if one cannot be written."""
        return replace(row, witness=keep_witness(path, self.witness), certificate=certificates.save(folder, path, task, self.invariants))
