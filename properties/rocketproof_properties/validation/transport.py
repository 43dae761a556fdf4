"""What a validation says of the connection: the faults by kind, with examples, and whether there were too many to judge the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..judging.judging import JudgedProgram

_EXAMPLES: Final = 2
"""Of each kind."""


@dataclass(frozen=True)
class Transport:
    """Faults of the connection. `programs` of `judged` met one that leaves open what the broker has done; `wanted`: requests that
    wanted an answer, of which so many were `answered`; `examples` name a history each."""

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
        """As JSON."""
        return {"counts": dict(self.counts), "examples": list(self.examples), "programs": self.programs, "undecided": self.undecided}


def transport(judged: Sequence[JudgedProgram]) -> Transport:
    """What became of the connections of all programs."""
    counts: Counter[str] = Counter()
    examples = []
    for one in judged:
        for fault in one.faults:
            counts[fault.kind] += 1
            if counts[fault.kind] <= _EXAMPLES:
                examples.append(f"{fault.kind}: {fault} ({one.path.parent.name}/{one.path.name})")
    doubtful = sum(one.in_doubt for one in judged)
    wanted, answered = sum(one.wanted.total() for one in judged), sum(one.answered for one in judged)
    return Transport(dict(counts.most_common()), tuple(sorted(examples)), doubtful, len(judged), wanted, answered)
