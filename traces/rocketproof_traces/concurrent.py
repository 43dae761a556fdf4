"""Concurrent requests against a model: is there an order of their steps in which each one ends as recorded?

A request is between its invocation and its answer in a state of its own, its *local* state; what all of them see is the *shared*
state. Steps are taken only when an answer needs them: at each answer the request that got it is brought to its end, and others move
before it only where a step of theirs and a step of someone else touch the same slot. Everything else can as well happen later, so
nothing is lost by waiting. A request that never ended may take effect at any later time, or never.

Creating a topic takes a lock, and orders in which requests pass a lock are many that come to the same. Where nobody *gains* by seeing
the lock held (`watched` and `vain` below), three things are left out:

1. Rest while a request waits for the lock, or just before it takes it. What it did before only read that there is no topic, and a topic
   does not go again. So if it goes on to create the topic, it can as well have looked just before it took the lock. If it finds, under
   the lock, that another was faster, it can as well have looked only then, and needs no lock. Who gains by giving up may rest there.
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

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from rocketproof_model.interpreter import State

Local = tuple[int, ...]
_Block = tuple[State, "Local | None", "list[Step]"]
_FIRST: Local = (-1,)
GIVEN_UP = "lock_timeout"
"""The one step of a request that waits for a lock, if it has any."""


class Move(NamedTuple):
    """A step of one request. `reads` and `writes` are sets of shared slots, one bit a slot.

    `local` is None when the request has ended as recorded; `dead` when it has ended in another way.
    """

    label: str
    shared: State
    local: Local | None
    reads: int
    writes: int
    dead: bool = False


class Request(Protocol):
    """A request. Two of equal `kind` have the same moves from equal states, up to how they end.

    `moves(shared, local)` gives the next steps; `control(shared)` is the part of the shared state on which it depends which steps
    follow and what they touch.
    """

    @property
    def kind(self) -> Hashable: ...

    @property
    def start(self) -> Local: ...

    def moves(self, shared: State, local: Local) -> Sequence[Move]: ...


@dataclass(eq=False)
class Answer:
    """A place in a history where a request ends; `pending` are the others that are open there, the endless ones among them."""

    request: int
    seq: int
    pending: tuple[int, ...]


class Point(NamedTuple):
    """A state of the search: what is shared, and the local states of open requests that have moved; None: it is over."""

    shared: State
    moved: tuple[tuple[int, Local | None], ...] = ()


class Step(NamedTuple):
    """A step of an explanation: which request did what."""

    request: int
    label: str


@dataclass
class Searched:
    """How a search ended: `end` is the number of answers explained; `stuck` are the states that reached the answer after them.

    `limit` says that it was stopped. `steps` is one order that explains the first `end` answers.
    """

    end: int
    complete: bool
    limit: bool
    expanded: int
    stuck: list[Point]
    steps: list[Step]


class _Chain(NamedTuple):
    """Steps and those before them, shared between orders that begin alike."""

    steps: tuple[Step, ...]
    before: _Chain | None


def _unchained(chain: _Chain | None) -> list[Step]:
    parts = []
    while chain is not None:
        parts.append(chain.steps)
        chain = chain.before
    return [step for part in reversed(parts) for step in part]


class Stopped(Exception):
    """The bound on expanded states is reached."""


@dataclass
class Search:
    """One search over the answers of a partition. `control` takes the deciding part out of a shared state.

    `lock` is the slot of the lock, 0 where it is free. `vain` are the requests that may end as recorded, or change something, because
    they waited for it in vain; `watched`: these have to see it held. `private` are the labels of steps that write nothing but the lock.
    """

    requests: Sequence[Request]
    answers: Sequence[Answer]
    control: Callable[[State], Hashable]
    limit: int
    tick: Callable[[int], None] = lambda _: None
    lock: int | None = None
    vain: frozenset[int] = frozenset()
    watched: bool = True
    private: frozenset[str] = frozenset()
    expanded: int = 0
    _prints: dict[Hashable, tuple[int, int]] = field(default_factory=dict)
    _ending: frozenset[int] = frozenset()
    _hidden: int = 0

    def run(self, start: State) -> Searched:
        """Find an order for all answers, else the longest explained beginning."""
        total = len(self.answers)
        self._ending = frozenset(answer.request for answer in self.answers)
        self._hidden = 0 if self.lock is None or (self.watched and self.vain) else 1 << self.lock
        trail: list[tuple[Iterator[tuple[Point, _Chain]], _Chain]] = []
        tried: list[set[Point]] = [set() for _ in range(total + 1)]
        point, best, stuck, chain = Point(start), 0, [Point(start)], _Chain((), None)
        tried[0].add(point)
        if not total:
            return Searched(0, True, False, 0, stuck, [])
        trail.append((self._explain(point, self.answers[0], chain), chain))
        try:
            while trail:
                found = next(trail[-1][0], None)
                if found is None:
                    trail.pop()
                    continue
                depth = len(trail)
                point, taken = found
                if point in tried[depth]:
                    continue
                tried[depth].add(point)
                if depth > best:
                    best, stuck = depth, []
                    chain = taken
                    self.tick(depth)
                if depth == best:
                    stuck.append(point)
                if depth == total:
                    return Searched(total, True, False, self.expanded, [point], _unchained(taken))
                trail.append((self._explain(point, self.answers[depth], taken), taken))
        except Stopped:
            return Searched(best, False, True, self.expanded, stuck, _unchained(chain))
        return Searched(best, False, False, self.expanded, stuck, _unchained(chain))

    # One answer

    def _explain(self, start: Point, answer: Answer, before: _Chain) -> Iterator[tuple[Point, _Chain]]:
        """The states in which the answered request has ended as recorded, each with the steps that lead there."""
        mine = answer.request
        todo: list[tuple[Point, _Chain]] = [(start, before)]
        seen = {start}
        given: set[Point] = set()
        while todo:
            point, steps = todo.pop()
            moved = dict(point.moved)
            if mine in moved and moved[mine] is None:
                del moved[mine]
                ended = Point(point.shared, tuple(sorted(moved.items())))
                if ended not in given:
                    given.add(ended)
                    yield ended, steps
                continue
            self.expanded += 1
            if self.expanded > self.limit:
                raise Stopped
            for after, taken in self._onward(point, moved, answer):
                if after not in seen:
                    seen.add(after)
                    todo.append((after, _Chain(tuple(taken), steps)))

    def _onward(self, point: Point, moved: dict[int, Local | None], answer: Answer) -> Iterator[tuple[Point, list[Step]]]:
        """The states after one block of steps of a request that matters now; those of the answered request come last."""
        shared = point.shared
        mine = answer.request
        marks = {mine: self._print(mine, moved.get(mine, _FIRST), shared)}
        for other in self._open(answer.pending, moved):
            marks[other] = self._print(other, moved.get(other, _FIRST), shared)
        near = _component(mine, marks)
        for one in (*(o for o in near if o != mine), mine):
            reads = writes = 0
            for other in near:
                if other != one:
                    reads |= marks[other][0]
                    writes |= marks[other][1]
            for after, local, taken in self._blocks(one, shared, moved.get(one, _FIRST), reads, writes, whole=one == mine):
                yield Point(after, tuple(sorted({**moved, one: local}.items()))), taken

    def _open(self, pending: Sequence[int], moved: dict[int, Local | None]) -> Iterator[int]:
        """The other requests that can move: of equal ones that never end and have not moved yet, the first."""
        alike: set[Hashable] = set()
        for other in pending:
            if other in moved:
                if moved[other] is not None:
                    yield other
                continue
            if other not in self._ending:
                request = self.requests[other]
                kind = (request.kind, request.start)
                if kind in alike:
                    continue
                alike.add(kind)
            yield other

    def _blocks(
        self, one: int, shared: State, local: Local | None, reads: int, writes: int, *, whole: bool
    ) -> Iterator[tuple[State, Local | None, list[Step]]]:
        """The request's steps up to the first that touches what others touch (or, if `whole`, up to its end)."""
        request = self.requests[one]
        hidden = self._hidden
        todo: list[_Block] = [(shared, request.start if local == _FIRST else local, [])]
        seen = set()
        while todo:
            state, at, steps = todo.pop()
            assert at is not None
            for move in request.moves(state, at):
                if move.dead:
                    continue
                block = (move.shared, move.local, [*steps, Step(one, move.label)])
                touches = move.writes & ~hidden & (reads | writes) or move.reads & ~hidden & writes
                if move.local is None and (touches or whole):
                    yield block
                elif touches or (hidden and self._held(state) and not self._held(move.shared)):
                    rested = self._rested(one, block)
                    if rested is not None:
                        yield rested
                elif move.local is not None and (move.shared, move.local) not in seen:
                    seen.add((move.shared, move.local))
                    todo.append(block)

    def _rested(self, one: int, block: _Block) -> _Block | None:
        """Where the request rests after a block: steps that nobody sees are taken at once. None if it would wait for the lock in vain."""
        shared, local, steps = block
        while self._hidden and local is not None:
            only = self._only(one, shared, local)
            taken = only if only is not None and only.label in self.private and not only.reads else None
            if taken is None and one not in self.vain:
                if self._held(shared):
                    later = self._only(one, self._unlocked(shared), local)
                    if later is not None and self._held(later.shared):
                        return None
                elif only is not None and self._held(only.shared):
                    taken = only
            if taken is None:
                break
            shared, local, steps = taken.shared, taken.local, [*steps, Step(one, taken.label)]
        return shared, local, steps

    def _only(self, one: int, shared: State, local: Local) -> Move | None:
        """The one step that the request can take, giving up aside; None if there is a choice, or nothing."""
        moves = [m for m in self.requests[one].moves(shared, local) if not m.dead and m.label != GIVEN_UP]
        return moves[0] if len(moves) == 1 else None

    def _print(self, one: int, local: Local | None, shared: State) -> tuple[int, int]:
        """What the request may read and write from here to its end, if nobody else moves but to let go of the lock."""
        request = self.requests[one]
        if local == _FIRST:
            local = request.start
        key = (request.kind, local, self.control(shared))
        found = self._prints.get(key)
        if found is None:
            reads = writes = 0
            todo, seen = [(shared, local)], {(shared, local)}
            while todo:
                state, at = todo.pop()
                if at is None:
                    continue
                moves = request.moves(state, at)
                if self._held(state) and all(move.label == GIVEN_UP for move in moves):
                    moves = (*moves, *request.moves(self._unlocked(state), at))
                for move in moves:
                    reads |= move.reads
                    writes |= move.writes
                    after = (move.shared, move.local)
                    if not move.dead and after not in seen:
                        seen.add(after)
                        todo.append(after)
            found = self._prints[key] = (reads, writes)
        return found

    def _held(self, shared: State) -> bool:
        return self.lock is not None and shared[self.lock] != 0

    def _unlocked(self, shared: State) -> State:
        assert self.lock is not None
        return (*shared[: self.lock], 0, *shared[self.lock + 1 :])


def _component(mine: int, marks: dict[int, tuple[int, int]]) -> list[int]:
    """The requests that are connected with `mine` by slots that one writes and the other touches."""
    near, rest = [mine], [o for o in marks if o != mine]
    for one in near:
        if not rest:
            break
        reads, writes = marks[one]
        touched = reads | writes
        joined = [o for o in rest if marks[o][1] & touched or marks[o][0] & writes]
        if joined:
            near += joined
            rest = [o for o in rest if o not in joined]
    return near
