"""A history of eight producers at a real broker is one that its profile explains."""

from __future__ import annotations

from pathlib import Path

import pytest
from eight_producers import PRODUCERS, record

from rocketproof_traces import history
from rocketproof_traces.bulk import local
from rocketproof_traces.bulk.work import JudgingJob
from rocketproof_traces.checker.histories import judge_history

COMMANDS = ("java", "mvn")


@pytest.mark.parametrize(("version", "profile"), [("4.9.4", "P494"), ("5.3.3", "P533")])
def test_eight_producers_are_explained(tmp_path: Path, version: str, profile: str) -> None:
    path = tmp_path / "live.ndjson"
    record(version, path, seed=len(version))
    header, lines = history.read(path)
    events = list(lines)
    assert len({event.process for event in events}) == PRODUCERS
    alone = judge_history(header, events, profile)
    assert (alone.verdict, [str(finding) for finding in alone.findings]) == ("ok", [])
    assert alone.explained > 400
    many = local.judge(JudgingJob((str(path),), profile, str(tmp_path / "out"), str(tmp_path / "shelf")))
    assert (many.verdict, many.explained, many.events) == ("ok", alone.explained, len(events))
