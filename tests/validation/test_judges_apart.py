"""Judges in other processes give the verdicts of this process, also if they fail or end."""

from __future__ import annotations

from pathlib import Path

import pytest
from performing import performed

from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.judging import apart
from rocketproof_properties.judging.apart import WORTHWHILE, HistoryJudges, judges_for
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.judging.specification import EXPANDED
from rocketproof_properties.validation.validate import ValidationRequest
from rocketproof_traces.common.errors import TraceError

PROFILE = "P494"


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with InProcess(PROFILE).open() as running:
        return performed(running, tmp_path_factory.mktemp("histories"), ("send", {"topic": "A"}))


@pytest.mark.slow
def test_other_process_gives_the_same_verdict(history: Path) -> None:
    with HistoryJudges(PROFILE, EXPANDED, 1) as judges:
        judges.submit(history)
        (judged,) = judges.results(all_=True)
    assert vars(judged) == vars(judge_file(history, PROFILE))
    assert judges.cpu_seconds > 0


@pytest.mark.slow
def test_malformed_history_raises_the_same_error(tmp_path: Path) -> None:
    path = tmp_path / "00001.ndjson"
    path.write_text("no history\n", encoding="utf-8")
    with HistoryJudges(PROFILE, EXPANDED, 1) as judges:
        judges.submit(path)
        with pytest.raises(TraceError):
            list(judges.results(all_=True))


def test_ended_process_is_replaced_by_this_one(history: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart.sys, "executable", "/bin/true")
    with HistoryJudges(PROFILE, EXPANDED, 1) as judges:
        judges.submit(history)
        (judged,) = judges.results(all_=True)
    assert vars(judged) == vars(judge_file(history, PROFILE))


def test_without_other_processes_results_are_ready_at_once(history: Path) -> None:
    with HistoryJudges(PROFILE, EXPANDED, 0) as judges:
        judges.submit(history)
        assert [each.path for each in judges.results()] == [history]
        assert not list(judges.results())


def test_few_programs_are_judged_by_this_process(tmp_path: Path) -> None:
    assert judges_for(WORTHWHILE - 1) == 0 < judges_for(WORTHWHILE)
    early = ValidationRequest(InProcess(PROFILE), tmp_path, WORTHWHILE, exit_first=True)
    assert early.other_processes == 0
