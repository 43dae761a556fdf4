"""Each promise has a history that keeps it and a history that breaks it. Documented violations name promises, releases and programs."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from promised_histories import BROKER, HistoryMaker

from nonempty import nonempty
from rocketproof_model.columns import compile_columns
from rocketproof_profiles import PROFILES
from rocketproof_profiles.releases import LINES
from rocketproof_properties.catalogue.conditions import ANYTHING, KEPT_OFFSETS, REJECTED, STOPPED, TIMED
from rocketproof_properties.catalogue.facts import Facts
from rocketproof_properties.catalogue.history import History, WaitedProducer
from rocketproof_properties.catalogue.promises.broken import breaches, known_breach, line_number
from rocketproof_properties.catalogue.promises.promise import Promise
from rocketproof_properties.catalogue.promises.statements import promises
from rocketproof_properties.catalogue.stored import stored_rules
from rocketproof_properties.catalogue.table import HISTORY_CASES, HISTORY_CLAIMS
from rocketproof_properties.judging.restarts import SENTENCES
from rocketproof_properties.judging.restarts import breaches as restart_breaches
from rocketproof_properties.judging.slaves import SENTENCES as OF_SLAVES
from rocketproof_properties.programs.program import Program
from rocketproof_properties.programs.vocabulary import arguments
from rocketproof_properties.validation import promises as documented
from rocketproof_properties.validation.faults.claims import FAULT_CLAIMS
from rocketproof_properties.validation.knownbugs.bugs import bugs
from rocketproof_protocol.codes import REGISTER_BROKER, TOPIC_NOT_EXIST, UNREGISTER_BROKER
from rocketproof_protocol.topics import CHECK_MAX_TIME_TOPIC, HALF_TOPIC, SCHEDULE, WHEEL_TIMER_TOPIC
from rocketproof_traces.audit.row_rules import row_rule, settings_of
from rocketproof_traces.audit.rules import instance

PAGE = Path(__file__).parents[2] / "properties" / "docs" / "promises.md"
BY_ID = {promise.id: promise for promise in promises()}
OWN = {"UNIQ_KEY": "ID1", "KEYS": "k", "TAGS": "t", "colour": "red"}


def sent(**record: Any) -> History:
    """A message with all properties. `record` changes its record."""
    maker = HistoryMaker()
    given = {key: record.pop(key) for key in ("queue_asked", "answer", "listed") if key in record}
    maker.send(100, OWN, queue=given.pop("queue_asked", 1), record=record, **given)
    return maker.history()


def batched(**record: Any) -> History:
    """A batch of two messages. `record` changes the record of the second."""
    maker = HistoryMaker()
    maker.batch(100, [(b"a", OWN), (b"b", {**OWN, "UNIQ_KEY": "ID2"})], [{}, record])
    return maker.history()


def pulled(count: int = 2, change: Mapping[str, Any] | None = None, read: bool = True, **values: Any) -> History:
    """A pull of a queue with three messages that returns the first `count`. `change` changes the last returned record."""
    maker = HistoryMaker()
    records = []
    for number in range(3):
        maker.send(1000 * (number + 1), offset=number)
        records.append(maker.records[1000 * (number + 1)])
    if change and count:
        other = HistoryMaker()
        at = 1000 * count
        records[count - 1] = other.keep(at, **{"offset": count - 1, "born": at + 1, **change})
    bounds = {"nextBeginOffset": str(count), "minOffset": "0", "maxOffset": "3"} | values.pop("bounds", {})
    asked = {"maxMsgNums": str(values.pop("most", count or 1))} | values.pop("asked", {})
    start = values.pop("start", 0)
    maker.pull(records[start : start + count], bounds=bounds, asked=asked, **values)
    if not read:
        maker.records.clear()
    return maker.history()


def recreated(*, before: bool) -> History:
    """A topic that was deleted and created again, with a message sent before or after."""
    maker = HistoryMaker()
    if before:
        maker.send(100)
    maker.ask("delete_topic", {"topic": "A"})
    maker.ask("update_topic", {"topic": "A", "readQueueNums": "4", "writeQueueNums": "4", "perm": "6"})
    if not before:
        maker.send(100)
    return maker.history()


def reached(offset: int) -> History:
    maker = HistoryMaker()
    maker.ask("delete_topic", {"topic": "A"})
    maker.ask("max_offset", {"topic": "A", "queueId": "0"}, answer={"offset": str(offset)})
    return maker.history()


def administered(
    *, there: bool = True, perm: int = 6, asked: int = 6, deleted: bool = False, other: bool = False, crash: bool = False
) -> History:
    """A topic that an administrator created with a permission, and the broker's table at the end."""
    maker = HistoryMaker()
    maker.ask("update_topic", {"topic": "A", "readQueueNums": "4", "writeQueueNums": "4", "perm": str(asked)})
    if deleted:
        maker.ask("delete_topic", {"topic": "A"})
    if other:
        maker.ask("delete_topic", {"topic": "B"})
    if crash:
        maker.add("info", "crash", {"power": False})
    entry = {"readQueueNums": 4, "writeQueueNums": 4, "perm": perm}
    maker.states["topics"] = {"topics": {"A": entry} if there else {}, "asked": []}
    return maker.history()


def grouped(retries: int) -> History:
    maker = HistoryMaker()
    maker.group("g", retryMaxTimes=3)
    maker.states["groups"] = {"groups": {"g": {"groupName": "g", "retryMaxTimes": retries}}}
    return maker.history()


def committed(answered: int, *, deleted: bool = False) -> History:
    """A group that commits 5 and then 2, and queries its offset, with `deleted` after the deletion of the topic."""
    maker = HistoryMaker()
    key = {"consumerGroup": "g", "topic": "A", "queueId": "0"}
    for offset in (5, 2):
        maker.ask("commit", {**key, "commitOffset": str(offset)})
    if deleted:
        maker.ask("delete_topic", {"topic": "A"})
    maker.ask("progress", key, answer={"offset": str(answered)})
    return maker.history()


def delayed(waited: int = 1000, copies: int = 1, **copy: Any) -> History:
    """A message of level 1 (one second) that was delivered."""
    maker = HistoryMaker()
    waiting = {"topic": SCHEDULE, "properties": {**OWN, "DELAY": "1", "REAL_TOPIC": "A", "REAL_QID": "1"}, "queue": 0}
    maker.send(100, {**OWN, "DELAY": "1"}, queue=1, record=waiting)
    for number in range(copies):
        values = {"queue": 1, "properties": OWN, "born": 101, "stored": 10_000 + waited, "offset": number, **copy}
        maker.keep(2000 + 1000 * number, **values)
    return maker.history()


def timed(copies: int = 0, other: int = 0, *, topic: str = "A") -> History:
    """A timed message, its copies, one that cancels its key and was sent to a topic, and `other` delivered ones of its second."""
    maker = HistoryMaker()
    waiting = {"topic": WHEEL_TIMER_TOPIC, "queue": 0}
    for at, of, given in ((100, "A", {"UNIQ_KEY": "U1"}), (300, topic, {"UNIQ_KEY": "U2", "TIMER_DEL_UNIQKEY": "U1"})):
        properties = {**given, "TIMER_OUT_MS": "12000"}
        maker.send(at, {**given, "TIMER_DELAY_SEC": "2"}, topic=of, record={**waiting, "properties": properties})
    for number, born in enumerate([101] * copies + [900] * other):
        delivered = {"UNIQ_KEY": "U1", "TIMER_OUT_MS": "12000"}
        maker.keep(2000 + 1000 * number, topic="A", offset=number, born=born, stored=13_000, properties=delivered)
    maker.ask("pull", {"topic": "A", "queueId": "0"}, code=19, at=20_000)
    return maker.history()


def put_at_once(topic: str) -> History:
    """A message with a delay level, whose record is in this topic."""
    maker = HistoryMaker()
    maker.send(100, {"DELAY": "1"}, record={"topic": topic})
    return maker.history()


def half(
    ends: tuple[int, ...] = (),
    copies: int = 0,
    *,
    later: bool = False,
    discarded: bool = False,
    asked: bool = False,
    again: bool = False,
    **copy: Any,
) -> History:
    """A half message, requests that end it (8 commits, 12 rolls back), and the messages made of it.

    Its producer is `asked` about it before these requests, and `again` after them.
    """
    maker = HistoryMaker()
    question = {"body": base64.b64encode(HistoryMaker().keep(7000, topic=HALF_TOPIC, born=101)).decode()}
    producers = json.dumps({"producerDataSet": [{"groupName": "p"}]}).encode()
    maker.ask("heartbeat", request=producers)
    half_of = {**OWN, "TRAN_MSG": "true", "PGROUP": "p", "REAL_TOPIC": "A", "REAL_QID": "0"}
    maker.send(100, {**OWN, "TRAN_MSG": "true", "PGROUP": "p"}, record={"topic": HALF_TOPIC, "sys_flag": 0, "properties": half_of})
    if asked:
        maker.add("info", "question", question)
    for end in ends:
        maker.ask("end_transaction", {"commitLogOffset": "100", "commitOrRollback": str(end)})
    for number in range(copies):
        maker.keep(2000 + 1000 * number, **{"properties": OWN, "born": 101, "offset": number, "sys_flag": 8, **copy})
    if later:
        maker.send(9000, offset=copies)
    if again:
        maker.add("info", "question", question)
    if discarded:
        maker.add("info", "checked", {"asked": []})
        data = HistoryMaker().keep(8000, topic=CHECK_MAX_TIME_TOPIC, born=101)
        maker.pull([data], asked={"topic": CHECK_MAX_TIME_TOPIC})
    return maker.history()


def returned(limit: int | None = None, **record: Any) -> History:
    """A message that was sent back. `limit`: the group's maximum of retries. `record` changes the new record."""
    maker = HistoryMaker()
    if limit is not None:
        maker.group("g", retryMaxTimes=limit)
    maker.send(100, OWN)
    maker.ask("send_back", {"offset": "100", "group": "g", "delayLevel": "1", "maxReconsumeTimes": "16"})
    own = {**OWN, "RETRY_TOPIC": "A", "REAL_TOPIC": "%RETRY%g", "REAL_QID": "0", "DELAY": "1", "ORIGIN_MESSAGE_ID": "x"}
    maker.keep(2000, **{"topic": SCHEDULE, "properties": own, "born": 101, "times": 1, **record})
    return maker.history()


def repeated(**broken: list[Any]) -> History:
    maker = HistoryMaker()
    maker.send(100)
    maker.look("stats", {"topic": "A"})
    maker.states["looks"].update(broken)
    return maker.history()


def looked(name: str, args: Mapping[str, Any], places: tuple[int, ...] = (), **fields: str) -> History:
    """A query after a program with two messages, stored at 10,000 ms and 20,000 ms."""
    maker = HistoryMaker()
    maker.send(1000, {"KEYS": "k"}, record={"stored": 10_000})
    maker.send(2000, {"KEYS": "other"}, offset=1, record={"stored": 20_000})
    maker.look(name, {"topic": "A", **args}, places=places, **fields)
    return maker.history()


def searched(answered: int) -> History:
    """A program with two messages, a pause, and a search for a time after them."""
    maker = HistoryMaker()
    maker.send(1000, record={"stored": 10_000})
    maker.send(2000, offset=1, record={"stored": 20_000})
    maker.add("info", "wait", {"millis": 500})
    maker.ask("search", {"topic": "A", "queueId": "0", "timestamp": "99000"}, answer={"offset": str(answered)})
    return maker.history()


def viewed(at: int) -> History:
    maker = HistoryMaker()
    maker.send(1000)
    maker.ask("view", {"offset": "1000"}, body=HistoryMaker().keep(at))
    return maker.history()


def routed(named: int, *, addressed: bool = True) -> History:
    row = {"brokerName": BROKER, "readQueueNums": 4, "writeQueueNums": 4, "perm": 6}
    brokers = [{"brokerName": BROKER, "brokerAddrs": {"0": "127.0.0.1:1"}}] if addressed else []
    maker = HistoryMaker()
    maker.ask("route", {"topic": "A"}, body=json.dumps({"queueDatas": [row] * named, "brokerDatas": brokers}).encode(), to="name server")
    return maker.history()


def registered(*, there: bool, queues: int = 4, left: bool = False, slave: bool = False) -> History:
    """A broker that registers a topic, closes its connection and registers again; and a query of the topic's route.

    With `left`, the broker unregisters before the query. `queues` are those that it registered. With `slave`, it has also registered under
    id 1.
    """
    maker = HistoryMaker()
    fields = {"brokerName": "b", "brokerAddr": "10.0.0.1:1", "brokerId": "0"}
    config = {"readQueueNums": queues, "writeQueueNums": queues, "perm": 6}
    table = json.dumps({"topicConfigSerializeWrapper": {"topicConfigTable": {"A": config}}}).encode()
    for number in range(2):
        maker.ask("other", fields, request=table, to="name server", request_code=REGISTER_BROKER)
        if not number:
            maker.add("info", "disconnect", {"address": "10.0.0.1:1"})
    if slave:
        maker.ask("other", {**fields, "brokerId": "1"}, request=table, to="name server", request_code=REGISTER_BROKER)
    if left:
        maker.ask("other", fields, to="name server", request_code=UNREGISTER_BROKER)
    row = {"brokerName": "b", "readQueueNums": 4, "writeQueueNums": 4, "perm": 6}
    body = json.dumps({"queueDatas": [row], "brokerDatas": []}).encode()
    maker.ask("route", {"topic": "A"}, 0 if there else TOPIC_NOT_EXIST, body=body if there else b"", to="name server")
    return maker.history()


def announced(*, queues: int = 4, between: Callable[[HistoryMaker], Any] | None = None) -> History:
    """A topic that gets 8 and then 4 queues, what happens then, and a route with `queues`."""
    maker = HistoryMaker()
    for count in ("8", "4"):
        maker.ask("update_topic", {"topic": "A", "readQueueNums": count, "writeQueueNums": count, "perm": "6"})
    if between is not None:
        between(maker)
    row = {"brokerName": BROKER, "readQueueNums": queues, "writeQueueNums": queues, "perm": 4}
    maker.ask("route", {"topic": "A"}, body=json.dumps({"queueDatas": [row], "brokerDatas": []}).encode(), to="name server")
    return maker.history()


def positioned(offset: int) -> History:
    """A group that commits an offset of a queue with one message."""
    maker = HistoryMaker()
    maker.send(100)
    maker.ask("commit", {"consumerGroup": "g", "topic": "A", "queueId": "0", "commitOffset": str(offset)})
    return maker.history()


def rejected(remark: str) -> History:
    maker = HistoryMaker()
    maker.ask("max_offset", {"topic": "A"}, 1, remark=remark)
    return maker.history()


Make = Callable[[], History]
TABLE: Mapping[str, tuple[Make, Make]] = {
    "PRO-05": (sent, partial(sent, body=b"b")),
    "PRO-06": (sent, partial(sent, properties={**OWN, "KEYS": "other"})),
    "PRO-07": (sent, partial(sent, properties={**OWN, "colour": "blue"})),
    "PRO-08": (sent, partial(sent, properties={**OWN, "UNIQ_KEY": "HEAD"})),
    "PRO-09": (sent, partial(sent, flag=7)),
    "PRO-10": (sent, partial(sent, topic="B")),
    "PRO-11": (sent, partial(sent, queue=2, answer={"queueId": "2"})),
    "PRO-12": (sent, partial(sent, answer={"queueId": "2"})),
    "PRO-13": (sent, partial(sent, answer={"queueOffset": "4"})),
    "PRO-16": (sent, partial(sent, offset=1, listed=True)),
    "PRO-17": (pulled, partial(pulled, start=1)),
    "PRO-18": (pulled, partial(pulled, change={"offset": 2})),
    "PRO-19": (pulled, partial(pulled, change={"topic": "B"})),
    "PRO-20": (pulled, partial(pulled, most=1)),
    "PRO-21": (pulled, partial(pulled, most=3)),
    "PRO-22": (pulled, partial(pulled, bounds={"nextBeginOffset": "3"})),
    "PRO-23": (pulled, partial(pulled, bounds={"nextBeginOffset": "1"})),
    "PRO-24": (pulled, partial(pulled, change={"body": b"other"})),
    "PRO-25": (partial(pulled, 0, code=19, asked={"queueOffset": "3"}), partial(pulled, 0, code=19, asked={"queueOffset": "1"})),
    "PRO-26": (
        partial(pulled, 0, code=21, asked={"queueOffset": "9"}, bounds={"nextBeginOffset": "3"}),
        partial(pulled, 0, code=21, asked={"queueOffset": "9"}, bounds={"nextBeginOffset": "9"}),
    ),
    "PRO-87": (
        partial(pulled, 0, code=21, asked={"queueOffset": "9"}, bounds={"nextBeginOffset": "3"}),
        partial(pulled, 0, code=21, asked={"queueOffset": "9"}, bounds={"nextBeginOffset": "0"}),
    ),
    "PRO-27": (batched, partial(batched, body=b"c")),
    "PRO-28": (batched, partial(batched, properties={**OWN, "UNIQ_KEY": "HEAD"})),
    "PRO-29": (batched, partial(batched, properties={**OWN, "UNIQ_KEY": "ID2", "TAGS": "other"})),
    "PRO-30": (batched, partial(batched, properties={**OWN, "colour": "blue"})),
    "PRO-31": (batched, partial(batched, offset=2)),
    "PRO-32": (partial(recreated, before=False), partial(recreated, before=True)),
    "PRO-33": (partial(reached, 0), partial(reached, 1)),
    "PRO-34": (partial(administered, other=True), partial(administered, other=True, there=False)),
    "PRO-35": (partial(administered, deleted=True, there=False), partial(administered, deleted=True)),
    "PRO-37": (partial(committed, 2), partial(committed, 5)),
    "PRO-38": (partial(committed, 2), partial(committed, 5)),
    "PRO-86": (partial(committed, 0, deleted=True), partial(committed, 2, deleted=True)),
    "PRO-88": (partial(positioned, 1), partial(positioned, 2)),
    "PRO-40": (delayed, partial(delayed, 999)),
    "PRO-41": (delayed, partial(delayed, 60_000)),
    "PRO-42": (delayed, partial(delayed, copies=2)),
    "PRO-43": (delayed, partial(delayed, queue=2)),
    "PRO-96": (timed, partial(timed, 1)),
    "PRO-97": (partial(timed, 1, 1, topic="B"), partial(timed, 0, 1, topic="B")),
    "PRO-44": (partial(put_at_once, SCHEDULE), partial(put_at_once, "A")),
    "PRO-46": (half, partial(half, copies=1)),
    "PRO-47": (partial(half, (12,)), partial(half, (12,), copies=1)),
    "PRO-85": (partial(half, (12, 8)), partial(half, (12, 8), copies=1)),
    "PRO-48": (partial(half, (8,), 1, later=True), partial(half, (8,), later=True)),
    "PRO-49": (partial(half, (8,), 1), partial(half, (8, 8), 2)),
    "PRO-50": (partial(half, (8,), 1), partial(half, (8,), 1, body=b"b")),
    "PRO-51": (partial(half, discarded=True, asked=True), partial(half, discarded=True)),
    "PRO-89": (partial(half, (8,), 1, asked=True), partial(half, (8,), 1, asked=True, again=True)),
    "PRO-90": (
        partial(returned, limit=0, topic="%DLQ%g", properties={**OWN, "RETRY_TOPIC": "A"}),
        partial(returned, limit=0),
    ),
    "PRO-58": (returned, partial(returned, body=b"b")),
    "PRO-59": (administered, partial(administered, perm=4)),
    "PRO-60": (partial(grouped, 3), partial(grouped, 4)),
    "PRO-61": (partial(administered, crash=True), partial(administered, crash=True, there=False)),
    "PRO-91": (administered, partial(administered, asked=9, perm=9)),
    "PRO-92": (partial(rejected, "topic[A] not exist"), partial(rejected, "java.lang.NullPointerException, null")),
    "PRO-64": (repeated, partial(repeated, twice=[[1, 2]])),
    "PRO-65": (repeated, partial(repeated, moved=[["A", 0, 1, 2]])),
    "PRO-66": (repeated, partial(repeated, changed=["A"])),
    "PRO-67": (partial(looked, "find", {"key": "k"}, (1000,)), partial(looked, "find", {"key": "k"}, (1000, 2000))),
    "PRO-68": (partial(looked, "find", {"key": "k"}, (1000,)), partial(looked, "find", {"key": "k"})),
    "PRO-69": (
        partial(looked, "search", {"queue": 0, "time": 15_000}, offset="1"),
        partial(looked, "search", {"queue": 0, "time": 15_000}, offset="2"),
    ),
    "PRO-93": (partial(searched, 2), partial(searched, 1)),
    "PRO-70": (partial(viewed, 1000), partial(viewed, 2000)),
    "PRO-71": (
        partial(looked, "earliest", {"queue": 0}, timestamp="10000"),
        partial(looked, "earliest", {"queue": 0}, timestamp="20000"),
    ),
    "PRO-72": (partial(looked, "min_offset", {"queue": 0}, offset="0"), partial(looked, "min_offset", {"queue": 0}, offset="1")),
    "PRO-74": (partial(routed, 1), partial(routed, 1, addressed=False)),
    "PRO-75": (partial(routed, 1), partial(routed, 2)),
    "PRO-84": (partial(registered, there=True), partial(registered, there=False)),
    "PRO-94": (partial(registered, there=True), partial(registered, there=True, queues=8)),
    "PRO-98": (announced, partial(announced, queues=8)),
    "PRO-95": (partial(registered, there=False, left=True), partial(registered, there=True, left=True)),
}
"""For each promise with its own formula: a history that keeps and exercises it, and one that breaks it."""


@pytest.mark.parametrize("id_", list(TABLE))
def test_a_history_keeps_and_another_breaks_the_promise(id_: str) -> None:
    own = BY_ID[id_].own
    assert own is not None
    kept, broken = (make() for make in TABLE[id_])
    assert own.check(kept) is None
    assert own.exercised(kept)
    assert own.check(broken) is not None


@pytest.mark.parametrize("id_", list(TABLE))
def test_column_program_decides_as_the_row_rule(id_: str) -> None:
    own = BY_ID[id_].own
    assert own is not None
    (rule,) = own.rules
    rows = [row.row for make in TABLE[id_] for row in Facts.of(make()).rows(rule.over)]
    made = instance(rule.over, {})
    table = {variable.name: np.array([row[n] for row in rows], np.int64) for n, variable in enumerate(made.model.variables)}
    decided = list(compile_columns(made, {id_: rule.claim.formula}).run(table, {})[id_])
    assert decided == [bool(row_rule(rule, settings_of({})).holds(row, ())) for row in rows]
    assert not all(decided)


def test_each_formula_is_in_the_table() -> None:
    assert TABLE.keys() == {promise.id for promise in promises() if promise.own is not None}


@pytest.mark.parametrize("promise", [promise for promise in promises() if promise.own is not None], ids=lambda promise: promise.id)
def test_an_empty_history_exercises_no_promise(promise: Promise) -> None:
    assert promise.own is not None
    assert promise.own.check(History()) is None
    assert not promise.own.exercised(History())


def test_there_are_at_least_40_promises_with_unique_ids() -> None:
    assert len(BY_ID) == len(promises()) >= 40
    assert all(promise.sentence.endswith(".") and promise.source for promise in promises())
    assert all(bool(promise.own) != bool(promise.refers) for promise in promises())


def test_referred_formulas_exist() -> None:
    known = {claim.id for claim in HISTORY_CLAIMS} | {rule.id for rule in stored_rules()} | set(SENTENCES) | set(OF_SLAVES)
    known |= {f"{documented.FAULT}{name}" for name in FAULT_CLAIMS}
    assert {id_ for promise in promises() for id_ in promise.refers} <= known


BEFORE = {
    "topics": {"A": {"perm": 6}},
    "groups": {"g": {"retryMaxTimes": 3}},
    "queues": {"A-0": [0, 1, [100]]},
    "records": {"100": 1},
    "progress": {"g": 2},
    "keys": {"A-k": [100]},
    "delayed": [("A", 1, 1, 1)],
    "routes": {"A": {"perm": 6}},
}
AFTER: Mapping[str, Mapping[str, Any]] = {
    "restart.topics": {"topics": {"A": {"perm": 4}}},
    "restart.groups": {"groups": {}},
    "restart.queues": {"queues": {"A-0": [0, 0, []]}},
    "restart.records": {"records": {"100": 2}},
    "restart.progress": {"progress": {"g": 1}},
    "restart.delayed": {"delayed": [("A", 1, 1, 0)]},
    "restart.keys": {"keys": {"A-k": []}},
    "restart.routes": {"routes": {"A": {"perm": 4}}},
    "restart.unsized": {"unsized": ["0"]},
}


@pytest.mark.parametrize("id_", list(AFTER))
def test_a_restart_breaks_the_promise(id_: str) -> None:
    assert not list(restart_breaches(BEFORE, BEFORE))
    assert id_ in {broken for broken, _ in restart_breaches(BEFORE, {**BEFORE, **AFTER[id_]})}
    assert any(id_ in promise.refers for promise in promises())


def twice_answered() -> History:
    history = sent()
    history.exchanges[0].answers.append(history.exchanges[0].answers[0])
    return history


def changed_exchange(**changes: Any) -> History:
    history = sent()
    history.exchanges[0] = replace(history.exchanges[0], **changes)
    return history


def changed_request(**changes: Any) -> History:
    history = sent()
    history.exchanges[0].request = replace(history.exchanges[0].request, **changes)
    return history


def refused(*, stored: bool) -> History:
    history = sent()
    exchange = history.exchanges[0]
    exchange.answers = [replace(exchange.answers[0], code=1)]
    exchange.stored = exchange.stored if stored else ()
    return history


def one_way(*, answered: bool) -> History:
    history = changed_request(one_way=True)
    if not answered:
        history.exchanges[0].answers.clear()
    return history


def waiting(*, asked: bool) -> History:
    return History(waited=[WaitedProducer("client 0", ("A",), asked)])


REFERRED: Mapping[str, tuple[Make, Make]] = {
    "INV-01": (sent, twice_answered),
    "INV-02": (sent, twice_answered),
    "INV-03": (partial(one_way, answered=False), partial(one_way, answered=True)),
    "INV-06.records": (sent, partial(changed_exchange, stored=())),
    "INV-07.records": (partial(refused, stored=False), partial(refused, stored=True)),
    "INV-43": (sent, partial(changed_exchange, stored=(200,))),
    "INV-34.records": (batched, partial(batched, offset=2)),
    "INV-49": (returned, partial(returned, properties={**OWN, "RETRY_TOPIC": "B"})),
    "INV-50": (returned, partial(returned, properties={**OWN, "RETRY_TOPIC": "A"})),
    "INV-48": (returned, partial(returned, times=0)),
    "AUX-33.asked": (partial(waiting, asked=True), partial(waiting, asked=False)),
}
"""The same for claims of the catalogue that promises refer to. The other ones are tested with the programs of their cases."""


@pytest.mark.parametrize("id_", list(REFERRED))
def test_a_history_keeps_and_another_breaks_the_claim_of_a_promise(id_: str) -> None:
    claim = next(claim for claim in HISTORY_CLAIMS if claim.id == id_)
    kept, broken = (make() for make in REFERRED[id_])
    assert claim.check(kept) is None
    assert claim.exercised(kept)
    assert claim.check(broken) is not None


@pytest.mark.parametrize(("op", "group", "broken"), [("pull", "g", False), ("leave", "g", False), ("pull", "h", True)])
def test_deleted_group_may_be_looked_up_and_created_again(op: str, group: str, broken: bool) -> None:
    maker = HistoryMaker()
    maker.ask("delete_group", {"groupName": "g"})
    maker.ask(op, {"consumerGroup": group, "topic": "A"}, TOPIC_NOT_EXIST)
    maker.states["groups"] = {"groups": {"g": {"groupName": "g"}}}
    own = BY_ID["PRO-35"].own
    assert own is not None and (own.check(maker.history()) is not None) is broken


def test_address_that_registered_under_another_id_may_stay_in_the_route() -> None:
    """Registering as a slave has moved the address there; the master's entry, which the request names, is gone already."""
    own = BY_ID["PRO-95"].own
    assert own is not None and own.check(registered(there=True, left=True, slave=True)) is None


@pytest.mark.parametrize(("between", "broken"), [
    (lambda maker: maker.ask("send", {"topic": "B"}), True),
    (lambda maker: maker.ask("delete_topic", {"topic": "A"}), False),
    (lambda maker: maker.ask("forget_topic", {"topic": "A"}, to="name server"), False),
    (lambda maker: maker.ask("send", {"topic": "B"}, to="broker-b"), False),
    (lambda maker: maker.add("info", "crash", {"power": False}), False),
])  # fmt: skip
def test_route_is_that_of_a_change_until_something_else_can_have_changed_it(between: Callable[[HistoryMaker], Any], broken: bool) -> None:
    own = BY_ID["PRO-98"].own
    assert own is not None and (own.check(announced(queues=8, between=between)) is not None) is broken


def test_message_whose_key_has_the_same_hash_may_be_found() -> None:
    """The index has hashes of keys, and a client drops the messages of other keys: Java's hash of Aa is that of BB."""
    maker = HistoryMaker()
    maker.send(1000, {"KEYS": "Aa"}, record={"stored": 10_000})
    maker.send(2000, {"KEYS": "BB"}, offset=1, record={"stored": 20_000})
    maker.look("find", {"topic": "A", "key": "Aa"}, places=(1000, 2000))
    promise = BY_ID["PRO-67"].own
    assert promise is not None
    assert promise.check(maker.history()) is None


def test_other_referred_claims_have_programs() -> None:
    others = {id_ for promise in promises() for id_ in promise.refers if id_ in {c.id for c in HISTORY_CLAIMS}} - REFERRED.keys()
    assert set(nonempty(others)) <= {case.claim for case in HISTORY_CASES}


def test_documented_violations_name_what_exists() -> None:
    for entry in nonempty(breaches()):
        assert entry.promise in BY_ID
        assert entry.lines
        assert entry.bug == "" or entry.bug in {bug.id for bug in bugs()}
        assert entry.condition in {ANYTHING, KEPT_OFFSETS, REJECTED, STOPPED, TIMED, *(case.condition for case in HISTORY_CASES)}
        assert Program(0, "", entry.program).steps
        for step in entry.program:
            arguments(step)


def test_a_violation_is_known_for_its_releases_and_condition_only() -> None:
    assert known_breach("PRO-28", "P533", {"batches"}) is not None
    assert known_breach("PRO-28", "P533", {"half messages"}) is None
    assert known_breach("PRO-28", "P540", {"batches"}) is None
    assert known_breach("PRO-21", "P494", {"batches"}) is None


def test_every_profile_has_a_release_line() -> None:
    assert [line_number(line.profile) for line in LINES] == list(range(len(LINES)))
    assert [LINES[line_number(name)].name for name in ("P45", "P49")] == ["4.1", "4.6"]
    assert all(line_number(name) >= 0 for name in PROFILES)


def test_successive_releases_are_a_range() -> None:
    assert documented.ranges([0, 1, 2, 4]) == "4.0 to 4.2, 4.3.1"


def test_the_page_has_the_table() -> None:
    assert PAGE.read_text("utf-8").endswith(f"\n\n{documented.table()}")
