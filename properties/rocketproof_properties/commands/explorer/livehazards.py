"""Writes known hazards as a folder of pages without a server: the scenario of each, and the counterexamples that show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path

from rocketproof_model import interrupts
from rocketproof_traces.explorer import page

from ...hazards.gallery import PerformedHazard
from ...reports import files
from ...reports.choices import InputError
from ...reports.output import ProgressLine, counted, tell
from ..checks.witnessfiles import slug
from . import catalogue, hazards, traces
from .traces import Wish

_INDEX = """<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Known hazards</title><style>body{{font:16px/1.5 system-ui,sans-serif;margin:2rem;max-width:60rem}}
@media(prefers-color-scheme:dark){{body{{background:#15171a;color:#e6e6e6}}a{{color:#8ab4f8}}}}</style>
<main><h1>Known hazards</h1><p>Each page has the scenario of a hazard. If the model has a counterexample for it, the counterexample
is listed too: walk through it, and branch off.</p>
<ul>{rows}</ul></main></html>
"""


def write(folder: Path, results: Sequence[PerformedHazard], profile: str | None) -> bool:
    """Write the pages of hazards that were run and `index.html`. Return False if Ctrl-C ended the search for counterexamples.

    The pages that the search found until then are written. Raises RocketproofError in one line.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--live {folder} cannot be written ({error.strerror}); give a folder of your own") from None
    offered = catalogue.properties(None)
    cases = {one.hazard.id: {id_: hazards.case_of(one.hazard, id_, offered) for id_ in one.hazard.properties} for one in results}
    wishes = dict.fromkeys(Wish(id_, **case) for shown in cases.values() for id_, case in shown.items() if case)
    pages, complete = _traces(folder, list(wishes))
    rows = ""
    walked = 0
    for one in results:
        shown = cases[one.hazard.id]
        linked = {id_: pages.get(Wish(id_, **case), "") for id_, case in shown.items() if case}
        page.write(folder / f"{one.hazard.id}.html", hazards.of_performed(one, shown, profile, linked).document())
        walks = ", ".join(f'<a href="{name}">{id_}</a>' for id_, name in linked.items() if name)
        walked += bool(walks)
        rows += f'<li><a href="{one.hazard.id}.html">{one.hazard.id}</a> {escape(one.hazard.title)} {walks or "scenario only"}</li>'
    files.replace_text(folder / "index.html", _INDEX.format(rows=rows), "--live")
    words = f"{counted(len(results), 'hazard')}, {walked} of them with {counted(len(pages), 'counterexample')}"
    tell(f"{folder} has {words} as pages that need no server; begin with {folder / 'index.html'}")
    return complete


def _traces(folder: Path, wishes: Sequence[Wish]) -> tuple[Mapping[Wish, str], bool]:
    """Search for counterexamples and write their pages. Return the names of the pages, and whether all were searched for."""
    pages: dict[Wish, str] = {}
    try:
        with ProgressLine() as line:
            for number, wish in enumerate(wishes, 1):
                interrupts.stop_if_interrupted()
                trace = traces.of_wish(wish, partial(_show, line, f"counterexample {number} of {len(wishes)}"))
                name = f"{slug('-'.join(filter(None, (wish.property, wish.profile, wish.scope, wish.condition))))}.html"
                page.write(folder / name, trace.document())
                pages[wish] = name
    except KeyboardInterrupt:
        interrupts.heard()
        return pages, False
    return pages, True


def _show(line: ProgressLine, which: str, text: str) -> None:
    line.show(f"{which}: {text}")


__all__ = ["write"]
