"""Witnesses of the model on brokers that run: known violations are reproduced, and a broker without one of them is found out."""

from __future__ import annotations

import json
import xml.etree.ElementTree as Xml
from collections.abc import Mapping
from pathlib import Path

import pytest

from rocketproof_impl.broker.topics import TopicConfigManager
from rocketproof_impl.topic import TopicConfig
from rocketproof_properties.brokers.deployment import DEFAULT, Deployment, Setup, ValidationTarget
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.served import Served
from rocketproof_properties.commands import run
from rocketproof_properties.conformance.witnesses.known import WITNESSES, KnownHazard, replay
from rocketproof_properties.programs.parts import Capability
from rocketproof_properties.validation import results
from rocketproof_properties.validation.accept import read
from rocketproof_properties.validation.again import again
from rocketproof_properties.validation.faults.found import FaultTests, FaultViolation
from rocketproof_properties.validation.validate import ValidationRequest, mark, validate

PROFILE = "P494"
BY_HAZARD: Mapping[str, KnownHazard] = {wanted.hazard: wanted for wanted in WITNESSES}


@pytest.mark.behaviour("HAZ-01", "LIV-03", "TCM-17", "CLI-21")
def test_topic_of_first_message_stays_on_one_broker() -> None:
    replayed = replay(InProcess(PROFILE), BY_HAZARD["HAZ-01"], mark())
    assert (replayed.reproduced, replayed.property) == (True, "LIV-03"), replayed.said
    assert replayed.steps[0].startswith("find_template(")
    assert all("of broker-a: SUCCESS" in said for said in replayed.said)


@pytest.mark.behaviour("HAZ-02", "INV-16", "INV-18", "TCM-13")
def test_refused_first_message_switches_creation_off_for_good() -> None:
    replayed = replay(InProcess(PROFILE), BY_HAZARD["HAZ-02"], mark())
    assert (replayed.reproduced, replayed.property) == (True, "INV-16 INV-18"), replayed.said
    assert [said.rpartition(": ")[2] for said in replayed.said] == ["TOPIC_NOT_EXIST", "SUCCESS", "TOPIC_NOT_EXIST"]


@pytest.mark.slow
@pytest.mark.behaviour("HAZ-22", "INV-06", "CL-08")
def test_message_larger_than_file_is_acknowledged_and_lost() -> None:
    """Uses separate processes, whose files have the sizes of the specification's scope."""
    replayed = replay(Served(PROFILE), BY_HAZARD["HAZ-22"], mark())
    assert replayed.reproduced, replayed.said
    assert replayed.said[-1].endswith("where nothing is")


@pytest.mark.behaviour("HAZ-02")
def test_broker_keeping_template_does_not_follow_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses like other brokers, and changes only a copy of the template."""
    right = TopicConfigManager._template

    def copied(manager: TopicConfigManager, default_topic: str | None) -> TopicConfig | None:
        entry = manager.table.get(str(default_topic))
        kept = entry.copy() if entry is not None else None
        found = right(manager, default_topic)
        if kept is not None:
            manager.table[str(default_topic)] = kept
        return found

    monkeypatch.setattr(TopicConfigManager, "_template", copied)
    found = replay(InProcess(PROFILE), BY_HAZARD["HAZ-02"], mark())
    assert found.reproduced is False
    assert "TBW102 on broker-a" in found.said[-1]


class _Address(ValidationTarget):
    """A target whose settings cannot be changed."""

    name, version, profile = "somebody's", "", PROFILE
    offers = frozenset({Capability.CONFIGURE})

    def open(self, setup: Setup = DEFAULT) -> Deployment:
        raise AssertionError("nothing is started")


def test_target_that_cannot_start_reports_what_is_lost() -> None:
    replayed = replay(_Address(), BY_HAZARD["HAZ-22"], mark())
    assert replayed.reproduced is None
    assert any("'start'" in said for said in replayed.said) and any("'store'" in said for said in replayed.said)


@pytest.mark.behaviour("HAZ-22")
def test_unreproduced_witness_is_finding_in_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Here no file is as small as the witness requires, so that the message is stored."""
    monkeypatch.setattr("rocketproof_properties.conformance.witnesses.known._BLANK", 1 << 20)
    folder = tmp_path / "report"
    request = ValidationRequest(InProcess(PROFILE), folder, 2, 1, witnesses=[BY_HAZARD["HAZ-22"]])
    report = validate(request)
    assert [witness.hazard for witness in report.not_reproduced] == ["HAZ-22"]
    assert report.exit_code == 1
    (row,) = json.loads((folder / "report.json").read_text())["witnesses"]
    assert (row["hazard"], row["reproduced"], row["steps"][0].partition("(")[0]) == ("HAZ-22", False, "request")
    cases = Xml.parse(folder / "junit.xml").iter("testcase")
    case = next(case for case in cases if case.get("classname") == "rocketproof.validate.P494.HAZ-22")
    assert str(case.get("name")).startswith("HAZ-22: the witness of INV-06 in the model is what the target does")
    assert case.find("failure") is not None
    assert again(folder, None, ()).witnesses == report.witnesses


# Kills


def test_broker_that_cannot_be_killed_is_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "report"
    assert run(["validate", "--target", "inprocess", "--faults", "kill", "--report", str(folder)]) == 2
    assert "does not offer kill" in capsys.readouterr().err
    assert not folder.exists()


@pytest.mark.slow
def test_kills_are_in_report(tmp_path: Path) -> None:
    """A planted loss appears in the report."""
    folder = tmp_path / "report"
    report = validate(ValidationRequest(Served(PROFILE), folder, 1, 1, faults={"kill": 1}))
    (kills,) = report.faults
    assert (kills.rounds, kills.states, report.after_faults) == (1, 1, [])
    assert report.exit_code == 0
    data = json.loads((folder / "report.json").read_text())
    assert data["faults"][0]["acknowledged"] == kills.acknowledged > 0
    kills.wrong.append(FaultViolation("loss 1", "start", "it does not start", "PER-06"))
    assert report.exit_code == 0, "a known violation is none"
    kills.wrong.append(FaultViolation("kill 1, store 0", "lost", "a message"))
    assert (report.exit_code, report.data()["exit"]) == (1, 1)
    told = {result.id: (result.outcome, result.message) for result in results.run(report.data()).results if result.id.startswith("faults")}
    assert told == {
        "faults.kill.start": ("ok", "loss 1: it does not start"),
        "faults.kill.lost": ("differs", "kill 1, store 0: a message"),
    }
    assert FaultTests.read(json.loads(json.dumps(kills.data()))).findings == kills.findings


def test_violation_that_target_has_fixed_can_be_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rocketproof_properties.conformance.witnesses.known._BLANK", 1 << 20)
    (tmp_path / "accepted.toml").write_text(
        '[[accept]]\nproperty = "HAZ-22"\nfixed = true\nreason = "we reject such a message"\nuntil = 2999-01-31\n'
        '[[accept]]\nproperty = "INV-44"\nfixed = true\nreason = "ours is right"\nuntil = 2020-01-31\n'
    )
    entries, folder = read(tmp_path / "accepted.toml"), tmp_path / "report"
    report = validate(ValidationRequest(InProcess(PROFILE), folder, 2, 1, witnesses=[BY_HAZARD["HAZ-22"]], accepted=entries))
    assert (report.not_reproduced, list(report.fixed)) == ([], ["HAZ-22"])
    (over,) = report.over
    assert over.endswith("is over, and no known violation of this name is missing: take it out") and report.exit_code == 1
    cases = Xml.parse(folder / "junit.xml").iter("testcase")
    (case,) = (case for case in cases if case.get("classname") == "rocketproof.validate.P494.HAZ-22")
    assert case.find("failure") is None and "we reject such a message" in Xml.tostring(case, "unicode")
    second = again(folder, None, entries[:1])
    assert (second.not_reproduced, second.over, list(second.fixed)) == ([], [], ["HAZ-22"])
