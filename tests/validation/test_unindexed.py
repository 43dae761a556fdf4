"""A broker that is set to index no message finds none by its key: no promise decides that."""

from __future__ import annotations

from pathlib import Path

import pytest

from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.brokers.runs.configured import configured
from rocketproof_properties.brokers.runs.runner import Bounds, Runner
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.settings import while_running
from rocketproof_properties.validation.validate import mark


@pytest.mark.slow
@pytest.mark.parametrize("profile", ["P494", "P533"])
def test_message_without_an_index_breaks_no_promise(profile: str, tmp_path: Path) -> None:
    needs = "messageIndexEnable=false"
    steps = (("send", {"properties": {"KEYS": "k"}}), ("find", {"key": "k"}))
    with InProcess(profile).open() as running, configured(running, while_running(needs)):
        runner = Runner(running, tmp_path, {"profile": profile}, Bounds(2), mark(), while_running(needs))
        path = runner.perform(Program(1, "", steps, needs))
        runner.close()
    judged = judge_file(path, profile)
    assert "reference" in judged.by and not judged.findings
