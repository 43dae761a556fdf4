"""Search for an order of the steps of concurrent requests in which each request ends as recorded.

The search is depth-first over the answers, the answered request first. At each answer it remembers the states that failed. A request that
ends with another answer than the recorded one is a dead end immediately, even if its answer comes later in the history. So a failed search
shows that *some* answer has no explanation. The first such answer is found by cutting the history.

Steps are taken only when an answer needs them. At each answer, the answered request is brought to its end. Other requests move before it
only if one of their steps and a step of another request touch the same slot. All other steps can be taken later, so waiting loses no
explanation. A request that never ended may take effect at any later time, or never.

The requests that may move form a persistent set (`persistent_set.py`), computed from footprints. If the answered request has a single path,
and others see only its last step, the request takes this path first (`only_path`). Footprints are computed only if this explains no later
answer.

The requests' `forced`, `future` and `canonical` are derived from the model. They allow the search to leave out:

* Waiting before a forced step. It is the only way on, leads to the same place now and later, and no other request sees it. In any
  explanation it can be moved to here.
* Steps of requests that never end, if they write nothing that an answer may still depend on. An explanation exists without them.
* States that differ only in slots on which no later answer depends, in parts of local states that are never read again, or in the order of
  interchangeable endless requests. What explains the rest from one of them explains it from the other.

Creating a topic takes a lock, and many orders in which requests pass the lock have equal results. A request *gains* by seeing the lock held
if its wait may then time out (`watched` and `giving_up` below). If no request gains, three things are left out:

1. Rest while a request waits for the lock, or just before it takes the lock. Its steps before only read that the topic does not exist. If
   the request then creates the topic, it can read this just before it takes the lock. If it finds under the lock that the topic exists by
   now, it can read only then and needs no lock. (If the topic is deleted between the lock and that check, the lock can be taken after the
   deletion.) A request that gains by giving up may rest there. (If a model does not check again under the lock, every request gains.)
2. Rest between steps that touch only the lock, before releasing it. A request that waits for the lock can only take it later.
3. Steps of others before a request takes the lock. The holder keeps others from the lock only until it releases it. A request rests there,
   so that all of its steps under the lock can come before the steps of another request under the lock.

In a run that explains the history, take the request that first comes to a place of rest. The other requests' steps before that touch no
slot that it touches, and at most one request holds the lock. So its steps can come first, and the same holds for the rest of the run. No
answer changes. So each history with an explanation has one among the remaining orders. A request with a choice of steps, apart from giving
up, rests in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from time import process_time
from typing import Literal, NamedTuple

from rocketproof_model.interpreter import State

from .persistent_set import component
from .steps import GIVEN_UP, CheckedRequest, ExplanationStep, Local, Point, RequestStep, ResponsePoint, SearchBound, SearchEnd

EVERY_SLOT = -1
_Block = tuple[State, "Local | None", "list[ExplanationStep]"]
_FIRST: Local = (-1,)
_OVER: Local = (-2,)


class _Chain(NamedTuple):
    """Steps and the chain before them, shared between orders with a common beginning."""

    steps: tuple[ExplanationStep, ...]
    before: _Chain | None


def _unchained(chain: _Chain | None) -> list[ExplanationStep]:
    parts = []
    while chain is not None:
        parts.append(chain.steps)
        chain = chain.before
    return [step for part in reversed(parts) for step in part]


class Stopped(Exception):
    """A bound is reached; the text names it."""


class _Todo(NamedTuple):
    """A state to continue from. `tried` names the tried steps of the answered request: none, its only path, or all. After all, only
    steps of other requests are left."""

    point: Point
    chain: _Chain
    tried: Literal["nothing", "alone", "mine"] = "nothing"


class _PendingAnswer:
    """An answer that is being explained: the state in which it was reached, and the states left to try."""

    __slots__ = ("point", "seen", "todo")

    def __init__(self, point: Point, chain: _Chain) -> None:
        self.point = point
        self.todo = [_Todo(point, chain)]
        self.seen: set[Hashable] = set()


@dataclass
class Search:
    """One search over the answers of a partition. `control` extracts the deciding part of a shared state.

    * `lock` is the slot of the lock, 0 if free.
    * `giving_up`: the requests that may end as recorded, or change something, because their wait for the lock timed out. `watched`: they
      must see it held.
    * `private`: the labels of steps that write only the lock.
    * `deciding`: the slots, without the lock, that decide what requests do next.
    """

    requests: Sequence[CheckedRequest]
    answers: Sequence[ResponsePoint]
    control: Callable[[State], Hashable]
    bound: SearchBound
    tick: Callable[[int], None] = lambda _: None
    lock: int | None = None
    giving_up: frozenset[int] = frozenset()
    watched: bool = True
    private: frozenset[str] = frozenset()
    deciding: int = EVERY_SLOT
    looks_ahead: bool = True
    expanded: int = 0
    _until: float | None = None
    _footprints: dict[Hashable, dict[Hashable, tuple[int, int]]] = field(default_factory=dict)
    _forms: list[int] = field(default_factory=list)
    _symmetric: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _live: list[int] = field(default_factory=list)
    _seen: list[Callable[[State], Hashable]] = field(default_factory=list)
    _hidden: int = 0

    def run(self, starts: Sequence[Point], first: int = 0) -> SearchEnd:
        """Find an order for all answers from one of these states, or else the longest explained prefix. The answers before `first` have
        been explained."""
        total = len(self.answers)
        if not self._live:
            self._number_kinds()
            self._collect_live_slots(len(starts[0].shared))
            self._hidden = 0 if self.lock is None or (self.watched and self.giving_up) else 1 << self.lock
        best, stuck, chain = first, list(starts), _Chain((), None)
        if first >= total:
            return SearchEnd(first, True, "", 0, stuck, [])
        failed: dict[int, set[Hashable]] = {}  # by answer
        trail: list[_PendingAnswer] = []
        begun = iter(starts)
        self._restart_clock()
        try:
            while True:
                if not trail:
                    start = next(begun, None)
                    if start is None:
                        return SearchEnd(best, False, "", self.expanded, stuck, _unchained(chain))
                    trail.append(_PendingAnswer(start, _Chain((), None)))
                depth = first + len(trail)
                result = self._explain(trail[-1], depth - 1)
                if result is None:
                    if depth - 1 == best and self.requests[self.answers[best].request].stateless:
                        return SearchEnd(best, False, "", self.expanded, stuck, _unchained(chain))
                    failed.setdefault(depth - 1, set()).add(self._canonical(trail.pop().point, depth - 1))
                    continue
                point, taken = result
                if depth in failed and self._canonical(point, depth) in failed[depth]:
                    continue
                if depth > best:
                    best, stuck = depth, []
                    chain = taken
                    self.tick(depth)
                    self._restart_clock()
                if depth == best:
                    stuck.append(point)
                if depth == total:
                    return SearchEnd(total, True, "", self.expanded, [point], _unchained(taken))
                trail.append(_PendingAnswer(point, taken))
        except Stopped as stopped:
            return SearchEnd(best, False, str(stopped), self.expanded, stuck, _unchained(chain))

    def _number_kinds(self) -> None:
        """Number the kinds of requests by their start states, and record which of the endless requests are interchangeable."""
        numbers: dict[Hashable, int] = {}
        self._kinds = [numbers.setdefault((request.kind, request.start), len(numbers)) for request in self.requests]
        ending = {answer.request for answer in self.answers}
        self._symmetric = {request: (-1, form) for request, form in enumerate(self._kinds) if request not in ending}

    def _collect_live_slots(self, slots: int) -> None:
        """Record for each answer, and for the end, which slots it or a later answer may depend on, and a function that extracts them."""
        live = (self.deciding | (0 if self.lock is None else 1 << self.lock)) if self.looks_ahead else EVERY_SLOT
        self._live, self._seen = [live], [_extracting(live, slots)]
        for answer in reversed(self.answers):
            request = self.requests[answer.request]
            more = live if live == EVERY_SLOT else live | request.future(request.start)[0]
            self._seen.append(self._seen[-1] if more == live else _extracting(more, slots))
            live = more
            self._live.append(live)
        self._live.reverse()
        self._seen.reverse()

    # One answer

    def _explain(self, pending: _PendingAnswer, number: int) -> tuple[Point, _Chain] | None:
        """Return the next state in which the answered request has ended as recorded, with the steps to it."""
        over = (self.answers[number].request, None)
        while pending.todo:
            todo = pending.todo.pop()
            point = todo.point
            if over in point.moved:
                return Point(point.shared, tuple([pair for pair in point.moved if pair != over])), todo.chain
            if todo.tried == "nothing":
                self._count_state()
                alone = self._take_only_path(todo, over[0])
                if alone is not None:
                    pending.todo.append(_Todo(point, todo.chain, "alone"))
                    return alone
            self._expand(pending, todo, number)
        return None

    def _take_only_path(self, todo: _Todo, index: int) -> tuple[Point, _Chain] | None:
        """Return the state in which the answered request has ended as recorded, if it has a single path there while no other request
        moves. This usually suffices; the other requests are considered only if it did not."""
        request, (shared, moved) = self.requests[index], todo.point
        path = request.only_path(shared, next((local for other, local in moved if other == index and local), request.start))
        if path is None or path.last.dead:
            return None
        steps = [ExplanationStep(index, label) for label in (*path.labels, path.last.label)]
        return Point(path.last.shared, tuple([pair for pair in moved if pair[0] != index])), _Chain(tuple(steps), todo.chain)

    def _restart_clock(self) -> None:
        """Start the time limit of the next answer."""
        if self.bound.seconds is not None:
            self._until = process_time() + self.bound.seconds

    def _count_state(self) -> None:
        """Count a state. Raises Stopped at a bound."""
        self.expanded += 1
        if self.expanded > self.bound.states:
            raise Stopped(f"{self.bound.states} expanded states are reached")
        if self._until is not None and process_time() > self._until:
            raise Stopped(f"{self.bound.seconds:g} seconds are spent")

    def _expand(self, pending: _PendingAnswer, todo: _Todo, number: int) -> None:
        """Add the states after one block of steps of a request in the persistent set. The answered request comes first, which usually
        suffices; the other requests are expanded later, if needed."""
        point, before, others_too = todo.point, todo.chain, todo.tried == "mine"
        answer, live, shared = self.answers[number], self._live[number], point.shared
        mine, moved = answer.request, dict(point.moved)
        marks = self._footprints_at(shared, moved, answer)
        persistent = component(mine, marks, self.deciding)
        forced: list[ExplanationStep] = []
        if len(persistent) > 1:
            forced = self._take_forced_steps(persistent, shared, moved, live)
            if moved != dict(point.moved):
                marks = self._footprints_at(shared, moved, answer)
                persistent = component(mine, marks, self.deciding)
        if len(persistent) > 1 and not others_too:
            pending.todo.append(_Todo(point, before, "mine"))
        control = self.control(shared)
        for index in persistent[1:] if others_too else [mine]:
            reads = writes = 0
            for other in persistent:
                if other != index:
                    reads |= marks[other][0]
                    writes |= marks[other][1]
            for after, local, taken in self._blocks(index, shared, moved.get(index, _FIRST), reads, writes, live, whole=index == mine):
                others = {**moved, index: local}
                more = (
                    self._take_forced_steps(persistent if self.control(after) != control else [index], after, others, live)
                    if len(persistent) > 1
                    else ()
                )
                reached = Point(after, tuple(sorted(others.items())))
                if others.get(mine, _FIRST) is not None:
                    form = self._canonical(reached, number)
                    if form in pending.seen:
                        continue
                    pending.seen.add(form)
                pending.todo.append(_Todo(reached, _Chain((*forced, *taken, *more), before)))

    def _footprints_at(self, shared: State, moved: Mapping[int, Local | None], answer: ResponsePoint) -> dict[int, tuple[int, int]]:
        """Return the footprints of the answered request and of the others that can move."""
        mine = answer.request
        free = self._with_lock(shared, 0)
        known = self._footprints.setdefault(self.control(free), {})
        marks = {mine: self._footprint(mine, moved.get(mine, _FIRST), free, known)}
        for other in self._movable(answer.pending, moved):
            marks[other] = self._footprint(other, moved.get(other, _FIRST), free, known)
        return marks

    def _take_forced_steps(
        self, persistent: Sequence[int], shared: State, moved: dict[int, Local | None], live: int
    ) -> list[ExplanationStep]:
        """Take all forced steps of these requests now, and remove states that no longer matter."""
        steps: list[ExplanationStep] = []
        for index in persistent:
            local = moved.get(index, _FIRST)
            if local == _FIRST:
                local = self.requests[index].start
            while local is not None and (move := self.requests[index].forced(shared, local)) is not None:
                local = moved[index] = move.local
                steps.append(ExplanationStep(index, move.label))
            if local is not None and index in self._symmetric and not self.requests[index].future(local)[1] & live:
                moved[index] = None
            elif local is not None and index in moved:
                moved[index] = self.requests[index].canonical(local)
        return steps

    def _movable(self, pending: Sequence[int], moved: Mapping[int, Local | None]) -> Iterator[int]:
        """Yield the other requests that can move; of interchangeable requests in the same state only the first."""
        met: set[Hashable] = set()
        for other in pending:
            local = moved.get(other, _FIRST)
            if local is None:
                continue
            symmetric = self._symmetric.get(other)
            if symmetric is not None:
                if (symmetric, local) in met:
                    continue
                met.add((symmetric, local))
            yield other

    def _canonical(self, point: Point, number: int) -> Hashable:
        """Return a key for a state at an answer. States have equal keys if they differ only in the order of interchangeable requests,
        and in slots on which no answer from there on depends."""
        shared, moved = point
        seen = self._seen[number](shared)
        if not moved:
            return seen
        symmetric = self._symmetric
        return seen, tuple(sorted([(symmetric.get(index, (index,)), _OVER if local is None else local) for index, local in moved]))

    def _blocks(self, index: int, shared: State, local: Local | None, reads: int, writes: int, live: int, *, whole: bool) -> list[_Block]:
        """Return the blocks of steps of a request. A block ends at the first step that touches a slot of others, or, if `whole`, at the
        request's end."""
        request, hidden = self.requests[index], self._hidden
        touched, written = (reads | writes) & ~hidden, writes & ~hidden
        idle = index in self._symmetric
        blocks: list[_Block] = []
        todo: list[_Block] = [(shared, request.start if local == _FIRST else local, [])]
        seen: set[tuple[State, Local]] = set()
        while todo:
            state, at, steps = todo.pop()
            assert at is not None
            for move in request.moves(state, at):
                after, to = move.shared, move.local
                if move.dead or (to is None and idle and not move.writes & live):
                    continue
                block = (after, to, [*steps, ExplanationStep(index, move.label)])
                touches = move.writes & touched or move.reads & written
                if to is None:
                    if touches or whole:
                        blocks.append(block)
                elif touches or (hidden and self._held(state) and not self._held(after)):
                    rested = self._advance_to_rest(index, block)
                    if rested is not None:
                        blocks.append(rested)
                elif (after, to) not in seen:
                    seen.add((after, to))
                    todo.append(block)
        return blocks

    def _advance_to_rest(self, index: int, block: _Block) -> _Block | None:
        """Return the place where the request rests after a block; steps that no other request sees are taken now. None if its wait for
        the lock would time out."""
        shared, local, steps = block
        while self._hidden and local is not None:
            only = self._single_step(index, shared, local)
            taken = only if only is not None and only.label in self.private and not only.reads else None
            if taken is None and index not in self.giving_up:
                if self._held(shared):
                    later = self._single_step(index, self._with_lock(shared, 0), local)
                    if later is not None and self._held(later.shared):
                        return None
                elif only is not None and self._held(only.shared):
                    taken = only
            if taken is None:
                break
            shared, local, steps = taken.shared, taken.local, [*steps, ExplanationStep(index, taken.label)]
        return shared, local, steps

    def _single_step(self, index: int, shared: State, local: Local) -> RequestStep | None:
        """Return the only step that the request can take, apart from giving up; None if it has a choice or no step."""
        moves = [m for m in self.requests[index].moves(shared, local) if not m.dead and m.label != GIVEN_UP]
        return moves[0] if len(moves) == 1 else None

    def _footprint(self, index: int, local: Local | None, free: State, known: dict[Hashable, tuple[int, int]]) -> tuple[int, int]:
        """Return what the request may read and write from here to its end if no other request moves, with the lock free and held.
        `known` are the footprints computed for equal deciding slots."""
        request = self.requests[index]
        key: Hashable = self._kinds[index] if local is _FIRST else (request.kind, local)
        footprint = known.get(key)
        if footprint is None:
            reads = writes = 0
            first = (free, request.start if local == _FIRST else local)
            todo, seen = [first], {first}
            while todo:
                state, at = todo.pop()
                if at is None:
                    continue
                for move in (*request.moves(state, at), *request.moves(self._with_lock(state, 1), at)):
                    reads |= move.reads
                    writes |= move.writes
                    after = (self._with_lock(move.shared, 0), move.local)
                    if not move.dead and after not in seen:
                        seen.add(after)
                        todo.append(after)
            footprint = known[key] = (reads, writes)
        return footprint

    def _held(self, shared: State) -> bool:
        return self.lock is not None and shared[self.lock] != 0

    def _with_lock(self, shared: State, holder: int) -> State:
        if self.lock is None or shared[self.lock] == holder:
            return shared
        return (*shared[: self.lock], holder, *shared[self.lock + 1 :])


def _extracting(live: int, slots: int) -> Callable[[State], Hashable]:
    """Return a function of a state whose results are equal for equal values of these slots."""
    seen = [slot for slot in range(slots) if live >> slot & 1]
    return itemgetter(*seen) if seen else lambda _: ()
