"""Is a lost or doubled answer the target's, or that of what lies between? Its program is run again.

A connection that loses an answer now and then does not lose that of the same request each time; a broker that answers a request twice or
never does. So a verdict that rests on such a fault alone becomes a finding when each repetition has it at the same request. There are three
repetitions, more over a connection that loses much: as many as it takes for chance to be out of the question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..brokers.runs.runner import Runner
from ..judging.judging import JudgedProgram, ProgramFinding, judge_file
from ..programs.program import Program
from .undecided import place

FEWEST, MOST = 3, 20
"""Repetitions."""
BY_CHANCE: Final = 1e-7
"""How likely a connection may be to have the same fault in each repetition."""
MOST_TRIED: Final = 2
"""Programs that are run again for one property."""
MOST_PROPERTIES: Final = 6
"""Properties of which MOST_TRIED programs are run again, those that most programs show; of each further one a single program is, once in a
validation, so that no verdict is left unconfirmed without a try."""


@dataclass(frozen=True)
class Confirmation:
    """Where programs are run again. `known`: the judge and property of findings that there are already; `over` ends it. `repeated` gets the
    judge and property of those that did not come again."""

    runner: Runner
    folder: Path
    profile: str
    known: Collection[tuple[str, str]]
    over: Callable[[], bool]
    repeated: set[tuple[str, str]]

    def confirm(self, judged: Sequence[JudgedProgram], programs: Mapping[Path, Program]) -> None:
        """Make findings of the verdicts that come again each time, beginning with programs that are short and do not wait. Raises Gone."""
        found: dict[tuple[str, str], list[tuple[JudgedProgram, ProgramFinding]]] = {}
        for one in judged:
            for verdict in one.unconfirmed:
                found.setdefault((verdict.judge, verdict.property), []).append((one, verdict))

        def length(row: tuple[JudgedProgram, ProgramFinding]) -> tuple[bool, int]:
            program = programs[row[0].path]
            return program.waits, len(program.steps)

        new = [(key, rows) for key, rows in found.items() if key not in self.known]
        for number, (key, rows) in enumerate(sorted(new, key=lambda pair: len(pair[1]), reverse=True)):
            tries = MOST_TRIED if number < MOST_PROPERTIES else int(key not in self.repeated)
            for one, verdict in sorted(rows, key=length)[:tries]:
                if self.over():
                    return
                if self._comes_again(programs[one.path], verdict, repetitions(judged, one, verdict)):
                    accept(one, verdict)
                    break
                self.repeated.add(key)

    def _comes_again(self, program: Program, verdict: ProgramFinding, times: int) -> bool:
        self.folder.mkdir(exist_ok=True)
        for _ in range(times):
            path = self.runner.perform(program, self.folder)
            again = judge_file(path, self.profile, (verdict.judge,)).alike(verdict)
            path.unlink()
            if verdict.at not in {one.at for one in again}:
                return False
        return True


def repetitions(judged: Sequence[JudgedProgram], of: JudgedProgram, verdict: ProgramFinding) -> int:
    """How often a program has to show a fault again: the more faults requests of other kinds have, the more often."""
    op = next((one.op for one in of.faults if one.at == verdict.at), "")
    faults = sum(one.leaves_doubt and one.op not in ("", op) for each in judged for one in each.faults)
    others = sum(each.wanted.total() - each.wanted[op] for each in judged)
    rate = (faults + 1) / (others + 2)
    return min(MOST, max(FEWEST, math.ceil(math.log(BY_CHANCE) / math.log(rate)))) if rate < 1 else MOST


def accept(judged: JudgedProgram, verdict: ProgramFinding) -> None:
    """Make a finding of an unconfirmed verdict."""
    judged.unconfirmed.remove(verdict)
    judged.verdicts.append(verdict)


def restore(judged: Sequence[JudgedProgram], old: Mapping[str, Any]) -> None:
    """Make findings of the verdicts that an earlier report's run has confirmed: each of the program that was run again, and of no other."""
    confirmed = {(row["program"]["number"], row["judge"], row["property"]): row for row in old.get("findings") or () if row.get("at")}
    for one in judged:
        for verdict in [*one.unconfirmed]:
            row = confirmed.get((one.program, verdict.judge, verdict.property))
            if row is not None and (row["history"] != place(one.path) or row["at"] == verdict.at):
                del confirmed[one.program, verdict.judge, verdict.property]
                accept(one, verdict)


def repeated_before(old: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return the judge and property of the unconfirmed verdicts whose programs an earlier report's run has run again."""
    return {(str(row["judge"]), str(row["property"])) for row in old.get("unconfirmed") or () if row["repeated"]}
