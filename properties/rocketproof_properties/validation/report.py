"""What a validation found, as data and as files: report.json, junit.xml, and a program for each finding that runs as it stands.

The shape of report.json is a contract: `schema` and `version` stand in it, and a change of its keys makes a new version.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from pprint import pformat
from typing import Any, Final

from rocketproof_protocol.shown import json_text

from ..catalogue.table import HISTORY_CLAIMS
from ..conformance.witnesses.known import HazardReplayed
from ..judging.done import ProgramStatistics
from ..judging.expected import ENOUGH, cases
from ..judging.judging import Judge, JudgedProgram, ProgramFinding, data
from ..programs.program import Program
from ..programs.vocabulary import Step
from ..reports import junit
from ..reports.choices import InputError
from ..reports.exitcode import exit_code
from . import results
from .accept import Accepted
from .entries import entry_of
from .faults.found import FaultTests
from .ladder import level_of_finding, level_of_steps
from .results import REPORT, SCHEMA
from .transport import Transport, transport
from .undecided import OpenQuestion, beyond_bounds, never_repeated, not_looked_at, place, unconfirmed

VERSION: Final = 2
HISTORIES: Final = "histories"
SMALLEST: Final = "smallest"
UNSERVED: Final = "requests that are not served"
"""The cause of findings that no program shows."""
PROGRAMS: Final = "programs"
OF_PROGRAMS: Final[tuple[Judge, ...]] = ("specification", "reference")
"""The judges that come to one verdict on a whole program."""

SENTENCES: Final[Mapping[str, str]] = {
    **{claim.id: claim.sentence for claim in HISTORY_CLAIMS},
    "reference": "answers, topics, queues and records are those of the reference implementation",
    "specification": "the specification explains what the clients saw",
}


@dataclass
class ValidationFinding:
    """What is not as described, in how many programs, and the smallest one that shows it.

    `again` of `repeats`: how often the program showed it when it was done again; 0 of 0 if it was not. One that rests on a lost or doubled
    answer has come again each time. `cause`: a name that findings of one cause share.
    """

    verdict: ProgramFinding
    program: Program
    history: str
    count: int = 1
    again: int = 0
    repeats: int = 0
    file: str = ""
    accepted: Accepted | None = None
    cause: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return self.verdict.judge, self.verdict.property

    @property
    def level(self) -> int:
        """The level of the ladder that it keeps a broker from, 0 for none."""
        own = level_of_finding(self.verdict.property, entry_of(self.verdict))
        return max(own, level_of_steps(self.program.steps)) if own else 0

    @property
    def reproduced(self) -> bool | None:
        """Whether it came again when its program was done again; None where it was not."""
        return True if self.verdict.at else bool(self.again) if self.repeats else None

    def record(self) -> dict[str, Any]:
        row = data(self.verdict) | {"programs": self.count, "history": self.history, "program": self.program.data()}
        row |= {"again": self.again, "repeats": self.repeats, "reproduced": self.reproduced, "file": self.file, "cause": self.cause}
        row |= {"level": self.level}
        if self.accepted is not None:
            row["accepted"] = {"reason": self.accepted.reason, "until": str(self.accepted.until)}
        return row


@dataclass(frozen=True)
class ClaimRow:
    """A property under a condition: in how many programs it could be judged, and in how many it was broken. `reason`: why the catalogue
    expects that, as a rule with the hazard's id. `undecided`: how many programs, shared topics
    and logs were left open."""

    id: str
    condition: str
    expected: str
    tried: int
    broken: int
    reason: str = ""
    undecided: int = 0

    @property
    def agrees(self) -> bool | None:
        """None where a known violation was not tried often enough to be missed, and where programs are undecided that may break what is to
        hold."""
        if self.expected == "holds":
            return False if self.broken else None if self.undecided else True
        return True if self.broken else None if self.tried < ENOUGH or not self.condition else False

    def record(self) -> dict[str, Any]:
        return {**vars(self), "sentence": SENTENCES.get(self.id, ""), "agrees": self.agrees}


@dataclass
class ValidationReport:
    """A validation. `logs`: the whole logs of brokers whose files could be read; `shared`: the topics that programs share, each
    judged over all of them; `lost`: what could not be found out, by the capability that is missing; `stopped`: what ended it early.

    `enough`: the seconds after which what the run was to end with was seen, None if it was not, or there was no such thing.
    `repeated`: the judge and property of unconfirmed verdicts whose programs were run again, in this run or in the one that it continues.
    `witnesses` are those of the model that were replayed; `faults` is what came of faults of the machine, one for each kind. `over`:
    entries of accepted deviations whose day has passed."""

    target: Mapping[str, Any]
    profile: str
    seed: int
    asked: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    tool: str = ""
    began: str = ""
    seconds: float = 0.0
    enough: float | None = None
    judged: list[JudgedProgram] = field(default_factory=list)
    logs: list[JudgedProgram] = field(default_factory=list)
    shared: list[JudgedProgram] = field(default_factory=list)
    findings: list[ValidationFinding] = field(default_factory=list)
    lost: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    stopped: str = ""
    witnesses: list[HazardReplayed] = field(default_factory=list)
    faults: list[FaultTests] = field(default_factory=list)
    over: list[str] = field(default_factory=list)
    repeated: set[tuple[str, str]] = field(default_factory=set)

    @property
    def open(self) -> list[ValidationFinding]:
        """The findings that nobody has accepted, and that came again or could not be tried again."""
        return [one for one in self.findings if one.accepted is None and one.reproduced is not False]

    @property
    def unrepeated(self) -> list[ValidationFinding]:
        """What was seen once, and not when its program was done again: nobody knows whose it is."""
        return [one for one in self.findings if one.accepted is None and one.reproduced is False]

    @property
    def transport(self) -> Transport:
        """The faults of the connection."""
        return transport(self.judged)

    @property
    def undecided(self) -> list[OpenQuestion]:
        """The programs, shared topics and logs of which a judge left something open, with the reason."""
        return [*beyond_bounds((*self.judged, *self.shared)), *never_repeated(self.judged, self.repeated), *not_looked_at(self.logs)]

    @property
    def done(self) -> ProgramStatistics:
        """What the programs did, all together."""
        found = ProgramStatistics()
        for one in self.judged:
            found.add(one.done)
        return found

    @property
    def missing(self) -> list[str]:
        """What so many programs promised that one of them should have done it."""
        return [] if self.stopped else [one for one, programs in self.done.never.items() if programs >= ENOUGH]

    @property
    def rows(self) -> list[ClaimRow]:
        tried: Counter[tuple[str, str, str]] = Counter()
        broken: Counter[tuple[str, str, str]] = Counter()
        undecided: Counter[tuple[str, str, str]] = Counter()
        for one in (*self.judged, *self.logs, *self.shared):
            for id_, (held, expected, condition) in one.claims.items():
                if expected != "open":
                    key = (id_, condition if expected == "violated" else "", expected)
                    tried[key] += 1
                    broken[key] += not held
            for id_ in one.left_open:
                undecided[id_, "", "holds"] += 1
            for judge in OF_PROGRAMS:
                if one.decides(judge):
                    tried[judge, "", "holds"] += 1
                    broken[judge, "", "holds"] += any(v.judge == judge for v in one.findings)
                elif judge == "specification" and one.unknown:
                    undecided[judge, "", "holds"] += 1
        known = {(one.claim, one.condition): one.reason for one in cases(self.profile) if one.expected == "violated"}
        keys = sorted(tried.keys() | undecided.keys())
        return [ClaimRow(*key, tried[key], broken[key], known.get((key[0], key[1]), ""), undecided[key]) for key in keys]

    @property
    def vanished(self) -> list[ClaimRow]:
        return [row for row in self.rows if row.expected == "violated" and row.agrees is False]

    @property
    def not_reproduced(self) -> list[HazardReplayed]:
        """Witnesses of known violations that the target did not follow."""
        return [one for one in self.witnesses if one.reproduced is False]

    @property
    def after_faults(self) -> list[str]:
        """What was not as it should be behind a fault of the machine."""
        return [sentence for one in self.faults for sentence in one.findings]

    @property
    def exit_code(self) -> int:
        findings = (self.open, self.vanished, self.not_reproduced, self.after_faults, self.over)
        undecided = (self.undecided, self.unrepeated, self.missing, self.transport.undecided, self.stopped)
        left = any(undecided) or not self.judged or any(one.unknown for one in self.faults)
        return exit_code(findings=any(findings), undecided=left)

    def data(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "version": VERSION,
            "tool": self.tool,
            "target": dict(self.target),
            "profile": self.profile,
            "seed": self.seed,
            "settings": dict(self.settings),
            "began": self.began,
            "seconds": round(self.seconds, 3),
            "programs": {
                "asked": self.asked,
                "judged": len(self.judged),
                "sources": dict(sorted(Counter(one.source or "anything" for one in self.judged).items())),
            },
            "transport": self.transport.data(),
            "undecided": [one.record() for one in self.undecided],
            "unconfirmed": unconfirmed(self.judged, self.repeated),
            "missing": self.missing,
            "over": self.over,
            "logs": len(self.logs),
            "shared": {
                "parts": len(self.shared),
                "explained": sum(one.explained for one in self.shared),
                "unknown": [reason for one in self.shared for reason in one.unknown],
            },
            "requests": sum(one.requests for one in self.judged),
            "events": sum(one.events for one in self.judged),
            "done": self.done.data(),
            "verdicts": [row.record() for row in self.rows],
            "findings": [one.record() for one in self.findings],
            "witnesses": [one.record() for one in self.witnesses],
            "faults": [one.data() for one in self.faults],
            "lost": self.lost,
            "said": [*self.over, *self.notes],
            "stopped": self.stopped,
            "exit": self.exit_code,
        }


def gather(judged: Iterable[JudgedProgram], programs: Mapping[Path, Program]) -> list[ValidationFinding]:
    """The findings of all programs, those of one judge about one property together, shown by the shortest program."""
    found: dict[tuple[str, str], ValidationFinding] = {}
    for one in judged:
        for verdict in one.findings:
            program = programs[one.path]
            if not one.program:
                program = Program(0, one.source, (), program.needs)  # no one program has made it
            new = ValidationFinding(verdict, program, place(one.path))
            known = found.get(new.key)
            if known is None:
                found[new.key] = new
                continue
            known.count += 1
            if len(program.steps) < len(known.program.steps):
                known.verdict, known.program, known.history = verdict, program, new.history
    return list(found.values())


# Files


def next_folder() -> Path:
    """The first folder of this place's reports that there is not yet."""
    base = Path(".rocketproof") / "validation"
    return next(base / str(number) for number in itertools.count(1) if not (base / str(number)).exists())


def prepare(folder: Path) -> None:
    """Make an empty folder for a report. Raises InputError if there is something in it already or it cannot be made."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"--report {folder} exists and is not empty; give a new folder, or judge it again with --again {folder}")
        (folder / HISTORIES).mkdir(parents=True)
    except OSError as error:
        raise InputError(f"--report {folder} cannot be made ({error.strerror}); give a folder that you may write to") from None


def write(report: ValidationReport, folder: Path) -> None:
    """Write everything but the histories, which are there. Raises InputError if it cannot be written."""
    try:
        for old in (folder / PROGRAMS).glob("finding-*.py"):
            old.unlink()
        for number, finding in enumerate(report.findings, 1):
            if not finding.program.steps:
                continue
            (folder / PROGRAMS).mkdir(exist_ok=True)
            finding.file = f"{PROGRAMS}/finding-{number}.py"
            (folder / finding.file).write_text(source(finding, report.profile), "utf-8")
        (folder / REPORT).write_text(json_text(report.data(), indent=1) + "\n", "utf-8")
        (folder / "junit.xml").write_text(junit.write(results.run(report.data(), folder)), "utf-8")
    except OSError as error:
        raise InputError(f"the report cannot be written to {folder} ({error.strerror}); free some space there or give another") from None


def read(folder: Path, option: str = "--again") -> dict[str, Any]:
    """report.json of the folder that the option names. Raises InputError if there is none of ours."""
    return document(folder, REPORT, SCHEMA, VERSION, option)


def document(folder: Path, name: str, schema: str, version: int, option: str) -> dict[str, Any]:
    """A JSON file that validate has left in the folder that the option names. Raises InputError if there is none of this schema, or if
    it is of another version."""
    try:
        found = json.loads((folder / name).read_text("utf-8"))
        if found["schema"] != schema or not isinstance(found["version"], int):
            raise ValueError
    except OSError:
        raise InputError(f"{option} {folder}: there is no {name}; give the folder of a run of validate") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{option} {folder}: its {name} is none of validate; give another folder") from None
    if found["version"] != version:
        mend = "update rocketproof" if found["version"] > version else "let this one validate the target anew"
        raise InputError(f"{option} {folder}: its {name} has version {found['version']}, this rocketproof reads {version}; {mend}")
    return dict(found)


def source(finding: ValidationFinding, profile: str) -> str:
    """A program that runs as it stands: it sends the steps to a broker and says whether the finding comes."""
    steps: Sequence[Step] = finding.program.steps
    text = "\n".join(line.rstrip() for line in finding.verdict.text.splitlines()).replace("\\", "\\\\").replace('"""', "'''")
    needs = f", needs={finding.program.needs!r}" if finding.program.needs else ""
    return (
        f'"""{finding.verdict.property}: {text}\n\n'
        f'Run it with the address of a broker: python {Path(finding.file).name} 127.0.0.1:10911\n"""\n\n'
        "from rocketproof_properties.validation.single import main\n\n"
        f"STEPS = {pformat([(name, dict(args)) for name, args in steps], width=110, sort_dicts=False)}\n\n"
        'if __name__ == "__main__":\n'
        f"    main(STEPS, judge={finding.verdict.judge!r}, property={finding.verdict.property!r}, profile={profile!r}{needs})\n"
    )
