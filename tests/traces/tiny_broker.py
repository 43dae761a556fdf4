"""A broker written by hand: the steps of the specification that an answer can depend on, in plain Python, and all orders of them.

It shares nothing with the judge, nor with the terms of the specification, so that a mistake in either shows as a difference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

TEMPLATE, CLUSTER, RETRY, DLQ = "TBW102", "DefaultCluster", "%RETRY%", "%DLQ%"
SWITCHED = ("P49", "P494", "P533")  # these look at the name of a topic
STORED = (0, 10, 11, 12)
HALVES = {
    "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "TRANS_CHECK_MAX_TIME_TOPIC", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT",
}  # fmt: skip
FORBIDDEN = {"P49": {"SCHEDULE_TOPIC_XXXX"}, **dict.fromkeys(("P494", "P533"), HALVES | {"SCHEDULE_TOPIC_XXXX"})}

Config = tuple[int, int, int, bool]
"""Read and write queues, permission, order."""
Job = tuple[Any, ...]
State = tuple[tuple[Config | None, ...], tuple[tuple[int, int, int], ...], int | None, tuple[Job | None, ...]]
"""The topics' configurations, (topic, queue, next offset) where that is not 0, who has the lock, and where each request is."""


@dataclass(frozen=True)
class Asked:
    """A request as the broker takes it. `since` and `until` are event numbers; `answer` is the required response, None if unknown."""

    op: str
    topic: str
    since: int = 0
    until: int | None = None
    queue: int = 0
    numbers: int = 0
    default: str = TEMPLATE
    count: int = 1
    counted: bool = True
    wanted: Config = (0, 0, 0, False)
    patient: bool = True
    answer: tuple[Any, ...] | None = None


@dataclass
class Broker:
    """One broker: its release, settings and observed topics. `crowded`: unobserved requests may hold the lock."""

    profile: str
    auto_create: bool
    permission: int
    topics: tuple[str, ...]
    asked: list[Asked] = field(default_factory=list)
    crowded: bool = False
    name: str = "broker-a"

    def begin(self, table: Mapping[str, Config], ends: Mapping[tuple[str, int], int]) -> State:
        counters = tuple(sorted((self.topics.index(t), q, n) for (t, q), n in ends.items() if n))
        return tuple(table.get(t) for t in self.topics), counters, None, tuple(None for _ in self.asked)

    def kind(self, topic: str) -> str:
        if topic in (CLUSTER, self.name):
            return "system"
        if topic == TEMPLATE:
            return "template"
        if self.profile in SWITCHED:
            if not topic.strip():
                return "blank"
            if not re.fullmatch(r"[%|a-zA-Z0-9_-]+", topic, re.ASCII):
                return "illegal"
            if len(topic) > 127:
                return "long"
            if topic in FORBIDDEN[self.profile]:
                return "forbidden"
        if topic.startswith(RETRY):
            return "retry"
        return "long" if len(topic) > 127 else "ordinary"

    def opened(self, state: State, number: int) -> State:
        return moved(state, number, ("arrived", False, 0, 0, 0))

    def steps(self, state: State) -> Iterator[State]:
        """Yield all states after one step of any request."""
        for number, job in enumerate(state[3]):
            if job is not None and job[0] != "done":
                request = self.asked[number]
                if request.op in ("send", "batch"):
                    yield from self._handled(state, number, request, job)
                else:
                    yield from self._at_once(state, number, request)

    def _at_once(self, state: State, number: int, request: Asked) -> Iterator[State]:
        table, ends, holder, jobs = state
        t = self.topics.index(request.topic)
        if request.op == "update_topic":
            if self.kind(request.topic) in ("ordinary", "retry"):
                changed = (changed_at(table, t, request.wanted), ends, holder, jobs)
                yield moved(changed, number, ("done", "updated"))
            else:
                yield moved(state, number, ("done", "refused"))
        elif request.op == "delete_topic":
            yield from self._deleted(state, number, request, t)
        elif request.op == "clean":  # other topics are deleted
            yield from without_a_queue(state, t)
        elif request.op == "topic_config":
            yield moved(state, number, ("done", table[t]))
        elif request.op == "max_offset":
            yield moved(state, number, ("done", counter(ends, t, request.queue)))
        elif request.op == "bodiless":
            yield moved(state, number, ("done", 1, None, None))
        elif request.op == "reduced":  # the creation of a topic that is elsewhere takes INHERIT from the template
            known = table[t]
            if known is not None:
                yield moved((changed_at(table, t, (*known[:2], 6, known[3])), ends, holder, jobs), number, None)

    def _deleted(self, state: State, number: int, request: Asked, t: int) -> Iterator[State]:
        """Delete the topic, then the queues of all deleted topics one by one; a queue without an entry is not found."""
        table, ends, holder, jobs = state
        job = jobs[number]
        if job is not None and job[0] == "cleaning":
            yield moved(state, number, ("done", "deleted"))
            for gone in range(len(table)):
                yield from without_a_queue(state, gone)
        elif self.kind(request.topic) in (("ordinary", "retry", "illegal", "long") if self.profile == "P533" else ("ordinary", "retry")):
            yield moved((changed_at(table, t, None), ends, holder, jobs), number, ("cleaning",))
        else:
            yield moved(state, number, ("done", "refused"))

    def _handled(self, state: State, number: int, request: Asked, job: Job) -> Iterator[State]:
        table, ends, holder, jobs = state
        phase, second, read, write, perm = job
        t = self.topics.index(request.topic)
        config = table[t]

        def at(phase: str, after: State = state, made: tuple[int, int, int] = (read, write, perm), *, second: bool = second) -> State:
            return moved(after, number, (phase, second, *made))

        def end(code: int, queue: int | None = None, offset: int | None = None, after: State = state) -> State:
            return moved(after, number, ("done", code, queue, offset))

        free = (table, ends, None, jobs)
        if phase == "arrived":
            code = self._refusal(request.topic, config)
            yield end(code) if code else at("missing") if config is None else at("checked", made=config[:3])
        elif phase == "missing":
            if holder is None:
                yield at("locked", (table, ends, number, jobs))
            if request.patient and (holder is not None or self.crowded):
                yield at("failed")
        elif phase == "locked":
            yield at("template") if config is None else at("found", made=config[:3])
        elif phase == "found":
            yield at("checked", free)
        elif phase == "template":
            d = self.topics.index(request.default)
            source = table[d]
            if second:
                yield at("built", state, (1, 1, 6))
            elif source is None:
                yield at("refused")
            else:
                if request.default == TEMPLATE and not self.auto_create:
                    source = (*source[:2], 6, source[3])
                yield at("inherit", (changed_at(table, d, source), ends, holder, jobs), source[:3])
        elif phase == "inherit":
            source = table[self.topics.index(request.default)] or (read, write, perm, False)  # deleted since
            if source[2] & 1:
                wide = max(0, min(request.numbers, source[1]))
                yield at("built", state, (wide, wide, source[2] - 1))
            else:
                yield at("refused")
        elif phase == "built":
            yield at("put", (changed_at(table, t, (read, write, perm, False)), ends, holder, jobs))
        elif phase == "put":
            yield at("checked", free)
        elif phase == "refused":
            yield at("failed", free)
        elif phase == "failed":
            if self.kind(request.topic) == "retry" and not second:
                yield at("missing", second=True) if config is None else at("checked", made=config[:3], second=True)
            else:
                yield end(17)
        elif phase == "checked":
            yield at("here") if request.queue < max(read, write) else end(self.illegal)
        elif phase == "here":
            yield from self._stored(state, number, request, t, write)

    def _stored(self, state: State, number: int, request: Asked, t: int, had: int) -> Iterator[State]:
        """`had`: the number of write queues at the topic's lookup."""
        table, ends, holder, jobs = state
        config = table[t]
        write = had if config is None else config[1]
        if config is None:  # deleted since
            yield moved(state, number, ("done", 1, None, None))
        if request.queue < 0 and write == 0:
            yield moved(state, number, ("done", 1, None, None))
        elif self.profile not in SWITCHED and self.kind(request.topic) == "long":
            yield moved(state, number, ("done", 13, None, None))
        else:
            for queue in (request.queue,) if request.queue >= 0 else range(write):
                next_ = counter(ends, t, queue)
                after = (table, counted(ends, t, queue, next_ + request.count), holder, jobs) if request.counted else state
                yield moved(after, number, ("done", 0, queue, next_ if request.counted else 0))

    @property
    def illegal(self) -> int:
        """The response code for an illegal name or queue id."""
        return 29 if self.profile == "P533" else 1

    def _refusal(self, topic: str, config: Config | None) -> int:
        if not self.permission & 2 and config is not None and config[3]:
            return 16
        if self.profile in SWITCHED:
            return {"blank": self.illegal, "illegal": self.illegal, "long": self.illegal, "forbidden": 16}.get(self.kind(topic), 0)
        return int(topic == TEMPLATE)

    def fits(self, request: Asked, job: Job | None) -> bool:
        """Return whether a request is over with the recorded response."""
        if job is None or job[0] != "done" or request.answer is None:
            return False
        if request.op == "delete_topic":
            return (job[1] == "deleted") == (request.answer[0] == 0)
        if request.op == "update_topic":
            return (job[1] == "updated") == (request.answer[0] == 0)
        if request.op == "topic_config":
            return bool(job[1] == request.answer[0])
        if request.op == "max_offset":
            return bool(0 <= request.answer[0] <= job[1])
        code, queue, offset = request.answer
        if request.op == "bodiless":
            return bool(code == 1)
        if job[1] == 0:
            return bool(code in STORED and (queue, offset) == job[2:])
        return bool(code == job[1])


def moved(state: State, number: int, job: Job | None) -> State:
    return (*state[:3], (*state[3][:number], job, *state[3][number + 1 :]))


def changed_at(table: tuple[Config | None, ...], t: int, config: Config | None) -> tuple[Config | None, ...]:
    return (*table[:t], config, *table[t + 1 :])


def without_a_queue(state: State, t: int) -> Iterator[State]:
    """Return a missing topic's possible configuration: with one queue removed."""
    table, ends, *rest = state
    for queue in [q for topic, q, _ in ends if topic == t] if table[t] is None else []:
        yield table, counted(ends, t, queue, 0), *rest


def counter(ends: tuple[tuple[int, int, int], ...], t: int, queue: int) -> int:
    return next((n for topic, q, n in ends if (topic, q) == (t, queue)), 0)


def counted(ends: tuple[tuple[int, int, int], ...], t: int, queue: int, n: int) -> tuple[tuple[int, int, int], ...]:
    return tuple(sorted([*(e for e in ends if e[:2] != (t, queue)), *([(t, queue, n)] if n else [])]))
