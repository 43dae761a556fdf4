"""Run programs with lost or repeated responses again, to distinguish faults of the target from faults of the connection.

A faulty connection does not lose the response to the same request every time. A faulty broker repeats a response, or does not send it,
every time. A verdict that depends only on such a fault becomes a finding if every repetition shows the fault at the same request. There are
at least three repetitions. A connection with many faults needs more, until chance is excluded.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..brokers.runs.runner import Runner
from ..judging.judging import judge_file
from ..judging.verdicts import JudgedProgram, ProgramFinding
from ..programs.program import Program
from .undecided import place

FEWEST, MOST = 3, 20
"""Minimum and maximum number of repetitions."""
BY_CHANCE: Final = 1e-7
"""Maximum probability that a connection has the same fault in every repetition."""
MOST_TRIED: Final = 2
"""Maximum number of programs that are run again per property."""
MOST_PROPERTIES: Final = 6
"""Number of properties with MOST_TRIED repeated programs, by the number of programs that show them.

For each other property one program is run again, once per validation, so that every unconfirmed verdict was tried.
"""


@dataclass(frozen=True)
class Confirmation:
    """Runs programs again.

    `known`: judge and property of existing findings. `over`: whether to stop. `repeated` receives the judge and property of verdicts that
    were not reproduced.
    """

    runner: Runner
    folder: Path
    profile: str
    known: Collection[tuple[str, str]]
    over: Callable[[], bool]
    repeated: set[tuple[str, str]]

    def confirm(self, judged: Sequence[JudgedProgram], programs: Mapping[Path, Program]) -> None:
        """Turn verdicts that every repetition shows into findings. Short programs that do not wait are run first. Raises Gone."""
        unconfirmed: dict[tuple[str, str], list[tuple[JudgedProgram, ProgramFinding]]] = {}
        for judged_program in judged:
            for verdict in judged_program.unconfirmed:
                unconfirmed.setdefault((verdict.judge, verdict.property), []).append((judged_program, verdict))

        def length(row: tuple[JudgedProgram, ProgramFinding]) -> tuple[bool, int]:
            program = programs[row[0].path]
            return program.waits, len(program.steps)

        new = [(key, rows) for key, rows in unconfirmed.items() if key not in self.known]
        for number, (key, rows) in enumerate(sorted(new, key=lambda pair: len(pair[1]), reverse=True)):
            tries = MOST_TRIED if number < MOST_PROPERTIES else int(key not in self.repeated)
            for judged_program, verdict in sorted(rows, key=length)[:tries]:
                if self.over():
                    return
                if self._is_reproduced(programs[judged_program.path], verdict, repetitions(judged, judged_program, verdict)):
                    accept(judged_program, verdict)
                    break
                self.repeated.add(key)

    def _is_reproduced(self, program: Program, verdict: ProgramFinding, times: int) -> bool:
        self.folder.mkdir(exist_ok=True)
        for _ in range(times):
            path = self.runner.perform(program, self.folder)
            again = judge_file(path, self.profile, (verdict.judge,)).alike(verdict)
            path.unlink()
            if verdict.at not in {finding.at for finding in again}:
                return False
        return True


def repetitions(judged: Sequence[JudgedProgram], program: JudgedProgram, verdict: ProgramFinding) -> int:
    """Return the required number of repetitions, which grows with the rate of faults at other kinds of requests."""
    op = next((fault.op for fault in program.faults if fault.at == verdict.at), "")
    faults = sum(fault.leaves_doubt and fault.op not in ("", op) for other in judged for fault in other.faults)
    others = sum(other.wanted.total() - other.wanted[op] for other in judged)
    rate = (faults + 1) / (others + 2)
    return min(MOST, max(FEWEST, math.ceil(math.log(BY_CHANCE) / math.log(rate)))) if rate < 1 else MOST


def accept(judged: JudgedProgram, verdict: ProgramFinding) -> None:
    """Turn an unconfirmed verdict into a finding."""
    judged.unconfirmed.remove(verdict)
    judged.deviations.append(verdict)


def restore(judged: Sequence[JudgedProgram], old: Mapping[str, Any]) -> None:
    """Turn verdicts that an earlier report confirmed into findings again, for the program that was repeated and no other."""
    confirmed = {(row["program"]["number"], row["judge"], row["property"]): row for row in old.get("findings") or () if row.get("at")}
    for program in judged:
        for verdict in [*program.unconfirmed]:
            row = confirmed.get((program.program, verdict.judge, verdict.property))
            if row is not None and (row["history"] != place(program.path) or row["at"] == verdict.at):
                del confirmed[program.program, verdict.judge, verdict.property]
                accept(program, verdict)


def repeated_before(old: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return the judge and property of the unconfirmed verdicts whose programs were run again for an earlier report."""
    return {(str(row["judge"]), str(row["property"])) for row in old.get("unconfirmed") or () if row["repeated"]}
