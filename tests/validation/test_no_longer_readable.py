"""Messages that a client pulled from a queue that cannot be pulled any more when the records are read back."""

from __future__ import annotations

from pathlib import Path

from performing import performed

from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.judging.judging import judge_file
from rocketproof_properties.programs.program import Step

PROFILE = "P494"
STEPS: tuple[Step, ...] = (
    ("topic", {"topic": "A"}),
    ("send", {"topic": "B"}),
    ("send", {"topic": "A", "one_way": True}),  # no response states its place
    ("pull", {"topic": "A"}),
    ("topic", {"topic": "A", "read": 0}),
)


def test_pulled_message_need_not_be_read_back(tmp_path: Path) -> None:
    with InProcess(PROFILE).open() as running:
        path = performed(running, tmp_path, *STEPS)
    assert '"op": "pull"' in path.read_text("utf-8")
    assert [str(finding) for finding in judge_file(path, PROFILE, ("reference",)).findings] == []
