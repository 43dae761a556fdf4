"""Judge the histories of a saved report again, without a target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rocketproof_protocol.numbers import whole_number
from rocketproof_traces.checker.steps import SearchBound

from ..brokers.runs.parsed import load
from ..conformance.witnesses.known import HazardReplayed
from ..judging.judging import judge_file
from ..judging.specification import EXPANDED, judge_shared
from ..judging.verdicts import ProgramFinding, finding_key
from ..judging.wholelog import LOGS, judge_log
from ..programs.coverplan import plan
from ..programs.parts import Capability
from ..programs.program import Program
from ..reports.choices import InputError
from ..reports.results import tool
from . import accept, report
from .confirm import repeated_before, restore
from .cover import coverage
from .faults.found import FaultTests
from .finish import finish
from .report import HISTORIES, ValidationFinding, ValidationReport
from .validate import Progress, possible


def again(
    folder: Path,
    profile: str | None,
    entries: Sequence[accept.Accepted],
    progress: Progress = lambda what, done, all_: None,
    states: int | None = None,
) -> ValidationReport:
    """Judge the histories of a saved report again, and rewrite the report.

    `states` is the specification's bound, by default the bound of the report. Raises InputError, TraceError.
    """
    old = report.read(folder)
    settings = dict(old.get("settings") or {})
    bound = SearchBound(states or settings.get("states") or EXPANDED.states)
    new = ValidationReport(
        old["target"],
        profile or str(old["profile"]),
        whole_number(old["seed"]),
        whole_number(old["programs"]["asked"]),
        {**settings, "states": bound.states},
        tool(),
        str(old["began"]),
        float(old["seconds"]),
    )
    new.lost, new.stopped = dict(old.get("lost") or {}), str(old.get("stopped") or "")
    new.witnesses = [HazardReplayed.read(row) for row in old.get("witnesses") or ()]
    new.faults = [FaultTests.read(row) for row in old["faults"]]
    paths = sorted((folder / HISTORIES).glob("*.ndjson"))
    if not paths:
        raise InputError(f"--again {folder}: there are no histories in it; give the folder of a report that validate has written")
    programs: dict[Path, Program] = {}
    for number, path in enumerate(paths, 1):
        programs[path] = load(path).program
        new.judged.append(judge_file(path, new.profile, bound=bound))
        progress("history", number, len(paths))
    for path in sorted((folder / LOGS).glob("*.ndjson")):
        programs[path] = load(path).program
        new.logs.append(judge_log(path, new.profile))
    restore(new.judged, old)
    new.repeated = repeated_before(old)
    if "cover" in settings:
        offers = {Capability(offer) for offer in new.target.get("offers", ())}
        new.coverage = coverage(plan(str(old["profile"]), new.seed, **possible(offers), only=settings["cover"]), new.judged)
    new.shared = judge_shared(new.judged, new.profile, bound)
    new.findings = report.gather((*new.judged, *new.logs, *new.shared), programs)
    _restore_repetitions(new.findings, old, folder, new.profile, bound)
    new.findings[:0] = [*filter(None, map(_without_history, old.get("findings") or ()))]
    finish(new, folder, entries)
    return new


def _without_history(row: Mapping[str, Any]) -> ValidationFinding | None:
    """Return the finding of a saved report's row without a history, such as an unserved request; None for other rows, which are judged
    again.
    """
    if row["history"]:
        return None
    program = row.get("program") or {}
    needs, steps = str(program.get("needs") or ""), tuple((name, dict(args)) for name, args in program.get("steps") or ())
    verdict = ProgramFinding(row["judge"], row["property"], row["text"], rules=tuple(row.get("rules") or ()))
    return ValidationFinding(verdict, Program(0, needs, steps, needs), "", whole_number(row["programs"]), cause=str(row.get("cause") or ""))


def _restore_repetitions(
    findings: Sequence[ValidationFinding], old: Mapping[str, Any], folder: Path, profile: str, bound: SearchBound
) -> None:
    """Restore how often each finding was reproduced.

    Restore its smallest program if it also shows the finding under this profile. No target is contacted.
    """
    rows = {finding_key(row["judge"], row["property"], row.get("difference")): row for row in old.get("findings") or ()}
    for finding in findings:
        row = rows.get(finding.key)
        path = folder / row["history"] if row is not None else None
        if row is None or path is None or not path.exists():
            continue
        same = judge_file(path, profile, (finding.verdict.judge,), bound).alike(finding.verdict)
        if same:
            finding.again, finding.repeats = whole_number(row["again"]), whole_number(row["repeats"])
            finding.verdict, finding.program, finding.history = same[0], load(path).program, row["history"]
