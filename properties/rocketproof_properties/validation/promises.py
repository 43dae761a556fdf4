"""Where which release breaks which promise, from all places that document violations.

These are the entries of `catalogue/promises/broken.toml`, the cases of the catalogue's claims, and the known violations by restarts, by
slaves and by machine faults.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from rocketproof_model.language import show
from rocketproof_profiles.releases import LINES

from ..catalogue.promises.broken import breaches
from ..catalogue.promises.promise import Promise
from ..catalogue.promises.statements import promises
from ..catalogue.stored import stored_rules
from ..catalogue.table import claims_of
from ..judging.claims import cases
from ..judging.known import why_not
from ..judging.restarts import SENTENCES as RESTARTS
from ..judging.slaves import SENTENCES as SLAVES
from .faults.claims import FAULT_CLAIMS
from .faults.kinds import KINDS
from .knownbugs.bugs import bugs

FAULT: Final = "fault."
"""The prefix of claims about machine faults in `Promise.refers`."""


@dataclass
class BrokenPromise:
    """A violation of a promise: the release lines with it, its condition and cause, the known bug, and the smallest program."""

    promise: Promise
    reason: str
    condition: str = ""
    bug: str = ""
    program: tuple[tuple[str, dict[str, Any]], ...] = ()
    lines: list[int] = field(default_factory=list)

    @property
    def releases(self) -> str:
        """The release lines, with successive ones as a range."""
        return ranges(self.lines)

    def record(self) -> dict[str, Any]:
        return {
            "releases": [LINES[number].name for number in self.lines],
            "condition": self.condition,
            "reason": self.reason,
            "bug": self.bug,
            "program": [[name, args] for name, args in self.program],
        }


def ranges(numbers: Iterable[int]) -> str:
    """Return the names of release lines, such as "4.0 to 4.9.4, 5.3"."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(LINES[run[0]].name + (f" to {LINES[run[-1]].name}" if len(run) > 1 else "") for run in runs)


@cache
def broken() -> tuple[BrokenPromise, ...]:
    """Return all documented violations, in the order of the promises."""
    return tuple(each for promise in promises() for each in _of(promise))


def _of(promise: Promise) -> Iterator[BrokenPromise]:
    entries = [entry for entry in breaches() if entry.promise == promise.id]
    for entry in entries:
        yield BrokenPromise(promise, entry.reason, entry.condition, entry.bug, entry.program, list(entry.lines))
    found: dict[tuple[str, str], BrokenPromise] = {}
    for number, line in enumerate(LINES):
        for condition, reason in _reasons(promise, line.profile):
            if any(number in entry.lines and entry.condition == condition for entry in entries):
                continue
            here = found.setdefault((condition, reason), BrokenPromise(promise, reason, condition, _bug(reason)))
            if number not in here.lines:
                here.lines.append(number)
    yield from found.values()


def _reasons(promise: Promise, profile: str) -> Iterator[tuple[str, str]]:
    """Yield condition and reason of each documented violation of the formulas that a promise refers to."""
    for case in cases(profile):
        if case.claim in promise.refers and case.expected == "violated":
            yield case.condition, case.reason
    for id_ in promise.refers:
        if id_ in RESTARTS and (reason := why_not(id_, profile)):
            yield "a restart", reason
        if id_ in SLAVES and (reason := why_not(id_, profile)):
            yield f"a slave: {id_.partition('.')[2].replace('_', ' ')}", reason
        claim = FAULT_CLAIMS.get(id_.removeprefix(FAULT)) if id_.startswith(FAULT) else None
        for kind in KINDS if claim is not None else ():
            if claim is not None and (reason := claim.why_not(kind, profile)):
                yield f"fault {kind}", reason


def _bug(reason: str) -> str:
    """Return the known bug that a reason names, "" if it names none."""
    return next((bug.id for bug in bugs() if f"zoo {bug.id}" in reason.replace(":", " ").replace(",", " ") + " "), "")


def formulas(promise: Promise) -> list[tuple[str, str]]:
    """Return the formulas of a promise: for each its id or kind of rows, and its text."""
    rows = [(f"each {rule.over}", show(rule.claim.formula)) for rule in (promise.own.rules if promise.own is not None else ())]
    sentences = {claim.id: claim.sentence for claim in claims_of(promise)} | dict(RESTARTS) | dict(SLAVES)
    sentences |= {rule.id: rule.claim.sentence for rule in stored_rules()} | {FAULT + name: c.sentence for name, c in FAULT_CLAIMS.items()}
    return rows + [(id_, sentences[id_]) for id_ in promise.refers]


def table() -> str:
    """Return the table of promises in Markdown, as the page `properties/docs/promises.md` shows it."""
    lines: list[str] = []
    theme = ""
    for promise in promises():
        if promise.theme != theme:
            theme = promise.theme
            lines += ["", f"### {theme.capitalize()}", "", "| Promise | Sentence | Broken in |", "| --- | --- | --- |"]
        where = "; ".join(_where(each) for each in broken() if each.promise is promise)
        lines.append(f"| {promise.id} | {promise.sentence} | {where or '-'} |")
    return "\n".join([*lines[1:], ""])


def _where(one: BrokenPromise) -> str:
    condition = f" ({one.condition})" if one.condition else ""
    return f"{one.releases}{condition}"
