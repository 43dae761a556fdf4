"""What arrives after the deletion of its topic, on a broker where other programs delete topics too."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from performing import judge_file, performed, rewrite

from rocketproof_impl.store.service import MessageStore
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.judging.reference import differences
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


CHANGES: tuple[Step, ...] = (("topic", {"topic": "A", "read": 2}), ("topic", {"topic": "A", "read": 4}))


def rewritten(path: Path, *, overlap: bool) -> None:
    """Remove the last deletion and its response from a history: another program requested it. With `overlap`, the first two changes of a
    topic overlap."""

    def changed(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
        asked = max(at for at, event in enumerate(events) if event.get("op") == "delete_topic" and event["type"] == "invoke")
        answered = next(at for at in range(asked + 1, len(events)) if events[at].get("process") == events[asked]["process"])
        kept = [event for at, event in enumerate(events) if at not in (asked, answered)]
        if overlap:
            first, second = [at for at, event in enumerate(kept) if event.get("op") == "update_topic"][:4:2]
            kept[second]["process"] = kept[second + 1]["process"] = "client 1"
            kept.insert(first + 1, kept.pop(second))
        return kept

    rewrite(path, changed)


@pytest.mark.behaviour("TCM-31")
@pytest.mark.parametrize(
    ("before", "after", "overlap"),
    [((), (), False), ((), (("pull", {"topic": "A"}),) * 9, False), (CHANGES, (), True)],
    ids=["", "many later requests", "overlapping changes"],
)
def test_other_programs_deletion_removes_the_queue_of_a_late_message(
    before: tuple[Step, ...], after: tuple[Step, ...], overlap: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with InProcess(PROFILE).open() as running:
        path = performed(running, tmp_path, *before, *STEPS, *after)
        rewritten(path, overlap=overlap)
        assert [str(finding) for finding in judge_file(path, PROFILE, ("reference",)).findings] == []
    monkeypatch.setattr(MessageStore, "clean_unused_topics", lambda self, topics: None)
    assert judge_file(path, PROFILE, ("reference",)).findings, "no deletion explains it"


def slow(*sent: tuple[int, str, dict[str, str]]) -> Any:
    """Return a history of these requests whose queues were read after 2.2 s, and whose other queries took until 9.2 s."""
    exchanges = [SimpleNamespace(sent_millis=millis, op=op, properties=properties) for millis, op, properties in sent]
    return SimpleNamespace(millis=9175, exchanges=exchanges, reports=[SimpleNamespace(op="queues", time=2_191_000_000)])


def test_moments_are_close_until_the_queues_are_read() -> None:
    """A busy machine answered the queries after a program in 7 s; one of two delayed messages was there when the queues were read."""
    assert [each for each in differences._moments(slow((1319, "pull", {}))) if 1670 < each < 2319]


def test_one_of_two_messages_that_are_due_soon_after_each_other_may_have_arrived() -> None:
    moments = differences._moments(slow((900, "send_back", {}), (1000, "send", {"DELAY": "1"}), (1700, "send", {})))
    assert {2000, 2100} <= {*moments}  # 1 s after the first and after the second, and the step of the delay service
