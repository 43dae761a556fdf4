"""The faults of the connection in a validation: counts by kind, examples, and whether there were too many to judge the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..judging.verdicts import JudgedProgram

_EXAMPLES: Final = 2
"""Maximum number of examples per kind."""


@dataclass(frozen=True)
class Transport:
    """Faults of the connection.

    `programs` of `judged` had a fault that leaves open what the broker did. `wanted` is the number of requests that expect a response,
    `answered` the number of responses. Each example names a history.
    """

    counts: Mapping[str, int]
    examples: tuple[str, ...]
    programs: int
    judged: int
    wanted: int
    answered: int

    @property
    def undecided(self) -> str:
        """Why the target cannot be judged over this connection, "" if it can."""
        if self.wanted and not self.answered:
            return "no request was answered"
        if 2 * self.programs > self.judged:
            return f"faults of the connection leave open what the broker did in {self.programs} of {self.judged} programs"
        return ""

    def data(self) -> dict[str, Any]:
        """Return JSON values."""
        return {"counts": dict(self.counts), "examples": list(self.examples), "programs": self.programs, "undecided": self.undecided}


def transport(judged: Sequence[JudgedProgram]) -> Transport:
    """Return the faults of the connections of all programs."""
    counts: Counter[str] = Counter()
    examples = []
    for program in judged:
        for fault in program.faults:
            counts[fault.kind] += 1
            if counts[fault.kind] <= _EXAMPLES:
                examples.append(f"{fault.kind}: {fault} ({program.path.parent.name}/{program.path.name})")
    doubtful = sum(program.in_doubt for program in judged)
    expected, answered = sum(program.wanted.total() for program in judged), sum(program.answered for program in judged)
    return Transport(dict(counts.most_common()), tuple(sorted(examples)), doubtful, len(judged), expected, answered)
