"""Every recorded case of a real 4.9.4, replayed on the implementation, in groups by the rules that decide them.

The recording is replayed once; a group that differs prints each difference.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from rocketproof_profiles import PROFILES
from rocketproof_properties.judging.reference.recording import CaseOutcome, RecordingReport, replay

DATA = Path(__file__).parents[1] / "data"
RECORDING = DATA / "rocketmq-4.9.4.jsonl"

Choice = Callable[[CaseOutcome], bool]
RULES = pytest.mark.behaviour


@cache
def report() -> RecordingReport:
    return replay(RECORDING, "P494")


def a(first: int, last: int) -> Choice:
    return lambda outcome: outcome.case.cfg == "A" and first <= outcome.case.number <= last


def cfg(name: str) -> Choice:
    return lambda outcome: outcome.case.cfg == name


def explained(outcomes: list[CaseOutcome]) -> str:
    return "\n".join(
        f"{outcome.case.label}: {d.field} recorded {d.recorded!r}, found {d.found!r}" for outcome in outcomes for d in outcome.differences
    )


GROUPS = {
    "routes of system topics": (a(0, 4), ("TCM-03", "NS-06", "NS-10")),
    "creation by a send, with counts of queues below and above the template's": (a(5, 13), ("TCM-15", "CHK-07", "APP-02", "APP-10")),
    "topics without queues": (a(14, 24), ("HAZ-07", "TCM-15", "CHK-10", "REM-08")),
    "routes of created topics": (a(25, 29), ("TCM-17", "NS-06")),
    "templates that are missing or not inherited": (a(30, 31), ("TCM-12", "TCM-14", "CHK-09")),
    "read and write counts": (a(32, 91), ("TCM-30", "CHK-10", "SEND-22", "HAZ-16")),
    "topics with every permission": (a(92, 105), ("CHK-11",)),
    "topics that an administrator may not make": (a(106, 115), ("CHK-02", "TCM-30")),
    "names": (a(116, 132), ("CHK-02", "INV-08")),
    "system topics as targets": (a(133, 149), ("CHK-03", "HAZ-42")),
    "retry and dead-letter topics": (a(150, 156), ("CHK-06", "CHK-07", "HAZ-41")),
    "consumed again and again": (a(157, 163), ("DLQ-01", "DLQ-03", "DLQ-04", "HAZ-15", "HAZ-17")),
    "delay levels": (a(164, 172), ("CL-02", "HAZ-13", "SEND-26")),
    "transaction bits without the property": (a(173, 177), ("TRX-05", "APP-04", "APP-10", "INV-35")),
    "half messages": (a(178, 182), ("TRX-01", "TRX-04")),
    "ends of transactions, and what was delivered meanwhile": (a(183, 191), ("REC-05", "HAZ-39", "TRX-04")),
    "properties of every length": (a(192, 200), ("STO-02", "APP-05", "SEND-41")),
    "properties": (a(201, 206), ("SEND-25", "SEND-26", "INV-57")),
    "batches": (a(207, 214), ("BAT-01", "BAT-03", "BAT-04", "SEND-05", "HAZ-38")),
    "without auto-creation": (cfg("N"), ("TCM-14", "CHK-08", "DLQ-02", "BACK-03", "HAZ-04")),
    "a slave": (cfg("L"), ("STO-02", "SEND-41", "NS-05")),
    "a master that waits for a slave": (cfg("M"), ("FLU-02", "FLU-07", "FLU-08", "SEND-41")),
}


@pytest.mark.parametrize("chosen", [pytest.param(chosen, id=name, marks=RULES(*rules)) for name, (chosen, rules) in GROUPS.items()])
def test_cases(chosen: Choice) -> None:
    mine = [outcome for outcome in report().outcomes if chosen(outcome)]
    assert mine
    different = [case for case in mine if not case.same]
    assert not different, explained(different)


def test_every_case_is_in_one_group() -> None:
    outcomes = report().outcomes
    assert len(outcomes) == 245
    assert all(sum(chosen(outcome) for chosen, _ in GROUPS.values()) == 1 for outcome in outcomes)


def test_at_most_thirty_cases_may_differ_and_none_does() -> None:
    assert len(report().excepted) <= 30
    assert report().same == 245


def test_p49_differs_where_494_refuses_more_or_words_differ() -> None:
    """After the five sends that only 4.9.4 refuses, the half topic and the log contain one more message."""
    different = {difference.case.number for difference in replay(RECORDING, "P49").different if difference.case.cfg == "A"}
    refused, remarks = {136, 137, 139, 140, 141}, {192, 193, 194, 195, 196, 199, 200, 212}
    assert refused | remarks <= different
    cascade = different - refused - remarks
    assert cascade <= {138, 142, *range(178, 192), 209}


@pytest.mark.slow
@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("version", ["4.9.4", "5.3.3"])
def test_any_recording_is_compared_under_any_profile(version: str, profile: str) -> None:
    replayed = replay(DATA / f"rocketmq-{version}.jsonl", profile)
    assert len(replayed.outcomes) == 245
    assert 0 < replayed.same <= 245
    assert len(replayed.different) == 245 - replayed.same
