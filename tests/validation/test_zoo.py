"""Real bugs of real releases: the list is complete, and a validation distinguishes the findings of one bug from others."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from rocketproof_profiles.releases import nearest_profile
from rocketproof_properties.brokers.deployment import DEFAULT, Deployment, Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.catalogue.rules import is_known
from rocketproof_properties.commands import run
from rocketproof_properties.conformance.witnesses.known import HazardReplayed
from rocketproof_properties.judging.reference.comparison import FieldDifference
from rocketproof_properties.judging.verdicts import JudgedProgram, ProgramFinding
from rocketproof_properties.programs.program import Program
from rocketproof_properties.validation.faults.kinds import KINDS
from rocketproof_properties.validation.knownbugs import search as searching
from rocketproof_properties.validation.knownbugs.bugs import bugs
from rocketproof_properties.validation.report import ValidationFinding, ValidationReport

_FILE = Path(__file__).parents[2] / "properties" / "docs" / "schemas" / "zoo.schema.json"
SCHEMA = Draft202012Validator(json.loads(_FILE.read_text("utf-8")))


def test_each_bug_states_description_location_and_violations() -> None:
    found = bugs()
    assert len({bug.id for bug in found}) == len(found) >= 30
    for known in found:
        assert known.category in "ABC" and known.cause.endswith(".") and known.issue and known.bad
        assert known.breaks and all(map(is_known, known.breaks)), known.id
        assert known.bad != known.good and all(
            re.fullmatch(r"\d+\.\d+\.\d+(-incubating)?|", release) for release in (known.bad, known.good)
        )
        hazards = bool(known.shows) and all(pattern.startswith("HAZ-") for pattern in known.shows)
        assert not known.against or (known.good and not known.faults)
        assert known.how == (
            "against" if known.against else "faults" if known.faults else "witness" if hazards else "search" if known.shows else "script"
        )
        assert set(known.faults) <= set(KINDS) and all(
            kind in known.faults for kind in KINDS if known.shows[:1] and known.shows[0].startswith(f"{kind}.")
        )


def reported(*properties: str, programs: int = 10, stopped: str = "") -> ValidationReport:
    made = ValidationReport({}, "P494", 0, 10, stopped=stopped)
    made.judged = [JudgedProgram(number, Path(f"{number}.ndjson"), "", frozenset()) for number in range(programs)]
    made.findings = [ValidationFinding(ProgramFinding("claims", property_, "words"), Program(1, "", ()), "") for property_ in properties]
    return made


@pytest.mark.parametrize(
    ("properties", "on", "first", "others", "agrees"),
    [
        (("INV-02",), "bad", "INV-02", (), True),
        (("send.code", "INV-02"), "bad", "INV-02", ("send.code",), True),
        (("send.code",), "bad", None, ("send.code",), False),
        (("send.code",), "good", None, ("send.code",), True),
        (("INV-02",), "good", "INV-02", (), False),
    ],
)
def test_search_separates_its_bug_from_other_findings(
    properties: tuple[str, ...], on: searching.On, first: str | None, others: tuple[str, ...], agrees: bool, tmp_path: Path
) -> None:
    bug = next(bug for bug in bugs() if bug.id == "A8")
    verdict = searching.judged(bug, on, "4.1.0", tmp_path, reported(*properties))
    assert (verdict.first, verdict.others, verdict.agrees) == (first, others, agrees)


@pytest.mark.parametrize(
    ("properties", "programs", "stopped", "agrees", "code"),
    [
        ((), 0, "", None, 3),
        ((), 5, "Ctrl-C", None, 3),
        ((), 5, "broker-a does not answer any more", None, 3),
        ((), 5, "--time 600.0", True, 0),
        (("INV-02",), 5, "Ctrl-C", False, 1),
    ],
)
def test_stopped_search_does_not_show_bug_is_absent(
    properties: tuple[str, ...], programs: int, stopped: str, agrees: bool | None, code: int, tmp_path: Path
) -> None:
    bug = next(bug for bug in bugs() if bug.id == "A8")
    report = reported(*properties, programs=programs, stopped=stopped)
    verdict = searching.judged(bug, "good", "4.2.0", tmp_path, report)
    assert (verdict.agrees, verdict.exit_code) == (agrees, code)


@pytest.mark.parametrize(("again", "steps"), [(3, 2), (0, None)])
def test_search_reports_first_sighting_and_shortest_program(again: int, steps: int | None, tmp_path: Path) -> None:
    bug = next(bug for bug in bugs() if bug.id == "A8")
    report = reported("send.code", "INV-02", "INV-02")
    for number, finding in enumerate(report.findings):
        finding.program = Program(1, "", (("send", {}),) * (1, 3, 2)[number])
        finding.again, finding.repeats = again, 3
    report.seconds, report.enough = 300.0, 20.0
    verdict = searching.judged(bug, "bad", "4.1.0", tmp_path, report)
    assert (verdict.seconds, verdict.steps) == (20.0, steps)


@pytest.mark.parametrize(("reproduced", "agrees"), [(True, True), (False, False), (None, None)])
def test_bug_with_hazard_is_shown_by_model_witness(reproduced: bool | None, agrees: bool | None, tmp_path: Path) -> None:
    bug = next(bug for bug in bugs() if bug.id == "A18")
    report = reported(programs=0)
    report.witnesses = [HazardReplayed("HAZ-04", "INV-14", "", "", (), reproduced, ())]
    verdict = searching.judged(bug, "bad", "5.5.0", tmp_path, report)
    assert (verdict.first, verdict.agrees) == ("HAZ-04" if reproduced else None, agrees)


def test_list_is_printed_and_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bugs.json"
    assert run(["zoo", "--json", str(path)]) == 0
    printed = capsys.readouterr().out
    rows: list[dict[str, Any]] = json.loads(path.read_text())
    assert not list(SCHEMA.iter_errors(rows))
    assert [row["id"] for row in rows] == [bug.id for bug in bugs()]
    assert all(row["id"] in printed for row in rows) and printed.splitlines()[-1].startswith(f"{len(rows)} bugs")
    assert run(["zoo", "A16"]) == 0
    assert "#7149" in (said := capsys.readouterr().out) and "breaks NS-11" in said


@pytest.mark.parametrize(
    ("tokens", "said"),
    [
        (["Z9"], "unknown bug 'Z9'"),
        (["--on", "bad"], "looks for one bug"),
        (["A17", "--on", "good"], "no release that can be started is known to be so"),
        (["B14", "--on", "bad"], "is not found by programs alone"),
    ],
)
def test_unsearchable_bug_is_one_line(tokens: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["zoo", *tokens]) == 2
    assert said in capsys.readouterr().err


PROFILES_OF: dict[str, str] = {}


class _Release(InProcess):
    def __init__(self, release: str, *, profile: str) -> None:
        PROFILES_OF[release] = profile
        super().__init__("P494")
        self.version = release

    def open(self, setup: Setup = DEFAULT) -> Deployment:
        return super().open(setup)


def test_search_validates_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(searching, "Apache", _Release)
    path = tmp_path / "found.json"
    asked = ["zoo", "A8", "--on", "good", "--programs", "2", "--report", str(tmp_path / "report"), "--json", str(path)]
    assert run(asked) == 0
    data = json.loads(path.read_text())
    assert not list(SCHEMA.iter_errors(data))
    assert (data["id"], data["release"], data["first"], data["agrees"]) == ("A8", "4.2.0", None, True)
    assert "A8 on 4.2.0: not seen in 2 programs" in capsys.readouterr().out


@pytest.mark.slow
def test_bug_is_searched_by_profile_of_release_without_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(searching, "Apache", _Release)
    run(["zoo", "A4", "--on", "bad", "--programs", "1", "--report", str(tmp_path / "report")])
    assert PROFILES_OF["4.9.2"] == nearest_profile("4.9.3") != nearest_profile("4.9.2")


def test_text_quoted_in_response_is_recognized_in_finding() -> None:
    bug = next(bug for bug in bugs() if bug.id == "A14")
    remark = 'java.lang.NullPointerException: Cannot invoke "java.lang.Boolean.booleanValue()" because "v2.m" is null'
    assert bug.matches("send.code", str(FieldDifference("code", [1, remark], [0, None])))
    assert not bug.matches("send.code", str(FieldDifference("code", [1, remark.replace("v2.m", "v2.n")], [0, None])))


def test_finding_with_same_name_and_other_words_is_different() -> None:
    bug = next(bug for bug in bugs() if bug.id == "A1")
    known = ProgramFinding("claims", "INV-06.records", "at 5: expected true", known=True, condition="records larger than a file")
    assert not bug.fits(known)
    assert bug.fits(replace(known, condition="batches whose properties are too long with the broker's own"))
    assert not bug.fits(replace(known, property="INV-34", condition="batches whose properties are too long with the broker's own"))
