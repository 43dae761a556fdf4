"""What clients ask of a broker, as requests whose steps are the specification's actions.

Sends and batches run a handler of the specification from `arrived` to `answered`; a batch of n takes n offsets at once. A topic
update is one step; what a broker answers about a topic or a queue looks at the state. A record that the broker stores by itself starts
where the checks are behind it.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rocketproof_model.functions import Function
from rocketproof_model.interpreter import State
from rocketproof_model.language import JAVA_INT
from rocketproof_protocol.codes import (
    MESSAGE_ILLEGAL,
    NO_PERMISSION,
    SERVICE_NOT_AVAILABLE,
    SUBSCRIPTION_GROUP_NOT_EXIST,
    SUCCESS,
    SYSTEM_ERROR,
    TOPIC_NOT_EXIST,
)

from ..history.cases import STATUSES, Config
from .machine import Machine, Right, bits
from .shape import ONE_IN_FLIGHT
from .steps import Alone, Local, Move

OVER: Local = (0,)
JAVA_LONG = 1 << 63
SAME_TOPIC = "another topic"
"""The guard that refuses an update which changes nothing; it is answered with success all the same."""
COUNTED = ("not", "commit")
ANSWERS = {
    SUCCESS: "SUCCESS",
    SYSTEM_ERROR: "SYSTEM_ERROR",
    MESSAGE_ILLEGAL: "MESSAGE_ILLEGAL",
    NO_PERMISSION: "NO_PERMISSION",
    TOPIC_NOT_EXIST: "TOPIC_NOT_EXIST",
    SERVICE_NOT_AVAILABLE: "SERVICE_NOT_AVAILABLE",
    SUBSCRIPTION_GROUP_NOT_EXIST: "SUBSCRIPTION_GROUP_NOT_EXIST",
}
"""The specification's words for the codes of answers to sends."""
Claims = frozenset[tuple[int, int, int]]
Lying = tuple[int, int, int, str]
"""A record: its topic, queue, offset and kind."""


class Ended(NamedTuple):
    """A recorded answer to a send: the specification's words for its code (none: no word), the queue and the offset.

    `against` is what else was recorded that no such answer goes with; `actions` are those that refuse with the recorded remark, none
    where it tells nothing. `records` are those that the request stored, as far as that was recorded. `shows`: an answer of this kind has
    the record's queue and offset. `note` tells where they lie, where that is not where the request asks for.
    """

    code: int
    queue: int | None = None
    offset: int | None = None
    against: str = ""
    actions: frozenset[str] = frozenset()
    records: tuple[Lying, ...] = ()
    shows: bool = True
    note: str = ""

    def words(self, illegal_code: int = 1) -> tuple[str, ...]:
        if self.against:
            return ()
        if self.code in STATUSES:
            return ("SUCCESS",)
        word = ANSWERS.get(self.code)
        words = () if word is None else (word,)
        return ("SYSTEM_ERROR", *words) if self.code == illegal_code and word != "SYSTEM_ERROR" else words

    def __str__(self) -> str:
        named = f"code {self.code}" + (f" {ANSWERS[self.code]}" if self.code in ANSWERS else "")
        named += f", queue {self.queue}, offset {self.offset}" if self.shows and (self.code == SUCCESS or self.code in STATUSES) else ""
        return ", ".join(text for text in (named, self.against or self.note) if text)


@dataclass(eq=False)
class Send:
    """A message or a batch of `count`; or what stores a record otherwise, as a send-back. `ended` is None if nobody knows how it ended.

    `others` are other ways to begin, for what nobody knows of the record that the request names.

    `claims` are the offsets that other answers name: a request without an answer cannot have taken one of them. `patient`: it was
    under way for longer than a broker waits for its lock.
    """

    machine: Machine
    start: Local
    topic: int
    numbers: int
    count: int = 1
    ended: Ended | None = None
    claims: Claims = frozenset()
    patient: bool = True
    illegal_code: int = 1
    others: tuple[Local, ...] = ()

    draws: tuple[int, ...] = field(init=False)
    kind: Hashable = field(init=False)

    def __post_init__(self) -> None:
        self.draws = self._draws()
        self.kind = ("send", self.count, self.draws, self.patient, self.others)
        self._words = () if self.ended is None else self.ended.words(self.illegal_code)
        self._right = Right() if self.ended is None else Right(self._words or ("",), self.ended.queue)

    def _draws(self) -> tuple[int, ...]:
        """The random numbers that matter to a negative queue id: the answered queue, or any."""
        if self.machine.read(self.start, "queue") >= 0:
            return (0,)
        if self.ended is not None:
            return (self.ended.queue or 0,)
        return tuple(range(self.machine.shape.queues))

    @property
    def stateless(self) -> bool:
        return self.ended is not None and not any(self.machine.ends(begun, self._right) for begun in (self.start, *self.others))

    @property
    def giving_up(self) -> bool:
        """Whether a timed-out wait for the lock leads anywhere: to the recorded answer, or to the second way of a retry topic (TCM-20)."""
        answered = "TOPIC_NOT_EXIST" in self._words
        return self.patient and (answered or self.machine.shape.classes[self.topic] == "retry")

    def moves(self, shared: State, local: Local) -> Sequence[Move]:
        machine, answer = self.machine, self.machine.columns["answer"]
        if self.others and local == self.start:
            return [move for begun in (local, *self.others) for move in replace(self, start=begun, others=()).moves(shared, begun)]
        found = []
        for function, args, reads, own in machine.enabled(shared, local, self.draws):
            name = function.action.name
            if not self.patient and name == "lock_timeout":
                continue
            move = Move(name, shared, own, reads, 0) if own is not None else machine.step(function, args, shared, local, reads)
            assert move.local is not None
            found.append(self._end(move, move.local) if move.local[answer] else move)
        return found or machine.waiting(shared)

    def alone(self, shared: State, local: Local) -> Alone | None:
        way = None if self.others else self.machine.straight(shared, local, self.draws)
        if way is None:
            return None
        function, args, reads, _ = way.last
        last = self.machine.step(function, args, shared, way.local, reads)
        assert last.local is not None
        if last.writes & self.machine.deciding_bits:
            return None
        return Alone(way.labels, self._end(last, last.local))

    def forced(self, shared: State, local: Local) -> Move | None:
        return None if self.others else self.machine.forced(shared, local, self.draws, self._right)

    def future(self, local: Local) -> tuple[int, int]:
        reads = writes = 0
        for begun in (local, *self.others) if local == self.start else (local,):
            more = self.machine.future(begun, self._right)
            reads, writes = reads | more[0], writes | more[1]
        return reads, writes

    def canonical(self, local: Local) -> Local:
        return self.machine.canonical(local, self._right)

    def _end(self, move: Move, local: Local) -> Move:
        """The answered request: is it the recorded answer?"""
        word, shared = self.machine.word(local), move.shared
        offset = self.machine.read(local, "offset")
        counted = move.writes and word == "SUCCESS"
        topic, queue, kind = self.machine.place(local)
        if counted and self.count != 1:
            slot = self.machine.offset_slot(topic, queue)
            shared = self.machine.assigned(shared, {slot: shared[slot] + self.count - 1})
        if self.ended is None:
            right = not counted or not any((topic, queue, o) in self.claims for o in range(offset, offset + self.count))
        else:
            right = self.ends_in(word, move.label) and (word != "SUCCESS" or self._stored_as_told((topic, queue, offset, kind), local))
        return Move(move.label, shared, None, move.reads, move.writes, dead=not right)

    def _stored_as_told(self, record: Lying, local: Local) -> bool:
        """Whether a stored record is where the answer says, and what was recorded of it."""
        assert self.ended is not None
        topic, queue, offset, kind = record
        if self.ended.shows and (self.machine.read(local, "queue"), offset) != (self.ended.queue, self.ended.offset):
            return False
        return all(one == (topic, queue, offset + k, kind) for k, one in enumerate(self.ended.records))

    def ends_in(self, word: str, action: str) -> bool:
        """Whether the recorded answer has this word, and a remark that goes with the action by which it ends."""
        return word in self._words and (self.ended is None or not self.ended.actions or action in self.ended.actions)

    def answer(self, local: Local) -> str:
        """What the specification answers here."""
        word = self.machine.word(local)
        if word != "SUCCESS":
            return word
        if self.ended is not None and not self.ended.shows:
            return word
        return f"SUCCESS, queue {self.machine.read(local, 'queue')}, offset {self.machine.read(local, 'offset')}"


class _OneStep:
    """A request that takes effect at one time."""

    @property
    def stateless(self) -> bool:
        return False

    def alone(self, shared: State, local: Local) -> Alone | None:
        return None

    def forced(self, shared: State, local: Local) -> Move | None:
        return None

    def future(self, local: Local) -> tuple[int, int]:
        return 0, -1

    def canonical(self, local: Local) -> Local:
        return local


@dataclass(frozen=True, eq=False)
class Update(_OneStep):
    """A topic created or changed by an administrator. `code` is the answer's, None if nobody knows it. `illegal_code` answers an illegal
    name, None if any code but success does. It waits until no registration is in flight."""

    machine: Machine
    topic: int
    wanted: Config
    code: int | None = None
    illegal_code: int | None = None
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("update", self.args)

    @property
    def args(self) -> tuple[int, ...]:
        return (0, self.topic, self.wanted.read, self.wanted.write, self.wanted.perm)

    @property
    def function(self) -> Function:
        return self.machine.ordered if self.wanted.order else self.machine.update

    def moves(self, shared: State, local: Local) -> Sequence[Move]:
        machine = self.machine
        state = shared + machine.idle
        function = self.function
        reads = bits(s for s in function.reads(state, self.args) if s < machine.shared)
        refused = function.guard(state, self.args)
        if refused is not None:
            if refused.name == ONE_IN_FLIGHT:
                return machine.waiting(shared)
            illegal = self.code != 0 if self.illegal_code is None else self.code == self.illegal_code
            right = {"proper name": illegal, SAME_TOPIC: self.code == 0}.get(refused.name, False)
            return [Move("refuse_update", shared, None, reads, 0, dead=not right and self.code is not None)]
        move = machine.step(function, self.args, shared, machine.idle, reads)
        return [move._replace(local=None, dead=self.code not in (0, None))]


@dataclass(frozen=True, eq=False)
class Refused(_OneStep):
    """What is answered with a code before anything else, whatever the broker has. `code` is the answer's, None if nobody knows it."""

    machine: Machine
    right: int
    why: str
    code: int | None = None
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("refused", self.right)

    @property
    def stateless(self) -> bool:
        return True

    def moves(self, shared: State, local: Local) -> Sequence[Move]:
        return [Move("refuse", shared, None, 0, 0, dead=self.code not in (self.right, None))]


@dataclass(frozen=True, eq=False)
class Regrouped(_OneStep):
    """A group made, changed or deleted, by its retry topic; `group` is whether it is known then, its limit and its queues. `code` is the
    answer's, None if nobody knows it."""

    machine: Machine
    topic: int
    group: tuple[int, int, int]
    code: int | None
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("regrouped", self.topic, self.group)

    def moves(self, shared: State, local: Local) -> Sequence[Move]:
        move = self.machine.step(self.machine.regroup, (0, self.topic, *self.group), shared, self.machine.idle, 0)
        return [move._replace(local=None, dead=self.code not in (SUCCESS, None))]


@dataclass(frozen=True, eq=False)
class Described(_OneStep):
    """What the broker answered about a topic: its configuration, None if it had none."""

    machine: Machine
    topic: int
    config: Config | None
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("described", self.topic)

    def moves(self, shared: State, local: Local) -> Sequence[Move]:
        reads = bits(self.machine.config_slots(self.topic))
        return [Move("topic_config", shared, None, reads, 0, dead=self.machine.config(shared, self.topic) != self.config)]


@dataclass(frozen=True, eq=False)
class Reached(_OneStep):
    """How far a queue was, as the broker said: no further than its records go, and as far as it said before (`least`). The dispatcher may
    be behind."""

    machine: Machine
    topic: int
    queue: int
    offset: int
    least: int = 0
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("reached", self.topic, self.queue)

    def moves(self, shared: State, local: Local) -> Sequence[Move]:
        if not 0 <= self.queue < self.machine.shape.queues:
            return [Move("max_offset", shared, None, 0, 0, dead=self.offset != 0)]
        slot = self.machine.offset_slot(self.topic, self.queue)
        return [Move("max_offset", shared, None, 1 << slot, 0, dead=not self.least <= self.offset <= shared[slot])]

    def future(self, local: Local) -> tuple[int, int]:
        return (1 << self.machine.offset_slot(self.topic, self.queue) if 0 <= self.queue < self.machine.shape.queues else 0), -1


@dataclass(frozen=True, eq=False)
class Routed(_OneStep):
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

    def moves(self, shared: State, local: Local) -> Sequence[Move]:
        if not self.machine.shape.routes:  # nobody takes a slave's topics (NS-05)
            return [Move("route", shared, None, 0, 0, dead=not self.possible or self.config is not None)]
        dead = not self.possible or self.machine.route(shared, self.topic) != self.config
        return [Move("route", shared, None, self.machine.route_slots, 0, dead=dead)]


@dataclass(frozen=True, eq=False)
class Registering(_OneStep):
    """The broker's registrations and their way to the name server; they never end."""

    machine: Machine
    start: Local = OVER
    kind: Hashable = "registering"

    def moves(self, shared: State, local: Local) -> Sequence[Move]:
        machine, found = self.machine, []
        state = shared + machine.idle
        for function, reads in machine.registering:
            if function.enabled(state, (0,)):
                writes = bits(function.changes(state, 0)[::2])  # what differs is more than the deciding slots tell
                found.append(machine.step(function, (0,), shared, machine.idle, reads)._replace(local=OVER, writes=writes))
        return found


@dataclass(frozen=True, eq=False)
class Filled(_OneStep):
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

    def moves(self, shared: State, local: Local) -> Sequence[Move]:
        slot = self.machine.offset_slot(self.topic, self.queue)
        now = shared[slot]
        last = min((offset for offset in self.claimed if offset >= now), default=JAVA_LONG)
        ends = [offset for offset in (*self.maybe, *self.claimed) if now < offset <= last or (self.begins and offset != now)]
        moves = [Move("filled", self.machine.assigned(shared, {slot: end}), OVER, 1 << slot, 1 << slot) for end in ends]
        return moves or [Move("filled", shared, None, 1 << slot, 1 << slot, dead=True)]  # what it touches depends on no offset


@dataclass(frozen=True, eq=False)
class Adopted(_OneStep):
    """What a broker has after a request that the specification does not speak of, as it was recorded: codes of shared slots."""

    machine: Machine
    codes: Mapping[int, int]
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("adopted", tuple(self.codes.items()))

    def moves(self, shared: State, local: Local) -> Sequence[Move]:
        after = self.machine.assigned(shared, self.codes)
        # What a deciding slot holds already is only looked at: most requests leave their topic as it was, and what the broker stores in
        # its queues can then come before or after. Of other slots footprints do not know what they hold.
        same = bits(slot for slot, code in self.codes.items() if slot in self.machine.deciding and shared[slot] == code)
        return [Move("adopt", after, None, same, bits(self.codes) & ~same)]


@dataclass(frozen=True, eq=False)
class Reduced(_OneStep):
    """The creation of a topic that is not in this part takes INHERIT from the template (TCM-13)."""

    machine: Machine
    start: Local = OVER
    kind: Hashable = "reduced"

    def moves(self, shared: State, local: Local) -> Sequence[Move]:
        slot = self.machine.first["config.perm"]
        after = self.machine.assigned(shared, {slot: 6})
        return [Move("template_found elsewhere", after, None, 1 << slot, 0 if after == shared else 1 << slot)]


def fits_int(*numbers: int) -> bool:
    """Whether all are 32-bit ints."""
    low, high = JAVA_INT
    return min(numbers) >= low and max(numbers) <= high


__all__ = [
    "COUNTED",
    "OVER",
    "Adopted",
    "Claims",
    "Ended",
    "Filled",
    "Reached",
    "Reduced",
    "Registering",
    "Routed",
    "Described",
    "Lying",
    "Refused",
    "Regrouped",
    "Send",
    "Update",
    "fits_int",
]
