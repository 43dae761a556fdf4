"""Convert an audit into the run that reports are written from: a result per rule that holds and per finding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from typing import Any

from rocketproof_traces.audit.findings import COLUMNS, AuditFinding
from rocketproof_traces.audit.rules import Rule

from ...catalogue.stored import stored_rules
from ...reports import recurring
from ...reports.exitcode import exit_code
from ...reports.results import Result, Run, SourcePlace, begun, lines, tool
from .command import Audited


def run(audited: Audited, seconds: float) -> Run:
    """Return the rules and findings of all stores as a run. `seconds` is the audit's duration."""
    totals = audited.outcome.totals
    notes = [f"left out of {store.store}: {text}" for store in totals for text in store.unread]
    for rule in audited.rules:
        number_kept, count = sum(finding.property == rule.id for finding in audited.findings), audited.count(rule.id)
        if number_kept < count:
            notes.append(f"{rule.id}: {number_kept:,} of {count:,} rows that break it are kept as findings")
    return Run(
        "audit",
        ", ".join(store.store for store in totals),
        tuple(_results(audited)),
        audited.exit_code,
        audited.profile,
        begun(seconds),
        seconds,
        tool(),
        tuple(notes),
        "Ctrl-C" if audited.outcome.stopped else "",
    )


def results_of_findings(audited: Audited) -> Iterator[tuple[AuditFinding, Result]]:
    """Yield each finding with its result."""
    rules = {rule.id: rule for rule in audited.rules}
    tolerated = rules.keys() - {rule.id for rule in audited.failing}
    for finding in audited.findings:
        yield finding, _finding(finding, rules, audited.profile_of(finding.store), tolerated)


def _results(audited: Audited) -> Iterator[Result]:
    yield from (result for _, result in results_of_findings(audited))
    for problem in audited.problems:
        yield recurring.not_audited(audited.profile, problem)
    broken = {finding.property for finding in audited.findings}
    for rule in audited.rules:
        if rule.id not in broken:
            yield recurring.unbroken(rule.id, rule.claim.sentence, audited.profile, stopped=audited.outcome.stopped)


def _finding(finding: AuditFinding, rules: Mapping[str, Rule], profile: str, tolerated: Set[str] = frozenset()) -> Result:
    """Convert a finding. A note, or a finding of a rule within its threshold, is no problem: it does not change the exit code either."""
    is_note = finding.severity == "note"
    accepted = is_note or finding.property in tolerated
    mark = "a note: " if is_note else "within the threshold: " if accepted else ""
    rule = rules.get(finding.property)
    file = finding.file if finding.file.startswith(finding.store) else f"{finding.store.rstrip('/')}/{finding.file}"
    queue = f" queue {finding.queue_id}" if finding.queue_id >= 0 else ""
    offset = f" offset {finding.queue_offset:,}" if finding.queue_offset >= 0 else ""
    return Result(
        finding.property,
        rule.claim.sentence if rule is not None else finding.reason,
        "ok" if accepted else "differs",
        "violated",
        "holds",
        profile,
        about=f"{finding.store}, {finding.file} at {finding.offset}",
        message=f"{mark}expected {finding.expected}, found {finding.found}",
        details=lines(
            [f"topic {finding.topic}{queue}{offset}" if finding.topic else "", f"bytes there: {finding.hex}" if finding.hex else ""]
        ),
        place=SourcePlace(file, offset=finding.offset),
        properties={"severity": finding.severity, "topic": finding.topic},
    )


def read(data: Any) -> Run | None:
    """Return the run whose `audit --json` wrote `data`; None for other data. The file has findings only, so rules that hold are missing."""
    if not isinstance(data, list) or not data or not all(isinstance(row, dict) and set(COLUMNS.values()) == row.keys() for row in data):
        return None
    rules = {rule.id: rule for rule in stored_rules()}
    results = tuple(_finding(AuditFinding.of(row), rules, "") for row in data)
    stores = ", ".join(dict.fromkeys(row["store"] for row in data))
    code = exit_code(findings=any(result.outcome != "ok" for result in results), undecided=False)
    return Run("audit", stores, results, code, whole=False)
