"""The outcome of each entry of the catalogue in a run: passed, failed, undecided, skipped or accepted, in one line, with evidence.

An entry passes only if a program tested it. A known violation passes if it was shown. It fails if it has vanished: many programs should
show it and none did. An entry of the specification is undecided if the judge reached its bound in a program that could contradict it. A
property of logs is undecided if a log could not be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from ...brokers.runs.parsed import load
from ...conformance.witnesses.known import HazardReplayed
from ...judging.claims import ENOUGH
from ...judging.specification import guards
from ...judging.verdicts import JudgedProgram, ProgramFinding
from ...programs.program import Program
from ...reports.output import counted
from .. import text
from ..entries import SuiteEntry, could_contradict, entry_of, puts_to_the_test
from ..report import ValidationFinding, ValidationReport

Status = Literal["passed", "failed", "undecided", "skipped", "accepted"]
_RANK: Final[Mapping[str, int]] = {"claims": 0, "specification": 1, "reference": 2}


@dataclass(frozen=True)
class EntryOutcome:
    """The outcome of one entry. `words` is one line, `said` the whole text of a failure, `files` the related files by kind."""

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
"""Draws the history of an entry's failure. Returns the page's file, or None."""


def no_page(history: Path, entry: SuiteEntry) -> None:
    """Draw no page."""


def outcomes(report: ValidationReport, entries: Sequence[SuiteEntry], folder: Path, page: Page = no_page) -> dict[str, EntryOutcome]:
    """Return every entry's outcome, by id. `folder` is the report's folder. `page` is called for each failure with a history."""
    return _Outcomes(report, entries, folder, page).all()


class _Outcomes:
    def __init__(self, report: ValidationReport, entries: Sequence[SuiteEntry], folder: Path, page: Page) -> None:
        self.report, self.entries, self.folder, self.page = report, entries, folder, page
        self.everything = [*report.judged, *report.logs, *report.shared]
        self.shown: dict[str, list[_Shown]] = {}
        for judged in self.everything:
            for verdict in judged.findings:
                self.shown.setdefault(entry_of(verdict), []).append(_Shown(judged, verdict))
        self.found = {finding.key: finding for finding in report.findings}
        self.guarded = frozenset(guards(report.profile).values())
        """Rules that guards of the specification state."""

    def all(self) -> dict[str, EntryOutcome]:
        replayed = {witness.hazard: witness for witness in self.report.witnesses}
        return {entry.id: self._of(entry, replayed.get(entry.witness or entry.id)) for entry in self.entries}

    def _of(self, entry: SuiteEntry, replayed: HazardReplayed | None) -> EntryOutcome:
        if entry.kind == "hazard" or entry.witness:
            return self._hazard(entry, replayed)
        tested = [program for program in self.everything if puts_to_the_test(program, entry)]
        if entry.expected == "violated":
            return self._known(entry, tested)
        shown = self.shown.get(entry.id, [])
        if shown:
            return self._contradicted(entry, shown, len({id(program) for program in tested} | {id(finding.judged) for finding in shown}))
        open_ = [
            program
            for program in self.everything
            if program.unknown and entry.kind == "specification" and could_contradict(program, entry.id)
        ]
        open_ += [program for program in self.everything if program.unknown and not tested and entry.id in self.guarded]
        if open_:
            return self._undecided(open_, len(tested))
        unread = [program.left_open[entry.id] for program in self.everything if entry.id in program.left_open]
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
        offered = {str(capability) for capability in self.report.target.get("offers", ())}
        if entry.needs is not None and entry.needs.value not in offered:
            return EntryOutcome("skipped", f"not exercised: the target does not offer {entry.needs.value!r}: {entry.lost}")
        tried = counted(len(self.report.judged), "program")
        stopped = f"; the run was stopped: {self.report.stopped}" if self.report.stopped else ""
        what = f"with {entry.condition}" if entry.condition else "that could contradict it"
        return EntryOutcome("skipped", f"not exercised: no program {what} among {tried}{stopped}")

    def _known(self, entry: SuiteEntry, tested: Sequence[JudgedProgram]) -> EntryOutcome:
        id_ = entry.id.partition("[")[0]
        broken = [program for program in tested if not program.claims[id_][0]]
        why = f" ({entry.reason})" if entry.reason else ""
        if broken:
            least = min(broken, key=lambda program: (program.events, program.program))
            verdict = next(v for v in least.deviations if v.property == id_)
            words = f"violated, as {self.report.profile} expects{why}: in {len(broken)} of {counted(len(tested), 'program')}"
            return EntryOutcome("passed", words, verdict.text, {"history": str(least.path)})
        if not tested:
            return self._not_exercised(entry)
        if len(tested) < ENOUGH:
            few = f"{counted(len(tested), 'program')} did it and did not show the violation that {self.report.profile} expects{why}"
            return EntryOutcome("skipped", f"not exercised enough: {few}; after {ENOUGH} it counts as vanished")
        if fixed := self.report.fixed.get(id_):
            return EntryOutcome("accepted", f"accepted as fixed: {fixed}")
        words = f"{self.report.profile} expects a violation{why}, and {counted(len(tested), 'program')} did not show it"
        return EntryOutcome("failed", words, text.vanished(entry, words))

    def _hazard(self, entry: SuiteEntry, replayed: HazardReplayed | None) -> EntryOutcome:
        if replayed is None or replayed.reproduced is None:
            why = replayed.said[-1] if replayed is not None and replayed.said else f"the run was stopped: {self.report.stopped}"
            return EntryOutcome("skipped", f"not exercised: {why}")
        if replayed.reproduced:
            return EntryOutcome("passed", f"violated, as {self.report.profile} expects ({entry.reason}): the model's witness was followed")
        if fixed := self.report.fixed.get(replayed.hazard):
            return EntryOutcome("accepted", f"accepted as fixed: {fixed}")
        words = f"{self.report.profile} expects it, and the target did not follow the model's witness: {replayed.said[-1]}"
        return EntryOutcome("failed", words, text.not_reproduced(entry, replayed))

    def _contradicted(self, entry: SuiteEntry, shown: Sequence[_Shown], tried: int) -> EntryOutcome:
        """Return a failure. Its evidence is the shrunk program if it still shows this finding, else the shortest program."""
        findings = [self.found[key] for key in dict.fromkeys(finding.verdict.key() for finding in shown) if key in self.found]
        small = [finding for finding in findings if entry_of(finding.verdict) == entry.id]
        evidence = min(small, key=lambda finding: len(finding.program.steps), default=None) or self._shortest(shown)
        programs = len({id(finding.judged) for finding in shown})
        lost = [finding for finding in findings if finding.reproduced is False]
        if findings and len(lost) == len(findings):
            return EntryOutcome("skipped", f"seen in {counted(programs, 'program')} and not again when that was repeated: not reproduced")
        accepted = [finding.accepted for finding in findings if finding.accepted is not None]
        if findings and len(accepted) == len(findings):
            return EntryOutcome("accepted", f"accepted: {accepted[0]}", evidence.verdict.text)
        path = self.folder / evidence.history
        failure = text.FindingText(
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
        return EntryOutcome("failed", failure.line(), failure.whole(files), files)

    def _shortest(self, shown: Iterable[_Shown]) -> ValidationFinding:
        programs = [
            (load(finding.judged.path).program if finding.judged.program else Program(0, finding.judged.source, ()), finding)
            for finding in shown
        ]
        program, finding = min(programs, key=lambda pair: (not pair[0].steps, len(pair[0].steps), pair[0].number))
        return ValidationFinding(finding.verdict, program, f"{finding.judged.path.parent.name}/{finding.judged.path.name}")

    def _first(self, entry: SuiteEntry, evidence: ValidationFinding, shown: Sequence[_Shown]) -> str:
        """Return the entry to look at first; "" if it is this entry.

        Candidates are entries with the same cause, and entries that every program contradicts which contradicts this entry. The most
        specific one is chosen.
        """
        candidates = {entry_of(finding.verdict) for finding in self.report.findings if evidence.cause and finding.cause == evidence.cause}
        candidates |= set.intersection(*({entry_of(v) for v in finding.judged.findings} for finding in shown))
        rank = {other.id: (_rank(other), number) for number, other in enumerate(self.entries)}
        better = [id_ for id_ in candidates if id_ in rank and rank[id_] < rank[entry.id]]
        return min(better, key=lambda id_: rank[id_], default="")


def _rank(entry: SuiteEntry) -> int:
    """Return the rank of an entry. From more to less specific: rule, property, specification, reference implementation."""
    return ("rule", "property", "specification", "reference", "hazard").index(entry.kind)
