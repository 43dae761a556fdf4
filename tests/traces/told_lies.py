"""Lies about a history: changed responses, offsets and tables, omitted requests, and events moved earlier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from random_histories import Chance, numbered, table_body
from tiny_broker import TEMPLATE

from rocketproof_traces.history import Event


def _answers(events: Sequence[Event]) -> list[int]:
    return [k for k, e in enumerate(events) if e.type == "ok" and "code" in e.value and e.op in ("send", "batch")]


def wrong_code(chance: Chance, events: list[Event]) -> None:
    places = [k for k, e in enumerate(events) if e.type == "ok" and "code" in e.value]
    if places:
        k = chance.choice(places)
        events[k] = replace(events[k], value={"code": chance.choice((1, 13, 16, 17, 17, 29, 3)), "fields": {}})


def waited_in_vain(chance: Chance, events: list[Event]) -> None:
    """Report that a send found no topic, as after waiting for the lock."""
    places = _answers(events)
    if places:
        k = chance.choice(places)
        events[k] = replace(events[k], value={"code": 17, "fields": {}})


def wrong_place(chance: Chance, events: list[Event]) -> None:
    places = [k for k in _answers(events) if "queueOffset" in events[k].value.get("fields", {})]
    if places:
        k = chance.choice(places)
        fields = dict(events[k].value["fields"])
        name = chance.choice(("queueOffset", "queueOffset", "queueOffset", "queueId"))
        fields[name] = str(max(0, int(fields[name]) + chance.choice((-1, 1, 1, 2))))
        events[k] = replace(events[k], value={**events[k].value, "fields": fields})


def stored_after_all(chance: Chance, events: list[Event]) -> None:
    """Give a request without a response, or with an error, an offset."""
    opened: dict[str, Event] = {}
    places = []
    for k, e in enumerate(events):
        if e.type == "invoke":
            opened[e.process] = e
        elif e.type in ("ok", "fail", "info") and e.op in ("send", "batch") and e.process in opened:
            places.append((k, int(opened[e.process].value["fields"].get("queueId", 0))))
    if places:
        k, queue = chance.choice(places)
        fields = {"queueId": str(max(queue, 0)), "queueOffset": chance.choice("0012")}
        events[k] = replace(events[k], type="ok", value={"code": 0, "fields": fields})


def swapped(chance: Chance, events: list[Event]) -> None:
    """Exchange two responses."""
    places = _answers(events)
    if len(places) > 1:
        a, b = chance.sample(places, 2)
        if events[a].op == events[b].op:
            events[a], events[b] = replace(events[a], value=events[b].value), replace(events[b], value=events[a].value)


def wrong_table(chance: Chance, events: list[Event]) -> None:
    places = [k for k, e in enumerate(events) if k and (e.type == "state" or (e.type == "ok" and e.op == "topic_config"))]
    if not places:
        return
    k = chance.choice(places)
    wide, perm = chance.choice((0, 1, 2)), chance.choice((2, 6, 6, 7))
    if events[k].type == "ok":
        value = {"code": 0, "body": table_body((wide, wide, perm, False))}
    else:
        topics = dict(events[k].value["topics"])
        named = sorted({str(e.value["fields"]["topic"]) for e in events if e.type == "invoke" and "topic" in e.value["fields"]})
        name = chance.choice(named) if named else TEMPLATE
        if name in topics and chance.random() < 0.4:
            del topics[name]
        else:
            topics[name] = {"readQueueNums": wide, "writeQueueNums": wide, "perm": perm, "order": False}
        value = {"topics": topics}
    events[k] = replace(events[k], value=value)


def wrong_reach(chance: Chance, events: list[Event]) -> None:
    places = [k for k, e in enumerate(events) if e.type == "ok" and e.op == "max_offset" and e.value["code"] == 0]
    if places:
        k = chance.choice(places)
        offset = int(events[k].value["fields"].get("offset", 0)) + chance.choice((-1, 1, 1, 2))
        events[k] = replace(events[k], value={"code": 0, "fields": {"offset": str(max(0, offset))}})


def unasked(chance: Chance, events: list[Event]) -> None:
    """Let a broker show a topic that no request created."""
    places = [k for k, e in enumerate(events) if k and e.type == "state"]
    if places:
        k = chance.choice(places)
        name = chance.choice(("V", "V", "%RETRY%v", "%DLQ%g", "RMQ_SYS_TRACE_TOPIC"))
        entry = {"readQueueNums": 1, "writeQueueNums": 1, "perm": 6, "order": False}
        events[k] = replace(events[k], value={"topics": {**events[k].value["topics"], name: entry}})


def forgotten(chance: Chance, events: list[Event]) -> None:
    """Omit a request, so that no request explains its effect."""
    clients = sorted({e.process for e in events if e.type == "invoke"})
    if len(clients) > 1:
        gone = chance.choice(clients)
        events[:] = [e for e in events if e.process != gone]


def failed(chance: Chance, events: list[Event]) -> None:
    """Report that a request had no effect, or an unknown one."""
    places = [k for k, e in enumerate(events) if e.type == "ok"]
    if places:
        k = chance.choice(places)
        events[k] = replace(events[k], type=chance.choice(("fail", "info")), value={"error": "said so"})


def earlier(chance: Chance, events: list[Event]) -> None:
    """Move an event before earlier ones, or a request before requests that it follows."""
    for _ in range(8):
        k = chance.randrange(1, len(events)) if len(events) > 1 else 0
        if k and events[k].process != events[k - 1].process and events[k].type != "crash" and events[k - 1].type != "crash":
            a, b = events[k - 1], events[k]
            events[k - 1], events[k] = replace(b, time=a.time), replace(a, time=b.time)


LIES: tuple[Callable[[Chance, list[Event]], None], ...] = (
    wrong_code, waited_in_vain, wrong_place, wrong_place, stored_after_all, swapped, wrong_table, wrong_reach, forgotten, failed, earlier,
    unasked,
)  # fmt: skip


def told(chance: Chance, events: Sequence[Event], lies: int) -> list[Event]:
    """Return the history with `lies` lies, any of which may have no effect."""
    found = list(events)
    for _ in range(lies):
        chance.choice(LIES)(chance, found)
    return numbered(found)
