"""What a run says of each entry: passed, failed, undecided, skipped or accepted, in one line, with the evidence of a failure.

An entry passes only if a program put it to the test. A known violation passes where it was seen, and fails where it has vanished: where
many programs that should show it do not. An entry of the specification is undecided where the judge reached its bound in a program that
could contradict it, and a property of logs where a log could not be looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from ...brokers.runs.parsed import load
from ...conformance.witnesses.known import HazardReplayed
from ...judging.expected import ENOUGH
from ...judging.judging import JudgedProgram, ProgramFinding
from ...judging.stated import guards
from ...programs.program import Program
from ...reports.output import counted
from ..entries import SuiteEntry, could_contradict, entry_of, puts_to_the_test
from ..report import ValidationFinding, ValidationReport
from . import text

Status = Literal["passed", "failed", "undecided", "skipped", "accepted"]
_RANK: Final[Mapping[str, int]] = {"claims": 0, "specification": 1, "reference": 2}


@dataclass(frozen=True)
class EntryOutcome:
    """One entry's. `words` is a line; `said` the whole text of a failure; `files` what belongs to it, by what it is."""

    status: Status
    words: str
    said: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    def data(self) -> dict[str, Any]:
        return {**vars(self), "files": dict(self.files)}


@dataclass(frozen=True)
class _Shown:
    """A finding in one program."""

    judged: JudgedProgram
    verdict: ProgramFinding


Page = Callable[[Path, SuiteEntry], Path | None]
"""Draws the history of an entry's failure: the page's file, None if there is none."""


def no_page(history: Path, entry: SuiteEntry) -> None:
    """Draws nothing."""


def outcomes(report: ValidationReport, entries: Sequence[SuiteEntry], folder: Path, page: Page = no_page) -> dict[str, EntryOutcome]:
    """Every entry's outcome, by its id. `folder` is the report's; `page` is called for each failure with a history."""
    return _Outcomes(report, entries, folder, page).all()


class _Outcomes:
    def __init__(self, report: ValidationReport, entries: Sequence[SuiteEntry], folder: Path, page: Page) -> None:
        self.report, self.entries, self.folder, self.page = report, entries, folder, page
        self.everything = [*report.judged, *report.logs, *report.shared]
        self.shown: dict[str, list[_Shown]] = {}
        for judged in self.everything:
            for verdict in judged.findings:
                self.shown.setdefault(entry_of(verdict), []).append(_Shown(judged, verdict))
        self.found = {one.key: one for one in report.findings}
        self.guarded = frozenset(guards(report.profile).values())
        """Rules that guards of the specification state."""

    def all(self) -> dict[str, EntryOutcome]:
        replayed = {one.hazard: one for one in self.report.witnesses}
        return {entry.id: self._of(entry, replayed.get(entry.witness or entry.id)) for entry in self.entries}

    def _of(self, entry: SuiteEntry, replayed: HazardReplayed | None) -> EntryOutcome:
        if entry.kind == "hazard" or entry.witness:
            return self._hazard(entry, replayed)
        tested = [one for one in self.everything if puts_to_the_test(one, entry)]
        if entry.expected == "violated":
            return self._known(entry, tested)
        shown = self.shown.get(entry.id, [])
        if shown:
            return self._contradicted(entry, shown, len({id(one) for one in tested} | {id(one.judged) for one in shown}))
        open_ = [one for one in self.everything if one.unknown and entry.kind == "specification" and could_contradict(one, entry.id)]
        open_ += [one for one in self.everything if one.unknown and not tested and entry.id in self.guarded]
        if open_:
            return self._undecided(open_, len(tested))
        unread = [one.left_open[entry.id] for one in self.everything if entry.id in one.left_open]
        if unread:
            return EntryOutcome("undecided", f"undecided: {unread[0]}; {counted(len(tested), 'program')} do not contradict it")
        if not tested:
            return self._not_exercised(entry)
        return EntryOutcome("passed", f"nothing contradicts it in {counted(len(tested), 'program')} that put it to the test")

    def _undecided(self, judged: Sequence[JudgedProgram], tested: int) -> EntryOutcome:
        first = judged[0]
        reached = f"the specification's judge reached its bound in {counted(len(judged), 'program')}, first in {first.path}"
        return EntryOutcome("undecided", f"undecided: {reached} ({first.unknown[0]}); {counted(tested, 'program')} do not contradict it")

    def _not_exercised(self, entry: SuiteEntry) -> EntryOutcome:
        offered = {str(one) for one in self.report.target.get("offers", ())}
        if entry.needs is not None and entry.needs.value not in offered:
            return EntryOutcome("skipped", f"not exercised: the target does not offer {entry.needs.value!r}: {entry.lost}")
        tried = counted(len(self.report.judged), "program")
        stopped = f"; the run was stopped: {self.report.stopped}" if self.report.stopped else ""
        what = f"with {entry.condition}" if entry.condition else "that could contradict it"
        return EntryOutcome("skipped", f"not exercised: no program {what} among {tried}{stopped}")

    def _known(self, entry: SuiteEntry, tested: Sequence[JudgedProgram]) -> EntryOutcome:
        id_ = entry.id.partition("[")[0]
        broken = [one for one in tested if not one.claims[id_][0]]
        why = f" ({entry.reason})" if entry.reason else ""
        if broken:
            least = min(broken, key=lambda one: (one.events, one.program))
            verdict = next(v for v in least.verdicts if v.property == id_)
            words = f"violated, as {self.report.profile} expects{why}: in {len(broken)} of {counted(len(tested), 'program')}"
            return EntryOutcome("passed", words, verdict.text, {"history": str(least.path)})
        if not tested:
            return self._not_exercised(entry)
        if len(tested) < ENOUGH:
            few = f"{counted(len(tested), 'program')} did it and did not show the violation that {self.report.profile} expects{why}"
            return EntryOutcome("skipped", f"not exercised enough: {few}; after {ENOUGH} it counts as vanished")
        words = f"{self.report.profile} expects a violation{why}, and {counted(len(tested), 'program')} did not show it"
        return EntryOutcome("failed", words, text.vanished(entry, words))

    def _hazard(self, entry: SuiteEntry, replayed: HazardReplayed | None) -> EntryOutcome:
        if replayed is None or replayed.reproduced is None:
            why = replayed.said[-1] if replayed is not None and replayed.said else f"the run was stopped: {self.report.stopped}"
            return EntryOutcome("skipped", f"not exercised: {why}")
        if replayed.reproduced:
            return EntryOutcome("passed", f"violated, as {self.report.profile} expects ({entry.reason}): the model's witness was followed")
        words = f"{self.report.profile} expects it, and the target did not follow the model's witness: {replayed.said[-1]}"
        return EntryOutcome("failed", words, text.not_reproduced(entry, replayed))

    def _contradicted(self, entry: SuiteEntry, shown: Sequence[_Shown], tried: int) -> EntryOutcome:
        """The evidence is the program that was made smaller, if it still shows this, or the shortest of all."""
        mine = [self.found[key] for key in dict.fromkeys((one.verdict.judge, one.verdict.property) for one in shown) if key in self.found]
        small = [one for one in mine if entry_of(one.verdict) == entry.id]
        evidence = min(small, key=lambda one: len(one.program.steps), default=None) or self._shortest(shown)
        programs = len({id(one.judged) for one in shown})
        lost = [one for one in mine if one.reproduced is False]
        if mine and len(lost) == len(mine):
            return EntryOutcome("skipped", f"seen in {counted(programs, 'program')} and not again when that was repeated: not reproduced")
        accepted = [one.accepted for one in mine if one.accepted is not None]
        if mine and len(accepted) == len(mine):
            return EntryOutcome("accepted", f"accepted: {accepted[0]}", evidence.verdict.text)
        path = self.folder / evidence.history
        said = text.Failure(
            entry,
            evidence,
            load(path),
            self.report.profile,
            str(self.report.target.get("name", "")),
            programs,
            tried,
            self._first(entry, evidence, shown),
        )
        files = {"history": str(path)}
        page = self.page(path, entry)
        if page is not None:
            files["page"] = str(page)
        if evidence.file:
            files["program"] = str(self.folder / evidence.file)
        return EntryOutcome("failed", said.line(), said.whole(files), files)

    def _shortest(self, shown: Iterable[_Shown]) -> ValidationFinding:
        programs = [(load(one.judged.path).program if one.judged.program else Program(0, one.judged.source, ()), one) for one in shown]
        program, one = min(programs, key=lambda pair: (not pair[0].steps, len(pair[0].steps), pair[0].number))
        return ValidationFinding(one.verdict, program, f"{one.judged.path.parent.name}/{one.judged.path.name}")

    def _first(self, entry: SuiteEntry, evidence: ValidationFinding, shown: Sequence[_Shown]) -> str:
        """The entry at which to begin, "" if it is this one: of those with the same cause, or that all programs contradict which contradict
        this one, the one that says most."""
        alike = {entry_of(one.verdict) for one in self.report.findings if evidence.cause and one.cause == evidence.cause}
        alike |= set.intersection(*({entry_of(v) for v in one.judged.findings} for one in shown))
        rank = {one.id: (_rank(one), number) for number, one in enumerate(self.entries)}
        better = [id_ for id_ in alike if id_ in rank and rank[id_] < rank[entry.id]]
        return min(better, key=lambda id_: rank[id_], default="")


def _rank(entry: SuiteEntry) -> int:
    """What says more comes first: a rule, a property, the specification, the reference implementation."""
    return ("rule", "property", "specification", "reference", "hazard").index(entry.kind)
