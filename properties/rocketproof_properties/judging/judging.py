"""Judge one recorded program by the specification, the catalogue's claims and the reference implementation.

    read -> exchanges -> {specification, claims, reference} -> verdicts -> causes -> report

Each stage is a function of the result of the previous one, in the module of that name:

1. `brokers.runs.parsed.load` reads a history and pairs its requests with their responses, once (`rocketproof_traces.history.exchanges`).
2. `exchanges` adds what all judges read: the records that each request stored, the conditions that the program meets, transport faults.
3. `specification`, `claims` and `reference.findings` each judge the exchanges. None knows the others.
4. `verdicts` combines their results into a `JudgedProgram`.
5. `validation.causes` groups the findings of all programs by cause, and `validation.report` writes them.

Judging reads only the history, so a saved run can be judged again.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rocketproof_traces.checker.steps import SearchBound

from ..brokers.runs.parsed import ParsedHistory, load
from .claims import judge_claims
from .exchanges import exchanges_of
from .reference.findings import judge_reference
from .specification import EXPANDED, is_specified, judge_specification
from .verdicts import JUDGES, Judge, JudgedProgram, JudgeResult, judged_program


def judge_file(path: Path, profile: str, judges: Sequence[Judge] = JUDGES, bound: SearchBound = EXPANDED) -> JudgedProgram:
    """Judge a saved history. `bound` limits the specification's search. Raises TraceError for a file that is not a history."""
    return judge(load(path), path, profile, judges, bound)


def judge(
    history: ParsedHistory, path: Path, profile: str, judges: Sequence[Judge] = JUDGES, bound: SearchBound = EXPANDED
) -> JudgedProgram:
    """Judge a history by each of the judges that can decide it; `by` of the result names those."""
    program = exchanges_of(history, profile)
    results: list[JudgeResult] = []
    if "specification" in judges and is_specified(history):
        results.append(judge_specification(program, path, bound))
    if "claims" in judges:
        results.append(judge_claims(program))
    if "reference" in judges and (followed := judge_reference(program)) is not None:
        results.append(followed)
    return judged_program(program, path, results)
