"""Group findings by cause: by what differs first in the smallest program of each finding.

A *difference* is described without the program that shows it: a rejection that is missing, unexpected or has another code, or a field of a
response, a topic or a record. The smallest programs were repeated on the target, so they confirm a cause. A finding's cause is, in this
order:

- The difference that the finding states itself, if the reference implementation finds it too. A queue id that is legal by the topic's
  actual entry follows from that entry.
- The difference of the same request, or of the same field, in its smallest program.
- The first difference in its smallest program.
- For a program that the reference implementation cannot follow, the difference that other programs show with the same guard.

A finding whose program was not repeated, or that is about topics that programs share or about a whole log, has its own cause. A cause is
only the name of a group.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rocketproof_impl.message import parse_properties
from rocketproof_profiles import PROFILES
from rocketproof_protocol import codes
from rocketproof_protocol.numbers import java_int, whole_number
from rocketproof_protocol.properties import REAL_QID

from ..brokers.runs.parsed import ParsedHistory, load
from ..judging.judging import judge
from ..judging.reference.comparison import ENTRY, FieldDifference
from ..judging.reference.differences import differences
from ..judging.reference.findings import of_difference
from ..judging.reference.readback import NEXT_OFFSET
from ..judging.verdicts import ProgramFinding
from ..reports.results import first_line
from .levels import LEVELS
from .plain import plain
from .report import UNSERVED, ValidationFinding

_ALIKE: Final = 20
"""Remarks that begin with the same number of characters are the same rejection in other words."""
_COUNTS: Final[Mapping[str, str]] = {"read": "readQueueNums", "write": "writeQueueNums", "perm": "perm"}
"""The fields of a topic's entry by their names in a finding of the specification."""
_VALUE: Final = re.compile(r"(\w+)[ =]([^ ,()\]]+)")
_OF_MESSAGES: Final = frozenset({"send", "batch", "record"})
"""Responses and records with the fields of a message. A wrong field of one is wrong in the others too."""
_MIRRORED: Final[Mapping[str, str]] = {f"property {REAL_QID}": "queueId", NEXT_OFFSET: "queueOffset"}
"""Fields that repeat a field of a message: a waiting record's queue, and the offset after a queue's last message."""
_BY_QUEUES: Final = frozenset({"CHK-10", "SEND-22"})
"""Rules whose result depends on the topic's number of queues."""


@dataclass(frozen=True)
class SmallestProgram:
    """The differences of a smallest program from the reference implementation, in order.

    `own`: the difference of the request or of the field that the finding is about, "" for none. `guards`: the differences by the guard that
    refuses the same request.
    """

    differences: tuple[str, ...] = ()
    own: str = ""
    guards: Mapping[str, str] = field(default_factory=dict)


def name_causes(findings: Sequence[ValidationFinding], folder: Path, profile: str) -> None:
    """Set the cause of each finding. `folder` has the histories. Unserved requests have a cause already."""
    findings = [finding for finding in findings if finding.cause != UNSERVED]
    programs = [_smallest(finding, folder, profile) for finding in findings]
    for finding, cause in zip(findings, causes_of([finding.verdict for finding in findings], programs), strict=True):
        finding.cause = cause


def causes_of(verdicts: Sequence[ProgramFinding], programs: Sequence[SmallestProgram | None]) -> list[str]:
    """Return the cause of each finding, given its smallest program, None if it has none."""
    known = [program for program in programs if program is not None]
    return [_cause(verdict, program, known) for verdict, program in zip(verdicts, programs, strict=True)]


def _cause(verdict: ProgramFinding, program: SmallestProgram | None, known: Sequence[SmallestProgram]) -> str:
    if program is None:
        return f"{verdict.property} by {verdict.judge}"
    if program.differences:
        entry = _of_entry(verdict)
        return entry if entry in program.differences else program.own or program.differences[0]
    alike = {other.guards[verdict.guard] for other in known if verdict.guard in other.guards}
    return alike.pop() if len(alike) == 1 else verdict.guard or f"{verdict.property} by {verdict.judge}"


def in_order(findings: Iterable[ValidationFinding]) -> list[ValidationFinding]:
    """Return the findings in the order of their display: by level and cause, the shortest program of a cause first; accepted ones last."""
    groups = by_cause(findings)
    groups.sort(key=lambda group: group[0].level or len(LEVELS) + 1)
    return sorted((finding for group in groups for finding in group), key=lambda finding: finding.accepted is not None)


def by_cause(findings: Iterable[ValidationFinding]) -> list[list[ValidationFinding]]:
    """Group findings whose causes are named, in their order. In each group, the finding with the shortest program is first."""
    by_name: dict[str, list[ValidationFinding]] = {}
    for number, finding in enumerate(findings):
        by_name.setdefault(finding.cause or str(number), []).append(finding)
    return [sorted(group, key=_size) for group in by_name.values()]


def _size(finding: ValidationFinding) -> tuple[int, int]:
    return len(finding.program.steps), sum(len(args) for _, args in finding.program.steps)


def _smallest(finding: ValidationFinding, folder: Path, profile: str) -> SmallestProgram | None:
    """Return what the finding's smallest program shows; None if its program was not repeated."""
    path = folder / finding.history
    if not (finding.reproduced and finding.program.steps and path.is_file()):
        return None
    history = load(path)
    judged = judge(history, path, profile, ("specification",))  # it alone names guards
    compared = differences(history, PROFILES[profile])
    described = [_described(difference, compared, history) for difference in compared]
    of_request: dict[int, str] = {}
    for difference, text in zip(compared, described, strict=True):
        of_request.setdefault(difference.seq, text)
    requests = {event: exchange.seq for exchange in history.exchanges for event in (exchange.seq, exchange.end)}
    own = of_request.get(requests.get(finding.verdict.seq, -2), "")
    labelled = finding.verdict.difference
    if not own and labelled is not None:
        fields = (text for difference, text in zip(compared, described, strict=True) if difference.field == labelled.field)
        own = next(fields, "")
    refused = [(verdict.guard, of_request.get(requests.get(verdict.seq, -2), "")) for verdict in judged.findings if verdict.guard]
    return SmallestProgram(tuple(described), own, {guard: text for guard, text in refused if text})


def _of_entry(verdict: ProgramFinding) -> str:
    """Return the field that differs in a topic's entry, for a finding of the specification about an entry that should exist and does."""
    if verdict.property != "specification.topics" or verdict.difference is None:
        return ""
    return next((f"{name} of topic" for name in _differing(verdict.difference.expected, verdict.difference.found)), "")


def _differing(expected: str, found: str) -> list[str]:
    """Return the names of the fields of a topic's entry whose values differ in two texts."""
    one, other = ({str(name): str(value) for name, value in _VALUE.findall(text)} for text in (expected, found))
    return [_COUNTS.get(name, name) for name, value in one.items() if name in other and value != other[name]]


def _described(difference: FieldDifference, compared: Sequence[FieldDifference], history: ParsedHistory) -> str:
    """Return a difference without names and numbers of the program that shows it."""
    verdict = of_difference(difference, history)
    subject, _, name = verdict.property.partition(".")
    rule = verdict.rules[0] if len(verdict.rules) == 1 else ""
    if rule in _BY_QUEUES and (counts := _by_entry(difference, compared, history)):
        return counts
    if name == "code" and isinstance(difference.found, list) and isinstance(difference.recorded, list):
        return _rejection(difference, history) or f"code of {subject}"
    if name == "remark":
        return _remark(difference, history) or f"remark of {subject}"
    if subject == "topic":
        return f"{name} of topic"
    if _without_header(difference, history):
        return "all header fields of a response"
    if name == "propertiesText":
        before, after = (parse_properties(str(text or ""), exact=False) for text in (difference.found, difference.recorded))
        key = _differing_property(before, after)
        name = f"property {key}" if key else name
    if name in _MIRRORED:
        return f"{_MIRRORED[name]} of a message"
    return f"{name} of a message" if subject in _OF_MESSAGES else f"{name} of {subject}"


def _without_header(difference: FieldDifference, history: ParsedHistory) -> bool:
    """Whether a response has no header field at all and one is expected."""
    exchange = history.exchange_of(difference.seq)
    return exchange is not None and exchange.response is not None and not exchange.response_fields and difference.recorded in (None, "")


def _differing_property(expected: Mapping[str, str], found: Mapping[str, str]) -> str:
    """Return the first property whose value differs, or else the only one that stands elsewhere among the others; "" if neither exists."""
    for key in {**expected, **found}:
        if expected.get(key) != found.get(key):
            return key
    order, other = [*expected], [*found]
    moved = [key for key in order if [k for k in order if k != key] == [k for k in other if k != key]]
    return moved[0] if order != other and len(moved) == 1 else ""


def _rejection(difference: FieldDifference, history: ParsedHistory) -> str:
    """Describe a difference of response codes by the remark of the rejection; "" if it has none."""
    (expected, expected_remark), (_, found_remark) = (
        (whole_number(code), plain(first_line(remark or ""), history)) for code, remark in (difference.found, difference.recorded)
    )
    if expected != codes.SUCCESS and expected_remark != found_remark:
        return f"not rejected: {expected_remark}" if expected_remark else ""
    if expected != codes.SUCCESS:
        return f"code of the rejection: {expected_remark}" if expected_remark else ""
    return f"rejected: {found_remark}" if found_remark else ""


def _remark(difference: FieldDifference, history: ParsedHistory) -> str:
    """Describe a difference of remarks with equal codes: by the topic's entry in them, or by an expected rejection that is missing."""
    expected, found = (str(value or "") for value in (difference.found, difference.recorded))
    differing = _differing(expected.partition("TopicConfig [")[2], found.partition("TopicConfig [")[2])
    if differing:
        return f"{differing[0]} of topic"
    one, other = plain(expected, history), plain(found, history)
    return f"not rejected: {one}" if one and one[:_ALIKE] != other[:_ALIKE] else ""


def _by_entry(difference: FieldDifference, compared: Sequence[FieldDifference], history: ParsedHistory) -> str:
    """Return the differing number of queues that explains a difference about a queue id; "" if none does."""
    exchange = history.exchange_of(difference.seq)
    topic = "" if exchange is None else str(exchange.fields.get("topic", ""))
    entry = (history.states.get("topics", {}).get("topics") or {}).get(topic)
    fields = [each.field for each in compared if each.where == f"topic {topic}" and each.field in _COUNTS.values()]
    if exchange is None or not entry or not fields or ENTRY in fields:
        return ""
    limit = max(whole_number(entry["readQueueNums"]), whole_number(entry["writeQueueNums"]))
    asked = java_int(str(exchange.fields.get("queueId", "")))
    accepted = exchange.code == codes.SUCCESS
    explained = asked is not None and (asked < limit if accepted else asked >= limit)
    return f"{fields[0]} of topic" if explained else ""
