"""Small concurrent histories of requests that store elsewhere than addressed, and an independent second opinion about them.

They contain delayed messages, half messages and their ends, send-backs, retries, dead letters, deleted topics and changed groups. A random
walk through the whole specification yields an allowed history; a changed response may make it illegal. The second opinion keeps all states
that explain the events so far: the whole specification, every order of every step, no reductions.

    PYTHONPATH=model:traces:impl:properties python tests/traces/placed_histories.py --each 1000

compares both for each kind, and prints each disagreement with its seed.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any

from rocketproof_model import EvaluationError, Int
from rocketproof_model.functions import Functions
from rocketproof_model.interpreter import State, initial
from rocketproof_model.language import JAVA_INT
from rocketproof_profiles import PROFILES, NameClass
from rocketproof_spec import Scope, Specification, constants, specify
from rocketproof_spec.placement import STORE_SWITCHES
from rocketproof_spec.returning import SWITCHES
from rocketproof_traces.checker.histories import judge_history
from rocketproof_traces.history import Event, Header

BROKER, GROUP = "broker-a", "g"
TOPICS = ("TBW102", "T", f"%RETRY%{GROUP}", f"%DLQ%{GROUP}", "SCHEDULE_TOPIC_XXXX", "RMQ_SYS_TRANS_HALF_TOPIC")
TEMPLATE, OWN, RETRY, DEAD, SCHEDULE, HALF = range(len(TOPICS))
SEEN = (OWN, RETRY, DEAD)
"""The topics that a look at a broker shows."""
CODES = {
    "SUCCESS": 0, "SYSTEM_ERROR": 1, "NO_PERMISSION": 16, "TOPIC_NOT_EXIST": 17, "MESSAGE_ILLEGAL": 13, "SERVICE_NOT_AVAILABLE": 14,
    "SUBSCRIPTION_GROUP_NOT_EXIST": 26,
}  # fmt: skip
LOOKED_AT = ("up", "config.", "lock", "job.", "way.", "group.", "offset", "outlived")
SLOTS = 12  # requests, and what the broker stores by itself
QUEUES = 8
DEFAULTS = (1, 16, 1)
"""Whether the group is known, its limit and its queues, as a look-up makes it."""
KINDS_OF = ("not", "prepared")
ENDS = {"commit": 8, "rollback": 12}
SIDES = ((1, 121, JAVA_INT[1]), (1, 121, JAVA_INT[0]))
UNTOLD = 999_999
CLEANER = -1
"""Whoever deletes other topics, among the requests that are open, once one was deleted."""


class TooLarge(Exception):
    """There are more states at an event than the limit."""


@dataclass(frozen=True)
class Wish:
    """A future request of a client: `of` is the request whose record it concerns."""

    op: str
    topic: int = OWN
    queue: int = 0
    numbers: int = 2
    level: int = 0
    half: bool = False
    times: int = 0
    limit: int | None = None
    version: int = 300
    of: int = -1
    how: str = ""
    fits: bool = True
    group: tuple[int, int, int] = DEFAULTS
    config: tuple[int, int, int] = (1, 1, 6)


@dataclass(frozen=True)
class Line:
    """An event: "invoke", "ok" or "info" of a request with its response, or a query of `topic`."""

    kind: str
    number: int
    answer: Any = None


@cache
def specification(*, deletes: bool) -> Specification:
    classes: tuple[NameClass, ...] = ("template", "ordinary", "retry", "ordinary", "forbidden", "forbidden")
    number = Int(*JAVA_INT)
    return specify(
        Scope(
            "placed", "placed", producers=SLOTS, topics=classes, queues=QUEUES, counts=Int(0, 8), numbers=Int(-1, 8), queue_ids=number,
            draws=Int(0, 7), requests=True, routes=False, store=True, updates=True, placed=True, deletes=deletes, offsets=20,
            file_size=1000, sizes=Int(1, 1), versions=20, sends=0, permissions=tuple(range(8)),
            defaults=("template", "ordinary", "retry"),
        )
    )  # fmt: skip


class Whole:
    """The whole specification, with a producer for each request and each spontaneous record of the broker."""

    def __init__(self, wishes: Sequence[Wish], profile: str, *, auto_groups: bool, most: int = 10**6) -> None:
        self.wishes, self.profile, self.most = wishes, PROFILES[profile], most
        self.group = (int(auto_groups), *DEFAULTS[1:])
        self.deletes = any(wish.op == "delete" for wish in wishes)
        self.spec = specification(deletes=self.deletes)
        model = self.spec.model
        given = {name: getattr(self.profile, name) for name in (switch[0] for switch in (*SWITCHES, *STORE_SWITCHES))}
        self.instance = model.given(
            **constants(profile), **given, auto_create=True, template_read=8, template_write=8, sends=0, update_budget=-1
        )
        self.functions = Functions(self.instance)
        self.first = {v.name: v.first for v in model.variables}
        self.unseen = [
            slot for v in model.variables if not v.name.startswith(LOOKED_AT) for slot in range(v.first, v.first + v.size)
        ]  # fmt: skip
        self.begun = initial(self.instance)
        self.start = self._with(self.begun, self._grouped(self.group))
        self.handlers = [self.functions[a.name] for a in model.actions if "p" in a.parameters and a.actor == "handler"]
        self.within = cache(self._within)
        self.crowded, self.joined, self.named = False, True, True

    def _slot(self, name: str, *at: int) -> int:
        return int(self.spec.model.variable(name).slot(at))

    def _grouped(self, group: tuple[int, int, int]) -> dict[int, int]:
        return {self._slot(f"group.{c}", 0, RETRY): x for c, x in zip(("known", "limit", "queues"), group, strict=True)}

    def _with(self, state: State, codes: dict[int, int]) -> State:
        after = list(state)
        for slot, code in codes.items():
            after[slot] = code
        for slot in self.unseen:  # no client observes files, registrations and the log's positions
            after[slot] = self.begun[slot]
        return tuple(after)

    def value(self, state: State, name: str, *at: int) -> Any:
        variable = self.spec.model.variable(name)
        return variable.type.decode(state[variable.slot(at)])

    def handling(self, state: State, p: int, **codes: Any) -> State:
        """Return the state in which request `p` has reached the broker."""
        found = {self._slot("job.broker", p): 1}
        for name, value in codes.items():
            variable = self.spec.model.variable(name.replace("__", "."))
            found[variable.slot((p,))] = variable.type.encode(value)
        return self._with(state, found)

    # Requests

    def submitted(self, state: State, number: int, told: dict[int, Any], answer: Any) -> list[State]:
        """Return the states after a request has begun. `told`: responses until then; `answer`: its own, which decides whether transactions
        may be refused.
        """
        wish = self.wishes[number]
        topics = {"way__dead": DEAD, "way__halves": HALF, "way__delayed": SCHEDULE}
        named = {"way__version": wish.version, "way__named": wish.limit is not None, "way__requested": wish.limit or 0}
        if wish.op == "send":
            flaw = "transaction" if wish.half and answer is not None and answer[0] == 16 else "none"
            way = {"way__half": wish.half and self.profile.half_messages, "way__level": wish.level, "way__flaw": flaw}
            if wish.topic == RETRY:
                way |= {"way__step": "retry", "way__times": wish.times, **named}
            job = {"job__phase": "arrived", "job__topic": wish.topic, "job__default": TEMPLATE, "job__numbers": wish.numbers}
            return [self.handling(state, number, **job, job__queue=wish.queue, job__kind=KINDS_OF[wish.half], **way, **topics)]
        begun: dict[str, Any] = {"job__phase": "append", "job__queue": 0, "job__kind": "not", **topics}
        record = self.record(wish.of, told)
        if wish.op == "back" and not self.named:
            record = None
        if wish.op == "back":
            begun |= {"job__topic": RETRY, "way__step": "back", "way__back": True, "way__level": wish.level, **named}
            begun |= {"way__fitting": wish.fits}
            if record is not None:
                more: dict[str, Any] = {
                    "way__found": True,
                    "way__times": self.wishes[wish.of].times,
                    "way__kept": self.wishes[wish.of].level,
                }
                more |= {"job__kind": KINDS_OF[self.wishes[wish.of].half and not self.is_half(wish.of)]}
                return [self.handling(state, number, **begun | more)]
            return [
                self.handling(state, number, **begun | {"way__found": found, "way__version": v, "way__named": bool(n), "way__requested": r,
                                                        "way__kept": kept})
                for found, (n, v, r), kept in product((False, True), SIDES, range(1 if self.profile.dlq_clears_delay else 19))
            ]  # fmt: skip
        if wish.op == "end":
            if record is None or not self.joined:  # and the answer is that there is none
                none = {"job__topic": HALF, "way__step": "end", "way__found": False, "job__kind": wish.how}
                return [self.handling(state, number, **begun | none)]
            queue, _ = record
            half, level = self.is_half(wish.of), self.wishes[wish.of].level
            waits = {"job__topic": HALF, "way__level": level if half else 0}  # and its own topic is lost (HAZ-39)
            real = {"job__topic": self.wishes[wish.of].topic, "job__queue": queue} if half and not level else waits
            fits = wish.fits and self.is_half(wish.of)
            begun |= real | {"way__step": "end", "way__found": True, "way__fitting": fits, "job__kind": wish.how}
            return [self.handling(state, number, **begun)]
        return [state]

    def is_half(self, number: int) -> bool:
        return self.wishes[number].half and bool(self.profile.half_messages)

    def record(self, number: int, told: dict[int, Any]) -> Any:
        """Return the queue and offset of the record in a request's response."""
        answer = told.get(number)
        return None if answer is None or answer[0] != 0 else answer[1:]

    def _joins(self, lines: Sequence[Line]) -> bool:
        """Return whether the topic is judged together with half messages: one of its half messages may be stored."""
        begun = {line.number for line in lines if line.kind == "invoke"}
        ended = {line.number: line.answer[0] for line in lines if line.kind == "ok"}
        return any(self.wishes[k].half and ended.get(k, 0) in (0, 16) for k in begun)

    def unjudged(self, number: int, told: dict[int, Any], answer: Any) -> bool:
        """Return whether this ends an unreported transaction: the broker then stores its effects itself."""
        wish = self.wishes[number]
        known = self.joined and self.record(wish.of, told) is not None
        return wish.op == "end" and not known and not (answer is not None and answer[0] == 1)

    # Steps

    def _within(self, state: State) -> list[State]:
        found = []
        for p in range(SLOTS):
            if self.value(state, "job.phase", p) in ("idle", "answered"):
                continue
            draws = range(QUEUES) if self.value(state, "job.queue", p) < 0 else (0,)
            for f in self.handlers:
                for args in [(p, d) for d in draws] if "draw" in f.action.parameters else [(p,)]:
                    with suppress(EvaluationError):  # without one of its guards an action may have no value
                        held = f.action.name == "lock_timeout" and self.crowded  # by the creation of a topic of another part
                        at = self._with(state, {self._slot("lock", 0): 1}) if held else state
                        if f.action.name not in ("roll", "acknowledge_lost") and f.enabled(at, args):
                            found.append(self._with(f.effect(state, args), {}))
        return found

    def steps(self, whole: Any, furthest: Mapping[int, int]) -> Iterator[Any]:
        """Yield the possible next states, with the open administrative requests and the broker's own pending stores.

        Other programs fill queues up to `furthest`, the greatest offset in a response, and may delete the half queue.
        """
        state, open_, own = whole
        for after in self.within(state):
            yield after, open_, own
        for after in self._deleted(state) if CLEANER in open_ else ():
            yield after, open_, own
        for number in open_ - {CLEANER}:
            yield self._administered(state, self.wishes[number]), open_ - {number}, own
        for store in own:
            p, topic, queue = store
            queue = self._drawn(state, p) if queue < 0 else queue
            begun = self.handling(state, p, job__phase="append", job__topic=topic, job__queue=queue, job__write=QUEUES, job__kind="not")
            yield begun, open_, own - {store}
        for slot, offset in furthest.items():
            if state[slot] < offset:
                yield self._with(state, {slot: state[slot] + 1}), open_, own
            if slot == self._slot("offset", 0, HALF, 0) and state[slot] > 0:
                yield self._with(state, {slot: 0}), open_, own

    def _drawn(self, state: State, p: int) -> int:
        """Return the queue drawn when a waiting message was stored; -1 if each record has its own."""
        number = (SLOTS - 1 - p) // 2
        drawn = self.wishes[number].op == "send" and self.value(state, "job.phase", number) == "answered"
        return int(self.value(state, "job.queue", number)) if drawn else -1

    def _deleted(self, state: State) -> Iterator[State]:
        """Yield states after a deletion: surviving queues continue; other deletions remove all topics already gone."""
        outlive, delete = self.functions["outlive"], self.functions["delete_topic"]
        for topic, queue in product((*SEEN, HALF), range(QUEUES)):
            if outlive.enabled(state, (0, topic, queue)):
                yield self._with(outlive.effect(state, (0, topic, queue)), {})
        gone = next((topic for topic in SEEN if self.config(state, topic) is None), None)
        if gone is not None:
            yield self._with(delete.effect(state, (0, gone)), {})

    def _administered(self, state: State, wish: Wish) -> State:
        if wish.op == "delete":
            return self._with(self.functions["delete_topic"].effect(state, (0, wish.topic)), {})
        if wish.op in ("group", "ungroup"):
            return self._with(state, self._grouped(wish.group if wish.op == "group" else self.group))
        update = self.functions["update_topic"]
        args = (0, wish.topic, *wish.config)
        return self._with(update.effect(state, args), {}) if update.enabled(state, args) else state

    def closure(self, states: set[Any], furthest: Mapping[int, int]) -> set[Any]:
        seen, todo = set(states), list(states)
        while todo:
            for after in self.steps(todo.pop(), furthest):
                if after not in seen:
                    seen.add(after)
                    todo.append(after)
            if len(seen) > self.most:
                raise TooLarge
        return seen

    def opened(self, whole: Any, number: int, told: dict[int, Any], answer: Any, before: Sequence[int]) -> list[Any]:
        """Return the states after a request has begun; `before` are the requests that began earlier."""
        state, open_, own = whole
        wish = self.wishes[number]
        if wish.op in ("group", "ungroup", "update", "delete"):
            cleaner = {CLEANER} if wish.op == "delete" else set()
            return [(state, open_ | {number} | cleaner, own)]
        places: list[tuple[int, int]] = []
        if self.unjudged(number, told, answer):
            places = [(self.wishes[k].topic, self.queue_of(k)) for k in before if self.is_half(k) and not self.wishes[k].level]
        elif answer is None or answer[0] == 0:
            places = self._later(wish, number, told, answer)
        if len(places) > 2:
            raise TooLarge
        more = {(SLOTS - 1 - 2 * number - k, *place) for k, place in enumerate(places)}
        if self.unjudged(number, told, answer):
            return [(state, open_, own | more)]
        return [(after, open_, own | more) for after in self.submitted(state, number, told, answer)]

    def _later(self, wish: Wish, number: int, told: dict[int, Any], answer: Any) -> list[tuple[int, int]]:
        """Return the possible targets of a waiting message when it is due, without checking that it waits."""
        record = wish if wish.op == "send" else self.wishes[wish.of] if self.named and self.record(wish.of, told) is not None else None
        regrouped = any(each.op in ("group", "ungroup") for each in self.asked_ever)
        named = wish.limit is not None and wish.version >= 121
        limit = wish.limit if named else None if regrouped else 16
        times = None if record is None else record.times
        dead: bool | None = None if times is None or limit is None else times >= limit + (wish.op == "send" and self.profile.dlq_beyond)
        if wish.op == "back":
            dead = True if wish.level < 0 and record is not None else dead
            waits = not self.profile.dlq_clears_delay and (record is None or record.level > 0)
            return [(RETRY, -1)] * (not dead) + [(DEAD, 0)] * (dead is not False and waits)
        if wish.op != "send" or self.is_half(number) or wish.level == 0:
            return []
        place = wish.topic, wish.queue if answer is None or answer[1] is None else answer[1]
        if wish.topic != RETRY:
            return [place]
        return [place] * (not dead) + [(DEAD, 0)] * (dead is not False and not self.profile.dlq_keeps_delay)

    def queue_of(self, number: int) -> int:
        answer = self.final.get(number)
        return self.wishes[number].queue if answer is None or answer[1] is None else int(answer[1])

    def _ripe(self, whole: Any, taken: Iterable[tuple[int, int, int]]) -> bool:
        """Return whether the requests are complete whose records are to be stored."""
        numbers = [(SLOTS - 1 - p) // 2 for p, _, _ in taken]
        return all(self.wishes[k].op == "end" or (self.answered(whole, k) or (1,))[0] == 0 for k in numbers)

    def answered(self, whole: Any, number: int) -> Any:
        """Return the broker's response in this state, None without one."""
        state, open_, _ = whole
        wish = self.wishes[number]
        if wish.op in ("group", "ungroup", "update", "delete"):
            return None if number in open_ else (0, None, None)
        if self.value(state, "job.phase", number) != "answered":
            return None
        code = CODES[self.value(state, "job.answer", number)]
        if code or wish.op != "send":
            return code, None, None
        return code, self.value(state, "job.queue", number), self.value(state, "job.offset", number)

    def table(self, state: State) -> tuple[tuple[int, int, int] | None, ...]:
        """Return the broker's configuration of the observed topics."""
        return tuple(self.config(state, topic) for topic in SEEN)

    def config(self, state: State, topic: int) -> tuple[int, int, int] | None:
        if not self.value(state, "config.known", 0, topic):
            return None
        read, write, perm = (self.value(state, f"config.{c}", 0, topic) for c in ("read", "write", "perm"))
        return read, write, perm

    # A walk, and the second opinion

    def walk(self, chance: random.Random, lost: float = 0.1) -> list[Line]:
        """Generate a history that the specification allows."""
        self.final: dict[int, Any] = {}
        self.asked_ever, self.joined, self.named = self.wishes, True, True
        whole: Any = (self.start, frozenset(), frozenset())
        todo, open_, lines, told = list(range(len(self.wishes))), list[int](), list[Line](), dict[int, Any]()
        pace, at_once = chance.choice((0.05, 0.15, 0.4)), chance.choice((2, 2, 3))
        for _ in range(300):
            kind = chance.random()
            if not todo and not open_:
                break
            if todo and kind < pace and len(open_) < at_once:
                number = todo[0]
                if self.wishes[number].of in open_ and chance.random() < 0.9:
                    continue  # a client that names a record usually knows it
                todo.pop(0)
                before = [line.number for line in lines if line.kind == "invoke"]
                lines.append(Line("invoke", number))
                if self.unjudged(number, told, None):
                    open_.append(number)
                    continue
                whole = chance.choice(self.opened(whole, number, told, None, before))
                open_.append(number)
            elif open_ and kind < pace + 0.15:
                number = chance.choice(open_)
                done = (0, None, None) if self.unjudged(number, told, None) else self.answered(whole, number)
                if chance.random() < lost / 3:
                    open_.remove(number)
                    lines.append(Line("info", number))
                elif done is not None:
                    open_.remove(number)
                    told[number] = self.final[number] = done
                    lines.append(Line("ok", number, done))
            elif kind > 0.98 and lines:
                lines.append(Line("look", -1, self.table(whole[0])))
            else:
                others = {self._slot("offset", 0, *place): 3 for place in ((HALF, 0), (SCHEDULE, 0))} if chance.random() < 0.03 else {}
                after = [each for each in self.steps(whole, others) if self._ripe(whole, whole[2] - each[2])]
                if after:
                    whole = chance.choice(after)
        return lines

    def first_unexplained(self, lines: Sequence[Line]) -> int | None:
        """Return the number of the first line that no state explains."""
        self.final = {line.number: line.answer for line in lines if line.kind == "ok"}
        self.joined = self._joins(lines)
        self.asked_ever = [self.wishes[line.number] for line in lines if line.kind == "invoke"]
        self.named = any(wish.op == "back" and wish.fits for wish in self.asked_ever)  # otherwise the origin of messages is unknown
        furthest: dict[int, int] = {}
        for number, (code, _, offset) in self.final.items():
            wish = self.wishes[number]
            if code == 0 and wish.op == "send" and (self.is_half(number) or wish.level):
                slot = self._slot("offset", 0, *((SCHEDULE, wish.level - 1) if wish.level else (HALF, 0)))
                furthest[slot] = max(offset, furthest.get(slot, 0))
        states: set[Any] = {(self.start, frozenset(), frozenset())}
        told: dict[int, Any] = {}
        begun: list[int] = []
        unjudged = set()
        for place, line in enumerate(lines):
            if line.kind == "invoke":
                answer = self.final.get(line.number)
                if self.unjudged(line.number, told, answer):
                    unjudged.add(line.number)
                later = {after for whole in states for after in self.opened(whole, line.number, told, answer, begun)}
                states = later
                begun.append(line.number)
            elif line.kind == "ok":
                told[line.number] = line.answer
                if line.number in unjudged:
                    continue
                states = {w for w in self.closure(states, furthest) if self.answered(w, line.number) == line.answer}
            elif line.kind == "look":
                for topic, config in zip(SEEN, line.answer, strict=True):  # one after the other, as the judge does
                    states = {w for w in self.closure(states, furthest) if self.config(w[0], topic) == config}
            if not states:
                return place
        return None

    # As the judge reads it

    def events(self, lines: Sequence[Line]) -> list[Event]:
        """Return the history as the judge reads it; each record has a unique offset."""
        found: list[Event] = []
        told: dict[int, Any] = {}
        for line in lines:
            seq = len(found)
            if line.kind == "look":
                table = {"TBW102": (8, 8, 7), TOPICS[SCHEDULE]: (18, 18, 6)}
                table |= zip((TOPICS[t] for t in SEEN), line.answer, strict=True)
                topics = {t: entry(*c) for t, c in table.items() if c is not None}
                found.append(Event(seq, "state", BROKER, "topics", {"topics": topics}))
                continue
            wish = self.wishes[line.number]
            value: dict[str, Any] = {}
            if line.kind == "invoke":
                value = {"to": BROKER, **self.asked(wish, told)}
            elif line.kind == "ok":
                told[line.number] = line.answer
                code, queue, offset = line.answer
                named = {"queueId": str(queue), "queueOffset": str(offset), "msgId": f"{0:016X}{1000 + line.number:016X}"}
                value = {"code": code, "fields": named if code == 0 and wish.op == "send" else {}}
            found.append(Event(seq, line.kind, f"client {line.number}", OPS[wish.op], value))
        return found

    def asked(self, wish: Wish, told: dict[int, Any]) -> dict[str, Any]:
        known = self.record(wish.of, told)
        place = str(UNTOLD if wish.of < 0 else 1000 + wish.of)
        limit = {} if wish.limit is None else {"maxReconsumeTimes": str(wish.limit)}
        if wish.op == "send":
            properties = {"DELAY": str(wish.level)} if wish.level else {}
            properties |= {"TRAN_MSG": "true", "PGROUP": GROUP} if wish.half else {}
            fields = {
                "producerGroup": GROUP, "topic": TOPICS[wish.topic], "defaultTopic": "TBW102", "defaultTopicQueueNums": str(wish.numbers),
                "queueId": str(wish.queue), "sysFlag": str(4 * wish.half), "bornTimestamp": "0", "flag": "0",
                "reconsumeTimes": str(wish.times), "properties": "".join(f"{k}\x01{v}\x02" for k, v in properties.items()), **limit,
            }  # fmt: skip
            return {"fields": fields, "version": wish.version, "bodySize": 1}
        if wish.op == "back":
            origin = {"originTopic": "T"} if wish.fits else {}
            return {"fields": {"group": GROUP, "offset": place, "delayLevel": str(wish.level), **origin, **limit}, "version": wish.version}
        if wish.op == "end":
            offset = 0 if known is None else known[1] + (not wish.fits)
            fields = {"producerGroup": GROUP, "tranStateTableOffset": str(offset), "commitLogOffset": place, "msgId": ""}
            return {"fields": {**fields, "commitOrRollback": str(ENDS[wish.how])}}
        if wish.op == "group":
            data = {"groupName": GROUP, "retryMaxTimes": wish.group[1], "retryQueueNums": wish.group[2]}
            return {"fields": {}, "body": b64encode(json.dumps(data).encode()).decode()}
        if wish.op == "ungroup":
            return {"fields": {"groupName": GROUP}}
        if wish.op == "delete":
            return {"fields": {"topic": TOPICS[wish.topic]}}
        read, write, perm = wish.config
        return {"fields": {"topic": TOPICS[wish.topic], "readQueueNums": str(read), "writeQueueNums": str(write), "perm": str(perm)}}


OPS = {
    "send": "send", "back": "send_back", "end": "end_transaction", "group": "update_group", "ungroup": "delete_group",
    "update": "update_topic", "delete": "delete_topic",
}  # fmt: skip


def entry(read: int, write: int, perm: int) -> dict[str, Any]:
    return {"readQueueNums": read, "writeQueueNums": write, "perm": perm, "order": False}


def sent(chance: random.Random, **more: Any) -> Wish:
    return Wish("send", queue=chance.choice((0, 0, 0, 1, -1)), numbers=chance.choice((1, 2)), **more)


def delayed(chance: random.Random, made: Sequence[Wish]) -> Wish:
    return sent(chance, level=chance.choice((0, 1, 1, 3)))


def halves(chance: random.Random, made: Sequence[Wish]) -> Wish:
    known = [k for k, wish in enumerate(made) if wish.op == "send"]
    if known and chance.random() < 0.5:
        of = -1 if chance.random() < 0.03 else chance.choice((*known, known[-1]))
        return Wish("end", of=of, how=chance.choice(("commit", "commit", "rollback")), fits=chance.random() < 0.9)
    return sent(chance, half=chance.random() < 0.8, level=chance.choice((0, 0, 0, 2)))


def retried(chance: random.Random, made: Sequence[Wish]) -> Wish:
    """Draw a message that a client sends to its retry topic, usually near its limit."""
    limit = chance.choice((None, 1, 2, 16))
    times = chance.choice((0, 1, 2, 3, 16))
    level = chance.choice((0, 0, 4))
    return sent(chance, topic=RETRY, limit=limit, times=times, level=level, version=chance.choice((300, 120)))


def backs(chance: random.Random, made: Sequence[Wish]) -> Wish:
    known = [k for k, wish in enumerate(made) if wish.op == "send"]
    if known and chance.random() < 0.7:
        of = chance.choice(known) if chance.random() < 0.95 else -1
        return Wish(
            "back", of=of, level=chance.choice((0, 0, 0, 2, -1)), limit=chance.choice((None, 1, 16)), version=chance.choice((300, 120)),
            fits=chance.random() < 0.8, topic=RETRY,
        )  # fmt: skip
    return sent(chance, times=chance.choice((0, 1, 1, 3)), level=chance.choice((0, 0, 0, 2)))


def regrouped(chance: random.Random, made: Sequence[Wish]) -> Wish:
    kind = chance.random()
    if kind < 0.25:
        return Wish("group", topic=RETRY, group=(1, chance.choice((0, 1, 3)), chance.choice((0, 1, 2))))
    if kind < 0.35:
        return Wish("ungroup", topic=RETRY)
    return chance.choice((backs, backs, retried))(chance, made)


def deletions(chance: random.Random, made: Sequence[Wish]) -> Wish:
    if made and chance.random() < 0.35:
        back = any(wish.op == "back" for wish in made)
        return Wish("delete", topic=chance.choice((OWN, RETRY, DEAD) if back else (OWN, OWN, RETRY)))
    if chance.random() < 0.4:
        return sent(chance)
    return chance.choice((delayed, retried, backs))(chance, made)


def everything(chance: random.Random, made: Sequence[Wish]) -> Wish:
    if chance.random() < 0.1:
        return Wish("update", topic=chance.choice((OWN, RETRY)), config=chance.choice(((1, 1, 6), (2, 2, 6), (2, 2, 4))))
    return chance.choice((delayed, halves, retried, backs, regrouped))(chance, made)


KINDS = {
    "delayed": delayed, "half messages": halves, "retries": retried, "send-backs": backs, "groups": regrouped, "deletions": deletions,
    "everything": everything,
}  # fmt: skip


def spoilt(chance: random.Random, lines: Sequence[Line], wishes: Sequence[Wish]) -> list[Line]:
    """Return the history with one changed response, which may still be legal."""
    changed = list(lines)
    places = [k for k, line in enumerate(lines) if line.kind in ("ok", "look")]
    if not places:
        return changed
    k = chance.choice(places)
    line = changed[k]
    if line.kind == "look":
        begun = [wishes[line.number] for line in lines if line.kind == "invoke"]
        topics = {wish.topic for wish in begun if wish.op != "end"}
        topics |= {DEAD for wish in begun if wish.topic == RETRY and wish.op in ("back", "group", "ungroup")}
        other: Any = list(line.answer)
        other[SEEN.index(chance.choice(sorted(topics) or [OWN]))] = chance.choice([None, (1, 1, 6), (2, 2, 6), (2, 2, 4)])
        other = tuple(other)
    elif wishes[line.number].op == "send":
        _, queue, offset = line.answer
        q, o = queue or 0, offset or 0
        stored = [(0, q, o + 1), (0, q, max(0, o - 1)), (0, q + 1, o), (0, q, o + 2)]
        other = chance.choice([*stored, *((code, None, None) for code in (1, 16, 17, 26, 13))])
    else:
        other = (chance.choice((0, 1, 16, 26)), None, None)
    changed[k] = Line(line.kind, line.number, other)
    return changed


@dataclass(frozen=True)
class Compared:
    """A history with its first unexplained events by the judge and by the second opinion, and its settings."""

    naive: int | None
    judged: int | None
    verdict: str
    lines: Sequence[Line]
    events: Sequence[Event]
    why: str

    @property
    def agree(self) -> bool:
        return self.verdict == ("ok" if self.naive is None else "illegal") and self.naive == self.judged


def compared(kind: str, seed: int, most: int, profile: str = "", least: int = 3, largest: int = 4) -> Iterator[Compared]:
    """Yield histories of a kind: a legal one, and two with changed responses. Raises TooLarge."""
    chance = random.Random(f"{kind} {seed}")
    served = "P45" if kind == "half messages" else "P40"  # which does not serve the ends of transactions
    profile = profile or chance.choice(("P494", "P494", "P533", "P45", served))
    wishes: list[Wish] = []
    for _ in range(chance.randint(least, largest)):
        wishes.append(KINDS[kind](chance, wishes))
    auto_groups = chance.random() < 0.8
    whole = Whole(wishes, profile, auto_groups=auto_groups, most=most)
    right = whole.walk(chance)
    for lines in (right, spoilt(chance, right, wishes), spoilt(chance, right, wishes)):
        events = whole.events(lines)
        settings = {"autoCreateTopicEnable": "true", "autoCreateSubscriptionGroup": str(auto_groups).lower()}
        verdict = judge_history(Header({"settings": settings}), events, profile)
        seen = verdict.findings[0].seq if verdict.findings else None
        if whole.crowded != (verdict.parts > 1):
            whole.crowded = not whole.crowded
            whole.within.cache_clear()
        first = whole.first_unexplained(lines)
        assert lines is not right or first is None, (kind, seed, profile, wishes, lines)
        yield Compared(first, seen, verdict.verdict, lines, events, f"{profile} {'; '.join(map(str, verdict.findings))} {verdict.unknown}")


def printed(outcome: Compared) -> str:
    lines = [f"naive {outcome.naive} judged {outcome.judged} {outcome.verdict} {outcome.why}"]
    return "\n".join([*lines, *(f"  {e.seq} {e.type} {e.process} {e.op} {dict(e.value)}" for e in outcome.events)])


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--each", type=int, default=100, help="histories of each kind, each with two that are spoilt")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--most", type=int, default=3000, help="states at one event above which a history is left out")
    parser.add_argument("--kind", action="append", choices=list(KINDS))
    options = parser.parse_args(arguments)
    different = 0
    for kind in options.kind or KINDS:
        counts = Counter[str]()
        for seed in range(options.first, options.first + options.each):
            try:
                for outcome in compared(kind, seed, options.most):
                    counts["illegal" if outcome.naive is not None else "ok"] += 1
                    if not outcome.agree:
                        counts["different"] += 1
                        sys.stdout.write(f"{kind} {seed}: {printed(outcome)}\n")
            except TooLarge:
                counts["too large"] += 1
        different += counts["different"]
        sys.stdout.write(f"{kind:15} {dict(counts)}\n")
        sys.stdout.flush()
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
