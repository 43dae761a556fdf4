"""Settings that are changed while the clients of a concurrent history send: autoCreateTopicEnable and brokerPermission are judged by the
specification's steps, others end the judging."""

from __future__ import annotations

import random
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from many_histories import assert_judged_as_alone

from rocketproof_impl.broker import admin
from rocketproof_impl.broker.settings import BrokerSettings
from rocketproof_impl.simulator.cluster import NAME_SERVER, Cluster
from rocketproof_profiles import PROFILES
from rocketproof_properties.programs.vocabulary import plain
from rocketproof_traces.checker.histories import HistoryVerdict, judge_history
from rocketproof_traces.history import Event, Header

BROKER = "broker-a"
NO_TOPIC, NO_PERMISSION = 17, 16
OFF, ON = "autoCreateTopicEnable=false", "autoCreateTopicEnable=true"
HEADER = Header({"settings": {"autoCreateTopicEnable": "true"}})
FIELDS = {"producerGroup": "p", "defaultTopic": "TBW102", "defaultTopicQueueNums": "4", "queueId": "0"}
FIELDS |= {"sysFlag": "0", "bornTimestamp": "1", "flag": "0"}


class Told:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def add(self, type_: str, process: str, op: str, value: dict[str, Any]) -> Told:
        self.events.append(Event(len(self.events), type_, process, op, value, None))
        return self

    def sends(self, client: int, topic: str) -> Told:
        return self.add("invoke", f"client {client}", "send", {"to": BROKER, "fields": {**FIELDS, "topic": topic}, "bodySize": 1})

    def stored(self, client: int, offset: int) -> Told:
        return self.add("ok", f"client {client}", "send", {"code": 0, "fields": {"queueId": "0", "queueOffset": str(offset)}})

    def refused(self, client: int, code: int = NO_TOPIC) -> Told:
        return self.add("ok", f"client {client}", "send", {"code": code, "fields": {}})

    def sets(self, line: str) -> Told:
        return self.add("invoke", "administrator", "configure", {"to": BROKER, "fields": {}, "body": b64encode(line.encode()).decode()})

    def set(self) -> Told:
        return self.add("ok", "administrator", "configure", {"code": 0, "fields": {}})

    def judged(self, profile: str = "P49") -> HistoryVerdict:
        return judge_history(HEADER, self.events, profile)


def switched_off() -> Told:
    return Told().sends(0, "A").stored(0, 0).sets(OFF).set()


def test_topic_is_created_only_before_switch_change() -> None:
    assert switched_off().sends(0, "A").stored(0, 1).sends(0, "B").refused(0).judged().verdict == "ok"
    verdict = switched_off().sends(0, "B").stored(0, 0).judged()
    assert verdict.verdict == "illegal" and verdict.findings[0].part.startswith("B")
    assert Told().sends(0, "A").refused(0).judged().verdict == "illegal"


def test_send_during_switch_change_sees_either_value() -> None:
    for end in (Told.stored, Told.refused):
        begun = Told().sends(0, "A").sets(OFF)
        last = end(begun, 0, 0 if end is Told.stored else NO_TOPIC)
        assert last.set().judged().verdict == "ok"


def test_refused_send_disables_template_permanently() -> None:
    """AUX-101: the send removes INHERIT from TBW102, so that after switching on again no send can create a topic."""
    again = switched_off().sends(0, "B").refused(0).sets(ON).set().sends(0, "C")
    assert Told().sets(OFF).set().sets(ON).set().sends(0, "C").stored(0, 0).judged().verdict == "ok"
    assert again.refused(0).judged().verdict == "ok"


def test_switch_change_with_lost_response_is_optional() -> None:
    lost = Told().sets(OFF).add("info", "administrator", "configure", {})
    assert lost.sends(0, "A").refused(0).judged().verdict == "ok"
    assert Told().sends(0, "A").stored(0, 0).judged().verdict == "ok"


@pytest.mark.parametrize("line", ["flushDiskType=SYNC_FLUSH", f"{OFF}\nmaxMessageSize=10", "autoCreateTopicEnable=perhaps", ""])
def test_other_settings_end_judging(line: str) -> None:
    verdict = Told().sends(0, "A").stored(0, 0).sets(line).set().sends(0, "A").stored(0, 7).judged()
    assert verdict.verdict == "ok" and verdict.out_of_reach["the broker's settings were changed"] == 1


def test_permission_is_changed_too() -> None:
    taken = Told().sends(0, "A").stored(0, 0).sets("brokerPermission=4").set().sends(0, "A")
    assert taken.stored(0, 1).judged().verdict == "ok"  # the topic's own permission is not asked (CHK-01)


def test_send_back_checks_current_permission() -> None:
    back = {"to": BROKER, "fields": {"group": "g", "offset": "0", "delayLevel": "0"}, "version": 400}
    for line, verdict in (("brokerPermission=4", "ok"), ("brokerPermission=6", "illegal")):
        told = Told().sets(line).set().add("invoke", "client 0", "send_back", back)
        assert told.add("ok", "client 0", "send_back", {"code": NO_PERMISSION}).judged().verdict == verdict


def test_broker_responses_are_explained_and_ineffective_switch_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    assert all(served(seed).judged().verdict == "ok" for seed in range(6))
    monkeypatch.setattr(admin, "update_settings", lambda *_: {})
    assert {served(seed).judged().verdict for seed in range(6)} >= {"illegal"}


def served(seed: int) -> Told:
    """Return a simulated broker's responses during a switch change: each request takes effect between its begin and end."""
    cluster, chance, told = Cluster(0, profile=PROFILES["P49"]), random.Random(seed), Told()
    cluster.add(BrokerSettings(broker_name=BROKER, name_servers=(NAME_SERVER,)))
    asked: dict[int, Any] = {}
    answers: dict[int, Any] = {}
    for _ in range(90):
        client = chance.randrange(4)
        if client in answers:
            answer = answers.pop(client)
            if client == 3:
                told.set()
            elif answer.code == 0:
                told.stored(client, int(answer.ext_fields["queueOffset"]))
            else:
                told.refused(client, answer.code)
        elif client in asked:
            answers[client] = cluster.call(asked.pop(client))
        elif client == 3:
            line = chance.choice((OFF, ON))
            asked[client] = plain("configure", line=line)
            told.sets(line)
        else:
            topic = chance.choice("ABCDEF")
            asked[client] = plain("send", topic=topic)
            told.sends(client, topic)
    return told


def test_many_histories_are_judged_as_each_alone(tmp_path: Path) -> None:
    cases = {"right": switched_off().sends(0, "B").refused(0), "wrong": switched_off().sends(0, "B").stored(0, 0)}
    cases["other"] = Told().sends(0, "A").stored(0, 0).sets("flushDiskType=SYNC_FLUSH").set().sends(0, "A").stored(0, 7)
    assert_judged_as_alone(tmp_path, HEADER, {name: case.events for name, case in cases.items()})
