"""What a validation left undecided. A program that no judge decided neither passes nor is a finding."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..judging.verdicts import Judge, JudgedProgram

MORE_STATES: Final = "states"
"""A larger bound on states may decide it."""
REPEAT: Final = "repeat"
"""Running its program again on the target may decide it."""
LOOK: Final = "look"
"""The reason states why the files could not be read."""


@dataclass(frozen=True)
class OpenQuestion:
    """An undecided question about a program, or (`program` 0) about a topic that programs share or a broker's files.

    `reason` is the bound that was reached, the unconfirmed verdict, or why the files could not be judged. `remedy` is MORE_STATES, REPEAT
    or LOOK.
    """

    program: int
    history: str
    judge: Judge
    reason: str
    remedy: str

    @property
    def what(self) -> str:
        """A text such as `program 17 by the specification`, `a shared topic by the specification` or `a broker's files by the claims`."""
        common = "a broker's files" if self.remedy == LOOK else "a shared topic"
        return f"{f'program {self.program}' if self.program else common} by the {self.judge}"

    def record(self) -> dict[str, Any]:
        """Return JSON values."""
        return {**vars(self), "what": self.what}


def beyond_bounds(judged: Sequence[JudgedProgram]) -> Iterator[OpenQuestion]:
    """Yield the parts of programs and the shared topics that the specification's judge did not decide within its bound."""
    for program in sorted(judged, key=lambda program: (not program.program, program.program)):
        for reason in program.unknown:
            yield OpenQuestion(program.program, place(program.path), "specification", reason, MORE_STATES)


def not_looked_at(logs: Sequence[JudgedProgram]) -> Iterator[OpenQuestion]:
    """Yield the logs and stores that could not be recorded or read."""
    for log in logs:
        for reason in dict.fromkeys(log.left_open.values()):
            yield OpenQuestion(log.program, place(log.path), "claims", reason, LOOK)


def unconfirmed(judged: Sequence[JudgedProgram], repeated: Collection[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the verdicts that depend on a fault of the connection, or on chance, as rows.

    `repeated` are the judge and property of verdicts whose programs were run again without the fault, so that they are not the target's.
    """
    return [
        {
            "program": program.program,
            "history": place(program.path),
            "judge": verdict.judge,
            "property": verdict.property,
            "text": verdict.text,
            "at": verdict.at,
            "repeated": (verdict.judge, verdict.property) in repeated,
        }
        for program in judged
        for verdict in program.unconfirmed
    ]


def never_repeated(judged: Sequence[JudgedProgram], repeated: Collection[tuple[str, str]]) -> Iterator[OpenQuestion]:
    """Yield the unconfirmed verdicts for which no program was run again: they may be the target's."""
    for row in unconfirmed(judged, repeated):
        if not row["repeated"]:
            reason = f"{row['property']} rests on a fault of the connection or on chance, and was not repeated: {row['text']}"
            yield OpenQuestion(row["program"], row["history"], row["judge"], reason, REPEAT)


def place(path: Path) -> str:
    """Return a history's path within its report's folder."""
    return f"{path.parent.name}/{path.name}"
