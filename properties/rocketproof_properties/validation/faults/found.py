"""What came of faults of one kind: how often they struck, what was acknowledged before, and what was wrong behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...judging.judging import ProgramFinding


class Wrong(NamedTuple):
    """A sentence on what is not as a claim of `claims` says. `reason`: why that is known, "" for a finding."""

    where: str
    claim: str
    text: str
    reason: str = ""

    def __str__(self) -> str:
        return f"{self.where}: {self.claim}: {self.text}"


@dataclass
class FaultTests:
    """A campaign of one kind, as its report has it.

    `rounds`: how often a broker was loaded and the fault struck; `states`: on how many it was started afterwards. `open`: messages without
    an answer; `kept`: those of them that are stored all the same. `unknown`: what could not be looked at, since an answer was lost."""

    kind: str
    rounds: int = 0
    states: int = 0
    acknowledged: int = 0
    open: int = 0
    kept: int = 0
    topics: int = 0
    wrong: list[Wrong] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def findings(self) -> list[str]:
        """What is wrong and not known."""
        return [str(one) for one in self.wrong if not one.reason]

    @property
    def known(self) -> list[str]:
        """Known violations that were met."""
        return [f"{one} ({one.reason})" for one in self.wrong if one.reason]

    @property
    def verdicts(self) -> list[ProgramFinding]:
        """All that is wrong, as a judge of programs would say it."""
        return [
            ProgramFinding(
                "claims",
                f"{self.kind}.{one.claim.replace(' ', '_')}",
                f"{one.where}: {one.text}",
                known=bool(one.reason),
                reason=one.reason,
            )
            for one in self.wrong
        ]

    def data(self) -> dict[str, Any]:
        """As JSON."""
        rest = {name: value for name, value in vars(self).items() if name not in ("wrong", "unknown", "seconds")}
        return {**rest, "wrong": [one._asdict() for one in self.wrong], "unknown": [*self.unknown], "seconds": round(self.seconds, 1)}

    @staticmethod
    def read(data: dict[str, Any]) -> FaultTests:
        """What `data` has written."""
        return FaultTests(**{**data, "wrong": [Wrong(**one) for one in data["wrong"]]})
