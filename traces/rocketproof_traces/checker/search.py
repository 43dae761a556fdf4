"""Concurrent requests against a model: is there an order of their steps in which each one ends as recorded?

Steps are taken only when an answer needs them: at each answer the request that got it is brought to its end, and others move before it
only where a step of theirs and a step of someone else touch the same slot. Everything else can as well happen later, so nothing is lost
by waiting. A request that never ended may take effect at any later time, or never.

Which others these are, the *near* ones, is found from footprints (`near.py`). An answered request that has one way only, of which others
see but the last step, goes that way first (`alone`); footprints are asked only where this explains no later answer.

What is left out beside that, derived from the model by the requests' `forced`, `future` and `canonical`:

* Waiting before a forced step. It is the only way on, leads to the same place now and later, and nobody sees it: in any explanation it can
  be moved to here.
* Steps of requests that never end, after which they write nothing that an answer may still depend on. An explanation does without them.
* States that differ only in slots on which no later answer depends, in parts of local states that are never looked at again, or in
  which of alike endless requests is where. What explains the rest from one of them explains it from the other.

Creating a topic takes a lock, and orders in which requests pass a lock are many that come to the same. Where nobody *gains* by seeing
the lock held (`watched` and `giving_up` below), three things are left out:

1. Rest while a request waits for the lock, or just before it takes it. What it did before only read that there is no topic. So if it goes
   on to create the topic, it can as well have looked just before it took the lock. If it finds, under the lock, that another was faster, it
   can as well have looked only then, and needs no lock. (Where the topic is deleted between the lock and that look, the lock can as well
   have been taken behind the deletion.) Who gains by giving up may rest there.
   (Where a model does not look again under the lock, every request is one that gains.)
2. Rest between steps that touch nothing but the lock, to let it go: nobody who waits for it can do anything but take it later.
3. Other steps before somebody takes the lock: who holds it keeps others from it only until it lets go. A request rests there, so that
   whatever it did with the lock can come as a whole before what another does with it.

In a run that explains the history take the request that first comes to a place of rest. The others' steps before that touch nothing
that it touches, and at most one of them or it has the lock; so its steps can come first, and the same holds for the rest of the run.
No answer changes in this, so each history that has an explanation has one in the remaining orders. Where a request has a choice of
steps, giving up aside, it rests in any case.

The search is depth-first over the answers, the answered request first, and remembers which states failed at which answer. It looks
ahead: a request that ends with another answer than the recorded one is a dead end at once. So where it fails, *some* answer has no
explanation; which one is the first is found by cutting the history.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import Literal, NamedTuple

from rocketproof_model.interpreter import State

from .near import component
from .steps import GIVEN_UP, CheckedRequest, ExplanationStep, Local, Point, RequestStep, ResponsePoint, SearchBound, SearchEnd

EVERY_SLOT = -1
_Block = tuple[State, "Local | None", "list[ExplanationStep]"]
_FIRST: Local = (-1,)
_OVER: Local = (-2,)


class _Chain(NamedTuple):
    """Steps and those before them, shared between orders that begin alike."""

    steps: tuple[ExplanationStep, ...]
    before: _Chain | None


def _unchained(chain: _Chain | None) -> list[ExplanationStep]:
    parts = []
    while chain is not None:
        parts.append(chain.steps)
        chain = chain.before
    return [step for part in reversed(parts) for step in part]


class Stopped(Exception):
    """A bound is reached; the text says which."""


class _Todo(NamedTuple):
    """A state to go on from. `tried` says what of the answered request's steps has been tried: nothing, its only way if it goes alone, or
    all, so that those of the others are left."""

    point: Point
    chain: _Chain
    tried: Literal["nothing", "alone", "mine"] = "nothing"


class _Place:
    """An answer under way: the state that it was reached in, and what is left to try from there."""

    __slots__ = ("point", "seen", "todo")

    def __init__(self, point: Point, chain: _Chain) -> None:
        self.point = point
        self.todo = [_Todo(point, chain)]
        self.seen: set[Hashable] = set()


@dataclass
class Search:
    """One search over the answers of a partition. `control` takes the deciding part out of a shared state.

    `lock` is the slot of the lock, 0 where it is free. `giving_up` are the requests that may end as recorded, or change something, because
    their wait for it timed out; `watched`: these have to see it held. `private` are the labels of steps that write nothing but the lock.
    `deciding` are the slots, without the lock, on which it depends what requests do next.
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
    _unseen: list[frozenset[int]] = field(default_factory=list)
    _hidden: int = 0

    def run(self, starts: Sequence[Point], first: int = 0) -> SearchEnd:
        """Find an order for all answers from one of these states on, else the longest explained beginning; the answers before `first` have
        been explained."""
        total = len(self.answers)
        if not self._live:
            self._know_kinds()
            self._look_ahead(len(starts[0].shared))
            self._hidden = 0 if self.lock is None or (self.watched and self.giving_up) else 1 << self.lock
        best, stuck, chain = first, list(starts), _Chain((), None)
        if first >= total:
            return SearchEnd(first, True, "", 0, stuck, [])
        failed: dict[int, set[Hashable]] = {}  # by answer
        trail: list[_Place] = []
        begun = iter(starts)
        self._wind_up()
        try:
            while True:
                if not trail:
                    start = next(begun, None)
                    if start is None:
                        return SearchEnd(best, False, "", self.expanded, stuck, _unchained(chain))
                    trail.append(_Place(start, _Chain((), None)))
                depth = first + len(trail)
                found = self._explain(trail[-1], depth - 1)
                if found is None:
                    if depth - 1 == best and self.requests[self.answers[best].request].stateless:
                        return SearchEnd(best, False, "", self.expanded, stuck, _unchained(chain))
                    failed.setdefault(depth - 1, set()).add(self._canonical(trail.pop().point, depth - 1))
                    continue
                point, taken = found
                if depth in failed and self._canonical(point, depth) in failed[depth]:
                    continue
                if depth > best:
                    best, stuck = depth, []
                    chain = taken
                    self.tick(depth)
                    self._wind_up()
                if depth == best:
                    stuck.append(point)
                if depth == total:
                    return SearchEnd(total, True, "", self.expanded, [point], _unchained(taken))
                trail.append(_Place(point, taken))
        except Stopped as stopped:
            return SearchEnd(best, False, str(stopped), self.expanded, stuck, _unchained(chain))

    def _know_kinds(self) -> None:
        """Number the kinds of requests by how they begin; of those that never end, note which are alike."""
        numbers: dict[Hashable, int] = {}
        self._forms = [numbers.setdefault((one.kind, one.start), len(numbers)) for one in self.requests]
        ending = {answer.request for answer in self.answers}
        self._symmetric = {one: (-1, form) for one, form in enumerate(self._forms) if one not in ending}

    def _look_ahead(self, slots: int) -> None:
        """Note for each answer the slots that it or a later one may depend on, and those on which none does; at the end, too."""
        live = (self.deciding | (0 if self.lock is None else 1 << self.lock)) if self.looks_ahead else EVERY_SLOT
        self._live, self._unseen = [live], [_without(live, slots)]
        for answer in reversed(self.answers):
            request = self.requests[answer.request]
            more = live if live == EVERY_SLOT else live | request.future(request.start)[0]
            if more != live:
                live = more
                self._unseen.append(_without(live, slots))
            else:
                self._unseen.append(self._unseen[-1])
            self._live.append(live)
        self._live.reverse()
        self._unseen.reverse()

    # One answer

    def _explain(self, place: _Place, number: int) -> tuple[Point, _Chain] | None:
        """The next state in which the answered request has ended as recorded, with the steps that lead there."""
        over = (self.answers[number].request, None)
        while place.todo:
            todo = place.todo.pop()
            point = todo.point
            if over in point.moved:
                return Point(point.shared, tuple([pair for pair in point.moved if pair != over])), todo.chain
            if todo.tried == "nothing":
                self._spend()
                alone = self._alone(todo, over[0])
                if alone is not None:
                    place.todo.append(_Todo(point, todo.chain, "alone"))
                    return alone
            self._expand(place, todo, number)
        return None

    def _alone(self, todo: _Todo, one: int) -> tuple[Point, _Chain] | None:
        """The state in which the answered request has ended as recorded, if it has only one way there when nobody else moves. Mostly that
        suffices; which others matter is asked when it did not."""
        request, (shared, moved) = self.requests[one], todo.point
        way = request.alone(shared, next((local for other, local in moved if other == one and local), request.start))
        if way is None or way.last.dead:
            return None
        steps = [ExplanationStep(one, label) for label in (*way.labels, way.last.label)]
        return Point(way.last.shared, tuple([pair for pair in moved if pair[0] != one])), _Chain(tuple(steps), todo.chain)

    def _wind_up(self) -> None:
        """Give the next answer its time."""
        if self.bound.seconds is not None:
            self._until = process_time() + self.bound.seconds

    def _spend(self) -> None:
        """Count a state. Raises Stopped at a bound."""
        self.expanded += 1
        if self.expanded > self.bound.states:
            raise Stopped(f"{self.bound.states} expanded states are reached")
        if self._until is not None and process_time() > self._until:
            raise Stopped(f"{self.bound.seconds:g} seconds are spent")

    def _expand(self, place: _Place, todo: _Todo, number: int) -> None:
        """Add the states after one block of steps of a request that matters now: first those of the answered request, which mostly
        suffice, and what the others do when that did not suffice."""
        point, before, others_too = todo.point, todo.chain, todo.tried == "mine"
        answer, live, shared = self.answers[number], self._live[number], point.shared
        mine, moved = answer.request, dict(point.moved)
        marks = self._marks(shared, moved, answer)
        near = component(mine, marks, self.deciding)
        settled: list[ExplanationStep] = []
        if len(near) > 1:
            settled = self._settle(near, shared, moved, live)
            if moved != dict(point.moved):
                marks = self._marks(shared, moved, answer)
                near = component(mine, marks, self.deciding)
        if len(near) > 1 and not others_too:
            place.todo.append(_Todo(point, before, "mine"))
        control = self.control(shared)
        for one in near[1:] if others_too else [mine]:
            reads = writes = 0
            for other in near:
                if other != one:
                    reads |= marks[other][0]
                    writes |= marks[other][1]
            for after, local, taken in self._blocks(one, shared, moved.get(one, _FIRST), reads, writes, live, whole=one == mine):
                others = {**moved, one: local}
                more = self._settle(near if self.control(after) != control else [one], after, others, live) if len(near) > 1 else ()
                reached = Point(after, tuple(sorted(others.items())))
                if others.get(mine, _FIRST) is not None:
                    form = self._canonical(reached, number)
                    if form in place.seen:
                        continue
                    place.seen.add(form)
                place.todo.append(_Todo(reached, _Chain((*settled, *taken, *more), before)))

    def _marks(self, shared: State, moved: Mapping[int, Local | None], answer: ResponsePoint) -> dict[int, tuple[int, int]]:
        """The footprints of the answered request and of the others that can move."""
        mine = answer.request
        free = self._with_lock(shared, 0)
        known = self._footprints.setdefault(self.control(free), {})
        marks = {mine: self._footprint(mine, moved.get(mine, _FIRST), free, known)}
        for other in self._open(answer.pending, moved):
            marks[other] = self._footprint(other, moved.get(other, _FIRST), free, known)
        return marks

    def _settle(self, near: Sequence[int], shared: State, moved: dict[int, Local | None], live: int) -> list[ExplanationStep]:
        """Take all steps of near requests that can as well be taken at once, and leave out what they need not do or know."""
        steps: list[ExplanationStep] = []
        for one in near:
            local = moved.get(one, _FIRST)
            if local == _FIRST:
                local = self.requests[one].start
            while local is not None and (move := self.requests[one].forced(shared, local)) is not None:
                local = moved[one] = move.local
                steps.append(ExplanationStep(one, move.label))
            if local is not None and one in self._symmetric and not self.requests[one].future(local)[1] & live:
                moved[one] = None
            elif local is not None and one in moved:
                moved[one] = self.requests[one].canonical(local)
        return steps

    def _open(self, pending: Sequence[int], moved: Mapping[int, Local | None]) -> Iterator[int]:
        """The other requests that can move: of alike ones at the same place, the first."""
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
        """What is the same for states at an answer that differ only in which of alike requests is where, and in slots that no answer from
        there on depends on."""
        shared, moved = point
        unseen = self._unseen[number]
        if any(shared[slot] for slot in unseen):
            shared = tuple([0 if slot in unseen else code for slot, code in enumerate(shared)])
        elif not moved:
            return point
        symmetric = self._symmetric
        return shared, tuple(sorted([(symmetric.get(one, (one,)), _OVER if local is None else local) for one, local in moved]))

    def _blocks(self, one: int, shared: State, local: Local | None, reads: int, writes: int, live: int, *, whole: bool) -> list[_Block]:
        """The request's steps up to the first that touches what others touch (or, if `whole`, up to its end)."""
        request, hidden = self.requests[one], self._hidden
        touched, written = (reads | writes) & ~hidden, writes & ~hidden
        idle = one in self._symmetric
        found: list[_Block] = []
        todo: list[_Block] = [(shared, request.start if local == _FIRST else local, [])]
        seen: set[tuple[State, Local]] = set()
        while todo:
            state, at, steps = todo.pop()
            assert at is not None
            for move in request.moves(state, at):
                after, to = move.shared, move.local
                if move.dead or (to is None and idle and not move.writes & live):
                    continue
                block = (after, to, [*steps, ExplanationStep(one, move.label)])
                touches = move.writes & touched or move.reads & written
                if to is None:
                    if touches or whole:
                        found.append(block)
                elif touches or (hidden and self._held(state) and not self._held(after)):
                    rested = self._rested(one, block)
                    if rested is not None:
                        found.append(rested)
                elif (after, to) not in seen:
                    seen.add((after, to))
                    todo.append(block)
        return found

    def _rested(self, one: int, block: _Block) -> _Block | None:
        """Where the request rests after a block: steps that nobody sees are taken at once. None if its wait for the lock would time out."""
        shared, local, steps = block
        while self._hidden and local is not None:
            only = self._only(one, shared, local)
            taken = only if only is not None and only.label in self.private and not only.reads else None
            if taken is None and one not in self.giving_up:
                if self._held(shared):
                    later = self._only(one, self._with_lock(shared, 0), local)
                    if later is not None and self._held(later.shared):
                        return None
                elif only is not None and self._held(only.shared):
                    taken = only
            if taken is None:
                break
            shared, local, steps = taken.shared, taken.local, [*steps, ExplanationStep(one, taken.label)]
        return shared, local, steps

    def _only(self, one: int, shared: State, local: Local) -> RequestStep | None:
        """The one step that the request can take, giving up aside; None if there is a choice, or nothing."""
        moves = [m for m in self.requests[one].moves(shared, local) if not m.dead and m.label != GIVEN_UP]
        return moves[0] if len(moves) == 1 else None

    def _footprint(self, one: int, local: Local | None, free: State, known: dict[Hashable, tuple[int, int]]) -> tuple[int, int]:
        """What the request may read and write from here to its end if nobody else moves, whatever becomes of the lock. `known` are
        footprints that were taken where the same is decided."""
        request = self.requests[one]
        key: Hashable = self._forms[one] if local is _FIRST else (request.kind, local)
        found = known.get(key)
        if found is None:
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
            found = known[key] = (reads, writes)
        return found

    def _held(self, shared: State) -> bool:
        return self.lock is not None and shared[self.lock] != 0

    def _with_lock(self, shared: State, holder: int) -> State:
        if self.lock is None or shared[self.lock] == holder:
            return shared
        return (*shared[: self.lock], holder, *shared[self.lock + 1 :])


def _without(live: int, slots: int) -> frozenset[int]:
    return frozenset(slot for slot in range(slots) if not live >> slot & 1)
