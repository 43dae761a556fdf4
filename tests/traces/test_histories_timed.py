"""Timed messages (5.x) in histories of several clients: they are stored in the single timer queue, and later reach their queue once or
never.
"""

from __future__ import annotations

import random
from typing import Any

import pytest

from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_impl.store import service
from rocketproof_profiles import PROFILES
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_traces.checker.histories import HistoryVerdict, judge_history
from rocketproof_traces.history import Event, Header

BROKER = "broker-a"
TIMED = "TIMER_DELAY_SEC\x0160\x02"
FIELDS = {"producerGroup": "p", "topic": "T", "defaultTopic": "TBW102", "defaultTopicQueueNums": "4"}
FIELDS |= {"sysFlag": "0", "bornTimestamp": "1", "flag": "0"}


def asked(queue: int, *, timed: bool) -> dict[str, Any]:
    fields = {**FIELDS, "queueId": str(queue)} | ({"properties": TIMED} if timed else {})
    return {"to": BROKER, "fields": fields, "bodySize": 1}


def told(queue: int, offset: int) -> dict[str, Any]:
    return {"code": 0, "fields": {"queueId": str(queue), "queueOffset": str(offset)}}


def history(*sends: tuple[bool, int, int]) -> list[Event]:
    """Generate two concurrent sends at a time, with their timer, queue and recorded offset."""
    events = list[Event]()
    for k in range(0, len(sends), 2):
        pair = list(enumerate(sends[k : k + 2]))
        for client, (timed, queue, _) in pair:
            events.append(Event(len(events), "invoke", f"client {client}", "send", asked(queue, timed=timed), None))
        for client, (_, queue, offset) in pair:
            events.append(Event(len(events), "ok", f"client {client}", "send", told(queue, offset), None))
    return events


def judged(events: list[Event], profile: str = "P533") -> HistoryVerdict:
    return judge_history(Header({}), events, profile)


@pytest.mark.parametrize(
    ("offsets", "verdict"),
    [
        ((0, 0, 1, 1), "ok"),
        ((5, 0, 6, 1), "ok"),  # others have messages that wait, too
        ((0, 0, 1, 2), "ok"),  # the first message was already delivered
        ((0, 0, 0, 1), "illegal"),  # a place in the timers' queue is given once
        ((0, 0, 1, 5), "illegal"),  # two messages are delivered once each
    ],
)
def test_timers_have_queue_and_deliver_once(offsets: tuple[int, ...], verdict: str) -> None:
    first, own, second, later = offsets
    found = judged(history((True, 0, first), (False, 0, own), (True, 0, second), (False, 0, later)))
    assert found.verdict == verdict and not found.out_of_reach


@pytest.mark.parametrize("offset", [0, 1, 7])
def test_point_in_time_may_follow_timers_of_other_programs(offset: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "TIMED", "TIMER_DELIVER_MS\x011\x02")
    assert judged(history((True, 0, offset), (False, 0, 0))).verdict == "ok"
    assert judged(history((True, 0, offset), (False, 0, 3))).verdict == "illegal"  # one timer does not cause that many


def test_release_without_timers_stores_timed_messages_at_once() -> None:
    assert judged(history((True, 0, 0), (False, 0, 1)), "P49").verdict == "ok"
    assert judged(history((True, 0, 0), (False, 0, 0)), "P49").verdict == "illegal"


def answered(seed: int) -> list[Event]:
    """Return the responses of a simulated broker to two clients with overlapping sends to two queues, some timed."""
    cluster, chance = Cluster(0, profile=PROFILES["P533"]), random.Random(seed)
    cluster.add(BrokerSettings(broker_name=BROKER, name_servers=(NAME_SERVER,)))
    sends = []
    for _ in range(20):
        timed, queue = chance.random() < 0.6, chance.randrange(2)
        properties = {"TIMER_DELAY_SEC": "60"} if timed else {}
        answer = cluster.call(plain("send", topic="T", queue=queue, properties=properties))
        sends.append((timed, queue, int((answer.ext_fields or {})["queueOffset"])))
    return history(*sends)


def test_broker_responses_are_explained() -> None:
    assert all(judged(answered(seed)).verdict == "ok" for seed in range(5))


def test_broker_ignoring_times_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "to_timer_topic", lambda *_, **__: None)
    assert judged(answered(0)).verdict == "illegal"
