"""Findings of one fault are shown together, findings of different faults separately, and none is omitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketproof_properties.brokers.runs.parsed import ParsedHistory
from rocketproof_properties.catalogue.claim import LabelledDifference
from rocketproof_properties.judging.reference.comparison import FieldDifference
from rocketproof_properties.judging.verdicts import Judge, ProgramFinding, finding_key
from rocketproof_properties.programs.program import Program
from rocketproof_properties.validation import causes, show
from rocketproof_properties.validation.causes import SmallestProgram
from rocketproof_properties.validation.report import ValidationFinding, ValidationReport

Step = tuple[str, dict[str, Any]]
OFFSET, PERMISSION = "queueOffset of a message", "perm of topic"


def verdict(property_: str, judge: Judge = "reference", **more: Any) -> ProgramFinding:
    return ProgramFinding(judge, property_, f"{property_} is wrong", **more)


def entry(expected: str, found: str) -> ProgramFinding:
    """A finding of the specification about a topic's entry."""
    difference = LabelledDifference("event 2 (topics)", "topic", f"the specification has topic {expected}", f"topic {found}")
    return verdict("specification.topics", "specification", difference=difference)


def shown(*differences: str, **more: Any) -> SmallestProgram:
    return SmallestProgram(differences, **more)


def causes_of(*rows: tuple[ProgramFinding, SmallestProgram | None]) -> list[str]:
    return causes.causes_of([finding for finding, _ in rows], [program for _, program in rows])


def test_programs_with_same_first_difference_share_cause() -> None:
    claim = verdict("INV-34.records", "claims")
    assert causes_of((verdict("send.queueOffset"), shown(OFFSET)), (claim, shown(OFFSET, "next offset of queue"))) == [OFFSET, OFFSET]


def test_finding_that_another_program_shows_too_keeps_its_cause() -> None:
    """Three sends show a wrong offset, and each program that creates a topic shows a wrong permission."""
    permission = entry("(read 4, write 4, perm 6)", "(read 4, write 4, perm 7)")
    rows = (
        (verdict("send.queueOffset"), shown(OFFSET, PERMISSION)),
        (permission, shown(PERMISSION)),
        (permission, shown(OFFSET, PERMISSION)),
    )
    assert causes_of(*rows) == [OFFSET, PERMISSION, PERMISSION]


def test_missing_entry_of_topic_follows_from_first_difference() -> None:
    refused = "rejected: The specified topic is blank"
    assert causes_of((entry("(read 4, write 4, perm 6)", "unknown"), shown(refused, "the broker's entry of topic"))) == [refused]


def test_difference_of_same_request_precedes_first_difference() -> None:
    assert causes_of((verdict("specification.send", "specification"), shown(PERMISSION, OFFSET, own=OFFSET))) == [OFFSET]


def test_program_without_reference_has_cause_of_its_guard() -> None:
    guarded = verdict("specification.send", "specification", guard="accept_queue: legal queue id")
    followed = shown("not rejected: queue", guards={guarded.guard: "not rejected: queue"})
    assert causes_of((guarded, shown()), (verdict("send.code"), followed))[0] == "not rejected: queue"
    other = shown("rejected: queue", guards={guarded.guard: "rejected: queue"})
    assert causes_of((guarded, shown()), (verdict("send.code"), followed), (verdict("batch.code"), other))[0] == guarded.guard


def test_only_shrunk_programs_define_causes() -> None:
    assert causes_of((verdict("send.code"), None), (verdict("send.code"), shown(OFFSET))) == ["send.code by reference", OFFSET]


@pytest.mark.parametrize(
    ("field", "expected", "found", "cause"),
    [
        ("code", [1, "queueId[5] is illegal, #"], [0, None], "not rejected: queueId[…] is illegal, #"),
        ("code", [1, "topic is too long"], [13, "illegal"], "not rejected: topic is too long"),
        ("code", [0, None], [1, "queueId[5] is illegal"], "rejected: queueId[…] is illegal"),
        ("code", [17, "no topic\nSee the page"], [1, "no topic\nSee the page"], "code of the rejection: no topic"),
        ("code", [1, None], [0, None], "code of send"),
        ("remark", "q, TopicConfig [read=4, perm=RW-]", "q, TopicConfig [read=4, perm=RWX]", "perm of topic"),
        ("remark", "The specified topic is blank", "request queueId[5] is illegal", "not rejected: The specified topic is blank"),
        ("remark", "The specified topic is blank", "The specified topic is empty", "remark of send"),
        ("transactionId", "a", "b", "transactionId of a message"),
        ("property REAL_QID", "0", "2", "queueId of a message"),
        ("next offset", 1, 0, "queueOffset of a message"),
        ("propertiesText", "a\x011\x02b\x011\x02c\x011", "b\x011\x02c\x011\x02a\x011", "property a of a message"),
        ("propertiesText", "a\x011\x02b\x011", "b\x011\x02a\x011", "propertiesText of a message"),
    ],
)
def test_difference_is_described_without_its_program(field: str, expected: Any, found: Any, cause: str) -> None:
    assert causes._described(FieldDifference(field, found, expected, "send of A"), [], ParsedHistory()) == cause


def finding(number: int, property_: str, *steps: Step, cause: str, judge: Judge = "reference") -> ValidationFinding:
    program = Program(1, "", steps)
    file = f"programs/finding-{number}.py"
    return ValidationFinding(verdict(property_, judge), program, "h.ndjson", again=3, repeats=3, file=file, cause=cause)


def test_findings_are_numbered_in_display_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    illegal = "rejected: the queue is illegal"
    findings = causes.in_order(
        [
            finding(2, "INV-30.records", ("send", {"nums": 0, "queue": 1}), cause=illegal, judge="claims"),
            finding(3, "send.remark", ("send", {"properties": {"DELAY": "1"}}), cause="remark of send"),
            finding(1, "send.code", ("send", {"nums": 0}), cause=illegal),
        ]
    )
    assert [each.verdict.property for each in findings] == ["send.code", "INV-30.records", "send.remark"]
    show.render(ValidationReport({"name": "a broker"}, "P494", 1, 5, findings=findings), tmp_path)
    printed = capsys.readouterr().out
    lines = [line for line in printed.splitlines() if line.startswith(("cause", "!", "run it alone"))]
    assert lines == [
        f"cause 1 of 2, 2 findings: {illegal}",
        "! finding 1: reference.send a send gets the code, remark and fields that the reference implementation answers",
        f"run it alone: python {tmp_path}/programs/finding-1.py BROKER",
        "! finding 2: INV-30.records the queue id in a response is from 0 to below the larger queue count of the topic",
        f"run it alone: python {tmp_path}/programs/finding-2.py BROKER",
        "cause 2 of 2, 1 finding: remark of send",
        "! finding 3: reference.send a send gets the code, remark and fields that the reference implementation answers",
        f"run it alone: python {tmp_path}/programs/finding-3.py BROKER",
    ]
    assert "3 findings of 2 causes, " in printed


def test_finding_with_known_program_refers_to_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    step: Step = ("send", {"nums": 0})
    findings = [finding(1, "send.code", step, cause="a"), finding(2, "INV-30.records", step, cause="a", judge="claims")]
    show.render(ValidationReport({"name": "a broker"}, "P494", 1, 5, findings=findings), tmp_path)
    assert capsys.readouterr().out.count("its smallest program is that of finding 1") == 1


def test_missing_rejection_and_wrong_code_are_two_findings() -> None:
    """Both are about the code of a send. Reports of earlier versions have a list instead of words."""
    key = finding_key("reference", "send.code", {"expected": "1 SYSTEM_ERROR, queueId[5] is illegal", "found": "0 SUCCESS"})
    assert key == finding_key("reference", "send.code", {"expected": '[1, "queueId[7] is illegal"]', "found": "[0, null]"})
    assert key != finding_key("reference", "send.code", {"expected": "17 TOPIC_NOT_EXIST", "found": "1 SYSTEM_ERROR"})
    assert key != finding_key("reference", "send.code", {"expected": "1 SYSTEM_ERROR", "found": "none"})
    one, other = (finding_key("reference", "send.queueId", {"expected": "0", "found": found}) for found in "12")
    assert one == other
