"""The judge's search omits orders of steps. A complete search explains the same responses, of every prefix of a history."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from rocketproof_traces.checker import partition_checker
from rocketproof_traces.checker.histories import judge_history
from rocketproof_traces.checker.steps import CheckedRequest, Point, ResponsePoint, SearchEnd
from rocketproof_traces.history import Event, Header

BROKER = "broker-a"
NOTHING = (-1,)
CREATION = "autoCreateTopicEnable"
PROFILES = ("P494", "P40", "P533")  # two look whether an update changes anything
HISTORIES = 12
MOST = 1000  # states after which the other search gives up
Whole = tuple[Any, tuple[Any, ...]]


def explained(requests: list[CheckedRequest], answers: list[ResponsePoint], start: Any) -> tuple[int, bool]:
    """Return how many responses are explained by some order of all steps, keeping all states. False if there were too many states."""
    states: set[Whole] = {(start, ())}
    for number, answer in enumerate(answers):
        open_ = (answer.request, *answer.pending)
        seen, todo = set(states), list(states)
        while todo:
            if len(seen) > MOST:
                return number, False
            shared, moved = todo.pop()
            at = dict(moved)
            for request in open_:
                local = at.get(request, requests[request].start)
                if local is None:
                    continue
                for move in requests[request].moves(shared, local):
                    after = (move.shared, tuple(sorted({**at, request: move.local}.items(), key=lambda pair: pair[0])))
                    if not move.dead and after not in seen:
                        seen.add(after)
                        todo.append(after)
        states = {
            (shared, tuple(pair for pair in moved if pair[0] != answer.request))
            for shared, moved in seen
            if dict(moved).get(answer.request, NOTHING) is None
        }
        if not states:
            return number, True
    return len(answers), True


def asked(chance: Random, topic: str, more: str = "") -> tuple[str, dict[str, Any]]:
    """Draw a request: a send to one of two queues or any, an update, or a query of the topic or of a queue.

    `more` adds kinds: changed settings, or a group's offset commits and queries.
    """
    kind = chance.random()
    if more == "settings" and chance.random() < 0.35:
        line = chance.choice(
            ("autoCreateTopicEnable=true", "autoCreateTopicEnable=false", "autoCreateTopicEnable=false", "brokerPermission=4")
        )
        return "configure", {"to": BROKER, "fields": {}, "body": b64encode(line.encode()).decode()}
    if more == "offsets" and chance.random() < 0.5:
        place = {"consumerGroup": chance.choice("gh"), "topic": topic, "queueId": "0"}
        if chance.random() < 0.5:
            return "commit", {"to": BROKER, "fields": {**place, "commitOffset": chance.choice("12")}}
        return "progress", {"to": BROKER, "fields": place}
    if kind < 0.2:
        wanted = {"readQueueNums": str(chance.randint(0, 2)), "writeQueueNums": str(chance.randint(0, 2)), "perm": "6"}
        return "update_topic", {"to": BROKER, "fields": {"topic": topic, **wanted}}
    if kind < 0.35:
        return "topic_config", {"to": BROKER, "fields": {"topic": topic}}
    if kind < 0.45:
        return "max_offset", {"to": BROKER, "fields": {"topic": topic, "queueId": chance.choice("01")}}
    fields = {
        "producerGroup": "g", "topic": topic, "defaultTopic": "TBW102", "defaultTopicQueueNums": chance.choice("12"),
        "queueId": chance.choice(("0", "0", "1", "1", "-1")), "sysFlag": "0", "bornTimestamp": "0", "flag": "0",
    }  # fmt: skip
    return "send", {"to": BROKER, "code": 10, "fields": fields}


def said(chance: Random, op: str, fields: dict[str, str], ends: dict[str, int]) -> dict[str, Any]:
    """Draw a plausible response; `ends` has the reported end of each queue."""
    if op in ("update_topic", "configure", "commit"):
        return {"code": 0, "fields": {}}
    if op == "progress":
        return {"code": 0, "fields": {"offset": chance.choice("0112")}}
    if op == "topic_config":
        wide = chance.choice((0, 1, 1, 2, 2))
        table = {"readQueueNums": wide, "writeQueueNums": wide, "perm": 6}
        return {"code": 0, "body": b64encode(json.dumps(table).encode()).decode()} if wide else {"code": 17}
    if op == "max_offset":
        return {"code": 0, "fields": {"offset": chance.choice("0112")}}
    if chance.random() < 0.25:
        return {"code": chance.choice((17, 17, 1)), "fields": {}}
    queue = fields["queueId"] if fields["queueId"] != "-1" else chance.choice("01")
    offset = ends.get(queue, 0) + chance.choice((0, 0, 0, 1))
    ends[queue] = offset + chance.choice((1, 1, 1, 0))
    return {"code": 0, "fields": {"queueId": queue, "queueOffset": str(offset)}}


def contended(chance: Random, topic: str, more: str = "", *, alone: bool) -> list[Event]:
    """Generate a history with up to three open requests about one topic, and plausible or wrong responses."""
    lines: list[tuple[str, str, str, dict[str, Any]]] = []
    open_: dict[str, tuple[str, dict[str, Any]]] = {}
    ends: dict[str, int] = {}
    if not alone:
        lines.append(("invoke", "other", *asked(Random(1), "elsewhere")))
    for number in range(4):
        client = f"client {number}"
        open_[client] = asked(chance, topic, more)
        lines.append(("invoke", client, *open_[client]))
        while len(open_) > 3 or (open_ and (chance.random() < 0.3 or number == 3)):
            client = chance.choice(list(open_))
            op, value = open_.pop(client)
            if chance.random() < 0.2:
                lines.append(("info", client, op, {"error": "timeout"}))
            else:
                lines.append(("ok", client, op, said(chance, op, value["fields"], ends)))
    return [Event(k, *line) for k, line in enumerate(lines)]


@pytest.mark.slow
@pytest.mark.parametrize("alone", [True, False], ids=["one topic", "two topics"])
@pytest.mark.parametrize(
    ("topic", "more"), [("T", ""), ("%RETRY%g", ""), ("T", "settings"), ("T", "offsets")], ids=["T", "retry", "settings", "offsets"]
)
@pytest.mark.parametrize("auto_create", ["true", "false"])
def test_no_order_is_missing(auto_create: str, topic: str, more: str, monkeypatch: pytest.MonkeyPatch, *, alone: bool) -> None:
    compared: list[tuple[int, int, bool]] = []

    class Both(partition_checker.Search):
        def run(self, starts: Sequence[Point], first: int = 0) -> SearchEnd:
            result = super().run(starts, first)
            compared.append((result.end, *explained(list(self.requests), list(self.answers), starts[0].shared)))
            return result

    monkeypatch.setattr(partition_checker, "Search", Both)
    verdicts = set()
    for seed in range(HISTORIES):
        events = contended(Random(seed), topic, more, alone=alone)
        profile = PROFILES[seed % len(PROFILES)]
        verdicts.add(judge_history(Header({"settings": {"autoCreateTopicEnable": auto_create}}), events, profile).verdict)
        assert all(fast == slow or (fast > slow and not whole) for fast, slow, whole in compared), (seed, compared)
        compared.clear()
    assert verdicts == {"ok", "illegal"}


def test_request_enabled_by_another_is_kept() -> None:
    """The query touches only the queue. The update touches the table and thereby lets the send reach that queue."""
    table = {"TBW102": 8, "T": 1}
    topics = {t: {"readQueueNums": n, "writeQueueNums": n, "perm": 6, "order": False} for t, n in table.items()}
    send = {"producerGroup": "g", "topic": "T", "defaultTopic": "TBW102", "defaultTopicQueueNums": "1", "queueId": "5", "sysFlag": "0"}
    lines: list[tuple[str, str, str, dict[str, Any]]] = [
        ("state", BROKER, "topics", {"topics": topics}),
        ("invoke", "a", "send", {"to": BROKER, "fields": {**send, "bornTimestamp": "0", "flag": "0"}}),
        ("invoke", "b", "update_topic", {"to": BROKER, "fields": {"topic": "T", "readQueueNums": "8", "writeQueueNums": "8", "perm": "6"}}),
        ("invoke", "c", "max_offset", {"to": BROKER, "fields": {"topic": "T", "queueId": "5"}}),
        ("ok", "c", "max_offset", {"code": 0, "fields": {"offset": "1"}}),
        ("ok", "b", "update_topic", {"code": 0, "fields": {}}),
        ("ok", "a", "send", {"code": 0, "fields": {"queueId": "5", "queueOffset": "0"}}),
    ]
    events = [Event(k, *line) for k, line in enumerate(lines)]
    assert judge_history(Header({"settings": {"autoCreateTopicEnable": "true"}}), events, "P494").verdict == "ok"
    without = [Event(k, *line) for k, line in enumerate(line for line in lines if line[1] != "b")]
    assert judge_history(Header({"settings": {"autoCreateTopicEnable": "true"}}), without, "P494").verdict == "illegal"


def test_send_may_time_out_on_lock_while_another_creates_topic() -> None:
    """The creation of another topic holds the lock for three seconds; then a concurrent request creates the topic."""
    send = {"producerGroup": "g", "defaultTopic": "TBW102", "defaultTopicQueueNums": "2", "queueId": "0", "sysFlag": "0"}
    send |= {"bornTimestamp": "0", "flag": "0"}
    topics = {"a": "T", "b": "T", "c": "X"}
    lines = [("invoke", name, "send", {"to": BROKER, "code": 10, "fields": {**send, "topic": topic}}) for name, topic in topics.items()]
    place = {"queueId": "0", "queueOffset": "0"}
    lines += [("ok", "b", "send", {"code": 17, "fields": {}}), ("ok", "a", "send", {"code": 0, "fields": place})]
    events = [Event(k, kind, process, op, value) for k, (kind, process, op, value) in enumerate(lines)]
    assert judge_history(Header({"settings": {"autoCreateTopicEnable": "true"}}), events, "P494").verdict == "ok"
