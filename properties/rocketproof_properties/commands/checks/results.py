"""Convert a check, or a test by programs, into the run that reports are written from; also from a saved `--json` file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from rocketproof_model.errors import file_and_line

from ...catalogue.source import ModelSource
from ...reports.choices import MESSAGES
from ...reports.results import ActionCovered, Covered, GuardSides, Outcome, Result, Run, SourcePlace, begun, first_line, lines, tool
from . import show, witnessfiles
from .matrix import CheckReport
from .rows import FIELDS, LATER, VerdictRow, settle

SUBJECT = "the specification"
IMPLEMENTATION = "the reference implementation"
_CACHED = "cached: an earlier run of the same model and engine decided it"
_ERROR = "the run goes to its end without an error of its own"


def run(
    report: CheckReport,
    command: str,
    subject: str = SUBJECT,
    profile: str = "",
    left_out: Sequence[str] = (),
    places: Mapping[str, SourcePlace] = MappingProxyType({}),
) -> Run:
    """Return the rows as results, with the coverage. An engine's error is a result too. `places` maps ids to the source of the property."""
    results = [result(row, places.get(row.id)) for row in report.rows]
    results += [
        Result("run", _ERROR, "error", "error", about=first_line(problem), message=first_line(problem), details=problem)
        for problem in [*report.problems, *report.faults]
    ]
    return Run(
        command,
        subject,
        tuple(results),
        report.exit_code,
        profile,
        begun(report.seconds),
        report.seconds,
        tool(),
        tuple(f"not asked: {text}" for text in left_out),
        "Ctrl-C" if report.interrupted else "",
        () if show.is_cut(report) else tuple(_covered(report, label) for label in report.coverage),
    )


def stated(sources: Mapping[str, ModelSource]) -> dict[str, SourcePlace]:
    """Return the file and line at which each property of a model file is declared, by id."""
    places = {}
    for id_, source in sources.items():
        place = file_and_line(source.subject().property(id_).place)
        if place is not None:
            places[id_] = SourcePlace(*place)
    return places


def result(row: VerdictRow, place: SourcePlace | None = None) -> Result:
    """Return a row of the matrix as a result."""
    outcome: Outcome = "differs" if row.vacuous or row.agrees is False else "undecided" if row.agrees is None else "ok"
    message = show.remark(row) or (f"expected because {row.why}" if row.why and row.verdict == row.expected else "")
    numbers = {"states": row.states, "transitions": row.transitions, "depth": row.depth, "steps": row.length, "cached": row.cached or None}
    return Result(
        row.id,
        row.sentence,
        outcome,
        row.verdict,
        row.expected,
        row.profile,
        row.condition,
        row.engine,
        row.scope,
        message=message,
        details=lines(
            [
                f"explored or proved: {row.proof}" if row.proof else "",
                _CACHED * row.cached,
                f"expected because {row.why}" if row.why else "",
                *_invariants(row),
            ]
        ),
        witness=row.witness or "",
        commands=(witnessfiles.show_command(row.witness),) if row.witness else (),
        place=place,
        seconds=row.seconds,
        properties={name: str(value) for name, value in numbers.items() if value is not None},
    )


def _invariants(row: VerdictRow) -> list[str]:
    return [f"it stands on: {invariant}" for invariant in row.invariants]


def _covered(report: CheckReport, label: str) -> Covered:
    coverage = report.coverage[label]
    never = {gap.action for gap in report.gaps if gap.profile == label and gap.missing == "action"}
    guards: dict[str, list[GuardSides]] = {}
    for (action, name), (passed, refused) in coverage.guards.items():
        guard = report.guards[action, name]
        guards.setdefault(action, []).append(GuardSides(name, guard.sentence, passed, refused, guard.bound))
    actions = [
        ActionCovered(name, times, tuple(guards.get(name, ())), not times and name not in never, report.actions[name])
        for name, times in coverage.taken.items()
    ]
    return Covered(label, tuple(actions))


def read(data: Any) -> Run | None:
    """Return the run whose `check --json` or `test --json` wrote `data`; None for other data.

    Fields that the file lacks get default values, such as the kind of a property and whether it was vacuous.
    """
    if not isinstance(data, list) or not all(isinstance(row, dict) and set(FIELDS) - LATER <= row.keys() for row in data):
        return None
    rows = settle([_row(row) for row in data])
    return Run("check", SUBJECT, tuple(map(result, rows)), CheckReport(rows).exit_code)


def _row(record: Mapping[str, Any]) -> VerdictRow:
    values = {name: record[name] for name in FIELDS if name != "property" and name not in LATER}
    return VerdictRow(str(record["property"]), kind="history" if record["scope"] == MESSAGES else "", **values)
