"""What a validation left undecided: no program passes that a judge did not come to the end of, and none is accused."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..judging.judging import Judge, JudgedProgram

MORE_STATES: Final = "states"
"""A larger bound on states may decide it."""
REPEAT: Final = "repeat"
"""Running its program again on the target may decide it."""
LOOK: Final = "look"
"""The reason says what keeps the files from being looked at."""


@dataclass(frozen=True)
class OpenQuestion:
    """A question that is open about a program, or (`program` 0) about a topic that programs share or a broker's files. `reason` is the
    bound that was reached, the verdict that nothing has confirmed, or what kept the files from being judged; `remedy` is MORE_STATES,
    REPEAT or LOOK."""

    program: int
    history: str
    judge: Judge
    reason: str
    remedy: str

    @property
    def what(self) -> str:
        """`program 17 by the specification`, `a shared topic by the specification`, `a broker's files by the claims`."""
        common = "a broker's files" if self.remedy == LOOK else "a shared topic"
        return f"{f'program {self.program}' if self.program else common} by the {self.judge}"

    def record(self) -> dict[str, Any]:
        """As JSON values."""
        return {**vars(self), "what": self.what}


def beyond_bounds(judged: Sequence[JudgedProgram]) -> Iterator[OpenQuestion]:
    """Yield the parts of programs and the shared topics that the specification's judge did not decide within its bound."""
    for one in sorted(judged, key=lambda one: (not one.program, one.program)):
        for reason in one.unknown:
            yield OpenQuestion(one.program, place(one.path), "specification", reason, MORE_STATES)


def not_looked_at(logs: Sequence[JudgedProgram]) -> Iterator[OpenQuestion]:
    """Yield the logs and stores that could not be kept or read."""
    for one in logs:
        for reason in dict.fromkeys(one.left_open.values()):
            yield OpenQuestion(one.program, place(one.path), "claims", reason, LOOK)


def unconfirmed(judged: Sequence[JudgedProgram], repeated: Collection[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the verdicts that rest on a fault of the connection, or on chance, as rows. `repeated` are the judge and property of those
    whose programs were run again: there the fault did not come again, so that it says nothing of the target."""
    return [
        {
            "program": one.program,
            "history": place(one.path),
            "judge": verdict.judge,
            "property": verdict.property,
            "text": verdict.text,
            "at": verdict.at,
            "repeated": (verdict.judge, verdict.property) in repeated,
        }
        for one in judged
        for verdict in one.unconfirmed
    ]


def never_repeated(judged: Sequence[JudgedProgram], repeated: Collection[tuple[str, str]]) -> Iterator[OpenQuestion]:
    """Yield the unconfirmed verdicts of which no program was run again: they may be the target's."""
    for row in unconfirmed(judged, repeated):
        if not row["repeated"]:
            reason = f"{row['property']} rests on a fault of the connection or on chance, and was not repeated: {row['text']}"
            yield OpenQuestion(row["program"], row["history"], row["judge"], reason, REPEAT)


def place(path: Path) -> str:
    """A history's path within its report's folder."""
    return f"{path.parent.name}/{path.name}"
