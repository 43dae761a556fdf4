"""The report of a validation, as data and as files: report.json, junit.xml, and a self-contained program for each finding.

The format of report.json is a contract: it has `schema` and `version`, and a change of its keys needs a new version.
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

from ..catalogue.promises.statements import promises
from ..catalogue.table import HISTORY_CLAIMS
from ..conformance.witnesses.known import HazardReplayed
from ..judging import restarts, slaves
from ..judging.claims import ENOUGH, cases
from ..judging.statistics import ProgramStatistics
from ..judging.verdicts import FindingKey, Judge, JudgedProgram, ProgramFinding, data
from ..programs.program import Program
from ..programs.vocabulary import Step
from ..reports import junit
from ..reports.choices import InputError
from ..reports.exitcode import exit_code
from . import results
from .accept import Accepted
from .cover import CoverageReport
from .entries import entry_of
from .faults.found import FaultTests
from .levels import level_of_finding, level_of_steps
from .results import REPORT, SCHEMA
from .transport import Transport, transport
from .undecided import OpenQuestion, beyond_bounds, never_repeated, not_looked_at, place, unconfirmed

VERSION: Final = 2
HISTORIES: Final = "histories"
SMALLEST: Final = "smallest"
UNSERVED: Final = "requests that are not served"
"""The cause of findings without a program."""
PROGRAMS: Final = "programs"
OF_PROGRAMS: Final[tuple[Judge, ...]] = ("specification", "reference")
"""The judges that reach one verdict on a whole program."""

SENTENCES: Final[Mapping[str, str]] = {
    **{claim.id: claim.sentence for claim in HISTORY_CLAIMS},
    **{promise.id: promise.sentence for promise in promises()},
    **restarts.SENTENCES,
    **slaves.SENTENCES,
    "reference": "answers, topics, queues and records are those of the reference implementation",
    "specification": "the specification explains what the clients saw",
}


@dataclass
class ValidationFinding:
    """A deviation, the number of programs that show it, and the smallest of them.

    `again` of `repeats`: in how many repetitions of the program it was reproduced; 0 of 0 if it was not repeated. A finding about a lost or
    repeated response was reproduced every time. `cause`: a name that findings with the same cause share. `details`: its whole text.
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
    details: str = ""

    @property
    def key(self) -> FindingKey:
        return self.verdict.key()

    @property
    def level(self) -> int:
        """The level that it keeps a broker from, 0 for none."""
        own = level_of_finding(self.verdict.property, entry_of(self.verdict))
        return max(own, level_of_steps(self.program.steps)) if own else 0

    @property
    def reproduced(self) -> bool | None:
        """Whether a repetition of its program showed it again; None if the program was not repeated.

        A finding with `verdict.at` was confirmed by repetitions before it became a finding, so it is True even if `repeats` is 0.
        """
        return True if self.verdict.at else bool(self.again) if self.repeats else None

    def record(self) -> dict[str, Any]:
        row = data(self.verdict) | {"programs": self.count, "history": self.history, "program": self.program.data()}
        row |= {"again": self.again, "repeats": self.repeats, "reproduced": self.reproduced, "file": self.file, "cause": self.cause}
        row |= {"level": self.level, "details": self.details}
        if self.accepted is not None:
            row["accepted"] = self.accepted.record()
        return row


@dataclass(frozen=True)
class ClaimRow:
    """A property under a condition: in how many programs it was judged, and in how many it was violated.

    `reason`: why the catalogue expects a violation, as a rule with the hazard's id. `undecided`: how many programs, shared topics and logs
    are undecided.
    """

    id: str
    condition: str
    expected: str
    tried: int
    broken: int
    reason: str = ""
    undecided: int = 0

    @property
    def agrees(self) -> bool | None:
        """None if a known violation had too few opportunities, or if undecided programs may violate a property that should hold."""
        if self.expected == "holds":
            return False if self.broken else None if self.undecided else True
        return True if self.broken else None if self.tried < ENOUGH or not self.condition else False

    def record(self) -> dict[str, Any]:
        return {**vars(self), "sentence": SENTENCES.get(self.id, ""), "agrees": self.agrees}


@dataclass
class ValidationReport:
    """The result of a validation.

    - `logs`: the judgements of brokers' files: whole logs, audits of stores and restarts. A log that could not be read is included as
      undecided.
    - `shared`: the topics that programs share, each judged as a whole.
    - `lost`: what could not be checked, by missing capability. `stopped`: the reason of an early end.
    - `enough`: seconds until the condition for an early end was met, None if it was not met or there was none.
    - `repeated`: judge and property of unconfirmed verdicts whose programs were run again, in this run or in the run that it continues.
    - `witnesses`: the model's witnesses that were replayed. `faults`: the results of machine faults, one per kind.
    - `over`: messages on expired entries of accepted deviations.
    - `fixed`: known violations, by property or hazard, whose absence an entry accepts: the target has fixed them.
    - `coverage`: which transitions a cover showed, None if programs were generated.
    - `judging_seconds`: CPU-seconds of judging the programs of this run. Saved reports do not contain them.
    """

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
    fixed: Mapping[str, Accepted] = field(default_factory=dict)
    repeated: set[tuple[str, str]] = field(default_factory=set)
    coverage: CoverageReport | None = None
    judging_seconds: float = 0.0

    @property
    def open(self) -> list[ValidationFinding]:
        """The findings that are not accepted, and that were reproduced or could not be repeated."""
        return [finding for finding in self.findings if finding.accepted is None and finding.reproduced is not False]

    @property
    def not_seen_again(self) -> list[ValidationFinding]:
        """The findings that are not accepted, and that no repetition of their program showed again. Their origin is unknown."""
        return [finding for finding in self.findings if finding.accepted is None and finding.reproduced is False]

    @property
    def transport(self) -> Transport:
        """The faults of the connection."""
        return transport(self.judged)

    @property
    def undecided(self) -> list[OpenQuestion]:
        """The programs, shared topics and logs that a judge left open, with the reason."""
        return [*beyond_bounds((*self.judged, *self.shared)), *never_repeated(self.judged, self.repeated), *not_looked_at(self.logs)]

    @property
    def done(self) -> ProgramStatistics:
        """The sum of what the programs did."""
        total = ProgramStatistics()
        for program in self.judged:
            total.add(program.done)
        return total

    @property
    def missing(self) -> list[str]:
        """What no program did although enough programs should have done it."""
        return [] if self.stopped else [name for name, programs in self.done.never.items() if programs >= ENOUGH]

    @property
    def rows(self) -> list[ClaimRow]:
        tried: Counter[tuple[str, str, str]] = Counter()
        broken: Counter[tuple[str, str, str]] = Counter()
        undecided: Counter[tuple[str, str, str]] = Counter()
        for program in (*self.judged, *self.logs, *self.shared):
            for id_, (held, expected, condition) in program.claims.items():
                if expected != "open":
                    key = (id_, condition if expected == "violated" else "", expected)
                    tried[key] += 1
                    broken[key] += not held
            for id_ in program.left_open:
                undecided[id_, "", "holds"] += 1
            for judge in OF_PROGRAMS:
                if program.decides(judge):
                    tried[judge, "", "holds"] += 1
                    broken[judge, "", "holds"] += any(v.judge == judge for v in program.findings)
                elif judge == "specification" and program.unknown:
                    undecided[judge, "", "holds"] += 1
        known = {(case.claim, case.condition): case.reason for case in cases(self.profile) if case.expected == "violated"}
        keys = sorted(tried.keys() | undecided.keys())
        return [ClaimRow(*key, tried[key], broken[key], known.get((key[0], key[1]), ""), undecided[key]) for key in keys]

    @property
    def vanished(self) -> list[ClaimRow]:
        """Known violations that enough programs did not show, and whose absence is not accepted."""
        return [row for row in self.rows if row.expected == "violated" and row.agrees is False and row.id not in self.fixed]

    @property
    def not_reproduced(self) -> list[HazardReplayed]:
        """Witnesses of known violations that the target did not follow, and whose absence is not accepted."""
        return [witness for witness in self.witnesses if witness.reproduced is False and witness.hazard not in self.fixed]

    @property
    def after_faults(self) -> list[str]:
        """Violations after a fault of the machine."""
        return [sentence for tests in self.faults for sentence in tests.findings]

    @property
    def exit_code(self) -> int:
        findings = (self.open, self.vanished, self.not_reproduced, self.after_faults, self.over)
        uncovered = self.coverage.undecided if self.coverage is not None else ""
        undecided = (self.undecided, self.not_seen_again, self.missing, self.transport.undecided, self.stopped, uncovered)
        incomplete = any(undecided) or not self.judged or any(tests.unknown for tests in self.faults)
        return exit_code(findings=any(findings), undecided=incomplete)

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
                "sources": dict(sorted(Counter(item.source or "anything" for item in self.judged).items())),
            },
            "transport": self.transport.data(),
            "undecided": [item.record() for item in self.undecided],
            "unconfirmed": unconfirmed(self.judged, self.repeated),
            "missing": self.missing,
            "over": self.over,
            **({"fixed": {name: entry.record() for name, entry in self.fixed.items()}} if self.fixed else {}),
            "logs": len(self.logs),
            "shared": {
                "parts": len(self.shared),
                "explained": sum(item.explained for item in self.shared),
                "unknown": [reason for item in self.shared for reason in item.unknown],
            },
            "requests": sum(item.requests for item in self.judged),
            "events": sum(item.events for item in self.judged),
            "done": self.done.data(),
            **({} if self.coverage is None else {"coverage": self.coverage.data()}),
            "verdicts": [row.record() for row in self.rows],
            "findings": [item.record() for item in self.findings],
            "witnesses": [item.record() for item in self.witnesses],
            "faults": [item.data() for item in self.faults],
            "lost": self.lost,
            "said": [*self.over, *self.notes],
            "stopped": self.stopped,
            "exit": self.exit_code,
        }


def gather(judged: Iterable[JudgedProgram], programs: Mapping[Path, Program]) -> list[ValidationFinding]:
    """Group the findings of all programs by their keys, each with the shortest program."""
    by_key: dict[FindingKey, ValidationFinding] = {}
    for result in judged:
        for verdict in result.findings:
            program = programs[result.path]
            if not result.program:
                program = Program(0, result.source, (), program.needs)  # no single program caused it
            new = ValidationFinding(verdict, program, place(result.path))
            known = by_key.get(new.key)
            if known is None:
                by_key[new.key] = new
                continue
            known.count += 1
            if len(program.steps) < len(known.program.steps):
                known.verdict, known.program, known.history = verdict, program, new.history
    return list(by_key.values())


# Files


def next_folder() -> Path:
    """Return the first numbered folder for reports that does not exist yet."""
    base = Path(".rocketproof") / "validation"
    return next(base / str(number) for number in itertools.count(1) if not (base / str(number)).exists())


def prepare(folder: Path) -> None:
    """Create an empty folder for a report. Raises InputError if it is not empty or cannot be created."""
    try:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(f"--report {folder} exists and is not empty; give a new folder, or judge it again with --again {folder}")
        (folder / HISTORIES).mkdir(parents=True)
    except OSError as error:
        raise InputError(f"--report {folder} cannot be made ({error.strerror}); give a folder that you may write to") from None


def write(report: ValidationReport, folder: Path) -> None:
    """Write all files except the histories, which exist already. Raises InputError if a file cannot be written."""
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
    """Return report.json of the folder that the option names. Raises InputError if it is missing or no report."""
    return document(folder, REPORT, SCHEMA, VERSION, option)


def document(folder: Path, name: str, schema: str, version: int, option: str) -> dict[str, Any]:
    """Return a JSON file that validate has written to the folder that the option names.

    Raises InputError if there is none with this schema and version.
    """
    try:
        content = json.loads((folder / name).read_text("utf-8"))
        if content["schema"] != schema or not isinstance(content["version"], int):
            raise ValueError
    except OSError:
        raise InputError(f"{option} {folder}: there is no {name}; give the folder of a run of validate") from None
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{option} {folder}: its {name} was not written by validate; give another folder") from None
    if content["version"] != version:
        remedy = "update rocketproof" if content["version"] > version else "validate the target again with this version"
        raise InputError(f"{option} {folder}: its {name} has version {content['version']}, this rocketproof reads {version}; {remedy}")
    return dict(content)


def source(finding: ValidationFinding, profile: str) -> str:
    """Return a self-contained program that sends the steps to a broker and reports whether the finding is reproduced."""
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
