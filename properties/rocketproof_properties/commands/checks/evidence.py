"""The evidence of a verdict, from which its files are written. Fresh and cached verdicts produce the same files."""

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
    """`witness` is the text of a witness file, None for a verdict without witness.

    `invariants` are the terms that a proof uses in addition to its claim, None if there is no proof.
    """

    witness: str | None
    invariants: tuple[str, ...] | None

    @classmethod
    def of(cls, task: CheckTask, outcome: Outcome) -> Self:
        """Return the evidence of an engine's answer."""
        witness = None if outcome.verdict == "unknown" or outcome.witness is None else witnessfiles.text(task, outcome.witness)
        invariants = outcome.details.get("invariants")
        return cls(witness, None if invariants is None else tuple(map(show, invariants)))

    def written(self, row: VerdictRow, task: CheckTask, path: str, folder: Path | None) -> VerdictRow:
        """Write the witness to `path` and the certificate into `folder`, if given, and return the row with both paths.

        Files of an earlier run are replaced or removed. Raises InputError if a file cannot be written.
        """
        return replace(row, witness=keep_witness(path, self.witness), certificate=certificates.save(folder, path, task, self.invariants))
