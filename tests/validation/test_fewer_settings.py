"""A finding lists only the settings that it needs; other settings of its program are omitted."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from proportion import few
from rocketproof_properties.brokers.deployment import DEFAULT, Deployment, Setup, TargetError
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs import client as session
from rocketproof_properties.brokers.runs.parsed import load
from rocketproof_properties.brokers.runs.readback import Reader
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.settings import needs_of
from rocketproof_properties.validation.report import ValidationReport
from rocketproof_properties.validation.validate import ValidationRequest, validate

DRAWN = {"regionId": "eu", "traceOn": "false", "commercialBaseCount": "3", "defaultTopicQueueNums": "3", "maxIndexNum": "50"}
STEPS = (("send", {"nums": 8}), ("send", {"queue": 3}))
Answer = dict[str, Any]


def wrong_of_region(answer: Answer) -> Answer:
    """A broker of another region returns a wrong offset."""
    fields = answer["fields"]
    return answer | {"fields": fields | {"queueOffset": "7"}} if fields.get("MSG_REGION") == "eu" and "queueOffset" in fields else answer


def wrong_of_queues(answer: Answer) -> Answer:
    """A broker returns another code for a queue beyond its few queues."""
    return answer | {"code": 99} if "illegal" in (answer["remark"] or "") else answer


def wrong(answer: Answer) -> Answer:
    return answer | {"fields": answer["fields"] | {"queueOffset": "7"}} if "queueOffset" in answer["fields"] else answer


def validated(folder: Path, target: InProcess, change: Callable[[Answer], Answer], monkeypatch: pytest.MonkeyPatch) -> ValidationReport:
    right = session.answer_data
    monkeypatch.setattr(session, "answer_data", lambda answer: change(right(answer)))
    program = Program(0, "", STEPS, needs_of(DRAWN))
    return validate(ValidationRequest(target, folder, 0, remembered=(program,)))


@pytest.mark.parametrize(
    ("change", "needed"),
    few([(wrong_of_region, {"regionId": "eu"}), (wrong_of_queues, {"defaultTopicQueueNums": "3"}), (wrong, {})], 1),
    ids=["a setting of a running broker", "a setting of a start", "no setting"],
)
def test_finding_has_only_needed_settings(
    change: Callable[[Answer], Answer], needed: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "report"
    report = validated(folder, InProcess("P494"), change, monkeypatch)
    assert report.findings
    for finding in report.findings:
        assert finding.program.needs == needs_of(needed)
        history = load(folder / finding.history)
        assert (history.program, history.program.settings) == (finding.program, needed), "what is kept is what was done"
        assert finding.again == finding.repeats == 3


def test_broker_failing_with_fewer_settings_shows_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Needing(InProcess):
        def open(self, setup: Setup = DEFAULT) -> Deployment:
            if "maxIndexNum" not in setup.settings:
                raise TargetError("no")
            return super().open(setup)

    report = validated(tmp_path / "report", Needing("P494"), wrong_of_region, monkeypatch)
    assert {finding.program.needs for finding in report.findings} == {needs_of({"regionId": "eu", "maxIndexNum": "50"})}


def test_running_broker_gets_its_settings_back_afterwards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = []

    class Watched(InProcess):
        def open(self, setup: Setup = DEFAULT) -> Deployment:
            made = super().open(setup)
            close = made.close

            def last() -> None:
                with closing(Reader(made, next(iter(made.brokers)))) as reader:
                    told.append(reader.settings() or {})
                close()

            made.close = last  # type: ignore[method-assign]
            return made

    validated(tmp_path / "report", Watched("P494"), wrong_of_region, monkeypatch)
    assert len(told) > 1
    assert {(fields["regionId"], fields["traceOn"], fields["commercialBaseCount"]) for fields in told} == {("DefaultRegion", "true", "1")}
