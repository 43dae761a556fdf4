"""What arrives after the deletion of its topic, on a broker where other programs delete topics too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from performing import judge_file, performed

from rocketproof_impl.store.service import MessageStore
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.programs.program import Step

PROFILE = "P494"
STEPS: tuple[Step, ...] = (
    ("send", {"topic": "A", "queue": 0, "properties": {"DELAY": "1"}}),
    ("delete", {"topic": "A"}),
    ("time", {"millis": 2500}),
    ("delete", {"topic": "B"}),  # it is in no table; the queues of all such topics go
    ("topic", {"topic": "A"}),
    ("pull", {"topic": "A"}),
)


def without_last_deletion(path: Path) -> None:
    """Remove the deletion of B, and its response, from a history: another program requested it."""
    header, *events = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    asked = max(at for at, event in enumerate(events) if event.get("op") == "delete_topic" and event["type"] == "invoke")
    answered = next(at for at in range(asked + 1, len(events)) if events[at].get("process") == events[asked]["process"])
    kept = [event for at, event in enumerate(events) if at not in (asked, answered)]
    numbered = [header, *({**event, "seq": number} if "seq" in event else event for number, event in enumerate(kept))]
    path.write_text("".join(json.dumps(event) + "\n" for event in numbered), "utf-8")


@pytest.mark.behaviour("TCM-31")
def test_other_programs_deletion_removes_the_queue_of_a_late_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with InProcess(PROFILE).open() as running:
        path = performed(running, tmp_path, *STEPS)
        without_last_deletion(path)
        assert [str(finding) for finding in judge_file(path, PROFILE, ("reference",)).findings] == []
    monkeypatch.setattr(MessageStore, "clean_unused_topics", lambda self, topics: None)
    assert judge_file(path, PROFILE, ("reference",)).findings, "no deletion explains it"


@pytest.mark.slow
def test_pulled_record_of_deleted_topic_is_not_missing(tmp_path: Path) -> None:
    """No response acknowledged its place, and its queue is gone when the broker is read."""
    with InProcess(PROFILE).open() as running:
        path = performed(running, tmp_path, STEPS[0], STEPS[2], ("pull", {"topic": "A"}), STEPS[1])
    assert [str(finding) for finding in judge_file(path, PROFILE, ("reference",)).findings] == []
