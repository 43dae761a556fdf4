"""What `rocketproof level` prints and reports: the rungs, the next step, and the requests that are not served."""

from __future__ import annotations

import shlex
from pathlib import Path

from ..reports.output import Page, TableRow, counted
from ..reports.results import Result, Run, lines, tool
from .climb import Climb, Failed, Rung
from .ladder import LEVELS
from .unserved import Unserved

COMMAND = "validate"


def render(found: Climb, folder: Path) -> None:
    """Print how far a broker came, and what it needs for the next level."""
    page = Page()
    page.line(f"{found.target} under {found.profile}\n")
    tried = {one.number: one for one in found.rungs}
    page.table(
        (TableRow((str(n), one.name, _word(tried.get(n))), _more(tried.get(n)), _style(tried.get(n))) for n, one in enumerate(LEVELS, 1)),
        right=(0,),
    )
    page.line(f"\n{_closing(found)}", "bold")
    if found.next is not None:
        _print_next(found.next, folder / found.next.history, found.profile, page)
    if found.unserved:
        page.line("\nRequests that are not served, and what is lost without each:")
        rows = sorted(found.unserved, key=lambda one: (one.level or len(LEVELS) + 1, one.code))
        page.table(
            (TableRow((str(one.code), one.request, f"level {one.level}" if one.level else ""), _lost(one)) for one in rows),
            ("code", "request", "needed for", "lost without it"),
            right=(0,),
        )
    elif found.next is None:
        page.line(f"Next: rocketproof validate with --programs 500, which judges all that {found.profile} does", "dim")


def _lost(one: Unserved) -> str:
    return one.lost if one.refused else f"{one.lost} (it is not answered at all)"


def _word(rung: Rung | None) -> str:
    if rung is None:
        return "-"
    if rung.failed is not None:
        return "no"
    return "yes" if rung.reached else "not decided" if rung.undecided else "not tried"


def _more(rung: Rung | None) -> str:
    if rung is None:
        return ""
    return "; ".join([*([f"{counted(rung.requests, 'request')}, {rung.seconds:.1f} s"] if rung.requests else []), *_without(rung)])


def _without(rung: Rung) -> list[str]:
    return [*(f"not tried: {why}" for why in rung.untried), *(f"not decided: {why}" for why in rung.undecided)]


def _style(rung: Rung | None) -> str:
    return {"no": "bold red", "yes": "green"}.get(_word(rung), "")


def _closing(found: Climb) -> str:
    return f"{found.target} reaches {found.short}, in {found.seconds:.1f} s" if found.level else f"{found.target} reaches no level yet"


def _print_next(rung: Rung, history: Path, profile: str, page: Page) -> None:
    failed = rung.failed
    assert failed is not None
    page.line()
    page.wrapped(f"Next step, level {rung.number}, {rung.level.name}: {rung.level.sentence}.")
    for name, text in _parts(failed):
        page.wrapped(" ".join(text.split()), first=f"  {name:<10}", indent=12)
    if rung.history:
        page.line(f"  all that was asked and answered: rocketproof explore {shlex.quote(str(history))} --profile {profile}", "dim")


def _parts(failed: Failed) -> list[tuple[str, str]]:
    named = {"asked": failed.request, "answered": failed.answer, "but": failed.text}
    return [(name, f"{text} ({failed.id})" if name == "but" and failed.id else text) for name, text in named.items() if text]


def run(found: Climb) -> Run:
    """The climb as a run: a result a level, from which every report is written."""
    notes = tuple(f"{one.request} ({one.code}) is not served: {one.answer}; lost without it: {one.lost}" for one in found.unserved)
    tried = {one.number: one for one in found.rungs}
    results = tuple(_result(number, tried.get(number), found.profile) for number in range(1, len(LEVELS) + 1))
    subject = f"{found.target} {found.version}".strip() if found.version not in found.target else found.target
    return Run(COMMAND, subject, results, found.exit_code, found.profile, found.began, found.seconds, tool(), notes, short=found.short)


def _result(number: int, rung: Rung | None, profile: str) -> Result:
    level = LEVELS[number - 1]
    failed = None if rung is None else rung.failed
    said = [f"{name} {text}" for name, text in _parts(failed)] if failed is not None else [] if rung is None else _without(rung)
    reached, undecided = (rung is not None and rung.reached), (rung is not None and rung.undecided)
    return Result(
        f"level {number}",
        f"{level.name}: {level.sentence}",
        "differs" if failed is not None else "ok" if reached else "undecided" if undecided else "skipped",
        "not reached" if failed is not None else "reached" if reached else "not decided" if undecided else "not tried",
        "reached",
        profile,
        message=" ".join(said[-1].split()) if said else "",
        details=lines(said) if len(said) > 1 else "",
    )
