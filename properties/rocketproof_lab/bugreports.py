"""The page of public bug reports: what each states, whether a program reproduces it, and which releases show it.

Reports are in `reports.toml` and measured releases in `measured.toml`, next to the programs. The page is generated:

    rocketproof bisect properties/examples/bug-reports/*.py --from 4.0.0 --json trials.json
    python -m rocketproof_lab.bugreports trials.json > properties/examples/bug-reports/measured.toml
    python -m rocketproof_lab.bugreports > properties/docs/results/bug-reports.md
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from rocketproof_properties.reports.text import shortened
from rocketproof_properties.validation.handwritten import programfile
from rocketproof_properties.validation.handwritten.programfile import ProgramFile
from rocketproof_properties.validation.handwritten.releases import ranges

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDER: Final = ROOT / "properties" / "examples" / "bug-reports"
PAGE: Final = ROOT / "properties" / "docs" / "results" / "bug-reports.md"
REPRODUCED, REFUTED, OUT_OF_REACH = VERDICTS = ("reproduced", "refuted", "out of reach")
VALIDATED: Final = {
    "named": "300 generated programs contain the order of requests, and a judge names the problem",
    "named with --slave": "as before, and the slave that `--slave` starts shows it",
    "agreed": "300 generated programs contain the order of requests, and no promise or rule forbids what the release does",
    "not sent": "no generated program has the request, value, setting or order",
}
"""What ordinary validation makes of a reproduced report."""


@dataclass(frozen=True)
class PerformedRun:
    """A run of `validate --slave --programs 300 --seed 0` on a release, and the reports whose promise or property it found broken.

    `programs`: how many were judged before a time limit. `seconds`: the duration on a busy machine.
    """

    release: str
    programs: int
    seconds: int
    found: tuple[int, ...]

    @property
    def shown(self) -> list[int]:
        """The numbers of the reproduced reports that the release shows, by their own programs or in this run."""
        by_programs = {each.number for each in reports() for name in each.programs if self.release in measured()[name].shows}
        reproduced = {each.number for each in reports() if each.verdict == REPRODUCED}
        return sorted(by_programs & reproduced | {*self.found})


PERFORMED: Final = (
    PerformedRun("4.9.4", 300, 1107, (4257, 4774, 4890, 5445, 7264, 8158, 8311, 9416)),
    PerformedRun("5.3.3", 217, 799, (4257, 8158, 9499, 10425)),
)
FIRST_INPUTS: Final = (
    "timer-cancelled-by-key",
    "topic-attribute",
    "batch-loses-keys",
    "half-message-never-checked",
    "pull-fewer-than-asked",
    "delayed-after-deletion",
    "registered-on-a-new-connection",
    "operations-forgotten",
    "deleted-message-returns",
    "offset-beyond-the-queue",
    "field-left-out",
)
"""Programs of problems that were observed before the tracker was read, or found by generated programs."""
_CELL: Final = 200
_ISSUE: Final = "https://github.com/apache/rocketmq/issues/"


@dataclass(frozen=True)
class PublicReport:
    """A report of a tracker.

    - `named`: the releases that it names. `claim`: its statement in one sentence.
    - `programs`: the programs that decide it. `verdict`: one of VERDICTS.
    - `broken`: the promises that an affected release breaks, "" if none states it. `text`: an answer to its reporter.
    - `validate`: for a reproduced report, whether 300 generated programs of `validate` find it, one of VALIDATED.
    """

    number: int
    filed: str
    named: str
    claim: str
    verdict: str
    text: str
    programs: tuple[str, ...] = ()
    broken: str = ""
    validate: str = ""


@dataclass(frozen=True)
class MeasuredProgram:
    """The releases that were tried with a program, those that show its problem, and the broken rules of the last of these."""

    tried: tuple[str, ...]
    shows: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        """The releases that show it, successive tried ones as a range; "none"."""
        return ranges(self.tried, self.shows) or "none"

    @property
    def first_without(self) -> str:
        """The first decided release after the last that shows it, "" if there is none."""
        later = self.tried[self.tried.index(self.shows[-1]) + 1 :] if self.shows else ()
        return next((release for release in later if release not in self.undecided), "")


@cache
def reports() -> tuple[PublicReport, ...]:
    """Return all reports by number. Raises TypeError for a row with a missing or unknown name."""
    rows = tomllib.loads((FOLDER / "reports.toml").read_text("utf-8"))["report"]
    made = [PublicReport(**{**row, "filed": str(row["filed"]), "programs": tuple(row.get("programs", ()))}) for row in rows]
    return tuple(sorted(made, key=lambda report: report.number))


@cache
def measured() -> Mapping[str, MeasuredProgram]:
    """Return the measured releases by the name of the program."""
    rows = tomllib.loads((FOLDER / "measured.toml").read_text("utf-8"))
    return {name: MeasuredProgram(**{key: tuple(value) for key, value in row.items()}) for name, row in rows.items()}


def programs() -> dict[str, ProgramFile]:
    """Return all programs of the folder by name. Raises InputError."""
    return {path.stem: programfile.load(str(path)) for path in sorted(FOLDER.glob("*.py"))}


def measured_text(trials: Iterable[Mapping[str, Any]]) -> str:
    """Return `measured.toml` for what `bisect --json` has written for several programs."""
    lines = ["# Written by rocketproof_lab.bugreports: what the programs of this folder show on which release."]
    for row in sorted(trials, key=lambda row: Path(row["program"]).stem):
        ran = [release for release in row["releases"] if not release["problem"]]
        shows = [release for release in ran if release["shows"] == "yes"]
        broken = sorted({each["property"] for each in shows[-1]["broken"] if each["judge"] != "reference"}) if shows else []
        lines += ["", f"[{Path(row['program']).stem}]", _list("tried", [release["release"] for release in ran])]
        lines.append(_list("shows", [release["release"] for release in shows]))
        lines.append(_list("undecided", [release["release"] for release in ran if release["shows"] == "unknown"]))
        lines.append(_list("broken", broken))
    return "\n".join(lines) + "\n"


def _list(name: str, values: Sequence[str]) -> str:
    return f"{name} = [{', '.join(json.dumps(value) for value in values)}]"


# The page


def page() -> str:
    """Return the page in Markdown."""
    return "\n".join([*_head(), *_first_inputs(), *_table(), *_answers()]).rstrip() + "\n"


def _head() -> Iterator[str]:
    counts = {verdict: sum(report.verdict == verdict for report in reports()) for verdict in VERDICTS}
    yield "# Which public bug reports are true, and for which releases?"
    yield ""
    yield "For users who meet one of these problems, and for the people who reported them. Measured on 2026-11-30 with the releases that"
    yield "Maven has complete. Each program is a file of `properties/examples/bug-reports`:"
    yield ""
    yield "    rocketproof run properties/examples/bug-reports/pull-beyond-the-end.py --target apache:4.9.3"
    yield "    rocketproof bisect properties/examples/bug-reports/*.py --from 4.9.3 --to 5.5.0"
    yield ""
    yield f"Of {len(reports())} reports {counts[REPRODUCED]} are reproduced, {counts[REFUTED]} are refuted on the releases that they name,"
    yield f"and {counts[OUT_OF_REACH]} are out of reach. `python -m rocketproof_lab.bugreports` generates this page."
    yield ""
    yield '"Shown by" names the tried releases that show the problem; successive tried ones are a range. "Broken" names the promises and'
    yield "rules that the judges find broken in the last of these. A dash means that no judge names it."
    yield ""


def _first_inputs() -> Iterator[str]:
    yield "## Problems that were known before"
    yield ""
    yield "| Program | Problem | Shown by | First later release without it | Broken |"
    yield "| --- | --- | --- | --- | --- |"
    for name in FIRST_INPUTS:
        found = measured()[name]
        yield _row(f"`{name}`", programs()[name].sentence, found.shown, found.first_without or "-", ", ".join(found.broken) or "-")
    yield ""


def _table() -> Iterator[str]:
    yield "## Reports of apache/rocketmq"
    yield ""
    yield "| Report | Filed | Names | Claim | Verdict | Shown by | Broken | `validate` |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for report in reports():
        shown = "; ".join(measured()[name].shown for name in report.programs) or "-"
        yield _row(
            f"[{report.number}]({_ISSUE}{report.number})",
            report.filed,
            report.named or "-",
            report.claim,
            report.verdict,
            shown,
            report.broken or "-",
            report.validate or "-",
        )
    yield ""
    yield "## What ordinary validation finds"
    yield ""
    yield "By the first 300 programs of seed 0 for the last affected release, and by the judges' verdicts on the programs above. These"
    yield "generated programs were not performed."
    yield ""
    reproduced = [report for report in reports() if report.verdict == REPRODUCED]
    for name, sentence in VALIDATED.items():
        found = [str(report.number) for report in reproduced if report.validate == name]
        yield f"- **{name}**, {len(found)} of {len(reproduced)}: {sentence}. Reports {', '.join(found) or 'none'}."
    yield ""
    yield "Performed with `validate --slave --seed 0 --no-witnesses` on a busy machine with two cores. A report counts if a property that"
    yield "states it is broken in the run, as a finding or as a known violation. Reports that are *named* above and not found here"
    yield "show that a program with the order of requests is not enough: another release, seed or moment may be needed. The run on"
    yield "5.3.3 was stopped after 780 s. 5.5.0 was not performed."
    yield ""
    yield "| Release | Programs | Seconds | Reports that the release shows | Found | Not found |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for run in PERFORMED:
        missing = [number for number in run.shown if number not in run.found]
        found_, missed = (", ".join(map(str, numbers)) for numbers in (run.found, missing))
        yield _row(run.release, str(run.programs), f"{run.seconds:,}", str(len(run.shown)), f"{len(run.found)}: {found_}", missed)
    yield ""


def _answers() -> Iterator[str]:
    yield "## Answers to the reporters"
    yield ""
    for report in reports():
        yield f"### Report {report.number}"
        yield ""
        yield f"{report.claim} **{report.verdict.capitalize()}.** {report.text}"
        yield ""
        for name in report.programs:
            found = measured()[name]
            undecided = f" Undecided: {', '.join(found.undecided)}." if found.undecided else ""
            broken = f" Broken: {', '.join(found.broken)}." if found.broken else ""
            yield f"- `{name}`: tried on {len(found.tried)} releases, shown by {found.shown}.{broken}{undecided}"
        if report.programs:
            yield ""


def _row(*cells: str) -> str:
    return "| " + " | ".join(shortened(cell.replace("|", "\\|"), _CELL) for cell in cells) + " |"


def main(arguments: Sequence[str] = sys.argv[1:]) -> None:
    """Print the page or, given a file of `bisect --json`, the measured releases."""
    if arguments:
        sys.stdout.write(measured_text(json.loads(Path(arguments[0]).read_text("utf-8"))))
    else:
        sys.stdout.write(page())


if __name__ == "__main__":
    main()
