"""Concurrent requests against a model: is there an order of their steps in which each one ends as recorded?

A request is between its invocation and its answer in a state of its own, its *local* state; what all of them see is the *shared*
state. Steps are taken only when an answer needs them: at each answer the request that got it is brought to its end, and others move
before it only where a step of theirs and a step of someone else touch the same slot. Everything else can as well happen later, so
nothing is lost by waiting. A request that never ended may take effect at any later time, or never.

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
    """One search over the answers of a partition. `control` takes the deciding part out of a shared state, and `unlocked` is that state
    when nobody holds what a request may wait for."""

    requests: Sequence[Request]
    answers: Sequence[Answer]
    control: Callable[[State], Hashable]
    limit: int
    tick: Callable[[int], None] = lambda _: None
    unlocked: Callable[[State], State] = lambda shared: shared
    expanded: int = 0
    _prints: dict[Hashable, tuple[int, int]] = field(default_factory=dict)
    _ending: frozenset[int] = frozenset()

    def run(self, start: State) -> Searched:
        """Find an order for all answers, else the longest explained beginning."""
        total = len(self.answers)
        self._ending = frozenset(answer.request for answer in self.answers)
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
        # What has begun and has no end of its own is only moved on where it counts for others: it may have to let go of a lock.
        halted = any(local is not None and one not in self._ending for one, local in moved.items())
        marks = {mine: self._print(mine, moved.get(mine, _FIRST), shared, halted=halted)}
        for other in self._open(answer.pending, moved):
            marks[other] = self._print(other, moved.get(other, _FIRST), shared, halted=halted)
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
        todo: list[tuple[State, Local | None, list[Step]]] = [(shared, request.start if local == _FIRST else local, [])]
        seen = set()
        while todo:
            state, at, steps = todo.pop()
            assert at is not None
            for move in request.moves(state, at):
                if move.dead:
                    continue
                taken = [*steps, Step(one, move.label)]
                touches = move.writes & (reads | writes) or move.reads & writes
                if touches or (move.local is None and whole):
                    yield move.shared, move.local, taken
                elif move.local is not None and (move.shared, move.local) not in seen:
                    seen.add((move.shared, move.local))
                    todo.append((move.shared, move.local, taken))

    def _print(self, one: int, local: Local | None, shared: State, *, halted: bool) -> tuple[int, int]:
        """What the request may read and write from here to its end, if nobody else moves; `halted`: but to let go of what it waits for."""
        request = self.requests[one]
        if local == _FIRST:
            local = request.start
        key = (request.kind, local, self.control(shared), halted)
        found = self._prints.get(key)
        if found is None:
            reads = writes = 0
            todo, seen = [(shared, local)], {(shared, local)}
            while todo:
                state, at = todo.pop()
                if at is None:
                    continue
                moves = request.moves(state, at)
                if halted and all(move.label == GIVEN_UP for move in moves) and (free := self.unlocked(state)) != state:
                    moves = (*moves, *request.moves(free, at))
                for move in moves:
                    reads |= move.reads
                    writes |= move.writes
                    after = (move.shared, move.local)
                    if not move.dead and after not in seen:
                        seen.add(after)
                        todo.append(after)
            found = self._prints[key] = (reads, writes)
        return found


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
