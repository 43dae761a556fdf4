"""A saved report judged again: the same histories, no target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rocketproof_protocol.numbers import whole_number
from rocketproof_traces.checker.steps import SearchBound

from ..brokers.runs.parsed import load
from ..conformance.witnesses.known import HazardReplayed
from ..judging.judging import EXPANDED, ProgramFinding, judge_file, judge_shared
from ..judging.wholelog import LOGS, judge_log
from ..programs.program import Program
from ..reports.choices import InputError
from ..reports.results import tool
from . import accept, report
from .confirm import repeated_before, restore
from .faults.found import FaultTests
from .finish import finish
from .report import HISTORIES, ValidationFinding, ValidationReport
from .validate import Progress


def again(
    folder: Path,
    profile: str | None,
    entries: Sequence[accept.Accepted],
    progress: Progress = lambda what, done, all_: None,
    states: int | None = None,
) -> ValidationReport:
    """Judge the histories of a saved report again, and write the report anew. `states` is the specification's bound, that of the report
    unless given. Raises InputError, TraceError."""
    old = report.read(folder)
    settings = dict(old.get("settings") or {})
    bound = SearchBound(states or settings.get("states") or EXPANDED.states)
    made = ValidationReport(
        old["target"],
        profile or str(old["profile"]),
        whole_number(old["seed"]),
        whole_number(old["programs"]["asked"]),
        {**settings, "states": bound.states},
        tool(),
        str(old["began"]),
        float(old["seconds"]),
    )
    made.lost, made.stopped = dict(old.get("lost") or {}), str(old.get("stopped") or "")
    made.witnesses = [HazardReplayed.read(row) for row in old.get("witnesses") or ()]
    made.faults = [FaultTests.read(row) for row in old["faults"]]
    paths = sorted((folder / HISTORIES).glob("*.ndjson"))
    if not paths:
        raise InputError(f"--again {folder}: there are no histories in it; give the folder of a report that validate has written")
    programs: dict[Path, Program] = {}
    for number, path in enumerate(paths, 1):
        programs[path] = load(path).program
        made.judged.append(judge_file(path, made.profile, bound=bound))
        progress("history", number, len(paths))
    for path in sorted((folder / LOGS).glob("*.ndjson")):
        programs[path] = load(path).program
        made.logs.append(judge_log(path, made.profile))
    restore(made.judged, old)
    made.repeated = repeated_before(old)
    made.shared = judge_shared(made.judged, made.profile, bound)
    made.findings = report.gather((*made.judged, *made.logs, *made.shared), programs)
    _repeated(made.findings, old, folder, made.profile, bound)
    made.findings[:0] = [*filter(None, map(_of_no_history, old.get("findings") or ()))]
    finish(made, folder, entries)
    return made


def _of_no_history(row: Mapping[str, Any]) -> ValidationFinding | None:
    """The finding of a saved report's row that no history shows, such as an unserved request; None for others, which are judged again."""
    if row["history"]:
        return None
    program = row.get("program") or {}
    needs, steps = str(program.get("needs") or ""), tuple((name, dict(args)) for name, args in program.get("steps") or ())
    verdict = ProgramFinding(row["judge"], row["property"], row["text"], rules=tuple(row.get("rules") or ()))
    return ValidationFinding(verdict, Program(0, needs, steps, needs), "", whole_number(row["programs"]), cause=str(row.get("cause") or ""))


def _repeated(findings: Sequence[ValidationFinding], old: Mapping[str, Any], folder: Path, profile: str, bound: SearchBound) -> None:
    """Keep how often a finding came again, and its smallest program if that shows it under this profile too: no target is asked now."""
    rows = {(row["judge"], row["property"]): row for row in old.get("findings") or ()}
    for one in findings:
        row = rows.get(one.key)
        path = folder / row["history"] if row is not None else None
        if row is None or path is None or not path.exists():
            continue
        same = judge_file(path, profile, (one.verdict.judge,), bound).alike(one.verdict)
        if same:
            one.again, one.repeats = whole_number(row["again"]), whole_number(row["repeats"])
            one.verdict, one.program, one.history = same[0], load(path).program, row["history"]
