"""Judge a program by the reference implementation: its first response, record or entry that differs is a finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rocketproof_profiles import PROFILES

from ...brokers.runs.parsed import ParsedHistory
from ...brokers.runs.transport import numbered
from ...catalogue.conditions import UNREAD
from ..exchanges import ProgramExchanges
from ..verdicts import JudgeResult, ProgramFinding
from .comparison import FieldDifference
from .differences import differences, differences_before_overlap, is_comparable
from .dispatched import OF_DISPATCH
from .program import ANSWER
from .rules import deciding_alone, rules_of_difference


def judge_reference(program: ProgramExchanges) -> JudgeResult | None:
    """Judge a program whose history and broker settings are completely known; None for another one.

    Differences that a fault or chance may explain are unconfirmed. If clients do something at once that has no known order, the program is
    judged partly: up to there.
    """
    history = program.history
    if not history.whole or history.unreadable:
        return None
    if not is_comparable(history):
        before = differences_before_overlap(history, PROFILES[program.profile])
        if before and program.conditions.isdisjoint(UNREAD) and not program.faults:
            return _result(program, before, partly=True)
        return None
    differing = differences(history, PROFILES[program.profile])
    if not program.conditions.isdisjoint(UNREAD):
        # It is chance how many records the broker dispatches before it reaches a record that cannot be read. A start ends the log there.
        first = min((event.seq for event in history.recorded.others if event.type == "crash"), default=len(history.events))
        differing = [each for each in differing if 0 <= each.seq < first and not _depends_on_dispatch(each, history)]
    result = _result(program, differing)
    if not differing and not program.in_doubt:
        stored = {record.topic for log in program.stored.whole.logs.values() for record in log.records}
        result = replace(result, rules_held=deciding_alone(history, stored))
    return result


def _result(program: ProgramExchanges, differing: Sequence[FieldDifference], *, partly: bool = False) -> JudgeResult:
    """Return the result for differences in order. Later differences follow from the first."""
    history = program.history
    chance = [each for each in differing if each.by_chance]
    at_of = numbered(history) if chance else {}
    deviations, unconfirmed = [], [replace(of_difference(each, history), at=at_of[each.seq]) for each in chance]
    for difference in [each for each in differing if not each.by_chance][:1]:
        finding = of_difference(difference, history)
        fault = next((each for each in program.faults if difference.field == ANSWER and each.seq == difference.seq), None)
        if fault is None:
            deviations.append(finding)
        else:
            unconfirmed.append(replace(finding, at=fault.at))
    return JudgeResult("reference", deviations, unconfirmed, partly=partly)


def of_difference(difference: FieldDifference, parsed: ParsedHistory) -> ProgramFinding:
    """Return the finding for a difference from the reference implementation."""
    return ProgramFinding(
        "reference",
        property_of(difference, parsed),
        str(difference),
        seq=difference.seq,
        rules=rules_of_difference(difference, parsed),
        difference=difference.labelled,
    )


def property_of(difference: FieldDifference, parsed: ParsedHistory) -> str:
    """Return what differs, such as `send.code` or `record.property CLUSTER`: the operation or what was read back, and the field."""
    exchange = parsed.exchange_of(difference.seq)
    subject = difference.where.split()[0] if exchange is None else exchange.op
    subject = "record" if subject == "the" else subject  # "the record at 123"
    return f"{subject}.{difference.field}"


def _depends_on_dispatch(difference: FieldDifference, parsed: ParsedHistory) -> bool:
    """Whether a difference is in a response that depends on how far the broker has dispatched."""
    exchange = parsed.exchange_of(difference.seq)
    return exchange is not None and exchange.op in OF_DISPATCH
