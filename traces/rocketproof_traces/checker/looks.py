"""What a broker and a name server answer of topics, queues and routes: looks at the state, which change nothing."""

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

from ..history.cases import Config
from .machine import Machine, bits
from .onestep import OVER, OneStep
from .steps import Local, RequestStep


@dataclass(frozen=True, eq=False)
class Described(OneStep):
    """What the broker answered about a topic: its configuration, None if it had none."""

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
    """How far a queue was, as the broker said: no further than its records go, and as far as it said before (`least`). The dispatcher may
    be behind; where the queue's topic was deleted, entries of records from before may follow, or none."""

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
    return plain(begins_at, Int(NO_OFFSET, LARGEST_OFFSET), Bool, Bool, Bool)


@dataclass(frozen=True, eq=False)
class OffsetQuery(OneStep):
    """Where a group goes on in a queue, as the broker answered: with `code`, and the `offset` if there is one. `counters`: those
    of the queue, none if there are none; the dispatcher may be behind. `anywhere` and `zero` as in the rule. `filled`: the queue may have
    had records before."""

    machine: Machine
    place: int
    counters: tuple[int, ...]
    anywhere: bool
    zero: bool
    code: int
    offset: int | None
    filled: bool = False
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("progressed", self.place, self.zero)

    def future(self, local: Local) -> tuple[int, int]:
        return bits((self.machine.told_slot(self.place), *self.counters)), -1

    def right(self, shared: State) -> set[int]:
        """The offsets that may be answered."""
        told, some = shared[self.machine.told_slot(self.place)], self.filled or any(shared[slot] > 0 for slot in self.counters)
        return {_begins_at()((told, self.anywhere, self.zero, first)) for first in {False, some}}

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        answered = self.offset if self.code == SUCCESS else NO_OFFSET if self.code == QUERY_NOT_FOUND else None
        reads = bits((self.machine.told_slot(self.place), *self.counters))
        return [RequestStep("progress", shared, None, reads, 0, dead=answered not in self.right(shared))]


@dataclass(frozen=True, eq=False)
class Routed(OneStep):
    """What the name server said that the broker has of a topic, None if nothing; `code` is the answer's."""

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
        """Whether any route is answered so."""
        return self.code == (17 if self.config is None else 0)

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        if not self.machine.shape.routes:  # nobody takes a slave's topics (NS-05)
            return [RequestStep("route", shared, None, 0, 0, dead=not self.possible or self.config is not None)]
        dead = not self.possible or self.machine.route(shared, self.topic) != self.config
        return [RequestStep("route", shared, None, self.machine.route_slots, 0, dead=dead)]


__all__ = ["Described", "OffsetQuery", "MaxOffsetQuery", "Routed"]
