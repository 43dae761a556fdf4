"""What happens though nobody whose request is judged asks for it: what the broker does by itself, and what others have it do.

Each is a request without an answer. Those that never end may be served again and again.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from rocketproof_model.interpreter import State
from rocketproof_protocol.numbers import LONG
from rocketproof_spec.committing import NO_OFFSET

from .machine import Machine, bits
from .onestep import OVER, OneStep
from .steps import Local, RequestStep


@dataclass(frozen=True, eq=False)
class Cleaned(OneStep):
    """What deletions of other topics do, and a deletion that is not over yet: the queues of topics that are not there are taken away. It
    never ends."""

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
class Outlived(OneStep):
    """A queue goes on that outlived the deletion of its topic. It never ends."""

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
class Begun(OneStep):
    """Where a queue began that was there before the history, whose topic is deleted in it: at one of the offsets that are told. As long as
    nothing has come to it nobody knows which."""

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
class Remembered(OneStep):
    """What a group told before the history: one of the offsets that it is answered, as long as it has told none in it."""

    machine: Machine
    place: int
    offsets: tuple[int, ...]
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("remembered", self.place)

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        slot = self.machine.told_slot(self.place)
        if shared[slot] != NO_OFFSET:
            return [RequestStep("remember", shared, None, 1 << slot, 1 << slot, dead=True)]
        return [
            RequestStep("remember", self.machine.assigned(shared, {slot: offset}), None, 1 << slot, 1 << slot) for offset in self.offsets
        ]


@dataclass(frozen=True, eq=False)
class Registering(OneStep):
    """The broker's registrations and their way to the name server; they never end."""

    machine: Machine
    start: Local = OVER
    kind: Hashable = "registering"

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        machine, found = self.machine, []
        state = shared + machine.idle
        for function, reads in machine.registering:
            if function.enabled(state, (0,)):
                writes = bits(function.changes(state, 0)[::2])  # what differs is more than the deciding slots tell
                found.append(machine.step(function, (0,), shared, machine.idle, reads)._replace(local=OVER, writes=writes))
        return found


@dataclass(frozen=True, eq=False)
class Filled(OneStep):
    """What others store in a queue that all clients of a broker share, of delayed or of half messages: nobody knows how much. An offset
    that an answer `claims` is left to that request; one that it may claim (`maybe`) can be passed over. Where others may take the queue
    away by a deletion, it can begin anew (`begins`), and come to any of them again. It never ends."""

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
class Adopted(OneStep):
    """What a broker has after a request that the specification does not speak of, as it was recorded: codes of shared slots."""

    machine: Machine
    codes: Mapping[int, int]
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("adopted", tuple(self.codes.items()))

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        after = self.machine.assigned(shared, self.codes)
        # What a deciding slot holds already is only looked at: most requests leave their topic as it was, and what the broker stores in
        # its queues can then come before or after. Of other slots footprints do not know what they hold.
        same = bits(slot for slot, code in self.codes.items() if slot in self.machine.deciding and shared[slot] == code)
        return [RequestStep("adopt", after, None, same, bits(self.codes) & ~same)]


@dataclass(frozen=True, eq=False)
class Reduced(OneStep):
    """The creation of a topic that is not in this part takes INHERIT from the template (TCM-13)."""

    machine: Machine
    start: Local = OVER
    kind: Hashable = "reduced"

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        slot = self.machine.first["config.perm"]
        after = self.machine.assigned(shared, {slot: 6})
        return [RequestStep("template_found elsewhere", after, None, 1 << slot, 0 if after == shared else 1 << slot)]


__all__ = ["Adopted", "Begun", "Cleaned", "Filled", "Outlived", "Reduced", "Registering"]
