"""The outcomes of mutants, the report of a run, and the file that stores it so that a run can resume.

Every source has the same outcomes, report and file. A `ResultFormat` states the columns of its file and the words of its verdicts.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal

from rocketproof_properties.reports.choices import InputError
from rocketproof_properties.reports.exitcode import exit_code

MutantVerdict = Literal[
    "killed", "noticed", "survived", "undecided", "unreached", "equivalent", "unseen", "equal", "unreachable", "stutters", "argued"
]
KILLED: Final = "killed"
"""A test failed."""
NOTICED: Final = "noticed"
"""A validation found something, the verdict of a property changed, or the implementation contradicts the mutant."""
SURVIVED: Final = "survived"
"""Nothing noticed it, and there is no reason for that."""
UNDECIDED: Final = "undecided"
"""The run or the trial ended before."""
UNREACHED: Final = "unreached"
"""No program reaches it."""
EQUIVALENT: Final = "equivalent"
"""The same behaviour, for a known reason."""
UNSEEN: Final = "unseen"
"""Not visible over the wire, for a known reason."""
EQUAL: Final = "equal"
"""Proved: the same value in every state that types and invariants allow."""
UNREACHABLE: Final = "unreachable"
"""No difference in any reachable state of any instance."""
STUTTERS: Final = "stutters"
"""It only adds steps that change nothing or lead to the target of another step."""
ARGUED: Final = "argued"
"""It differs, and no rule of the described system says which is right."""
_FAILED: Final = (SURVIVED, UNREACHED)


@dataclass(frozen=True)
class MutantOutcome:
    """What became of a mutant.

    `by`: what noticed it, such as a test, the id of a property, "implementation", "types" or "target". `where`: the instance. `how`: the
    observation, or the reason why nothing noticed it. `seconds`: the duration of its trial. `more`: further columns of its source.
    """

    id: str
    verdict: MutantVerdict
    by: str = ""
    where: str = ""
    how: str = ""
    seconds: float = 0.0
    more: Mapping[str, Any] = field(default_factory=dict)


_OWN: Final = tuple(each.name for each in fields(MutantOutcome) if each.name != "more")


@dataclass(frozen=True)
class ResultFormat:
    """How the outcomes of a source are stored and printed.

    - `option`: the option of `mutate` that selects the source. `noun`: what the output calls a mutant.
    - `schema`: the schema of the file, "" for a plain list of rows that no run resumes. `rows`: the key of its rows.
    - `columns`: the keys of a row, each with the name of its value in an outcome.
    - `words`: the verdicts in the order of the output, each with its meaning. `styles` and `by`: colours of verdicts and words for `by`.
    - `computed`: options that the source computes. `differs`: the message for a file with another value of them.
    """

    option: str
    noun: str
    schema: str
    rows: str
    columns: Mapping[str, str]
    words: Mapping[str, str]
    styles: Mapping[str, str]
    by: Mapping[str, str] = field(default_factory=dict)
    computed: Callable[[], Mapping[str, Any]] = dict
    differs: str = ""

    def record(self, outcome: MutantOutcome) -> dict[str, Any]:
        """Return the JSON form of an outcome."""
        values = {**{name: getattr(outcome, name) for name in _OWN}, "seconds": round(outcome.seconds, 3), **outcome.more}
        return {key: None if values[name] == "" and not self.schema else values[name] for key, name in self.columns.items()}

    def outcome(self, row: Mapping[str, Any]) -> MutantOutcome:
        """Return the outcome of a row. Raises KeyError or TypeError for a row of another form."""
        if row.keys() != self.columns.keys() or row["verdict"] not in self.words:
            raise KeyError
        values = {name: row[key] for key, name in self.columns.items()}
        own = {name: value for name, value in values.items() if name in _OWN}
        return MutantOutcome(**own, more={name: value for name, value in values.items() if name not in _OWN})


@dataclass
class MutationReport:
    """The outcomes in the mutants' order. `options`: the options of the run. `stopped`: what ended the run early, "" if nothing did.

    `deviations`: differences between the implementation and the unchanged specification, in words; None if the source compares neither.
    """

    format: ResultFormat
    rows: list[MutantOutcome] = field(default_factory=list)
    options: Mapping[str, Any] = field(default_factory=dict)
    stopped: str = ""
    seconds: float = 0.0
    deviations: list[str] | None = None

    @property
    def counts(self) -> Counter[str]:
        return Counter(row.verdict for row in self.rows)

    @property
    def share(self) -> float | None:
        """The noticed share of the mutants that something can notice, None without any. Unreached ones count."""
        counts = self.counts
        visible = counts[NOTICED] + counts[SURVIVED] + counts[UNREACHED]
        return counts[NOTICED] / visible if visible else None

    @property
    def accounted(self) -> float:
        """The share of decided mutants that did not survive."""
        counts = self.counts
        decided = len(self.rows) - counts[UNDECIDED]
        return 1.0 if not decided else 1 - counts[SURVIVED] / decided

    @property
    def exit_code(self) -> int:
        """1 if a mutant survived or is unreached, or the implementation deviates; otherwise 3 if one is undecided, otherwise 0."""
        counts = self.counts
        failed = any(counts[verdict] for verdict in _FAILED) or bool(self.deviations)
        return exit_code(findings=failed, undecided=counts[UNDECIDED] > 0)

    def record(self) -> Mapping[str, Any] | Sequence[Mapping[str, Any]]:
        """Return the JSON form."""
        rows = [self.format.record(row) for row in self.rows]
        if not self.format.schema:
            return rows
        return {
            "schema": self.format.schema,
            "version": 1,
            **self.options,
            **self.format.computed(),
            "stopped": self.stopped or None,
            "seconds": round(self.seconds, 3),
            "counts": {verdict: self.counts[verdict] for verdict in self.format.words},
            **({} if self.deviations is None else {"deviations": self.deviations}),
            self.format.rows: rows,
        }


def read_known(path: Path, format_: ResultFormat, options: Mapping[str, Any] | None = None) -> MutationReport:
    """Return the decided outcomes and the deviations of an earlier run. Raises InputError if the file is not such a run or its options
    differ."""
    try:
        saved: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
        if saved["schema"] != format_.schema or saved["version"] != 1:
            raise KeyError
        differing = [name for name, value in (options or {}).items() if saved[name] != value]
        computed = {name: saved[name] for name in format_.computed()}
        rows = [format_.outcome(row) for row in saved[format_.rows]]
        deviations = [str(text) for text in saved["deviations"]] if "deviations" in saved else None
    except OSError as error:
        raise InputError(f"--resume {path} cannot be read ({error.strerror}); give the file that --json wrote") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"--resume {path} is no result of mutate {format_.option}; give the file that --json wrote") from None
    if computed != format_.computed():
        raise InputError(f"--resume {path} {format_.differs}")
    if differing:
        raise InputError(f"--resume {path} is of a run with another {differing[0]}; give the same one, or leave out --resume")
    return MutationReport(format_, [row for row in rows if row.verdict != UNDECIDED], deviations=deviations)
