"""The verdicts on one program: the result of each judge, and the judgement that `judged_program` combines from them.

A `ProgramFinding` is a deviation from a description. `known` findings are violations that the catalogue expects of the profile.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from ..brokers.runs.transport import TransportFault
from ..catalogue.claim import LabelledDifference
from .exchanges import ProgramExchanges
from .shared import Touched
from .statistics import ProgramStatistics, statistics_of

Judge = Literal["specification", "claims", "reference"]
JUDGES: Final[tuple[Judge, ...]] = ("specification", "claims", "reference")
Expected = Literal["holds", "violated", "open"]
"""The catalogue's expected verdict for a claim."""
_CODE: Final = re.compile(r"\[?(-?[0-9]+)")
"""A response's code at the start of a value in words; reports of earlier versions have a list."""
FindingKey = tuple[str, str, str]
"""Judge, property, and for a response's code the expected and the found one."""


@dataclass(frozen=True)
class ProgramFinding:
    """A deviation from a description.

    - `property`: a claim's id, or the field of a response.
    - `seq`: the number of the event, -1 for what was read back at the end.
    - `condition`: the condition under which a known violation is expected.
    - `guard`, such as "accept_queue: legal queue id": the action's guard that rejects, with its `sentence`.
    - `values`: name, value and meaning of each variable of the guard.
    - `rules`: the rules that decide what differs. A single rule is contradicted. With several rules it is unknown which.
    - `at`: for a finding that a transport fault or chance may explain, the request with that fault or response, such as
      `client 0, request 3 (send)`. "" for other findings.
    - `difference`: the field that differs with the expected and the found value, None if the text alone states it.
    """

    judge: Judge
    property: str
    text: str
    known: bool = False
    condition: str = ""
    reason: str = ""
    seq: int = -1
    guard: str = ""
    sentence: str = ""
    values: tuple[tuple[str, str, str], ...] = ()
    rules: tuple[str, ...] = ()
    at: str = ""
    difference: LabelledDifference | None = None

    def key(self) -> FindingKey:
        """Return what findings of one kind share: judge and property, and of a response's code also the expected and the found code.

        A rejection that is missing and a code that is another one are different bugs, although both are about the field `code`.
        """
        return finding_key(self.judge, self.property, None if self.difference is None else vars(self.difference))


def finding_key(judge: str, property_: str, difference: Mapping[str, str] | None) -> FindingKey:
    """Return the key of a finding, also of one in a report, where `difference` is an object."""
    if difference is None or not property_.endswith(".code"):
        return judge, property_, ""
    codes = (_CODE.match(difference[side]) for side in ("expected", "found"))
    return judge, property_, " ".join("none" if code is None else code[1] for code in codes)


@dataclass(frozen=True)
class JudgeResult:
    """The result of one judge. The fields have the meaning of those of `JudgedProgram`; each judge leaves out what it does not decide.

    `partly`: only the beginning of the program was judged, so that the judge's findings count and it does not belong to `by`.
    """

    judge: Judge
    deviations: Sequence[ProgramFinding] = ()
    unconfirmed: Sequence[ProgramFinding] = ()
    rules_held: frozenset[str] = frozenset()
    explained: int = 0
    unknown: tuple[str, ...] = ()
    actions: frozenset[str] = frozenset()
    shared: Touched | None = None
    claims: Mapping[str, tuple[bool, Expected, str]] = field(default_factory=dict)
    exercised: frozenset[str] = frozenset()
    partly: bool = False


@dataclass
class JudgedProgram:
    """The judgement of one program.

    - `deviations`: known and unknown deviations that count. `findings` are those that are not known.
    - `whole`: whether the history is complete. `by`: the judges that judged it.
    - `explained`: number of responses and reported topics that the specification explains. `unknown`: the reasons for undecided parts.
    - `claims`: for each judged claim whether it held, the expected verdict, and the condition of that expectation.
    - `left_open`: claims that could not be judged, with the reason.
    - `shared`: its requests to topics that programs share. They are judged over all programs (`judge_shared`).
    - `actions`: the actions of the specification that explain it.
    - `exercised`: the claims whose premise was true at least once.
    - `rules_held`: the rules that were each observed to hold. A guard of an explaining action states the rule, or the rule alone decides
      a field that is correct.
    - `asked`: the kinds of its requests.
    - `deleted_by_requests`: the topics that its requests may have deleted, which it may have used again. `deleted`: also those deleted
      after it ended.
    - `faults`: transport faults of the connection.
    - `unconfirmed`: findings that depend on such a fault or on chance. They count only if they recur in a repetition.
    - `wanted`: requests that expect a response, by kind. `answered`: the number of responses.
    - `done`: its statistics.
    """

    program: int
    path: Path
    source: str
    conditions: frozenset[str]
    deviations: list[ProgramFinding] = field(default_factory=list)
    claims: dict[str, tuple[bool, Expected, str]] = field(default_factory=dict)
    left_open: dict[str, str] = field(default_factory=dict)
    events: int = 0
    requests: int = 0
    whole: bool = True
    by: tuple[Judge, ...] = ()
    explained: int = 0
    unknown: tuple[str, ...] = ()
    shared: Touched | None = field(default=None, repr=False)
    actions: frozenset[str] = frozenset()
    exercised: frozenset[str] = frozenset()
    rules_held: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    deleted_by_requests: frozenset[str] = frozenset()
    faults: tuple[TransportFault, ...] = ()
    unconfirmed: list[ProgramFinding] = field(default_factory=list)
    wanted: Counter[str] = field(default_factory=Counter)
    answered: int = 0
    done: ProgramStatistics = field(default_factory=ProgramStatistics)

    @property
    def findings(self) -> list[ProgramFinding]:
        """The deviations that are not known."""
        return [finding for finding in self.deviations if not finding.known]

    @property
    def in_doubt(self) -> bool:
        """Whether a transport fault leaves open what the broker did."""
        return any(fault.leaves_doubt for fault in self.faults)

    def decides(self, judge: Judge) -> bool:
        """Whether this judge decided the whole program: the specification reached no limit, and the reference implementation met no request
        of unknown effect. It stops at such a request."""
        if any(finding.judge == judge for finding in self.findings):
            return True
        return judge in self.by and not (self.unknown if judge == "specification" else judge == "reference" and self.in_doubt)

    def alike(self, verdict: ProgramFinding) -> list[ProgramFinding]:
        """Return the findings with the same property and codes as a verdict; for a verdict that may be chance, the unconfirmed ones."""
        return [finding for finding in (self.unconfirmed if verdict.at else self.findings) if finding.key()[1:] == verdict.key()[1:]]


def judged_program(program: ProgramExchanges, path: Path, results: Sequence[JudgeResult]) -> JudgedProgram:
    """Combine the results of the judges that judged a program."""
    history = program.history
    judged = JudgedProgram(history.program.number, path, history.program.source, program.conditions, whole=history.whole)
    judged.by = tuple(result.judge for result in results if not result.partly)
    for result in results:
        judged.deviations += result.deviations
        judged.unconfirmed += result.unconfirmed
        judged.rules_held |= result.rules_held
        judged.explained += result.explained
        judged.unknown += result.unknown
        judged.actions |= result.actions
        judged.shared = result.shared or judged.shared
        judged.claims |= result.claims
        judged.exercised |= result.exercised
    judged.events, judged.requests = len(history.events), len(history.exchanges)
    judged.asked = frozenset(exchange.op for exchange in history.exchanges)
    judged.deleted, judged.deleted_by_requests = history.deleted | history.cleaned, history.deleted
    judged.faults = program.faults
    judged.wanted = Counter(exchange.op for exchange in history.exchanges if not exchange.one_way)
    judged.answered = sum(exchange.closed == "ok" for exchange in history.exchanges)
    judged.done = statistics_of(program, judged.actions)
    return judged


def data(verdict: ProgramFinding) -> dict[str, Any]:
    """Return a finding as JSON values."""
    rows = {key: value for key, value in vars(verdict).items() if value not in ("", -1, (), None)}
    if verdict.difference is not None:
        rows["difference"] = vars(verdict.difference)
    if verdict.values:
        rows["values"] = {name: value for name, value, _ in verdict.values}
    return rows
