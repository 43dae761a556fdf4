"""Whole validations over connections with every fault, at rates that hide much.

They take minutes, so they only run if the folder is named.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from seeded import SeededFault

from faultproxy import MILD, OF_FRAMES, Fault, FaultyTarget
from rocketproof_properties.brokers.deployment import ValidationTarget
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs import client, readback, runner
from rocketproof_properties.judging.verdicts import JudgedProgram
from rocketproof_properties.validation.again import again
from rocketproof_properties.validation.report import ValidationReport
from rocketproof_properties.validation.show import render
from rocketproof_properties.validation.validate import ValidationRequest, validate

PROFILE = "P494"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "PATIENCE", 0.4)
    monkeypatch.setattr(readback, "SECONDS", 0.4)
    monkeypatch.setattr(runner, "AWAY", 1.0)


def run(
    target: ValidationTarget,
    folder: Path,
    programs: int,
    seed: int,
    shrink: float = 0,
    until: Callable[[JudgedProgram], bool] | None = None,
) -> ValidationReport:
    return validate(ValidationRequest(target, folder, programs, seed, shrink=shrink, until=until))


def accusations(found: ValidationReport) -> list[str]:
    return [f"{finding.verdict.property}: {finding.verdict.text}" for finding in found.findings] + [row.id for row in found.vanished]


def test_target_with_mostly_failing_connections_is_not_judged(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = FaultyTarget(InProcess(PROFILE), {Fault.CLOSE_AFTER: 0.5}, seed=1, after=1)  # the broker reports its settings
    found = run(target, tmp_path / "r", 8, 1)
    assert accusations(found) == []
    assert found.exit_code == 3
    render(found, tmp_path / "r")
    said = " ".join(capsys.readouterr().out.split())
    assert "could not be judged: faults of the connection leave open what the broker did in" in said
    assert "no finding, could not be judged" in said
    assert again(tmp_path / "r", None, ()).exit_code == 3


def test_mildly_faulty_connection_is_reported_without_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = FaultyTarget(InProcess(PROFILE), {fault: 4 * rate for fault, rate in MILD.items()}, seed=5)
    found = run(target, tmp_path / "r", 10, 5)
    assert accusations(found) == []
    assert found.exit_code == (3 if found.transport.undecided or found.not_seen_again else 0)
    assert sum(target.happened.values()) > 10 and found.transport.counts
    render(found, tmp_path / "r")
    assert "Faults of the connection, which by themselves say nothing of the broker: " in " ".join(capsys.readouterr().out.split())
    data = json.loads((tmp_path / "r" / "report.json").read_text())["transport"]
    assert data["counts"] == dict(found.transport.counts) and data["examples"]
    assert "faults of the connection are not held against the broker" in (tmp_path / "r" / "junit.xml").read_text()


@pytest.mark.parametrize("fault", OF_FRAMES, ids=lambda fault: fault.name)
def test_no_fault_of_a_connection_accuses_the_broker(tmp_path: Path, fault: Fault) -> None:
    rate = 0.003 if fault is Fault.REFUSED else 0.03
    target = FaultyTarget(InProcess(PROFILE), {fault: rate}, seed=11)
    assert accusations(run(target, tmp_path / "r", 30, 11, shrink=2)) == []
    assert target.happened[fault] > 3


@pytest.mark.parametrize("seed", range(3))
def test_no_mixture_of_faults_accuses_the_broker(tmp_path: Path, seed: int) -> None:
    rates = dict.fromkeys(OF_FRAMES, 0.01)
    assert accusations(run(FaultyTarget(InProcess(PROFILE), rates, seed=100 * seed), tmp_path / "r", 40, seed, shrink=2)) == []


def test_any_change_of_answers_is_judged_without_an_error(tmp_path: Path) -> None:
    found = run(FaultyTarget(InProcess(PROFILE), {Fault.CHANGED: 0.1}, seed=7), tmp_path / "r", 30, 7)
    assert found.open and found.exit_code == 1
    assert again(tmp_path / "r", None, ()).exit_code == 1


@pytest.mark.parametrize(("mutant", "programs"), [("M-15a", 100), ("M-76a", 160)])  # about one request in several hundred shows the second
def test_planted_fault_is_found_over_a_mildly_faulty_connection(tmp_path: Path, mutant: str, programs: int) -> None:
    target = FaultyTarget(SeededFault(mutant), MILD, seed=1)
    found = run(target, tmp_path / "r", programs, 1, shrink=2, until=lambda one: any(not finding.at for finding in one.findings))
    assert found.open and found.exit_code == 1
    assert all(not one.verdict.at for one in found.open)
