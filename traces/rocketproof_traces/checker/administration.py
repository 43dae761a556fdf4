"""Requests of administrators and consumer groups to a broker and a name server, each one step of the specification: topics, groups,
offsets, routes, settings."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from rocketproof_model.functions import Function
from rocketproof_model.interpreter import State
from rocketproof_protocol.codes import SUCCESS

from ..history.covered import Config
from .machine import Machine, bits
from .shape import ONE_IN_FLIGHT
from .steps import OVER, Local, OneStep, RequestStep

NOT_SERVED = "served"
"""The guard that refuses a request that a name server does not serve."""


def _is_right(right: int | None, code: int | None, *, exact: bool = True) -> bool:
    """Whether a recorded `code` is the `right` one. An unknown code always is. Unless the code must be `exact`, any error is as good as
    another."""
    return code in (right, None) or not (exact or right in (SUCCESS, None) or code == SUCCESS)


@dataclass(frozen=True, eq=False)
class TopicUpdate(OneStep):
    """A topic created or changed by an administrator. It waits until no registration is in flight.

    `code` is the answer's, None if unknown. Only if `exact`, the code of an error counts.
    """

    machine: Machine
    topic: int
    wanted: Config
    code: int | None = None
    exact: bool = True
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("update", self.args)

    @property
    def args(self) -> tuple[int, ...]:
        return (0, self.topic, self.wanted.read, self.wanted.write, self.wanted.perm)

    @property
    def function(self) -> Function:
        return self.machine.update_ordered if self.wanted.order else self.machine.update

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        machine = self.machine
        state = shared + machine.idle
        function = self.function
        reads = bits(s for s in function.reads(state, self.args) if s < machine.shared)
        refused = function.guard(state, self.args)
        if refused is not None:
            if refused.name == ONE_IN_FLIGHT:
                return machine.waiting(shared)
            dead = not _is_right(machine.refusal(function.action.name, refused.name), self.code, exact=self.exact)
            return [RequestStep("refuse_update", shared, None, reads, 0, dead=dead)]
        move = machine.step(function, self.args, shared, machine.idle, reads)
        return [move._replace(local=None, dead=self.code not in (0, None))]


@dataclass(frozen=True, eq=False)
class TopicDeletion(OneStep):
    """A topic deleted by an administrator. `code` and `exact` are as for an update. `deleted_offsets` are the places of offsets that are
    deleted with it."""

    machine: Machine
    topic: int
    code: int | None = None
    exact: bool = True
    deleted_offsets: tuple[int, ...] = ()
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("deleted", self.topic, self.deleted_offsets)

    @property
    def args(self) -> tuple[int, ...]:
        return (0, self.topic)

    @property
    def function(self) -> Function:
        return self.machine.delete

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        refused = self.function.guard(shared + self.machine.idle, self.args)
        if refused is not None:
            dead = not _is_right(self.machine.refusal(self.function.action.name, refused.name), self.code, exact=self.exact)
            return [RequestStep("refuse_deletion", shared, None, 0, 0, dead=dead)]
        move = self.machine.delete_offsets(self.machine.deleted(shared, self.topic), self.deleted_offsets)
        return [move._replace(dead=self.code not in (0, None))]


@dataclass(frozen=True, eq=False)
class RefusedRequest(OneStep):
    """A request that is rejected before anything else, whatever the broker's state. `right` is the code for it; `code` is the answer's,
    None if unknown."""

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

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        return [RequestStep("refuse", shared, None, 0, 0, dead=self.code not in (self.right, None))]


@dataclass(frozen=True, eq=False)
class GroupUpdate(OneStep):
    """A group created, changed or deleted, identified by its retry topic.

    `group` are the arguments of `update_group`: whether a look-up finds or creates the group, its limit, its queues, whether it is changed
    or else deleted, and whether its offsets are deleted as well. `deleted_offsets` are the places of these offsets. `code` is the answer's,
    None if unknown.
    """

    machine: Machine
    topic: int
    group: tuple[int, int, int, int, int]
    code: int | None
    deleted_offsets: tuple[int, ...] = ()
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("regrouped", self.topic, self.group, self.deleted_offsets)

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        machine = self.machine
        move = machine.step(machine.update_group, (0, self.topic, *self.group), shared, machine.idle, 0)
        return [machine.delete_offsets(move, self.deleted_offsets)._replace(local=None, dead=self.code not in (SUCCESS, None))]


@dataclass(frozen=True, eq=False)
class OffsetCommit(OneStep):
    """A group commits its offset for a queue.

    `parameters` are the group's retry topic, the topic, whether the request names a topic, whether it is complete, the place and the
    offset.

    `code` is the answer's, None if unknown. `listed`: the state shows whether the broker has the group; otherwise both are possible.
    """

    machine: Machine
    parameters: tuple[int, ...]
    code: int | None
    listed: bool = True
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("committed", self.parameters)

    @property
    def args(self) -> tuple[int, ...]:
        return (0, *self.parameters)

    @property
    def function(self) -> Function:
        return self.machine.commit

    def possible(self, shared: State) -> list[State]:
        """Return the states in which the request may be evaluated; a refusal is explained in the first."""
        slot = self.machine.group_slot(self.parameters[0])
        return [shared] if self.listed else [self.machine.assigned(shared, {slot: there}) for there in (1, 0)]

    def future(self, local: Local) -> tuple[int, int]:
        return self.machine.all_read(self.function), -1

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        machine, args, steps = self.machine, self.args, dict[int | None, RequestStep]()
        for possible in self.possible(shared):
            state = possible + machine.idle
            reads = bits(slot for slot in self.function.reads(state, args) if slot < machine.shared)
            refused = self.function.guard(state, args)
            right = SUCCESS if refused is None else machine.refusal(self.function.action.name, refused.name)
            dead = not _is_right(right, self.code)
            if refused is not None:
                steps[right] = RequestStep("refuse_commit", shared, None, reads, 0, dead=dead)
            else:
                steps[right] = machine.step(self.function, args, shared, machine.idle, reads)._replace(local=None, dead=dead)
        return list(steps.values())


@dataclass(frozen=True, eq=False)
class RouteUpdate(OneStep):
    """A change of a topic's route at the name server that is not a registration: an action and its arguments, none if the request names
    nothing that counts. `code` is the answer's, None without an answer."""

    machine: Machine
    function: Function
    args: tuple[int, ...]
    code: int | None
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("told", self.function.action.name, self.args)

    @property
    def refused(self) -> str:
        """The guard that refuses the request whatever routes there are, empty if none does."""
        guard = self.function.guard(self.machine.start + self.machine.idle, self.args) if self.args else None
        return "" if guard is None else guard.name

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        state, name, reads = shared + self.machine.idle, self.function.action.name, self.machine.route_slots
        dead = self.code is not None and (self.code == SUCCESS) == (self.refused == NOT_SERVED)
        if not self.args or not self.function.enabled(state, self.args):
            return [RequestStep(name, shared, None, reads, 0, dead=dead)]
        writes = bits(self.function.changes(state, *self.args)[::2])
        return [
            self.machine.step(self.function, self.args, shared, self.machine.idle, reads)._replace(local=None, writes=writes, dead=dead)
        ]


@dataclass(frozen=True, eq=False)
class SettingsUpdate(OneStep):
    """A change of broker settings: actions with their arguments, in order. `code` is the answer's, None if unknown. A change that causes
    a registration waits until no registration is in flight."""

    machine: Machine
    changes: tuple[tuple[Function, tuple[int, ...]], ...]
    code: int | None
    start: Local = OVER

    @property
    def kind(self) -> Hashable:
        return ("configured", tuple((function.action.name, args) for function, args in self.changes))

    def moves(self, shared: State, local: Local) -> Sequence[RequestStep]:
        machine, after, reads, writes = self.machine, shared, 0, 0
        for function, args in self.changes:
            state = after + machine.idle
            if not function.enabled(state, args):
                return machine.waiting(shared)
            seen = bits(slot for slot in function.reads(state, args) if slot < machine.shared)
            move = machine.step(function, args, after, machine.idle, seen)
            after, reads, writes = move.shared, reads | seen, writes | bits(function.changes(state, *args)[::2])
        return [RequestStep("configure", after, None, reads, writes, dead=self.code not in (SUCCESS, None))]


__all__ = ["NOT_SERVED", "OffsetCommit", "SettingsUpdate", "TopicDeletion", "RefusedRequest", "GroupUpdate", "RouteUpdate", "TopicUpdate"]
