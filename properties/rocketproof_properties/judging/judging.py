"""Judge one recorded program by the specification, the catalogue's claims and the reference implementation.

A `ProgramFinding` is a deviation from these descriptions. `known` findings are violations that the catalogue expects of the profile.
Judging reads only the history, so a saved run can be judged again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from rocketproof_profiles import PROFILES
from rocketproof_protocol.topics import HALF_TOPIC
from rocketproof_traces.checker.histories import UnexplainedEvent, judge_exchanges
from rocketproof_traces.checker.placement_checker import SHARED_TOPICS
from rocketproof_traces.checker.steps import SearchBound
from rocketproof_traces.history.exchange import Exchange

from ..brokers.runs.exchanges import Rebuilt, rebuild
from ..brokers.runs.parsed import ParsedHistory, load
from ..brokers.runs.transport import NOBODY, SILENT, TWICE, TransportFault, faults, numbered
from ..catalogue.conditions import UNREAD
from ..catalogue.table import HISTORY_CLAIMS, HistoryClaim
from ..programs.names import ProgramNames
from ..programs.settings import ALONE, settings_of
from . import stated
from .done import ProgramStatistics, did
from .expected import HIDDEN, IN_DOUBT, OF_PLACES, OF_QUEUES, OF_SETTINGS, Expected, conditions, expected
from .reference.comparison import FieldDifference
from .reference.decided import kept, rules_of
from .reference.differences import differences, is_comparable
from .reference.dispatched import OF_DISPATCH
from .reference.program import ANSWER
from .shared import Touched, judge_topics, touched

Judge = Literal["specification", "claims", "reference"]
EXPANDED: Final = SearchBound(100_000)
"""Default limit of the specification's search: states expanded in each part of a program before the part stays undecided."""
UNSPECIFIED: Final = frozenset({"clusterTopicEnable", "brokerTopicEnable", "defaultTopicQueueNums", "startAcceptSendRequestTimeStamp"})
"""Settings that the specification does not describe: a time before which nothing is served, and numbers and permissions of the broker's own
topics. It does not model full files (ALONE) either."""
SHARED: Final = "topics that programs share"
"""The source of a verdict about all programs together."""
JUDGES: Final[tuple[Judge, ...]] = ("specification", "claims", "reference")
OF_FRAMES: Final[Mapping[str, tuple[str, ...]]] = {"INV-01": (SILENT, TWICE), "INV-02": (TWICE,), "INV-04": (NOBODY,)}
"""Claims about the number of responses, with the transport faults that look like a violation by the broker."""


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


@dataclass
class JudgedProgram:
    """The judgement of one program.

    - `whole`: whether the history is complete. `by`: the judges that judged it.
    - `explained`: number of responses and reported topics that the specification explains. `unknown`: the reasons for undecided parts.
    - `claims`: for each judged claim whether it held, the expected verdict, and the condition of that expectation.
    - `left_open`: claims that could not be judged, with the reason.
    - `shared`: its requests to topics that programs share. They are judged over all programs (`judge_shared`).
    - `actions`: the actions of the specification that explain it.
    - `exercised`: the claims whose premise was true at least once.
    - `kept`: the rules that were each observed to hold. A guard of an explaining action states the rule, or the rule alone decides a
      field that is correct.
    - `asked`: the kinds of its requests.
    - `deleted`: the topics that its requests may have deleted, and those deleted after it ended. `anew`: only the former, which it may
      have used again.
    - `faults`: transport faults of the connection.
    - `unconfirmed`: findings that depend on such a fault or on chance. They count only if they recur in a repetition.
    - `wanted`: requests that expect a response, by kind. `answered`: the number of responses.
    - `done`: its statistics.
    """

    program: int
    path: Path
    source: str
    conditions: frozenset[str]
    verdicts: list[ProgramFinding] = field(default_factory=list)
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
    kept: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    deleted: frozenset[str] = frozenset()
    anew: frozenset[str] = frozenset()
    faults: tuple[TransportFault, ...] = ()
    unconfirmed: list[ProgramFinding] = field(default_factory=list)
    wanted: Counter[str] = field(default_factory=Counter)
    answered: int = 0
    done: ProgramStatistics = field(default_factory=ProgramStatistics)

    @property
    def findings(self) -> list[ProgramFinding]:
        """The deviations that are not known."""
        return [finding for finding in self.verdicts if not finding.known]

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
        """Return the findings with the same property as a verdict; for a verdict that may be chance, the unconfirmed ones."""
        return [finding for finding in (self.unconfirmed if verdict.at else self.findings) if finding.property == verdict.property]


def judge_file(path: Path, profile: str, judges: Sequence[Judge] = JUDGES, bound: SearchBound = EXPANDED) -> JudgedProgram:
    """Judge a saved history. `bound` limits the specification's search. Raises TraceError for a file that is not a history."""
    return judge(load(path), path, profile, judges, bound)


def judge(
    parsed: ParsedHistory, path: Path, profile: str, judges: Sequence[Judge] = JUDGES, bound: SearchBound = EXPANDED
) -> JudgedProgram:
    """Judge a history by each of the judges that can decide it; `by` of the result names those."""
    rebuilt = rebuild(parsed, PROFILES[profile])
    judged = JudgedProgram(parsed.program.number, path, parsed.program.source, conditions(parsed, rebuilt, profile), whole=parsed.whole)
    judged.events, judged.requests = len(parsed.events), len(parsed.exchanges)
    judged.asked = frozenset(exchange.op for exchange in parsed.exchanges)
    judged.deleted, judged.anew = parsed.deleted | parsed.cleaned, parsed.deleted
    judged.faults = faults(parsed)
    judged.wanted = Counter(exchange.op for exchange in parsed.exchanges if not exchange.one_way)
    judged.answered = sum(exchange.closed == "ok" for exchange in parsed.exchanges)
    used: list[Judge] = []
    if "specification" in judges and _is_specified(parsed):
        used.append("specification")
        _by_specification(parsed, profile, judged, bound)
        judged.shared = touched(parsed, path)
    if "claims" in judges:
        used.append("claims")
        _by_claims(parsed, rebuilt, profile, judged)
    if "reference" in judges and is_comparable(parsed) and parsed.whole and not parsed.unreadable:
        used.append("reference")
        _by_reference(parsed, rebuilt, profile, judged)
    judged.by = tuple(used)
    judged.done = did(parsed, profile, judged.actions)
    return judged


def _is_specified(parsed: ParsedHistory) -> bool:
    needs = parsed.program.needs
    return needs != ALONE and UNSPECIFIED.isdisjoint(settings_of(needs)) and "brokerPermission" not in parsed.unreadable


def _by_specification(parsed: ParsedHistory, profile: str, program: JudgedProgram, bound: SearchBound) -> None:
    verdict = judge_exchanges(parsed.header, parsed.recorded, profile, limit=bound.states, seconds=bound.seconds)
    if verdict.interrupted:  # a partly judged program counts as not judged: the run continues with it
        raise KeyboardInterrupt
    program.explained = verdict.explained
    program.unknown = verdict.unknown
    program.actions = verdict.actions
    if not verdict.unknown:
        program.kept |= stated.kept(profile, verdict.actions)
    by_seq = {event.seq: event for event in parsed.exchanges} | {event.end: event for event in parsed.exchanges}
    for event in verdict.findings:
        if _is_own(event, by_seq.get(event.seq), parsed.names):  # other programs change shared topics too: `judge_shared`
            program.verdicts.append(_unexplained(event, profile))


def _is_own(event: UnexplainedEvent, exchange: Exchange | None, names: ProgramNames) -> bool:
    """Whether an unexplained event concerns only topics of its program. `exchange` is its request, None for a report of the broker's
    topics.

    A request without a topic may concern a shared topic that other programs created and filled.
    """
    if exchange is not None and "topic" in exchange.fields:
        return names.is_mine(str(exchange.fields["topic"]))
    common = SHARED_TOPICS if exchange is not None else (HALF_TOPIC,)  # reports of other shared topics are not judged
    return all(names.is_mine(topic) for topic in event.part.rpartition(" at ")[0].split(", ") if topic not in common)


def _unexplained(event: UnexplainedEvent, profile: str) -> ProgramFinding:
    refused = event.refused
    guard = f"{refused.action}: {refused.guard}" if refused.guard else ""
    values = tuple((name, str(value), refused.meanings.get(name, "")) for name, value in refused.values.items())
    rules = stated.contradicted(profile, refused.action, refused.guard)
    finding = ProgramFinding(
        "specification", f"specification.{event.op}", str(event), seq=event.seq, guard=guard, sentence=refused.sentence
    )
    return replace(finding, values=values, rules=rules)


def judge_shared(programs: Iterable[JudgedProgram], profile: str, bound: SearchBound = EXPANDED) -> list[JudgedProgram]:
    """Judge each shared topic over all programs by the specification. The results have program number 0."""
    programs_judged = []
    for shared in judge_topics([program.shared for program in programs if program.shared is not None], profile, bound):
        judged = JudgedProgram(0, shared.path, SHARED, frozenset(), by=("specification",), explained=shared.verdict.explained)
        judged.unknown = (shared.verdict.unknown,) if shared.verdict.unknown else ()
        judged.actions = shared.verdict.actions
        judged.kept = frozenset() if shared.verdict.unknown else stated.kept(profile, shared.verdict.actions)
        judged.verdicts += [_unexplained(shared.finding, profile)] if shared.finding is not None else []
        programs_judged.append(judged)
    return programs_judged


def _by_claims(parsed: ParsedHistory, rebuilt: Rebuilt, profile: str, program: JudgedProgram) -> None:
    exercised = set()
    for claim in HISTORY_CLAIMS:
        if not _judgeable(claim, rebuilt, parsed, program.in_doubt):
            continue
        verdict, case = expected(profile, claim.id, program.conditions, parsed.program.source)
        history = rebuilt.own if claim.id in OF_QUEUES else rebuilt.whole
        text = claim.check(history)
        fault = None if text is None else next((each for each in program.faults if each.kind in OF_FRAMES.get(claim.id, ())), None)
        if fault is not None and verdict != "violated":
            program.unconfirmed.append(ProgramFinding("claims", claim.id, f"{claim.sentence}: {fault}", seq=fault.seq, at=fault.at))
            continue
        if text is not None or claim.exercised(history):
            exercised.add(claim.id)
        program.claims[claim.id] = (text is None, verdict, "" if case is None else case.condition)
        if text is None or verdict == "open":
            continue
        known = verdict == "violated"
        reason = case.reason if case is not None else ""
        condition = case.condition if case is not None and known else ""
        program.verdicts.append(ProgramFinding("claims", claim.id, f"{claim.sentence}: {text}", known, condition, reason))
    program.exercised = frozenset(exercised)


def _judgeable(claim: HistoryClaim, rebuilt: Rebuilt, parsed: ParsedHistory, doubt: bool) -> bool:
    """Whether the responses and the records read back are sufficient to decide a claim."""
    if claim.id in HIDDEN or (doubt and claim.id in IN_DOUBT):
        return False
    if any(claim.id in OF_SETTINGS.get(name, ()) for name in parsed.unreadable):
        return False
    if claim.id in OF_QUEUES:
        return rebuilt.pulled and rebuilt.kept and parsed.whole
    if claim.id in OF_PLACES:
        return rebuilt.viewed and (rebuilt.pulled or rebuilt.lost) and parsed.whole
    return True


def _by_reference(parsed: ParsedHistory, rebuilt: Rebuilt, profile: str, program: JudgedProgram) -> None:
    differing = differences(parsed, PROFILES[profile])
    if not program.conditions.isdisjoint(UNREAD):
        # It is chance how many records the broker dispatches before it reaches a record that cannot be read.
        differing = [each for each in differing if each.seq >= 0 and not _depends_on_dispatch(each, parsed)]
    if not differing and not program.in_doubt:
        program.kept |= kept(parsed, {record.topic for log in rebuilt.whole.logs.values() for record in log.records})
    chance = [each for each in differing if each.by_chance]
    at_of = numbered(parsed) if chance else {}
    program.unconfirmed += [replace(of_difference(each, parsed), at=at_of[each.seq]) for each in chance]
    for difference in [each for each in differing if not each.by_chance][:1]:  # later differences follow from the first
        verdict = of_difference(difference, parsed)
        fault = next((each for each in program.faults if difference.field == ANSWER and each.seq == difference.seq), None)
        if fault is None:
            program.verdicts.append(verdict)
        else:
            program.unconfirmed.append(replace(verdict, at=fault.at))


def of_difference(difference: FieldDifference, parsed: ParsedHistory) -> ProgramFinding:
    """Return the finding for a difference from the reference implementation."""
    subject = next((exchange.op for exchange in parsed.exchanges if exchange.seq == difference.seq), difference.where.split()[0])
    subject = {"the": "record"}.get(subject, subject)
    return ProgramFinding(
        "reference", f"{subject}.{difference.field}", str(difference), seq=difference.seq, rules=rules_of(difference, parsed)
    )


def _depends_on_dispatch(difference: FieldDifference, parsed: ParsedHistory) -> bool:
    """Whether a difference is in a response that depends on how far the broker has dispatched."""
    return any(exchange.seq == difference.seq and exchange.op in OF_DISPATCH for exchange in parsed.exchanges)


def data(verdict: ProgramFinding) -> dict[str, Any]:
    """Return a finding as JSON values."""
    rows = {key: value for key, value in vars(verdict).items() if value not in ("", -1, ())}
    if verdict.values:
        rows["values"] = {name: value for name, value, _ in verdict.values}
    return rows
