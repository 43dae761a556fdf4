"""Findings of one fault are shown together, those of several are not, and none is omitted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rocketproof_properties.judging.verdicts import Judge, ProgramFinding
from rocketproof_properties.programs.program import Program
from rocketproof_properties.validation import causes, show
from rocketproof_properties.validation.report import ValidationFinding, ValidationReport

Step = tuple[str, dict[str, Any]]
DELAYED: Step = ("send", {"properties": {"DELAY": "1"}})
ODD: Step = ("send", {"nums": 0})


def finding(property_: str, *steps: Step, judge: Judge = "reference", again: int = 3, needs: str = "") -> ValidationFinding:
    """A finding whose program was shrunk to these steps."""
    program = Program(1, "", steps, needs)
    return ValidationFinding(ProgramFinding(judge, property_, f"{property_} is wrong"), program, "h.ndjson", again=again, repeats=3)


def grouped(*findings: ValidationFinding, **shows: str) -> list[list[str]]:
    """Return the properties by cause; `shows` states which other findings a program shows, as `a="b c"`."""
    keys = {finding.verdict.property: finding.key for finding in findings}
    shown = {
        finding.key: frozenset(keys[name] for name in shows.get(finding.verdict.property, "").split())
        for finding in findings
        if causes._is_small(finding)
    }
    return [[finding.verdict.property for finding in group] for group in causes.groups(findings, shown)]


def test_findings_of_one_smallest_program_share_cause() -> None:
    assert grouped(finding("a", ("send", {})), finding("b", ("send", {})), a="b") == [["a", "b"]]
    assert grouped(finding("a", ("send", {})), finding("b", ("send", {})), finding("c", ("send", {})), a="b", c="b") == [["a", "b", "c"]]


def test_extra_finding_of_longer_program_may_have_other_cause() -> None:
    assert grouped(finding("a", ("topic", {}), ("send", {})), finding("b", ("send", {})), a="b") == [["a"], ["b"]]


def test_program_contained_in_another_shares_its_cause() -> None:
    lone = finding("b", ("back", {}), ("send", {"nums": -1, "one_way": True}), ("send", {}))
    assert grouped(finding("a", ODD), lone) == [["a", "b"]]
    assert grouped(finding("a", DELAYED), finding("b", ("send", {"properties": {"TAGS": "x"}}))) == [["a"], ["b"]]


@pytest.mark.parametrize(
    "steps",
    [(("send", {"topic": "A"}),), (("topic", {"nums": 1}),), ()],
    ids=["other arguments", "another step", "a shorter program"],
)
def test_program_not_contained_in_another_has_separate_cause(steps: tuple[Step, ...]) -> None:
    assert grouped(finding("a", ODD), finding("b", *steps)) == [["a"], ["b"]]


def test_send_without_arguments_is_inside_no_other_program() -> None:
    assert grouped(finding("a", ("send", {})), finding("b", ODD), finding("c", DELAYED)) == [["a"], ["b"], ["c"]]


def test_finding_needing_two_causes_joins_neither() -> None:
    both = finding("c", ("send", {"nums": 0, "properties": {"DELAY": "1"}}))
    assert grouped(finding("a", ODD), finding("b", DELAYED), both) == [["a"], ["b"], ["c"]]
    assert grouped(finding("a", ODD), finding("b", DELAYED), both, a="b") == [["a", "b", "c"]]


def test_only_shrunk_programs_define_causes() -> None:
    assert grouped(finding("a", ODD), finding("b", ODD, again=0), finding("c")) == [["a"], ["b"], ["c"]]
    assert grouped(finding("a", ODD), finding("b", ODD, needs="no trace")) == [["a"], ["b"]]


def test_report_names_causes_and_lists_their_findings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    findings = [
        finding("INV-30.records", ("send", {"nums": 0, "queue": 1}), judge="claims"),
        finding("x", DELAYED),
        finding("send.code", ODD),
    ]
    for number, each in enumerate(findings, 1):
        each.file = f"programs/finding-{number}.py"
    causes.name_causes(findings, tmp_path, "P494")
    assert [finding.record()["cause"] for finding in findings] == ["send.code by reference", "x by reference", "send.code by reference"]
    report = ValidationReport({"name": "a broker"}, "P494", 1, 5, findings=findings)
    show.render(report, Path("report"))
    printed = capsys.readouterr().out
    assert printed.partition("\n! finding")[2].partition("\n\nThe manners of the release:\n\n! finding 2: x")[0] == (
        " 3: send.code by the reference implementation, again 3 of 3 times\n"
        "    send.code is wrong\n"
        "    the shortest program that shows it:\n"
        "      send(nums=0)\n"
        "    python report/programs/finding-3.py BROKER\n"
        "    of the same cause is too:\n"
        "    ! finding 1: INV-30.records by the catalogue's claims: INV-30.records is wrong\n"
        "      python report/programs/finding-1.py BROKER"
    )
    assert "3 findings of 2 causes, " in printed
