"""The results of faults of one kind: rounds, acknowledged messages, and violations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...judging.verdicts import ProgramFinding


class FaultViolation(NamedTuple):
    """A violation of a claim of `claims`. `reason`: why the violation is known, "" for a finding."""

    where: str
    claim: str
    text: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.claim}: {self.text}"


@dataclass
class FaultTests:
    """The results of one kind of fault, as in the report.

    `rounds`: number of injected faults. `states`: number of disk states on which a broker was started afterwards. `open`: messages without
    a response. `kept`: how many of them are stored nevertheless. `unknown`: what could not be checked, because a response was lost.
    """

    kind: str
    rounds: int = 0
    states: int = 0
    acknowledged: int = 0
    open: int = 0
    kept: int = 0
    topics: int = 0
    wrong: list[FaultViolation] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def findings(self) -> list[str]:
        """The violations that are not known."""
        return [str(violation) for violation in self.wrong if not violation.reason]

    @property
    def known(self) -> list[str]:
        """The known violations that occurred."""
        return [f"{violation} ({violation.reason})" for violation in self.wrong if violation.reason]

    @property
    def verdicts(self) -> list[ProgramFinding]:
        """All violations as findings of programs."""
        return [
            ProgramFinding(
                "claims",
                f"{self.kind}.{violation.claim.replace(' ', '_')}",
                f"{violation.where}: {violation.text}",
                known=bool(violation.reason),
                reason=violation.reason,
            )
            for violation in self.wrong
        ]

    def data(self) -> dict[str, Any]:
        """Return JSON values."""
        rest = {name: value for name, value in vars(self).items() if name not in ("wrong", "unknown", "seconds")}
        return {
            **rest,
            "wrong": [violation._asdict() for violation in self.wrong],
            "unknown": [*self.unknown],
            "seconds": round(self.seconds, 1),
        }

    @staticmethod
    def read(data: dict[str, Any]) -> FaultTests:
        """Parse the result of `data`."""
        return FaultTests(**{**data, "wrong": [FaultViolation(**row) for row in data["wrong"]]})
