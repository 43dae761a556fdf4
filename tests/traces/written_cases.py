"""Recordings of single requests that a test writes, and mutants of the specification's actions to judge them by."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rocketproof_model import Model
from rocketproof_model.language import Action
from rocketproof_model.language.actions import Assignment
from rocketproof_traces.checker.histories import HistoryVerdict, judge_history
from rocketproof_traces.checker.machine import Machine, machine
from rocketproof_traces.checker.shape import MachineShape
from rocketproof_traces.history import Event, Header
from rocketproof_traces.history.exchanges import NAME_SERVER

BROKER = "broker-a"
Queues = tuple[int, int, int]
_QUEUE = {"consumerGroup": "g", "topic": "T", "queueId": "0"}


class Recorded:
    """One client's cases, one after the other."""

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

    def send(self, code: int, offset: int | None = None, topic: str = "T", properties: str = "", remark: str = "") -> Recorded:
        fields = {
            "producerGroup": "g", "topic": topic, "defaultTopic": "TBW102", "defaultTopicQueueNums": "4", "queueId": "0", "sysFlag": "0",
            "bornTimestamp": "0", "flag": "0", "properties": properties, "reconsumeTimes": "0", "unitMode": "false", "batch": "false",
        }  # fmt: skip
        place = {} if offset is None else {"queueId": "0", "queueOffset": str(offset), "msgId": "0" * 32}
        return self.ask("send", 310, fields, {"code": code, "fields": place, "remark": remark})

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

    def group(self, name: str = "g", code: int = 0) -> Recorded:
        return self.ask("update_group", 200, {}, {"code": code}, json.dumps({"groupName": name, "retryMaxTimes": 16, "retryQueueNums": 1}))

    def ungroup(self, **fields: str) -> Recorded:
        return self.ask("delete_group", 207, {"groupName": "g", **fields}, {"code": 0})

    def commit(self, offset: object, code: int = 0, **fields: object) -> Recorded:
        return self.ask("commit", 15, {**_QUEUE, "commitOffset": offset, **fields}, {"code": code, "fields": {}})

    def progress(self, offset: int | None, **fields: object) -> Recorded:
        told = {"code": 22, "fields": {}} if offset is None else {"code": 0, "fields": {"offset": str(offset)}}
        return self.ask("progress", 14, {**_QUEUE, **fields}, told)

    def judged(self, profile: str = "P533", make: Callable[[MachineShape], Machine] = machine) -> HistoryVerdict:
        header = {"recording": True, "settings": {"autoCreateTopicEnable": "true"}}
        return judge_history(Header(header), self.events, profile, make=make)

    def verdict(self, profile: str = "P533") -> str:
        verdict = self.judged(profile)
        assert not verdict.out_of_reach
        return verdict.verdict


def _counts(read: int, write: int, perm: int) -> dict[str, str]:
    return {"readQueueNums": str(read), "writeQueueNums": str(write), "perm": str(perm)}


def _entry(broker: str, queues: Queues) -> dict[str, Any]:
    return {"brokerName": broker, **dict(zip(("readQueueNums", "writeQueueNums", "perm"), queues, strict=True)), "topicSysFlag": 0}


def unguarded(guard: str) -> Callable[[Action], Action]:
    return lambda action: replace(action, guards=tuple(g for g in action.guards if g.name != guard))


def not_setting(prefix: str) -> Callable[[Action], Action]:
    def kept(update: Assignment) -> Assignment:
        return replace(update, value=update.target) if update.target.args[0].name.startswith(prefix) else update

    return lambda action: replace(action, updates=tuple(map(kept, action.updates)))


def mutated(name: str, changed: Callable[[Action], Action]) -> Callable[[MachineShape], Machine]:
    """Return the judge's machines with changed actions, selected by the begin of their name."""

    def change(model: Model) -> Model:
        return model.with_actions(changed(a) if a.name.startswith(name) else a for a in model.actions)

    return lambda shape: Machine(shape, change)
