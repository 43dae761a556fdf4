"""A second opinion on histories that shares nothing with the judge: handwritten event reading, and all states at once.

It keeps every state that explains the events so far: every order of every step of every request, without reductions. It repeats the
judge's documented rules about parts: creating another topic may hold the lock, and the broker's own stores may happen at any time.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from tiny_broker import CLUSTER, DLQ, RETRY, STORED, TEMPLATE, Asked, Broker, Config, State, moved

from rocketproof_traces.history import Event, Header

JUDGED = ("send", "batch", "update_topic", "topic_config", "max_offset", "delete_topic")
OWN = {TEMPLATE, "SCHEDULE_TOPIC_XXXX", "OFFSET_MOVED_EVENT", "SELF_TEST_TOPIC", "BenchmarkTest"}
BEFORE_49 = ("P40", "P45")
"""Profiles whose brokers make the topic of delayed messages only when the first one comes (TCM-03)."""
LOCK_WAIT = 3_000_000_000  # nanoseconds


class TooLarge(Exception):
    """There are more states than one wants to wait for."""


@dataclass
class Call:
    """A request of a history, and the event that ended it, None without one."""

    begun: Event
    ended: Event | None = None
    failed: bool = False

    @property
    def fields(self) -> Mapping[str, str]:
        return self.begun.value.get("fields") or {}

    @property
    def topic(self) -> str:
        return str(self.fields.get("topic"))

    @property
    def code(self) -> int | None:
        return None if self.ended is None or self.begun.value.get("oneWay") else self.ended.value.get("code")

    def said(self, name: str) -> int | None:
        value = (self.ended.value.get("fields") or {}).get(name) if self.ended is not None else None
        return None if value is None else int(value)

    @property
    def messages(self) -> int | None:
        """Return the number of messages of a batch, None if unknown."""
        if self.begun.op == "send":
            return 1
        if "body" not in self.begun.value:
            return None
        body, found = base64.b64decode(self.begun.value["body"]), 0
        while body:
            body, found = body[int.from_bytes(body[:4], "big") :], found + 1
        return found


class Reader:
    """The calls, queries and breaks of one broker's history."""

    def __init__(self, events: Sequence[Event], header: Header, broker: str) -> None:
        self.broker, self.header = broker, header
        self.calls: list[Call] = []
        self.looks = [e for e in events if e.type == "state" and e.process == broker and e.op == "topics"]
        self.over = len(events)  # the first event from which on the broker is another one
        open_: dict[str, Call] = {}
        for event in events:
            if event.type == "invoke":
                open_[event.process] = Call(event)
                if event.value["to"] == broker:
                    self.calls.append(open_[event.process])
                    if event.op == "configure":
                        self.over = min(self.over, event.seq)
            elif event.type == "crash":
                open_.pop(event.process, None)
                if event.process == broker:
                    self.over = min(self.over, event.seq)
            elif event.type in ("ok", "fail", "info") and event.process in open_ and open_[event.process].begun.op == event.op:
                call = open_.pop(event.process)
                call.ended = event if event.type == "ok" else None
                call.failed = event.type == "fail"
        self.makers = [c for c in self.calls if c.begun.op == "heartbeat"]
        self.calls = [c for c in self.calls if not c.failed]
        self.judged = [c for c in self.calls if c.begun.op in JUDGED]
        begun = min((c.begun.seq for c in self.judged), default=len(events))
        before = [e for e in self.looks if e.seq < begun]
        self.table = _table(before[-1]) if before else None
        self.known = {name for e in before for name in e.value["topics"]}
        self.looks = [e for e in self.looks if e.seq >= begun]

    def unasked(self) -> list[int]:
        """Return, for each topic that no request created, the first state event that contains it."""
        firsts: dict[str, int] = {}
        asked = self.known.union(*self.groups())
        made = min((c.begun.seq for c in self.makers if not c.failed), default=self.over)
        for look in self.looks:
            for name in look.value["topics"]:
                end = min(made, self.over) if name.startswith(RETRY) else self.over
                own = name.startswith((DLQ, CLUSTER, self.broker, "RMQ_SYS_")) or name in OWN
                if name not in asked and not own and look.seq < end:
                    firsts.setdefault(name, look.seq)
        return list(firsts.values())

    def groups(self) -> list[tuple[str, ...]]:
        """Return the topics judged together: those connected by default topics."""
        groups: list[set[str]] = []
        for call in self.judged:
            mine = {call.topic}
            default = str(call.fields.get("defaultTopic", TEMPLATE))
            if call.begun.op in ("send", "batch") and default not in (TEMPLATE, CLUSTER, self.broker):
                mine.add(default)
            groups = [g for g in groups if not g & mine] + [mine.union(*(g for g in groups if g & mine))]
        return [tuple(sorted(g)) for g in groups]


def _table(event: Event) -> dict[str, Config]:
    return {name: _config(entry) for name, entry in event.value["topics"].items()}


def _config(entry: Mapping[str, Any]) -> Config:
    return entry["readQueueNums"], entry["writeQueueNums"], entry["perm"], bool(entry.get("order", False))


class Opinion:
    """Explains the part of a history about some topics of a broker. `most` bounds the states at one event."""

    def __init__(self, found: Reader, profile: str, topics: tuple[str, ...], *, crowded: bool, most: int) -> None:
        self.found, self.profile, self.topics, self.most = found, profile, topics, most
        self.crowded = crowded
        self.states = 0
        self.calls = [c for c in found.calls if c.topic in topics and c.begun.op in JUDGED]
        self.end = self._end()

    def _end(self) -> int:
        ends = [self.found.over]
        if any(t.startswith(DLQ) for t in self.topics):
            return 0
        if any(t.startswith(RETRY) for t in self.topics):
            ends += [c.begun.seq for c in self.found.makers if not c.failed]
        for c in self.calls:
            unread = c.begun.op == "send" and "flag" not in c.fields
            untold = c.begun.op == "batch" and c.messages is None
            ordered = c.begun.op == "update_topic" and c.fields.get("order") == "true"
            if unread or untold or ordered:
                ends.append(c.begun.seq)
        return min(ends)

    def first(self) -> int | None:
        """Return the first event that no state explains under any value of the unknown settings."""
        settings = self.found.header.origin.get("settings", {})
        said = settings.get("autoCreateTopicEnable")
        if said is not None:
            switches = [said == "true"]
        elif self.found.table is None or self.found.table.get(TEMPLATE, (0, 0, 0, False))[2] & 1:
            switches = [True, False]
        else:
            switches = [False]
        firsts = [self._first(auto, settings.get("brokerPermission", 6)) for auto in switches]
        return None if None in firsts else max(f for f in firsts if f is not None)

    def _first(self, auto: bool, permission: int) -> int | None:
        topics = list(dict.fromkeys([TEMPLATE, *self.topics, *(str(c.fields.get("defaultTopic", TEMPLATE)) for c in self.calls)]))
        broker = Broker(self.profile, auto, permission, tuple(topics), crowded=self.crowded, name=self.found.broker)
        asked: list[Asked] = []
        for call in self.calls:
            if call.begun.seq < self.end:
                asked += self._asked(call)
        deleted = [c for c in self.calls if c.begun.op == "delete_topic" and c.begun.seq < self.end]
        for topic in {c.topic for c in deleted}:
            asked.append(Asked("clean", topic, since=min(c.begun.seq for c in deleted)))
        if self.crowded and not auto:
            asked.append(Asked("reduced", TEMPLATE, since=-1))
        broker.asked = sorted(asked, key=lambda request: request.since)
        table = self.found.table
        table = self._new(auto) if table is None else table
        states = {broker.begin(table, ends) for ends in self._starts(table, broker.asked)}
        moments = [(request.since, 0, k) for k, request in enumerate(broker.asked)]
        moments += [(request.until, 1, k) for k, request in enumerate(broker.asked) if request.until is not None]
        moments += [(e.seq, 2, k) for k, e in enumerate(self.found.looks) if e.seq < self.end]
        for seq, what, k in sorted(moments):
            if what == 0:
                states = {broker.opened(s, k) for s in states}
                continue
            states = self._closure(broker, states)
            if what == 1:
                states = {moved(s, k, None) for s in states if broker.fits(broker.asked[k], s[3][k]) and not fallen(broker.asked, k)}
            else:
                now = _table(self.found.looks[k])
                states = {s for s in states if all(s[0][topics.index(t)] == now.get(t) for t in self.topics)}
            if not states:
                return seq
        return None

    def _closure(self, broker: Broker, states: set[State]) -> set[State]:
        seen, todo = set(states), list(states)
        while todo:
            for after in broker.steps(todo.pop()):
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
            if len(seen) > self.most:
                raise TooLarge
        self.states += len(seen)
        return seen

    def _new(self, auto: bool) -> dict[str, Config]:
        """Return the topics of a new broker."""
        table: dict[str, Config] = {
            "SELF_TEST_TOPIC": (1, 1, 6, False), "BenchmarkTest": (1024, 1024, 6, False), CLUSTER: (16, 16, 7, False),
            self.found.broker: (1, 1, 7, False), "OFFSET_MOVED_EVENT": (1, 1, 6, False),
        }  # fmt: skip
        if self.profile not in BEFORE_49:
            table["SCHEDULE_TOPIC_XXXX"] = (18, 18, 6, False)
        if self.profile == "P533":
            table |= {"RMQ_SYS_TRANS_HALF_TOPIC": (1, 1, 6, False), "RMQ_SYS_TRANS_OP_HALF_TOPIC": (1, 1, 6, False)}
        return {**table, TEMPLATE: (8, 8, 7, False)} if auto else table

    def _starts(self, table: Mapping[str, Config], asked: Sequence[Asked]) -> list[dict[tuple[str, int], int]]:
        """Return the possible first offsets: 0, or for topics that existed before, any offset in the history."""
        if self.found.table is None or not any(t in table for t in self.topics):
            return [{}]
        named: dict[tuple[str, int], set[int]] = {}
        for request in asked:
            if request.answer is not None and request.op == "max_offset":
                named.setdefault((request.topic, request.queue), {0}).add(request.answer[0])
            elif request.answer is not None and request.op in ("send", "batch") and request.answer[0] in STORED and request.counted:
                named.setdefault((request.topic, request.answer[1]), {0}).add(request.answer[2])
        return [dict(zip(named, start, strict=True)) for start in product(*map(sorted, named.values()))]

    def _asked(self, call: Call) -> list[Asked]:
        """Return the requests of a call, and the broker's own resulting steps."""
        op, seq, fields = call.begun.op, call.begun.seq, call.fields
        answered = call.ended is not None and call.code is not None and call.ended.seq < self.end
        until = call.ended.seq if answered and call.ended is not None else None
        code = call.code
        if op == "update_topic":
            wanted = (int(fields["readQueueNums"]), int(fields["writeQueueNums"]), int(fields["perm"]), False)
            return [Asked(op, call.topic, seq, until, wanted=wanted, answer=(code,))]
        if op == "delete_topic":
            return [Asked(op, call.topic, seq, until, answer=(code,))]
        if op == "topic_config":
            return [] if not answered or code not in (0, 17) else [Asked(op, call.topic, seq, until, answer=(_body(call),))]
        if op == "max_offset":
            queue = int(fields["queueId"])
            anew = any(c.begun.op == "delete_topic" and call.ended is not None and c.begun.seq < call.ended.seq for c in self.calls)
            return [] if anew or not answered or code != 0 else [Asked(op, call.topic, seq, until, queue, answer=(call.said("offset"),))]
        queue = int(fields["queueId"])
        took = None
        if call.ended is not None and call.ended.time is not None and call.begun.time is not None:
            took = call.ended.time - call.begun.time
        request = Asked(
            op, call.topic, seq, until, queue, int(fields["defaultTopicQueueNums"]), str(fields["defaultTopic"]), call.messages or 0,
            counted=int(fields["sysFlag"]) & 12 in (0, 8), patient=took is None or took >= LOCK_WAIT,
            answer=(code, call.said("queueId"), call.said("queueOffset")),
        )  # fmt: skip
        busy = code in (2, 14)
        limits = op == "batch" and code == 13
        if busy or limits:
            request = replace(request, until=None, answer=None, counted=request.counted and not limits)
        if self.profile == "P533" and call.begun.value.get("bodySize") == 0:
            request = Asked("bodiless", call.topic, seq, request.until, answer=request.answer)
        return [request]


def fallen(asked: Sequence[Asked], k: int) -> bool:
    """Return whether an earlier query already showed a greater end of the queue."""
    request = asked[k]
    return request.op == "max_offset" and any(
        other.op == request.op and (other.topic, other.queue) == (request.topic, request.queue) and other.answer > request.answer
        for other in asked
        if other.answer is not None and request.answer is not None and other.until is not None and other.until < request.since
    )


def _body(call: Call) -> Config | None:
    assert call.ended is not None
    return None if call.code != 0 else _config(json.loads(base64.b64decode(call.ended.value["body"])))


def opinions(events: Sequence[Event], header: Header, profile: str, most: int) -> tuple[list[int], int]:
    """Return for each illegal part the first unexplained event, in order, and the number of visited states."""
    firsts, states = [], 0
    for broker in sorted({str(e.value["to"]) for e in events if e.type == "invoke"}):
        found = Reader(events, header, broker)
        groups = found.groups()
        unasked = found.unasked()
        firsts += unasked
        crowded = len(groups) + len(unasked) > 1 or not all(c.failed for c in found.makers)
        for topics in groups:
            opinion = Opinion(found, profile, topics, crowded=crowded, most=most)
            first = opinion.first()
            states += opinion.states
            if first is not None:
                firsts.append(first)
    return sorted(firsts), states
