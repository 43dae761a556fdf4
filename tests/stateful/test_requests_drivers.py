"""From a producer's call to the broker's answer, and a consumer's progress: errors planted there are findings."""

from __future__ import annotations

from typing import Any

import pytest
from performed import FEW, found

from rocketproof_impl.broker import checking, sending
from rocketproof_impl.broker.offsets import ConsumerOffsetManager
from rocketproof_impl.producer import instance, producer
from rocketproof_properties.conformance.stateful.follow import ConformanceError
from rocketproof_properties.conformance.stateful.replay import replay

behaviour = pytest.mark.behaviour


@behaviour("CLI-03", "CLI-08", "CLI-12")
@pytest.mark.parametrize(
    ("where", "name", "planted"),
    [
        (instance.ClientInstance, "register", lambda self, group, table: self.producer_table.update({group: table}) or True),
        (producer, "check_message", lambda message, limit: message),
    ],
    ids=["a group has two producers", "no message is refused"],
)
def test_another_producer_is_finding(where: Any, name: str, planted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, name, planted)
    assert found("producers", programs=100) is not None, "two producers of a group are started by few programs"


@behaviour("SEND-04", "SEND-11", "SEND-42", "INV-56")
@pytest.mark.parametrize(
    ("where", "name", "planted"),
    [
        (checking, "traced", lambda settings: {}),
        (sending, "execute_send_before", lambda hooks, context: [hook.send_message_before(context) for hook in hooks.send]),
        (sending, "build_message_context", lambda *_: None),
    ],
    ids=["no extFields", "a hook's exception goes on", "no context"],
)
def test_other_path_from_frame_to_response_is_finding(where: Any, name: str, planted: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, name, planted)
    assert found("dispatch") is not None


@behaviour("REC-04")
def test_dispatch_beyond_flushed_data_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    steps = ["append(marks=False)", "dispatch()", "begin()", "pull()", "power_loss(kept=0)", "go_back()"]
    replay("progress", "P49", steps, {"power_budget": 1})
    replay("progress", "P533", ["append(marks=False)", "flush()", "dispatch()"])
    monkeypatch.setattr(ConsumerOffsetManager, "commit", lambda self, group, topic, queue_id, offset: None)
    with pytest.raises(ConformanceError, match="committed"):
        replay("progress", "P49", [*steps[:4], "commit()"])


def test_release_checking_groups_follows_specification() -> None:
    assert found("progress", "P533", programs=FEW) is None


@behaviour("REC-02", "REC-04")
def test_a_record_found_again_gets_no_entry_for_a_used_queue_offset() -> None:
    """The first start ends the log before an unreadable record; the second finds a record after it, whose queue offset is used since."""
    batch = "request(kind=batch, topic=fits, text=fits, body=fits, longer=False)"
    unreadable = "request(kind=send-back, topic=more bytes, text=fits, body=fits, longer=False)"
    steps = [unreadable, "append()", batch, "append()", "end(clean=True)", "start()", batch, "append()", "end(clean=False)"]
    driver = replay("sizes", "P494", steps, {"flags": False, "texts": False}).driver
    start = driver.instance.model.named("start")
    assert not driver.can(start, ())
    driver.perform(start, ())
    assert [driver.seen()["log", place] for place in range(3)] == ["built", "built", "new"]


def test_a_record_found_again_gets_its_entry_for_a_free_queue_offset() -> None:
    sent = "request(kind={}, topic={}, text=fits, body=fits, longer=False)".format
    steps = [sent("send-back", "more bytes"), "append()", sent("message", "fits"), "append()", "end(clean=False)", "start()"]
    steps += [sent("send-back", "fits"), "append()", "end(clean=False)", "start()"]
    driver = replay("sizes", "P494", steps, {"flags": False, "texts": False}).driver
    assert [driver.seen()["log", place] for place in range(2)] == ["built", "built"]
