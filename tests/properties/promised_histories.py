"""Small histories for tests of promises: requests with responses, records that were read back, and reported states."""

from __future__ import annotations

import base64
import json
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from rocketproof_profiles import PROFILES
from rocketproof_properties.brokers.runs.claimhistory import claim_histories
from rocketproof_properties.brokers.runs.parsed import parse
from rocketproof_properties.catalogue.history import History
from rocketproof_properties.programs.requests import batch_item
from rocketproof_traces.history import Event, Header

BROKER = "broker-a"
PROFILE = "P533"


def record_bytes(at: int, **values: Any) -> bytes:
    """Return the bytes of a record at a place; values that are not given have defaults."""
    body, topic = values.get("body", b"a"), values.get("topic", "A").encode()
    text = text_of(values.get("properties", {})).encode()
    host = struct.pack(">4Bi", 127, 0, 0, 1, 10911)
    size = 91 + len(body) + len(topic) + len(text)
    head = struct.pack(
        ">iIiiiqqiq8sq8siqi",
        size, 0xDAA320A7, zlib.crc32(body) & 0x7FFFFFFF, values.get("queue", 0), values.get("flag", 0), values.get("offset", 0), at,
        values.get("sys_flag", 0), values.get("born", 1), host, values.get("stored", 10_000), host, values.get("times", 0), 0, len(body),
    )  # fmt: skip
    return head + body + bytes([len(topic)]) + topic + struct.pack(">h", len(text)) + text


def text_of(properties: Mapping[str, str]) -> str:
    """Return properties as a record's text."""
    return "\x02".join(f"{name}\x01{value}" for name, value in properties.items())


def id_of(at: int) -> str:
    """Return the message id of a place."""
    return (struct.pack(">4Bi", 127, 0, 0, 1, 10911) + struct.pack(">q", at)).hex().upper()


class HistoryMaker:
    """Collects the events of a history."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.records: dict[int, bytes] = {}
        self.queues: dict[tuple[str, int], list[int]] = {}
        self.states: dict[str, Any] = {}

    def add(self, type_: str, op: str, value: Mapping[str, Any], process: str = "client 0") -> int:
        seq = len(self.events)
        self.events.append(Event(seq, type_, process, op, dict(value), seq * 1_000_000))
        return seq

    def ask(
        self,
        op: str,
        fields: Mapping[str, str] | None = None,
        code: int = 0,
        answer: Mapping[str, str] | None = None,
        body: bytes = b"",
        request: bytes | None = None,
        at: int = 20_000,
        **more: Any,
    ) -> int:
        """Add a request with its response. Return the number of its event."""
        content = None if request is None else base64.b64encode(request).decode()
        value = {"to": more.get("to", BROKER), "code": more.get("request_code", 0), "fields": dict(fields or {}), "version": 399}
        seq = self.add("invoke", op, {**value, "oneWay": False, "body": content, "bodySize": len(request or b""), "at": at})
        done = {"code": code, "remark": more.get("remark"), "fields": dict(answer or {}), "bodySize": len(body), "at": at}
        self.add("ok", op, {**done, "body": base64.b64encode(body).decode() if body else None})
        return seq

    def keep(self, at: int, *, listed: bool = True, **values: Any) -> bytes:
        """Add a record that was read back, and its queue's entry."""
        self.records[at] = record_bytes(at, **values)
        if listed:
            self.queues.setdefault((values.get("topic", "A"), values.get("queue", 0)), []).append(at)
        return self.records[at]

    def send(self, at: int, properties: Mapping[str, str] | None = None, **values: Any) -> None:
        """Add an acknowledged send. `record` changes values of its record, `listed` whether its queue has it."""
        sent = {"topic": "A", "queue": 0, "flag": 0, "born": at + 1, "body": b"a", "offset": 0} | values
        given, record = dict(properties or {}), values.get("record", {})
        fields = {"topic": sent["topic"], "queueId": str(sent["queue"]), "flag": str(sent["flag"]), "bornTimestamp": str(sent["born"])}
        answer = {"msgId": id_of(at), "queueId": str(sent["queue"]), "queueOffset": str(sent["offset"])} | values.get("answer", {})
        self.ask("send", {**fields, "properties": text_of(given)}, 0, answer, request=sent["body"])
        stored = {key: sent[key] for key in ("topic", "queue", "flag", "born", "body", "offset")}
        self.keep(at, listed=values.get("listed", True), **{**stored, "properties": given, **record})

    def batch(self, at: int, items: Sequence[tuple[bytes, Mapping[str, str]]], records: Sequence[Mapping[str, Any]] = ()) -> None:
        """Add an acknowledged batch. `records` changes values of its records."""
        content = b"".join(batch_item(body, text_of(properties)) for body, properties in items)
        places = [at + 1000 * number for number in range(len(items))]
        answer = {"msgId": ",".join(map(id_of, places)), "queueId": "0", "queueOffset": "0"}
        self.ask("batch", {"topic": "A", "queueId": "0", "bornTimestamp": str(at + 1), "flag": "0"}, 0, answer, request=content)
        for number, (body, properties) in enumerate(items):
            changed = records[number] if number < len(records) else {}
            self.keep(places[number], **{"body": body, "properties": properties, "offset": number, "born": at + 1, **changed})

    def pull(self, records: Sequence[bytes], code: int = 0, **values: Any) -> None:
        """Add a pull with its response."""
        asked = {"topic": "A", "queueId": "0", "queueOffset": "0", "maxMsgNums": "32", "sysFlag": "4", "subscription": "*"}
        bounds = {"nextBeginOffset": str(len(records)), "minOffset": "0", "maxOffset": str(len(records))}
        self.ask("pull", asked | values.get("asked", {}), code, bounds | values.get("bounds", {}), b"".join(records))

    def history(self) -> History:
        """Return the history with all states."""
        rows = [{"at": at, "data": base64.b64encode(data).decode()} for at, data in sorted(self.records.items())]
        queues = [[topic, queue, len(places), places] for (topic, queue), places in self.queues.items()]
        for op, value in {"queues": {"queues": queues, "pulled": True}, "records": {"records": rows, "nowhere": []}, **self.states}.items():
            self.add("state", op, value, BROKER)
        return claim_histories(parse(self.events, Header(origin={"broker": BROKER, "prefix": ""})), PROFILES[PROFILE]).whole

    def look(self, name: str, args: Mapping[str, Any], *, code: int = 0, places: Sequence[int] = (), **fields: str) -> None:
        """Add a query after the program."""
        looks = self.states.setdefault("looks", {"looks": [], "twice": [], "moved": [], "changed": []})
        looks["looks"].append({"name": name, "args": dict(args), "code": code, "fields": fields, "places": list(places)})

    def group(self, name: str, **values: Any) -> None:
        self.ask("update_group", request=json.dumps({"groupName": name, **values}).encode())
