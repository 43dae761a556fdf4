"""Judging one recorded program: by the specification, by the catalogue's claims, by the reference implementation.

A `ProgramFinding` says what was not as described; `known` ones are violations that the catalogue expects of the profile. Judging reads
nothing but the history, so that a saved run can be judged again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from rocketproof_profiles import PROFILES
from rocketproof_protocol.topics import HALF_TOPIC
from rocketproof_traces.checker.histories import UnexplainedEvent, judge_history
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
from .reference.differences import differences
from .reference.dispatched import OF_DISPATCH
from .reference.program import ANSWER
from .shared import Touched, judge_topics, touched

Judge = Literal["specification", "claims", "reference"]
EXPANDED: Final = SearchBound(100_000)
"""How many states the specification's judge expands in each part of a program before it leaves the part undecided, unless given."""
UNSPECIFIED: Final = frozenset({"clusterTopicEnable", "brokerTopicEnable", "defaultTopicQueueNums", "startAcceptSendRequestTimeStamp"})
"""Settings that the specification does not describe: a time before which nothing is served, other numbers and rights of the broker's own
topics. Nor does it know that files are full (ALONE)."""
SHARED: Final = "topics that programs share"
"""Where a verdict about all programs together comes from."""
JUDGES: Final[tuple[Judge, ...]] = ("specification", "claims", "reference")
OF_FRAMES: Final[Mapping[str, tuple[str, ...]]] = {"INV-01": (SILENT, TWICE), "INV-02": (TWICE,), "INV-04": (NOBODY,)}
"""Claims about how many answers come, with the faults of a connection that look like a broker which breaks them."""


@dataclass(frozen=True)
class ProgramFinding:
    """What is not as described. `property` is a claim's id, or the field of an answer; `seq` the event, -1 if it is what was read
    back at the end; `condition` that under which a known violation is known. `guard`, such as "accept_queue: legal queue id", is that of an
    action which refuses, with its sentence, and its values: of each the name, the value, and what it means. `rules` are those that decide
    what differs: a single one is contradicted, of several nobody knows which. `at`: the request of which a frame was lost or came twice,
    where nothing else is wrong, or whose answer may be as it is by chance."""

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
    """A program's judgement. `claims`: for each claim that could be judged whether it held, and the expected verdict under which condition;
    `left_open`: those that could not be, with the reason.
    `shared`: what it did to topics that programs share, which is judged over all programs (`judge_shared`). `actions` of the specification
    explain it; `exercised` are the claims that it put to the test: a premise was true somewhere; `kept` are the rules that alone decide
    something of it which is as it should be; `asked` are the kinds of its requests, `deleted` the topics that it had deleted, `anew` those
    of them that it may have used again.

    `faults` are those of the connection; `unconfirmed` verdicts rest on such a fault alone, or on what else may come by chance, and are
    none before the same comes again. `wanted`: how many requests wanted an answer, by their kind; `answered`: how many got one.
    `done`: what it did.
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
        """What is wrong, and not known."""
        return [one for one in self.verdicts if not one.known]

    @property
    def in_doubt(self) -> bool:
        """Whether a fault of the connection leaves open what the broker has done."""
        return any(one.leaves_doubt for one in self.faults)

    def decides(self, judge: Judge) -> bool:
        """Return whether this judge came to a verdict on the whole program: the specification reached no bound, and the reference
        implementation met no request of unknown effect, at which it stops to follow."""
        if any(one.judge == judge for one in self.findings):
            return True
        return judge in self.by and not (self.unknown if judge == "specification" else judge == "reference" and self.in_doubt)

    def alike(self, verdict: ProgramFinding) -> list[ProgramFinding]:
        """What it shows of a verdict's property: findings, or what may be chance if that verdict may."""
        return [one for one in (self.unconfirmed if verdict.at else self.findings) if one.property == verdict.property]


def judge_file(path: Path, profile: str, judges: Sequence[Judge] = JUDGES, bound: SearchBound = EXPANDED) -> JudgedProgram:
    """Judge a saved history; `bound` is the specification's. Raises TraceError for a file that is none."""
    return judge(load(path), path, profile, judges, bound)


def judge(
    parsed: ParsedHistory, path: Path, profile: str, judges: Sequence[Judge] = JUDGES, bound: SearchBound = EXPANDED
) -> JudgedProgram:
    rebuilt = rebuild(parsed, PROFILES[profile])
    found = JudgedProgram(parsed.program.number, path, parsed.program.source, conditions(parsed, rebuilt, profile), whole=parsed.whole)
    found.events, found.requests = len(parsed.events), len(parsed.asked)
    found.asked = frozenset(one.op for one in parsed.asked)
    found.deleted, found.anew = parsed.deleted | parsed.cleaned, parsed.deleted
    found.faults = faults(parsed)
    found.wanted = Counter(one.op for one in parsed.asked if not one.one_way)
    found.answered = sum(one.closed == "ok" for one in parsed.asked)
    used: list[Judge] = []
    if "specification" in judges and _is_specified(parsed):
        used.append("specification")
        _by_specification(parsed, profile, found, bound)
        found.shared = touched(parsed, path)
    if "claims" in judges:
        used.append("claims")
        _by_claims(parsed, rebuilt, profile, found)
    if "reference" in judges and not parsed.concurrent and parsed.whole and not parsed.unreadable:
        used.append("reference")
        _by_reference(parsed, rebuilt, profile, found)
    found.by = tuple(used)
    found.done = did(parsed, profile, found.actions)
    return found


def _is_specified(parsed: ParsedHistory) -> bool:
    needs = parsed.program.needs
    return needs != ALONE and UNSPECIFIED.isdisjoint(settings_of(needs)) and "brokerPermission" not in parsed.unreadable


def _by_specification(parsed: ParsedHistory, profile: str, found: JudgedProgram, bound: SearchBound) -> None:
    judged = judge_history(parsed.header, parsed.events, profile, limit=bound.states, seconds=bound.seconds)
    if judged.interrupted:  # a program that was judged in part counts as not judged: the run goes on with it
        raise KeyboardInterrupt
    found.explained = judged.explained
    found.unknown = judged.unknown
    found.actions = judged.actions
    if not judged.unknown:
        found.kept |= stated.kept(profile, judged.actions)
    asked = {one.seq: one for one in parsed.asked} | {one.end: one for one in parsed.asked}
    for one in judged.findings:
        if _is_own(one, asked.get(one.seq), parsed.names):  # what programs share is not as one program left it: `judge_shared`
            found.verdicts.append(_unexplained(one, profile))


def _is_own(found: UnexplainedEvent, about: Exchange | None, names: ProgramNames) -> bool:
    """Whether a finding is about topics of its program alone; `about` is the request, None for what the broker reported of its topics.

    A request that names no topic may lie in a common one, in whatever way others have made and filled that.
    """
    if about is not None and "topic" in about.fields:
        return names.is_mine(str(about.fields["topic"]))
    common = SHARED_TOPICS if about is not None else (HALF_TOPIC,)  # of which no report is judged
    return all(names.is_mine(topic) for topic in found.part.rpartition(" at ")[0].split(", ") if topic not in common)


def _unexplained(one: UnexplainedEvent, profile: str) -> ProgramFinding:
    refused = one.refused
    guard = f"{refused.action}: {refused.guard}" if refused.guard else ""
    values = tuple((name, str(value), refused.meanings.get(name, "")) for name, value in refused.values.items())
    rules = stated.contradicted(profile, refused.action, refused.guard)
    found = ProgramFinding("specification", f"specification.{one.op}", str(one), seq=one.seq, guard=guard, sentence=refused.sentence)
    return replace(found, values=values, rules=rules)


def judge_shared(programs: Iterable[JudgedProgram], profile: str, bound: SearchBound = EXPANDED) -> list[JudgedProgram]:
    """The topics that programs share, each judged by the specification over all the programs: their numbers are 0."""
    found = []
    for one in judge_topics([program.shared for program in programs if program.shared is not None], profile, bound):
        judged = JudgedProgram(0, one.path, SHARED, frozenset(), by=("specification",), explained=one.verdict.explained)
        judged.unknown = (one.verdict.unknown,) if one.verdict.unknown else ()
        judged.actions = one.verdict.actions
        judged.kept = frozenset() if one.verdict.unknown else stated.kept(profile, one.verdict.actions)
        judged.verdicts += [_unexplained(one.finding, profile)] if one.finding is not None else []
        found.append(judged)
    return found


def _by_claims(parsed: ParsedHistory, rebuilt: Rebuilt, profile: str, found: JudgedProgram) -> None:
    exercised = set()
    for claim in HISTORY_CLAIMS:
        if not _judgeable(claim, rebuilt, parsed, found.in_doubt):
            continue
        verdict, case = expected(profile, claim.id, found.conditions, parsed.program.source)
        history = rebuilt.own if claim.id in OF_QUEUES else rebuilt.whole
        text = claim.check(history)
        fault = None if text is None else next((one for one in found.faults if one.kind in OF_FRAMES.get(claim.id, ())), None)
        if fault is not None and verdict != "violated":
            found.unconfirmed.append(ProgramFinding("claims", claim.id, f"{claim.sentence}: {fault}", seq=fault.seq, at=fault.at))
            continue
        if text is not None or claim.exercised(history):
            exercised.add(claim.id)
        found.claims[claim.id] = (text is None, verdict, "" if case is None else case.condition)
        if text is None or verdict == "open":
            continue
        known = verdict == "violated"
        reason = case.reason if case is not None else ""
        condition = case.condition if case is not None and known else ""
        found.verdicts.append(ProgramFinding("claims", claim.id, f"{claim.sentence}: {text}", known, condition, reason))
    found.exercised = frozenset(exercised)


def _judgeable(claim: HistoryClaim, rebuilt: Rebuilt, parsed: ParsedHistory, doubt: bool) -> bool:
    """Whether what was answered and read back is enough for a claim."""
    if claim.id in HIDDEN or (doubt and claim.id in IN_DOUBT):
        return False
    if any(claim.id in OF_SETTINGS.get(name, ()) for name in parsed.unreadable):
        return False
    if claim.id in OF_QUEUES:
        return rebuilt.pulled and rebuilt.kept and parsed.whole
    if claim.id in OF_PLACES:
        return rebuilt.viewed and (rebuilt.pulled or rebuilt.lost) and parsed.whole
    return True


def _by_reference(parsed: ParsedHistory, rebuilt: Rebuilt, profile: str, found: JudgedProgram) -> None:
    differing = differences(parsed, PROFILES[profile])
    if not found.conditions.isdisjoint(UNREAD):  # how far the broker had dispatched when it came to such a record is chance
        differing = [one for one in differing if one.seq >= 0 and not _asks_queue(one, parsed)]
    if not differing and not found.in_doubt:
        found.kept |= kept(parsed, {record.topic for log in rebuilt.whole.logs.values() for record in log.records})
    chance = [one for one in differing if one.by_chance]
    at_of = numbered(parsed) if chance else {}
    found.unconfirmed += [replace(of_difference(one, parsed), at=at_of[one.seq]) for one in chance]
    for difference in [one for one in differing if not one.by_chance][:1]:  # what follows a first difference follows from it
        verdict = of_difference(difference, parsed)
        fault = next((one for one in found.faults if difference.field == ANSWER and one.seq == difference.seq), None)
        if fault is None:
            found.verdicts.append(verdict)
        else:
            found.unconfirmed.append(replace(verdict, at=fault.at))


def of_difference(difference: FieldDifference, parsed: ParsedHistory) -> ProgramFinding:
    """What a difference from the reference implementation contradicts."""
    about = next((one.op for one in parsed.asked if one.seq == difference.seq), difference.where.split()[0])
    about = {"the": "record"}.get(about, about)
    return ProgramFinding(
        "reference", f"{about}.{difference.field}", str(difference), seq=difference.seq, rules=rules_of(difference, parsed)
    )


def _asks_queue(one: FieldDifference, parsed: ParsedHistory) -> bool:
    """Whether it is in an answer about a queue."""
    return any(asked.seq == one.seq and asked.op in OF_DISPATCH for asked in parsed.asked)


def data(verdict: ProgramFinding) -> dict[str, Any]:
    """A verdict as JSON values."""
    rows = {key: value for key, value in vars(verdict).items() if value not in ("", -1, ())}
    if verdict.values:
        rows["values"] = {name: value for name, value, _ in verdict.values}
    return rows
