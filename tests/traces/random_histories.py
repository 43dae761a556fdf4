"""Random small histories of every shape that the judge knows, as a broker written by hand brings them about.

A walk is a broker's threads and its clients, chance saying who goes on. What becomes of a history after a break (a crash, other settings)
is as it would be, though nobody judges it.
"""

from __future__ import annotations

import json
import random
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tiny_broker import CLUSTER, TEMPLATE, Asked, Broker, Config, State, moved
from tiny_opinion import BEFORE_49

from rocketproof_traces.history import Event, Header

BROKER, RETRY = "broker-a", "%RETRY%g"
PROFILES = ("P40", "P45", "P49", "P494", "P533")
NAMES = (" ", "a b", "x" * 128, "SCHEDULE_TOPIC_XXXX", TEMPLATE, RETRY, "T", "OFFSET_MOVED_EVENT")
Chance = random.Random


@dataclass(frozen=True)
class Shape:
    """What the histories of a kind have. Numbers are shares of requests; at most `most` are open at once, `counts` are of updates."""

    topics: tuple[str, ...] = ("T",)
    defaults: tuple[str, ...] = (TEMPLATE,)
    queues: tuple[int, ...] = (0, 0, 1, -1)
    counts: tuple[int, ...] = (0, 1, 2)
    perms: tuple[int, ...] = (0, 2, 6, 7)
    requests: tuple[int, ...] = (2, 3, 4)
    most: int = 3
    updates: float = 0.0
    asks: float = 0.0
    deletes: float = 0.0
    batches: float = 0.0
    odd: float = 0.0
    lost: float = 0.1
    looks: float = 0.05
    breaks: float = 0.0
    there: float = 0.0
    ordered: float = 0.0
    unsaid: float = 0.0
    new: float = 0.3
    clock: tuple[str, ...] = ("none",)
    brokers: int = 1


SHAPES: dict[str, Shape] = {
    "sends": Shape(requests=(3, 4, 5), most=5, lost=0.05),
    "updates": Shape(updates=0.35, requests=(3, 4), looks=0.1),
    "asks": Shape(asks=0.4, updates=0.1, requests=(3, 4, 5), looks=0.15),
    "retry": Shape(topics=(RETRY,), updates=0.1, requests=(2, 3, 4)),
    "deletions": Shape(deletes=0.35, asks=0.05, requests=(3, 4, 5), looks=0.1, there=0.4),
    "deletions of more": Shape(
        deletes=0.3, topics=("T", "U", RETRY, " ", "x" * 128), defaults=(TEMPLATE, "U"), updates=0.1, requests=(3, 4), batches=0.2,
        there=0.3,
    ),
    "names": Shape(topics=NAMES, requests=(2, 3), updates=0.1, there=0.3),
    "batches": Shape(batches=0.6, asks=0.1, requests=(3, 4)),
    "lost": Shape(lost=0.6, requests=(2, 3, 4), asks=0.1, updates=0.05),
    "breaks": Shape(breaks=0.15, topics=("T", "T", RETRY, "%DLQ%g"), requests=(4, 5), most=2, updates=0.05),
    "topics": Shape(topics=("T", "U", RETRY), requests=(3, 4), asks=0.1, looks=0.1),
    "defaults": Shape(
        topics=("T", "T", "U", "U", TEMPLATE, RETRY), defaults=(TEMPLATE, "U", "U", "T", CLUSTER, BROKER, RETRY), updates=0.3,
        requests=(3, 4, 5), perms=(7, 7, 6), counts=(1, 2, 2),
    ),
    "brokers": Shape(brokers=2, requests=(2, 3), topics=("T", "U"), asks=0.1),
    "clocks": Shape(clock=("short", "long", "mixed"), topics=("T", "T", "U"), requests=(3, 4)),
    "ordered": Shape(topics=("T", " ", "T"), there=0.8, ordered=0.7, updates=0.25, requests=(3, 4), looks=0.1),
    "unsaid": Shape(unsaid=1.0, topics=("T", "T", RETRY), new=0.6, requests=(3, 4), lost=0.2),
    "there before": Shape(there=1.0, asks=0.25, requests=(3, 4, 5), updates=0.1),
    "odd": Shape(odd=0.4, requests=(3, 4)),
    "let in": Shape(there=1.0, queues=(5, 5, 0), counts=(1, 8, 8), asks=0.4, updates=0.3, requests=(3, 4, 5), most=4, looks=0.0, lost=0.2),
    "alike": Shape(batches=0.3, lost=1.5, queues=(0, 0, -1), requests=(4, 5), most=4, clock=("none", "mixed"), there=0.7, looks=0.02),
    "everything": Shape(
        topics=("T", "T", "U", RETRY), defaults=(TEMPLATE, TEMPLATE, "U", CLUSTER), updates=0.15, asks=0.15, batches=0.15, deletes=0.08,
        odd=0.1, lost=0.2, looks=0.1, breaks=0.04, there=0.4, ordered=0.15, unsaid=0.2,
        clock=("none", "none", "long", "mixed"), requests=(3, 4),
    ),
}  # fmt: skip


@dataclass
class Wish:
    """What a client is going to ask: the event that says so, and what the broker makes of it."""

    op: str
    value: dict[str, Any]
    asked: Asked | None = None
    number: int = -1
    client: str = ""
    least: int = 0  # how far its queue was told to be when it was asked


@dataclass
class Walk:
    """A history as it comes about. `open_` has the requests without an end, with what becomes of each."""

    chance: Chance
    shape: Shape
    profile: str
    name: str = BROKER
    events: list[tuple[str, str, str, dict[str, Any]]] = field(default_factory=list)
    open_: list[Wish] = field(default_factory=list)
    reached: dict[tuple[str, int], int] = field(default_factory=dict)

    def run(self, auto: bool | None = None) -> tuple[Header, list[Event]]:
        chance, shape = self.chance, self.shape
        drawn = chance.random() < 0.65
        auto = drawn if auto is None else auto
        permission = chance.choice((4, 4, 2, 0, 6)) if shape.ordered else 6
        clock = chance.choice(shape.clock)
        wishes = [self._wish(k, patient=clock != "short") for k in range(chance.choice(shape.requests))]
        topics = tuple(dict.fromkeys([TEMPLATE, CLUSTER, BROKER, *shape.topics, *shape.defaults]))
        self.broker = Broker(self.profile, auto, permission, topics, name=self.name)
        for k, wish in enumerate(wishes):
            wish.client = f"client {k}" if self.name == BROKER else f"client {k} of {self.name}"
            if wish.asked is not None:
                wish.number = len(self.broker.asked)
                self.broker.asked.append(wish.asked)
        self._begin(auto)
        self._go(wishes)
        settings: dict[str, Any] = {} if chance.random() < shape.unsaid else {"autoCreateTopicEnable": str(auto).lower()}
        if permission != 6:
            settings["brokerPermission"] = permission
        found = [Event(k, *line, time=t) for k, (line, t) in enumerate(zip(self.events, self._times(clock), strict=True))]
        return Header({"settings": settings}), found

    def _times(self, clock: str) -> list[int | None]:
        if clock == "none":
            return [None for _ in self.events]
        now, found = 0, list[int | None]()
        for _ in self.events:
            steps = {"short": (1_000, 90_000_000), "long": (3_000_000_000,), "mixed": (1_000, 1_600_000_000, 3_000_000_000)}
            now += self.chance.choice(steps[clock])
            found.append(now)
        return found

    # What is asked

    def _wish(self, k: int, *, patient: bool) -> Wish:
        chance, shape = self.chance, self.shape
        topic = chance.choice(shape.topics)
        fields = {"topic": topic}
        value: dict[str, Any] = {"to": self.name, "fields": fields}
        kind = chance.random()
        if (kind := kind - shape.updates) < 0:
            read, write, perm = chance.choice(shape.counts), chance.choice(shape.counts), chance.choice(shape.perms)
            fields |= {"readQueueNums": str(read), "writeQueueNums": str(write), "perm": str(perm)}
            return Wish("update_topic", value, Asked("update_topic", topic, wanted=(read, write, perm, False)))
        if (kind := kind - shape.asks / 2) < 0:
            return Wish("topic_config", value, Asked("topic_config", topic))
        if (kind := kind - shape.asks / 2) < 0:
            queue = chance.choice([q for q in (*shape.queues, 7) if q >= 0])
            fields["queueId"] = str(queue)
            return Wish("max_offset", value, Asked("max_offset", topic, queue=queue))
        if (kind := kind - shape.deletes) < 0:
            return Wish("delete_topic", value, Asked("delete_topic", topic))
        if (kind := kind - shape.breaks) < 0:
            return self._breaking(value)
        queue, numbers, default = chance.choice(shape.queues), chance.choice((1, 2, 2, 0, -1, 9)), chance.choice(shape.defaults)
        fields |= {
            "producerGroup": "g", "defaultTopic": default, "defaultTopicQueueNums": str(numbers), "queueId": str(queue), "sysFlag": "0",
            "bornTimestamp": "0", "flag": "0",
        }  # fmt: skip
        one = Asked("send", topic, queue=queue, numbers=numbers, default=default, patient=patient)
        if (kind := kind - shape.batches) < 0:
            count = chance.choice((1, 2, 2, 3))
            body = ((23).to_bytes(4, "big") + bytes(12) + (1).to_bytes(4, "big") + b"a" + bytes(2)) * count
            value |= {"body": b64encode(body).decode(), "bodySize": len(body)}
            if chance.random() < shape.breaks:
                del value["body"]
            return Wish("batch", value, replace(one, op="batch", count=count))
        if (kind := kind - shape.odd) < 0:
            return self._odd(value, one)
        return Wish("send", value, one)

    def _odd(self, value: dict[str, Any], one: Asked) -> Wish:
        """One-way, without a body, of another kind, to a queue that may not be."""
        kind = self.chance.choice(("one-way", "bodiless", "4", "8", "12", "queue"))
        if kind == "one-way":
            value["oneWay"] = True
        elif kind == "bodiless":
            value["bodySize"] = 0
            if self.profile == "P533":
                one = replace(one, op="bodiless")
        elif kind == "queue":
            queue = self.chance.choice((2, 3, 7, -7))
            value["fields"]["queueId"] = str(queue)
            one = replace(one, queue=queue)
        else:
            value["fields"]["sysFlag"] = kind
            one = replace(one, counted=kind == "8")
        return Wish("send", value, one)

    def _breaking(self, value: dict[str, Any]) -> Wish:
        kind = self.chance.choice(("crash", "configure", "delete_topic", "heartbeat", "order", "unreadable"))
        if kind == "order":
            value["fields"] |= {"readQueueNums": "1", "writeQueueNums": "1", "perm": "6", "order": "true"}
            return Wish("update_topic", value)
        if kind == "unreadable":
            value["fields"] |= {"queueId": "0", "defaultTopic": TEMPLATE, "defaultTopicQueueNums": "1", "sysFlag": "0"}
            return Wish("send", value)
        return Wish(kind, value, Asked(kind, value["fields"]["topic"]) if kind == "delete_topic" else None)

    # What happens

    def _begin(self, auto: bool) -> None:
        """The broker's table, told or not."""
        chance, shape = self.chance, self.shape
        table: dict[str, Config] = {CLUSTER: (16, 16, 7, False), BROKER: (1, 1, 7, False)}
        if auto or chance.random() < 0.4:
            table[TEMPLATE] = (8, 8, 7, False)
        ends: dict[tuple[str, int], int] = {}
        told = chance.random() >= shape.new
        if not told:
            if self.profile not in BEFORE_49:
                table["SCHEDULE_TOPIC_XXXX"] = (18, 18, 6, False)
            table["OFFSET_MOVED_EVENT"] = (1, 1, 6, False)
            if not auto:
                table.pop(TEMPLATE, None)
        for topic in dict.fromkeys(shape.topics):
            if told and topic not in table and chance.random() < shape.there:
                wide = chance.choice((1, 2, 2))
                table[topic] = (wide, chance.choice((wide, 1, 0)), chance.choice((6, 6, 7)), chance.random() < shape.ordered)
                for queue in range(wide):
                    ends[topic, queue] = chance.choice((0, 0, 2, 3))
        self.broker.topics = tuple(dict.fromkeys([*self.broker.topics, *table]))
        self.state: State = self.broker.begin(table, ends)
        if told:
            if chance.random() < 0.1:
                self._say("state", self.name, "topics", {"topics": {}})
            self._look()

    def _say(self, kind: str, process: str, op: str, value: dict[str, Any]) -> None:
        self.events.append((kind, process, op, value))

    def _look(self) -> None:
        topics = {
            topic: dict(zip(("readQueueNums", "writeQueueNums", "perm", "order"), config, strict=True))
            for topic, config in zip(self.broker.topics, self.state[0], strict=True) if config is not None
        }  # fmt: skip
        self._say("state", self.name, "topics", {"topics": topics})

    def _go(self, wishes: list[Wish]) -> None:
        chance = self.chance
        todo = list(wishes)
        pace = chance.choice((0.1, 0.25, 0.5))  # how eager clients are, against the broker's threads
        for _ in range(300):
            kind = chance.random()
            if todo and kind < pace and len(self.open_) < self.shape.most:
                self._open(todo.pop(0))
            elif self.open_ and kind < pace + 0.15:
                self._close(chance.choice(self.open_))
            elif kind > 1 - self.shape.looks / 3 and self.events:
                self._look()
            else:
                after = list(self.broker.steps(self.state))
                if after:
                    self.state = chance.choice(after)
            if not todo and not self.open_:
                return

    def _open(self, wish: Wish) -> None:
        chance = self.chance
        if wish.op == "crash":
            self._say("crash", self.name, "kill", {})
            self.state = (self.state[0], self.state[1], None, tuple(None for _ in self.state[3]))
            for other in self.open_:
                other.number = -1
            return
        self._say("invoke", wish.client, wish.op, wish.value)
        self.open_.append(wish)
        if wish.op == "max_offset" and wish.asked is not None:
            wish.least = self.reached.get((wish.asked.topic, wish.asked.queue), 0)
        if chance.random() < 0.06:
            wish.number = -2  # never gets there
        if wish.number >= 0:
            self.state = self.broker.opened(self.state, wish.number)

    def _close(self, wish: Wish) -> None:
        """The request ends, if it can, or is given up."""
        chance = self.chance
        if wish.number == -2:
            self._say(chance.choice(("fail", "fail", "info")), wish.client, wish.op, {"error": "connect"})
        elif wish.value.get("oneWay"):
            self._say("ok", wish.client, wish.op, {})
        elif chance.random() < self.shape.lost / 3 or (wish.number == -1 and wish.asked is not None):
            kind = chance.choice(("info", "info", "none", "crash"))
            if kind == "crash":
                self._say("crash", wish.client, "kill", {})
            elif kind == "info":
                self._say("info", wish.client, wish.op, {"error": "timeout"})
        elif wish.asked is None:
            self._say("ok", wish.client, wish.op, {"code": 0, "fields": {}})
        else:
            job = self.state[3][wish.number]
            if job is None or job[0] != "done":
                return
            self.state = moved(self.state, wish.number, None)
            self._answer(wish, wish.asked, job[1:])
        self.open_.remove(wish)

    def _answer(self, wish: Wish, one: Asked, said: tuple[Any, ...]) -> None:
        chance, value = self.chance, dict[str, Any]()
        if one.op in ("update_topic", "delete_topic"):
            value = {"code": 1 if said[0] == "refused" else 0, "fields": {}}
        elif one.op == "topic_config":
            value = {"code": 17, "fields": {}} if said[0] is None else {"code": 0, "body": table_body(said[0])}
        elif one.op == "max_offset":
            offset = max(wish.least, said[0] - chance.choice((0, 0, 1)))
            self.reached[one.topic, one.queue] = max(offset, self.reached.get((one.topic, one.queue), 0))
            value = {"code": 0, "fields": {"offset": str(offset)}}
        else:
            code, queue, offset = said
            if code == 0:
                code = chance.choice((0, 0, 0, 0, 10, 11, 12))
                value = {"code": code, "fields": {"queueId": str(queue), "queueOffset": str(offset)}}
            elif self.profile == "P533" and code == 1 and one.op != "bodiless":
                value = {"code": chance.choice((1, 29)), "fields": {}}
            else:
                value = {"code": code, "fields": {}}
            if chance.random() < 0.03:
                value = {"code": chance.choice((2, 14)), "remark": "[TIMEOUT_CLEAN_QUEUE]broker busy", "fields": {}}
        self._say("ok", wish.client, wish.op, value)


def table_body(config: Config) -> str:
    entry = dict(zip(("readQueueNums", "writeQueueNums", "perm", "order"), config, strict=True))
    return b64encode(json.dumps(entry).encode()).decode()


def numbered(events: Sequence[Event]) -> list[Event]:
    return [replace(e, seq=k) for k, e in enumerate(events)]


def truth(chance: Chance, shape: Shape, profile: str, auto: bool | None = None) -> tuple[Header, list[Event]]:
    """A history that the specification allows, a `mixed` clock excepted. `auto` says whether brokers create topics, else chance does."""
    header, events = Walk(chance, shape, profile).run(auto)
    settings = header.origin["settings"].get("autoCreateTopicEnable")
    for number in range(1, shape.brokers):
        _, others = Walk(chance, shape, profile, name=f"broker-{number}").run(settings == "true")
        lines = [events.pop(0) if events and (not others or chance.random() < 0.5) else others.pop(0) for _ in range(len(events + others))]
        events = numbered(lines)
    return header, events
