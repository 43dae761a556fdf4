"""Each request or setting that a target does not support is one finding without a program. Acceptance expires."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from spoilt import Spoilt, answering

from rocketproof_properties.brokers.deployment import DEFAULT, Deployment, Setup, TargetError
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.settings import ENDED, NARROW, STARTED
from rocketproof_properties.validation import accept, show
from rocketproof_properties.validation.again import again
from rocketproof_properties.validation.report import ValidationReport
from rocketproof_properties.validation.validate import ValidationRequest, validate
from rocketproof_protocol import codes

NO_BACK = answering(codes.CONSUMER_SEND_MSG_BACK, codes.REQUEST_CODE_NOT_SUPPORTED)
BACK = (("send", {}), ("back", {}))
ACCEPTED = '[[accept]]\nproperty = "request.back"\nreason = "consumers come later"\nuntil = {}\n'


def validated(folder: Path, until: str = "") -> ValidationReport:
    """Validate a broker without send-backs, which are accepted until a day."""
    entries: tuple[Any, ...] = ()
    if until:
        (folder / "accept.toml").write_text(ACCEPTED.format(until), "utf-8")
        entries = accept.read(folder / "accept.toml")
    return validate(ValidationRequest(Spoilt(NO_BACK), folder / "r", 2, 1, shrink=0, accepted=entries, remembered=(Program(1, "", BACK),)))


def test_unserved_request_is_one_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = validated(tmp_path)
    assert [finding.verdict.property for finding in report.open] == ["request.back"] and report.exit_code == 1
    assert not any("send_back" in program.asked for program in report.judged) and len(report.judged) == 3
    show.render(report, tmp_path / "r")
    shown = " ".join(capsys.readouterr().out.split())
    assert "Requests that are not served; no program has them" in shown and "retries and dead letters" in shown
    assert json.loads((tmp_path / "r" / "report.json").read_text("utf-8"))["findings"][0]["level"] == 4
    later = again(tmp_path / "r", None, ())
    assert [finding.verdict for finding in later.open] == [finding.verdict for finding in report.open]


def test_it_may_be_accepted_until_its_day(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert validated(tmp_path / "a", "2999-01-01").exit_code == 0
    late = validated(tmp_path / "b", "2020-01-01")
    assert late.exit_code == 1 and [finding.verdict.property for finding in late.open] == ["request.back"]
    show.render(late, tmp_path / "b" / "r")
    said = "accepted deviation request.back (consumers come later, until 2020-01-01) is over: fix it"
    assert said in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(("starts", "steps"), [(0, ()), (2, (("send", {}), ("crash", {})))])
def test_broker_that_does_not_return_is_finding(starts: int, steps: tuple[Any, ...], tmp_path: Path) -> None:
    """It may stop after programs, or in a program that ends it, which then has the finding."""
    remembered = (Program(1, "", (("send", {}), ("crash", {})), ENDED),)
    report = validate(ValidationRequest(Spoilt(starts=starts), tmp_path / "r", 2, 1, shrink=0, remembered=remembered))
    (finding,) = report.open
    assert finding.verdict.property == "start.again" and "code 1: no log" in finding.verdict.text and report.exit_code == 1
    assert finding.program.steps == steps
    assert "does not start again" in report.stopped
    assert [(each.verdict, each.program) for each in again(tmp_path / "r", None, ()).open] == [(finding.verdict, finding.program)]


def test_other_programs_continue_after_lost_broker(tmp_path: Path) -> None:
    """One of four programs that end a process is first; the ordinary one still runs."""
    ending = tuple(Program(number, "", (("send", {}), ("crash", {})), ENDED) for number in range(1, 5))
    remembered = (*ending, Program(5, "", BACK))
    report = validate(ValidationRequest(Spoilt(starts=0), tmp_path / "r", 2, 1, shrink=0, remembered=remembered))
    (finding,) = report.open
    assert finding.verdict.property == "start.again" and finding.program.steps == ending[0].steps
    assert any("send_back" in each.asked for each in report.judged) and "does not start again" in report.stopped


class Choosy(Spoilt):
    """A broker that does not start with some settings."""

    def open(self, setup: Setup = DEFAULT) -> Deployment:
        if setup.settings == STARTED[NARROW]:
            raise TargetError("spoilt: broker-a ended while it started, with code 70: unknown setting")
        return super().open(setup)


def test_settings_preventing_start_are_finding_and_run_continues(tmp_path: Path) -> None:
    report = validate(ValidationRequest(Choosy(), tmp_path / "r", 2, 1, shrink=0, remembered=(Program(1, "", BACK, NARROW),)))
    (finding,) = (each for each in report.open if each.verdict.property.startswith("start."))  # no process ends here
    assert finding.verdict.property == "start.no_cluster_topic" and not report.stopped and report.exit_code == 1
    assert "1 program on a broker with no cluster topic (clusterTopicEnable=false, defaultTopicQueueNums=3)" in finding.verdict.text
    assert len(report.judged) == 2 and "code 70: unknown setting" in finding.verdict.text
    assert finding.verdict in [each.verdict for each in again(tmp_path / "r", None, ()).open]
