"""Queries about topics, queues, offsets and routes: requests that read the state of a broker or a name server and do not change it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cache

from rocketproof_model.interpreter import State
from rocketproof_model.language import Bool, Int
from rocketproof_protocol.codes import QUERY_NOT_FOUND, SUCCESS
from rocketproof_spec.bounds import plain
from rocketproof_spec.committing import NO_OFFSET, begins_at
from rocketproof_spec.scope import LARGEST_OFFSET

from ..history.covered import Config
from .machine import Machine, bits
from .steps import OVER, Local, OneStep, RequestStep


@dataclass(frozen=True, eq=False)
class TopicConfigQuery(OneStep):
    """A query for a topic's configuration. `config` is the answered configuration, None if the broker has no such topic."""

    machine: Machine
    topic: int
    config: Config | None
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("described", self.topic)

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        reads = bits(self.machine.config_slots(self.topic))
        return [RequestStep("topic_config", shared, None, reads, 0, dead=self.machine.config(shared, self.topic) != self.config)]


@dataclass(frozen=True, eq=False)
class MaxOffsetQuery(OneStep):
    """A query for the end of a queue. The answer is at most the queue's record count, because the dispatcher may lag. It is at least
    `least`, the greatest earlier answer.

    If the queue's topic was deleted, entries of earlier records may still follow.
    """

    machine: Machine
    topic: int
    queue: int
    offset: int
    least: int = 0
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("reached", self.topic, self.queue)

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        if not self.counters:
            return [RequestStep("max_offset", shared, None, 0, 0, dead=self.offset != 0)]
        dead = not self.least <= self.offset <= max(shared[slot] for slot in self.counters)
        return [RequestStep("max_offset", shared, None, bits(self.counters), 0, dead=dead)]

    @property
    def counters(self) -> tuple[int, ...]:
        return self.machine.counters(self.topic, self.queue)

    def future(self, local: Local) -> tuple[int, int]:
        return bits(self.counters), -1


@cache
def _begins_at() -> Callable[..., int]:
    return plain(begins_at, Int(NO_OFFSET, LARGEST_OFFSET), Bool, Bool, Bool, Bool)


@dataclass(frozen=True, eq=False)
class OffsetQuery(OneStep):
    """A query for the offset at which a group continues in a queue, answered with `code` and with `offset` if there is one.

    `counters` are the slots of the queue, none if the queue does not exist; the dispatcher may lag. `zero`: the request allows 0 without a
    committed offset. `filled`: the queue may have had records before the history.
    """

    machine: Machine
    place: int
    counters: tuple[int, ...]
    zero: bool
    code: int
    offset: int | None
    filled: bool = False
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("progressed", self.place, self.zero)

    def future(self, local: Local) -> tuple[int, int]:
        return bits((self.machine.group_offset_slot(self.place), *self.counters)), -1

    def allowed_offsets(self, shared: State) -> set[int]:
        """Return the offsets that may be answered; `NO_OFFSET` stands for no offset."""
        committed, some = shared[self.machine.group_offset_slot(self.place)], self.filled or any(shared[slot] > 0 for slot in self.counters)
        given = self.machine.instance.constants
        anywhere, heeds = given["begins_anywhere"], given["heeds_set_zero"]
        return {_begins_at()((committed, anywhere, heeds, self.zero, first)) for first in {False, some}}

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        answered = self.offset if self.code == SUCCESS else NO_OFFSET if self.code == QUERY_NOT_FOUND else None
        reads = bits((self.machine.group_offset_slot(self.place), *self.counters))
        return [RequestStep("progress", shared, None, reads, 0, dead=answered not in self.allowed_offsets(shared))]


@dataclass(frozen=True, eq=False)
class RouteQuery(OneStep):
    """A query to the name server for the broker's route of a topic. `config` is the answered route, None if there is none; `code` is the
    answer's code."""

    machine: Machine
    topic: int
    config: Config | None
    code: int
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("routed", self.topic)

    @property
    def possible(self) -> bool:
        """Whether the code matches the answer: 0 with a route, 17 without."""
        return self.code == (17 if self.config is None else 0)

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        if not self.machine.shape.routes:  # the name server ignores a slave's topics (NS-05)
            return [RequestStep("route", shared, None, 0, 0, dead=not self.possible or self.config is not None)]
        dead = not self.possible or self.machine.route(shared, self.topic) != self.config
        return [RequestStep("route", shared, None, self.machine.route_slots, 0, dead=dead)]


__all__ = ["TopicConfigQuery", "OffsetQuery", "MaxOffsetQuery", "RouteQuery"]
