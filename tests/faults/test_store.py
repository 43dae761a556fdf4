"""A broker under load: promised messages are checked, and missing ones are reported."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rocketproof_properties.brokers.deployment import Setup
from rocketproof_properties.brokers.inprocess import InProcess
from rocketproof_properties.validation.faults import store
from rocketproof_properties.validation.faults.found import FaultTests
from rocketproof_properties.validation.faults.store import Loaded, Promised, PromisedStore
from rocketproof_protocol import codes
from rocketproof_traces.history.exchange import Exchange


@pytest.fixture
def loaded(tmp_path: Path) -> Iterator[PromisedStore]:
    """Return a working broker, its load, and its promises."""
    with InProcess("P494").open(Setup(settings={"flushDiskType": "SYNC_FLUSH"})) as running:
        made = PromisedStore(running, "P494", random.Random(3), FaultTests("power"), tmp_path)
        for attempt in range(20):  # a busy machine acknowledges little in a third of a second
            made.results.rounds = attempt  # each load has a file of its own
            made.record_acknowledged(made.load(2, lambda: None, (0.3, 0.3)))
            if made.results.acknowledged > 20:
                break
        yield made


def claims(of: PromisedStore) -> list[str]:
    return [one.claim for one in of.results.wrong]


@pytest.mark.behaviour("INV-06", "INV-27", "INV-36", "REC-03")
def test_working_broker_keeps_promises_and_lost_messages_are_reported(loaded: PromisedStore) -> None:
    loaded.check(())
    assert claims(loaded) == [] and loaded.results.acknowledged > 20 and len(loaded.promised.groups) > 1 < len(loaded.promised.topics)
    place, message = next(iter(loaded.promised.messages.items()))
    loaded.promised.messages[place] = replace(message, body=b"another")
    loaded.promised.messages[10**6] = message
    loaded.promised.topics.add("gone")
    loaded.promised.groups.add("gone")
    loaded.check((), flushed=False)
    assert claims(loaded) == ["topic lost", "group lost"], "the messages were not promised"
    assert len(loaded.results.known) == 2 and loaded.results.findings == [], "which is known of this profile"
    loaded.promised.messages[10**6] = message
    loaded.check(())
    assert claims(loaded)[2:] == ["lost"] and loaded.results.findings[-1].count("offset=") == 1


@pytest.mark.behaviour("INV-09", "REM-06")
@pytest.mark.parametrize(("code", "found"), [(codes.SYSTEM_BUSY, []), (codes.SYSTEM_ERROR, ["refused"])])
def test_busy_answer_is_no_refusal(loaded: PromisedStore, code: int, found: list[str]) -> None:
    asked = Exchange("client 0", "send", "broker-a", 1, {"fields": {}, "oneWay": False}, "ok", {"code": code, "remark": "r"})
    loaded.record_acknowledged(Loaded([asked]))
    assert claims(loaded) == found


def test_later_answers_are_no_promises(tmp_path: Path) -> None:
    with InProcess("P494").open() as running:
        made = PromisedStore(running, "P494", random.Random(3), FaultTests("power"), tmp_path)
        began = time.time()
        found = made.load(2, lambda: None, (0.3, 0.3))
    made.promise(found.answered_by(began))
    assert made.promised == Promised()
    half = sorted(exchange.outcome["at"] for exchange in found.acknowledged)[len(found.acknowledged) // 2] / 1000
    made.promise(found.answered_by(half))
    some = len(made.promised.messages)
    assert 0 < some
    made.promised = Promised()
    made.promise(found.answered_by(time.time()))
    assert some < len(made.promised.messages) and made.results.wrong == [] and made.results.acknowledged == 0


def test_wrong_queue_entry_is_reported(loaded: PromisedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    real = store.queue_entries

    def entries(folder: Path, topic: str, queue: int) -> list[tuple[int, int]]:
        found = real(folder, topic, queue)
        first = [(0, 0)] if topic.endswith("c0-0") else [(7, 7)]
        return [*first, *found[1:]] if topic.endswith("-0") else found

    monkeypatch.setattr(store, "queue_entries", entries)
    monkeypatch.setattr(store, "_SECONDS", 0.1)
    loaded.profile = "P550"  # fewer known violations
    loaded.check(())
    assert set(claims(loaded)) == {"phantom", "consume queue"}
    assert all("c0-0" in one for one in loaded.results.known) and all("c1-0" in finding for finding in loaded.results.findings)
    assert "leads to (7, 7), and record 0 of" in loaded.results.findings[0]
