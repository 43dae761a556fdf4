"""Print the result of `rocketproof level`: the levels, the next step, and the requests that are not served."""

from __future__ import annotations

import shlex
from pathlib import Path

from ..reports.output import Page, TableRow, counted
from ..reports.results import Result, Run, lines, tool
from .levels import LEVELS
from .leveltrials import LevelFailure, LevelReport, LevelResult
from .unserved import Unserved

COMMAND = "validate"


def render(report: LevelReport, folder: Path) -> None:
    """Print the level that a broker reached, and what it needs for the next level."""
    page = Page()
    page.line(f"{report.target} under {report.profile}\n")
    results = {result.number: result for result in report.results}
    page.table(
        (
            TableRow((str(n), level.name, _word(results.get(n))), _more(results.get(n)), _style(results.get(n)))
            for n, level in enumerate(LEVELS, 1)
        ),
        right=(0,),
    )
    page.line(f"\n{_closing(report)}", "bold")
    if report.next is not None:
        _print_next(report.next, folder / report.next.history, report.profile, page)
    if report.unserved:
        page.line("\nRequests that are not served, and what is lost without each:")
        rows = sorted(report.unserved, key=lambda request: (request.level or len(LEVELS) + 1, request.code))
        page.table(
            (TableRow((str(row.code), row.request, f"level {row.level}" if row.level else ""), _lost(row)) for row in rows),
            ("code", "request", "needed for", "lost without it"),
            right=(0,),
        )
    elif report.next is None:
        page.line(f"Next: rocketproof validate with --programs 500, which judges all that {report.profile} does", "dim")


def _lost(request: Unserved) -> str:
    return request.lost if request.refused else f"{request.lost} (it is not answered at all)"


def _word(result: LevelResult | None) -> str:
    if result is None:
        return "-"
    if result.failed is not None:
        return "no"
    return "yes" if result.reached else "not decided" if result.undecided else "not tried"


def _more(result: LevelResult | None) -> str:
    if result is None:
        return ""
    return "; ".join([*([f"{counted(result.requests, 'request')}, {result.seconds:.1f} s"] if result.requests else []), *_without(result)])


def _without(result: LevelResult) -> list[str]:
    return [*(f"not tried: {why}" for why in result.untried), *(f"not decided: {why}" for why in result.undecided)]


def _style(result: LevelResult | None) -> str:
    return {"no": "bold red", "yes": "green"}.get(_word(result), "")


def _closing(report: LevelReport) -> str:
    return f"{report.target} reaches {report.short}, in {report.seconds:.1f} s" if report.level else f"{report.target} reaches no level yet"


def _print_next(result: LevelResult, history: Path, profile: str, page: Page) -> None:
    failed = result.failed
    assert failed is not None
    page.line()
    page.wrapped(f"Next step, level {result.number}, {result.level.name}: {result.level.sentence}.")
    for name, text in _parts(failed):
        page.wrapped(" ".join(text.split()), first=f"  {name:<10}", indent=12)
    if result.history:
        page.line(f"  all that was asked and answered: rocketproof explore {shlex.quote(str(history))} --profile {profile}", "dim")


def _parts(failed: LevelFailure) -> list[tuple[str, str]]:
    named = {"asked": failed.request, "answered": failed.answer, "but": failed.text}
    return [(name, f"{text} ({failed.id})" if name == "but" and failed.id else text) for name, text in named.items() if text]


def run(report: LevelReport) -> Run:
    """Return the levels as a run with one result per level, from which every report is written."""
    notes = tuple(
        f"{request.request} ({request.code}) is not served: {request.answer}; lost without it: {request.lost}"
        for request in report.unserved
    )
    by_number = {result.number: result for result in report.results}
    results = tuple(_result(number, by_number.get(number), report.profile) for number in range(1, len(LEVELS) + 1))
    subject = f"{report.target} {report.version}".strip() if report.version not in report.target else report.target
    return Run(COMMAND, subject, results, report.exit_code, report.profile, report.began, report.seconds, tool(), notes, short=report.short)


def _result(number: int, result: LevelResult | None, profile: str) -> Result:
    level = LEVELS[number - 1]
    failed = None if result is None else result.failed
    parts = [f"{name} {text}" for name, text in _parts(failed)] if failed is not None else [] if result is None else _without(result)
    reached, undecided = (result is not None and result.reached), (result is not None and result.undecided)
    return Result(
        f"level {number}",
        f"{level.name}: {level.sentence}",
        "differs" if failed is not None else "ok" if reached else "undecided" if undecided else "skipped",
        "not reached" if failed is not None else "reached" if reached else "not decided" if undecided else "not tried",
        "reached",
        profile,
        message=" ".join(parts[-1].split()) if parts else "",
        details=lines(parts) if len(parts) > 1 else "",
    )
