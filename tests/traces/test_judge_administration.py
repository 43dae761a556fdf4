"""What administrators ask for in recordings of single requests: settings that are changed, topics that a name server is told of, groups
without a name, slaves that are asked for nothing else."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rocketproof_model import Model
from rocketproof_model.language import Action
from rocketproof_model.language.actions import Update
from rocketproof_traces.checker.histories import Verdict, judge_history
from rocketproof_traces.checker.machine import Machine, machine
from rocketproof_traces.checker.shape import Shape
from rocketproof_traces.history import Event, Header
from rocketproof_traces.history.operations import NAME_SERVER

BROKER = "broker-a"
ON_SLAVE = "Can't modify topic or subscription group from slave broker, please execute it from master broker."
Queues = tuple[int, int, int]


class Recorded:
    """One client, one case after the other."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def ask(self, op: str, code: int, fields: dict[str, Any], answer: dict[str, Any] | None, body: str = "", to: str = BROKER) -> Recorded:
        number = len(self.events)
        asked = {"to": to, "broker": BROKER, "code": code, "fields": fields, "case": f"X-{number}", "version": 399, "bodySize": 1}
        asked |= {"body": b64encode(body.encode()).decode()} if body else {}
        self.events.append(Event(number, "invoke", "recorder", op, asked))
        self.events.append(Event(number + 1, "info" if answer is None else "ok", "recorder", op, answer or {}))
        return self

    def configure(self, lines: str, code: int = 0) -> Recorded:
        return self.ask("configure", 25, {}, {"code": code}, lines)

    def update(self, topic: str = "T", code: int = 0, remark: str = "") -> Recorded:
        return self.ask("update_topic", 17, {"topic": topic, **_counts(4, 4, 6)}, {"code": code, "remark": remark})

    def send(self, code: int, offset: int | None = None, topic: str = "T") -> Recorded:
        fields = {
            "producerGroup": "g", "topic": topic, "defaultTopic": "TBW102", "defaultTopicQueueNums": "4", "queueId": "0", "sysFlag": "0",
            "bornTimestamp": "0", "flag": "0", "properties": "", "reconsumeTimes": "0", "unitMode": "false", "batch": "false",
        }  # fmt: skip
        place = {} if offset is None else {"queueId": "0", "queueOffset": str(offset), "msgId": "0" * 32}
        return self.ask("send", 310, fields, {"code": code, "fields": place})

    def route(self, queues: Queues | None, topic: str = "T") -> Recorded:
        if queues is None:
            return self.ask("route", 105, {"topic": topic}, {"code": 17}, to=NAME_SERVER)
        body = json.dumps({"queueDatas": [_entry(BROKER, queues)]})
        return self.ask("route", 105, {"topic": topic}, {"code": 0, "body": b64encode(body.encode()).decode()}, to=NAME_SERVER)

    def register(self, *entries: tuple[str, Queues], code: int | None = 0, topic: str | None = "T") -> Recorded:
        body = json.dumps({"queueDatas": [_entry(*each) for each in entries]})
        return self.ask("register_topic", 217, {"topic": topic}, None if code is None else {"code": code}, body, NAME_SERVER)

    def forget(self, **fields: str) -> Recorded:
        return self.ask("forget_topic", 216, {"topic": "T", **fields}, {"code": 0}, to=NAME_SERVER)

    def judged(self, profile: str = "P533", make: Callable[[Shape], Machine] = machine) -> Verdict:
        header = {"recording": True, "settings": {"autoCreateTopicEnable": "true"}}
        return judge_history(Header(header), self.events, profile, make=make)

    def verdict(self, profile: str = "P533") -> str:
        found = self.judged(profile)
        assert not found.out_of_reach
        return found.verdict


def _counts(read: int, write: int, perm: int) -> dict[str, str]:
    return {"readQueueNums": str(read), "writeQueueNums": str(write), "perm": str(perm)}


def _entry(broker: str, queues: Queues) -> dict[str, Any]:
    return {"brokerName": broker, **dict(zip(("readQueueNums", "writeQueueNums", "perm"), queues, strict=True)), "topicSysFlag": 0}


@pytest.mark.behaviour("TCM-13", "TCM-14")
def test_auto_creation_is_switched_while_the_broker_runs() -> None:
    assert Recorded().configure("autoCreateTopicEnable=false").send(17).verdict() == "ok"
    assert Recorded().configure("autoCreateTopicEnable=false").send(0, 0).verdict() == "illegal"
    assert Recorded().send(17).verdict() == "illegal"
    back = Recorded().configure("autoCreateTopicEnable=false").configure("autoCreateTopicEnable=true")
    assert back.send(0, 0).verdict() == "ok"
    assert Recorded().configure("autoCreateTopicEnable=false").send(17).configure("autoCreateTopicEnable=true").send(0, 0).verdict() == (
        "illegal"  # TBW102 has lost INHERIT, and nothing gives it back
    )


@pytest.mark.behaviour("NS-11")
def test_a_broker_that_is_limited_registers_its_topics_anew() -> None:
    limited = Recorded().update().route((4, 4, 6)).configure("brokerPermission=4")
    assert limited.route((4, 4, 4)).verdict("P494") == "ok"
    again = Recorded().update().route((4, 4, 6)).configure("brokerPermission=4").route((4, 4, 4)).configure("brokerPermission=6")
    assert again.route((4, 4, 6)).verdict("P494") == "ok"
    assert Recorded().update().route((4, 4, 6)).route((4, 4, 4)).verdict("P494") == "illegal"


def test_a_setting_that_the_specification_has_not_is_out_of_reach() -> None:
    found = Recorded().configure("flushDiskType=SYNC_FLUSH").send(0, 0).judged()
    assert (found.verdict, found.out_of_reach) == ("ok", {"changes of settings: flushDiskType": 1})
    assert Recorded().configure("brokerPermission=6", code=1).verdict() == "illegal"


@pytest.mark.behaviour("TCM-34", "NS-04")
def test_a_name_server_takes_a_topic_from_anybody() -> None:
    mine, other = (BROKER, (2, 2, 4)), ("nobody", (4, 4, 6))
    assert Recorded().register(mine).route((2, 2, 4)).verdict() == "ok"
    assert Recorded().register(mine).route(None).verdict() == "illegal"
    assert Recorded().register(mine, topic=None).route(None).verdict() == "ok"
    assert Recorded().register(other).route(None).verdict() == "ok"
    for entries in ((mine, other), (other, mine)):
        assert Recorded().register(*entries).route(None).verdict() == "ok"
        assert Recorded().register(*entries).route((2, 2, 4)).verdict() == "illegal"
    known = Recorded().update().route((4, 4, 6))
    assert known.register(mine, other).route((2, 2, 4)).verdict() == "ok"
    assert Recorded().update().route((4, 4, 6)).register(other, mine).route((4, 4, 6)).verdict() == "ok"
    assert Recorded().update().route((4, 4, 6)).register(other, mine).route((2, 2, 4)).verdict() == "illegal"


@pytest.mark.behaviour("TCM-34")
def test_an_older_name_server_takes_no_topic() -> None:
    mine = (BROKER, (2, 2, 4))
    assert Recorded().register(mine, code=None).route(None).judged("P494").verdict == "ok"
    assert Recorded().register(mine, code=None).route((2, 2, 4)).judged("P494").verdict == "illegal"
    assert Recorded().register(mine).verdict("P494") == "illegal"
    assert Recorded().register(mine, code=3).verdict() == "illegal"


@pytest.mark.behaviour("HAZ-36", "NS-04")
def test_a_topic_that_is_deleted_stays_in_the_route_until_the_name_server_forgets_it() -> None:
    def deleted() -> Recorded:
        made = Recorded().update().route((4, 4, 6))
        return made.ask("delete_topic", 215, {"topic": "T"}, {"code": 0})

    assert deleted().route((4, 4, 6)).verdict("P494") == "ok"
    assert deleted().route(None).verdict("P494") == "illegal"
    assert deleted().forget().route(None).verdict("P494") == "ok"
    assert deleted().forget(clusterName="another").route((4, 4, 6)).verdict("P494") == "ok"


@pytest.mark.behaviour("DLQ-02")
def test_a_group_that_is_deleted_has_a_name() -> None:
    assert Recorded().ask("delete_group", 207, {}, {"code": 1}).verdict() == "ok"
    assert Recorded().ask("delete_group", 207, {}, {"code": 0}).verdict() == "illegal"


@pytest.mark.behaviour("TCM-30", "TCM-31")
def test_a_slave_says_so_where_nothing_is_sent() -> None:
    refused = {"code": 1, "remark": ON_SLAVE}

    def asked(answer: dict[str, Any]) -> Recorded:
        return Recorded().update(code=1, remark=ON_SLAVE).ask("delete_topic", 215, {"topic": "T"}, answer)

    assert asked(refused).verdict("P494") == "ok"
    assert asked({"code": 0}).verdict("P494") == "illegal"
    assert Recorded().update(code=1).verdict("P494") == "illegal"


def _unguarded(guard: str) -> Callable[[Action], Action]:
    return lambda action: replace(action, guards=tuple(g for g in action.guards if g.name != guard))


def _not_setting(prefix: str) -> Callable[[Action], Action]:
    def kept(update: Update) -> Update:
        return replace(update, value=update.target) if update.target.args[0].name.startswith(prefix) else update

    return lambda action: replace(action, updates=tuple(map(kept, action.updates)))


MINE, OTHER = (BROKER, (2, 2, 4)), ("nobody", (4, 4, 6))
GONE: dict[str, Any] = {"topic": "T"}


def there() -> Recorded:
    return Recorded().update().route((4, 4, 6))


def gone() -> Recorded:
    return there().send(0, 0).ask("delete_topic", 215, GONE, {"code": 0})


MUTANTS: list[tuple[str, Callable[[Action], Action], Recorded]] = [
    ("register_topic", _unguarded("no stranger before"), there().register(OTHER, MINE).route((2, 2, 4))),
    ("register_topic", _unguarded("a route, or no stranger"), Recorded().register(MINE, OTHER).route((2, 2, 4))),
    ("register_topic", _not_setting("route."), Recorded().register(MINE).route(None)),
    ("forget_topic", _not_setting("route."), there().ask("delete_topic", 215, GONE, {"code": 0}).forget().route((4, 4, 6))),
    ("switch_creation", _not_setting("auto_create"), Recorded().configure("autoCreateTopicEnable=false").send(0, 0)),
    ("delete_topic", _not_setting("offset"), gone().send(0, 0)),
    ("delete_topic", _not_setting("outlived"), gone().send(0, 1)),
]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(MUTANTS)))
def test_a_mutant_of_an_action_changes_a_verdict(number: int) -> None:
    name, changed, recorded = MUTANTS[number]

    def change(model: Model) -> Model:
        return model.with_actions(changed(a) if a.name == name else a for a in model.actions)

    found = recorded.judged("P494" if name == "permit" else "P533").verdict
    assert {found, recorded.judged("P494" if name == "permit" else "P533", lambda shape: Machine(shape, change)).verdict} == {
        "ok",
        "illegal",
    }
