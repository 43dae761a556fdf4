"""Log and consume queue over crashes and losses of power, on the simulated store: what a start cuts off, and planted errors."""

from __future__ import annotations

from typing import Any

import pytest
from performed import campaign, found

from rocketproof_impl.store import recovery
from rocketproof_impl.store.service import MessageStore
from rocketproof_model.result import Move
from rocketproof_properties.conformance.stateful.machine import perform

behaviour = pytest.mark.behaviour


@behaviour("REC-02")
@pytest.mark.parametrize("before", [[], [Move("dispatch", ()), Move("flush_queue", ())]], ids=["log", "queue"])
def test_truncated_records_stay_gone_though_bytes_remain(before: list[Move]) -> None:
    """A restart moves the ends of the log and of a queue back without erasing: another crash leaves the same bytes after them."""
    begin, end = Move("append", ()), [Move("power_loss", (0, len(before) // 2, True)), Move("start", ()), Move("crash", ())]
    perform(campaign("recovery"), [begin, *before, *end])


def cut_nothing(log: Any, queues: Any, checkpoint: Any, again: Any, **more: Any) -> None:
    log.files.flushed_where = log.files.max_offset


@behaviour("REC-02", "INV-34")
def test_recovery_that_leaves_torn_record_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "recover", cut_nothing)
    monkeypatch.setattr("rocketproof_impl.store.service.recover", cut_nothing)
    assert found("recovery") is not None


@behaviour("REC-03", "INV-36")
def test_start_that_forgets_queues_lengths_is_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MessageStore, "_recover_topic_queue_table", lambda self: None)
    assert found("recovery") is not None
