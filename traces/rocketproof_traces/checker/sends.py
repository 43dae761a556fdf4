"""Sends and batches as requests whose steps are the specification's actions.

A send runs a handler of the specification from `arrived` to `answered`. A batch of n messages takes n offsets at once. A record that the
broker stores by itself starts after the checks.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rocketproof_model.interpreter import State
from rocketproof_protocol.codes import (
    INVALID_PARAMETER,
    MESSAGE_ILLEGAL,
    NO_PERMISSION,
    SERVICE_NOT_AVAILABLE,
    SUBSCRIPTION_GROUP_NOT_EXIST,
    SUCCESS,
    SYSTEM_ERROR,
    TOPIC_NOT_EXIST,
)
from rocketproof_protocol.numbers import INT

from ..history.covered import STATUSES
from .machine import EndCondition, Machine
from .steps import Local, OnlyPath, RequestStep

ANSWERS = {
    SUCCESS: "SUCCESS",
    SYSTEM_ERROR: "SYSTEM_ERROR",
    MESSAGE_ILLEGAL: "MESSAGE_ILLEGAL",
    NO_PERMISSION: "NO_PERMISSION",
    TOPIC_NOT_EXIST: "TOPIC_NOT_EXIST",
    SERVICE_NOT_AVAILABLE: "SERVICE_NOT_AVAILABLE",
    INVALID_PARAMETER: "INVALID_PARAMETER",
    SUBSCRIPTION_GROUP_NOT_EXIST: "SUBSCRIPTION_GROUP_NOT_EXIST",
}
"""The specification's words for the codes of answers to sends."""
Claims = frozenset[tuple[int, int, int]]
RecordPlace = tuple[int, int, int, str]
"""A record: its topic, queue, offset and kind."""


class SendResponse(NamedTuple):
    """A recorded answer to a send: its code, and the queue and the offset of the record.

    * `against`: a recorded fact that contradicts any such answer.
    * `actions`: the actions that reject with the recorded remark; none if the remark does not identify an action.
    * `records`: the records that the request stored, as far as recorded.
    * `shows`: an answer of this kind has the record's queue and offset.
    * `note`: where the records are stored, if not where the request names.
    """

    code: int
    queue: int | None = None
    offset: int | None = None
    against: str = ""
    actions: frozenset[str] = frozenset()
    records: tuple[RecordPlace, ...] = ()
    shows: bool = True
    note: str = ""

    @property
    def words(self) -> tuple[str, ...]:
        """The specification's word for the answer, none if it has no such answer."""
        if self.against:
            return ()
        word = "SUCCESS" if self.code in STATUSES else ANSWERS.get(self.code)
        return () if word is None else (word,)

    def __str__(self) -> str:
        named = f"code {self.code}" + (f" {ANSWERS[self.code]}" if self.code in ANSWERS else "")
        named += f", queue {self.queue}, offset {self.offset}" if self.shows and (self.code == SUCCESS or self.code in STATUSES) else ""
        return ", ".join(text for text in (named, self.against or self.note) if text)


@dataclass(eq=False)
class Send:
    """A message, a batch of `count` messages, or another request that stores a record, such as a send-back. `ended` is None if its
    answer is unknown.

    `others` are further possible start states, for unknown facts about the record that the request names.

    `claims` are the offsets that other answers name; a request without an answer cannot have taken one of them. `patient`: it took longer
    than a broker waits for its lock.
    """

    machine: Machine
    start: Local
    topic: int
    numbers: int
    count: int = 1
    ended: SendResponse | None = None
    claims: Claims = frozenset()
    patient: bool = True
    others: tuple[Local, ...] = ()

    draws: tuple[int, ...] = field(init=False)
    kind: Hashable = field(init=False)

    def __post_init__(self) -> None:
        self.draws = self._draws()
        self.kind = ("send", self.count, self.draws, self.patient, self.others)
        self._words = () if self.ended is None else self.ended.words
        self._right = EndCondition() if self.ended is None else EndCondition(self._words or ("",), self.ended.queue)

    def _draws(self) -> tuple[int, ...]:
        """Return the random numbers that matter for a negative queue id: the answered queue, or any."""
        if self.machine.read(self.start, "queue") >= 0:
            return (0,)
        if self.ended is not None:
            return (self.ended.queue or 0,)
        return tuple(self.machine.queues)

    @property
    def stateless(self) -> bool:
        return self.ended is not None and not any(self.machine.ends(start, self._right) for start in (self.start, *self.others))

    @property
    def may_time_out(self) -> bool:
        """Whether a timed-out wait for the lock can lead to the recorded answer, or to the second path of a retry topic (TCM-20)."""
        answered = "TOPIC_NOT_EXIST" in self._words
        return self.patient and (answered or self.machine.shape.classes[self.topic] == "retry")

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        machine, answer = self.machine, self.machine.columns["answer"]
        if self.others and local == self.start:
            return [move for start in (local, *self.others) for move in replace(self, start=start, others=()).moves(shared, start)]
        steps = []
        for function, args, reads, own in machine.enabled(shared, local, self.draws):
            name = function.action.name
            if not self.patient and name == "lock_timeout":
                continue
            move = RequestStep(name, shared, own, reads, 0) if own is not None else machine.step(function, args, shared, local, reads)
            assert move.local is not None
            steps.append(self._end(move, move.local) if move.local[answer] else move)
        return steps or machine.waiting(shared)

    def only_path(self, shared: State, local: Local) -> OnlyPath | None:
        path = None if self.others else self.machine.path_to_answer(shared, local, self.draws)
        if path is None:
            return None
        function, args, reads, _ = path.last
        last = self.machine.step(function, args, shared, path.local, reads)
        assert last.local is not None
        if last.writes & self.machine.deciding_bits:
            return None
        return OnlyPath(path.labels, self._end(last, last.local))

    def forced(self, shared: State, local: Local) -> RequestStep | None:
        return None if self.others else self.machine.forced(shared, local, self.draws, self._right)

    def future(self, local: Local) -> tuple[int, int]:
        reads = writes = 0
        for start in (local, *self.others) if local == self.start else (local,):
            more = self.machine.future(start, self._right)
            reads, writes = reads | more[0], writes | more[1]
        return reads, writes

    def canonical(self, local: Local) -> Local:
        return self.machine.canonical(local, self._right)

    def _end(self, move: RequestStep, local: Local) -> RequestStep:
        """Return the last step of the request, dead if its answer is not the recorded one."""
        word, shared = self.machine.word(local), move.shared
        stored = word == "SUCCESS"
        if stored and move.writes and self.count != 1:
            topic, queue, _ = self.machine.place(local)
            slot = self.machine.offset_slot(topic, queue)
            shared = self.machine.assigned(shared, {slot: shared[slot] + self.count - 1})
        if self.ended is None:
            right = not (stored and move.writes and self.claims and self._is_claimed(local))
        else:
            right = self.ends_in(word, move.label) and (not stored or self._matches_response(self.ended, local))
        return RequestStep(move.label, shared, None, move.reads, move.writes, dead=not right)

    def _is_claimed(self, local: Local) -> bool:
        """Whether another answer names the place of one of the records."""
        (topic, queue, _), offset = self.machine.place(local), self.machine.read(local, "offset")
        return any((topic, queue, number) in self.claims for number in range(offset, offset + self.count))

    def _matches_response(self, ended: SendResponse, local: Local) -> bool:
        """Whether a stored record is where the answer names it, and equals the recorded one."""
        offset = self.machine.read(local, "offset")
        if ended.shows and (offset != ended.offset or self.machine.read(local, "queue") != ended.queue):
            return False
        if not ended.records:
            return True
        topic, queue, kind = self.machine.place(local)
        return all(record == (topic, queue, offset + k, kind) for k, record in enumerate(ended.records))

    def ends_in(self, word: str, action: str) -> bool:
        """Whether the recorded answer has this word, and a remark that fits the action by which it ends."""
        return word in self._words and (self.ended is None or not self.ended.actions or action in self.ended.actions)

    def answer(self, local: Local) -> str:
        """Return the specification's answer in this state."""
        word = self.machine.word(local)
        if word != "SUCCESS":
            return word
        if self.ended is not None and not self.ended.shows:
            return word
        return f"SUCCESS, queue {self.machine.read(local, 'queue')}, offset {self.machine.read(local, 'offset')}"


def fits_int(*numbers: int) -> bool:
    """Whether all numbers are 32-bit ints."""
    return all(number in INT for number in numbers)


__all__ = ["Claims", "SendResponse", "RecordPlace", "Send", "fits_int"]
