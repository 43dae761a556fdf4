"""Steps that no judged request asks for: what the broker does by itself, and what requests outside the partition make it do.

Each is modelled as a request without an answer. Those that never end can be served repeatedly.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from rocketproof_model.interpreter import State
from rocketproof_protocol.numbers import LONG
from rocketproof_spec.committing import NO_OFFSET

from .machine import Machine, bits
from .steps import OVER, Local, OneStep, RequestStep


@dataclass(frozen=True, eq=False)
class QueueCleanup(OneStep):
    """The removal of queues whose topics do not exist, by deletions of other topics or by a deletion that has not ended. It never ends."""

    machine: Machine
    topics: tuple[int, ...]
    start: Local = OVER
    kind: Hashable = "cleaned"

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        known = bits(self.machine.config_slots(topic)[0] for topic in self.topics)
        gone = [topic for topic in self.topics if not shared[self.machine.config_slots(topic)[0]]]
        if not gone:
            return [RequestStep("clean", shared, None, known, 0, dead=True)]
        move = self.machine.deleted(shared, gone[0])
        return [move._replace(local=OVER, reads=move.reads | known)]


@dataclass(frozen=True, eq=False)
class OutlivedQueue(OneStep):
    """A queue that outlived the deletion of its topic and continues. It never ends."""

    machine: Machine
    topic: int
    queue: int
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("outlived", self.topic, self.queue)

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        machine, args = self.machine, (0, self.topic, self.queue)
        slots = 1 << machine.offset_slot(self.topic, self.queue) | 1 << machine.outlived_slot(self.topic, self.queue)
        if not machine.outlive.enabled(shared + machine.idle, args):
            return [RequestStep("outlive", shared, None, slots, slots, dead=True)]  # what it touches depends on no offset
        return [machine.step(machine.outlive, args, shared, machine.idle, slots)._replace(local=OVER, writes=slots)]


@dataclass(frozen=True, eq=False)
class InitialQueueOffset(OneStep):
    """The initial offset of a queue that existed before the history and whose topic is deleted in it. It is one of `offsets`, the
    offsets in answers. The value is open until a record is stored in the queue."""

    machine: Machine
    topic: int
    queue: int
    offsets: tuple[int, ...]
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("begun", self.topic, self.queue)

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        slot, left = self.machine.offset_slot(self.topic, self.queue), self.machine.outlived_slot(self.topic, self.queue)
        slots = 1 << slot | 1 << left
        if shared[slot] or shared[left]:
            return [RequestStep("begin", shared, None, slots, slots, dead=True)]
        return [RequestStep("begin", self.machine.assigned(shared, {slot: offset}), None, slots, slots) for offset in self.offsets]


@dataclass(frozen=True, eq=False)
class InitialGroupOffset(OneStep):
    """The offset that a group committed before the history. It is one of `offsets`, the offsets in answers, and holds until the group
    commits in the history."""

    machine: Machine
    place: int
    offsets: tuple[int, ...]
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("remembered", self.place)

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        slot = self.machine.group_offset_slot(self.place)
        if shared[slot] != NO_OFFSET:
            return [RequestStep("remember", shared, None, 1 << slot, 1 << slot, dead=True)]
        return [
            RequestStep("remember", self.machine.assigned(shared, {slot: offset}), None, 1 << slot, 1 << slot) for offset in self.offsets
        ]


@dataclass(frozen=True, eq=False)
class BrokerRegistrations(OneStep):
    """The broker's registrations and their delivery to the name server. They never end."""

    machine: Machine
    start: Local = OVER
    kind: Hashable = "registering"

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        machine, steps = self.machine, []
        state = shared + machine.idle
        for function, reads in machine.registering:
            if function.enabled(state, (0,)):
                writes = bits(function.changes(state, 0)[::2])  # all assigned slots: the deciding slots do not show which ones differ
                steps.append(machine.step(function, (0,), shared, machine.idle, reads)._replace(local=OVER, writes=writes))
        return steps


@dataclass(frozen=True, eq=False)
class ForeignRecords(OneStep):
    """Records that other clients store in a queue shared by all clients of a broker: the queue of a delay level or of half messages.
    Their number is unknown. It never ends.

    Offsets in `claimed` are reserved for the requests whose answers name them. Offsets in `maybe` may be claimed, so they can also be
    skipped. `begins`: a deletion by other clients can remove the queue, so it can start again at any of these offsets.
    """

    machine: Machine
    topic: int
    queue: int
    claimed: tuple[int, ...]
    maybe: tuple[int, ...] = ()
    begins: bool = False
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("filled", self.topic, self.queue)

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        slot = self.machine.offset_slot(self.topic, self.queue)
        now = shared[slot]
        last = min((offset for offset in self.claimed if offset >= now), default=LONG[-1])
        ends = [offset for offset in (*self.maybe, *self.claimed) if now < offset <= last or (self.begins and offset != now)]
        moves = [RequestStep("filled", self.machine.assigned(shared, {slot: end}), OVER, 1 << slot, 1 << slot) for end in ends]
        return moves or [RequestStep("filled", shared, None, 1 << slot, 1 << slot, dead=True)]  # what it touches depends on no offset


@dataclass(frozen=True, eq=False)
class AdoptedState(OneStep):
    """The recorded state after a request that the specification does not cover: codes of shared slots."""

    machine: Machine
    codes: Mapping[int, int]
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("adopted", tuple(self.codes.items()))

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        after = self.machine.assigned(shared, self.codes)
        # A deciding slot that already has its code counts as a read. Most requests leave their topic unchanged, so the records that the
        # broker stores can come before or after. Footprints do not know the values of other slots.
        same = bits(slot for slot, code in self.codes.items() if slot in self.machine.deciding and shared[slot] == code)
        return [RequestStep("adopt", after, None, same, bits(self.codes) & ~same)]


@dataclass(frozen=True, eq=False)
class TemplateReduction(OneStep):
    """The creation of a topic outside this partition removes INHERIT from the template (TCM-13)."""

    machine: Machine
    start: Local = OVER
    kind: Hashable = "reduced"

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        slot = self.machine.first["config.perm"]
        after = self.machine.assigned(shared, {slot: 6})
        return [RequestStep("template_found elsewhere", after, None, 1 << slot, 0 if after == shared else 1 << slot)]


__all__ = [
    "AdoptedState",
    "InitialQueueOffset",
    "QueueCleanup",
    "ForeignRecords",
    "OutlivedQueue",
    "TemplateReduction",
    "BrokerRegistrations",
]
