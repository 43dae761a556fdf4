"""Exhaustive search, breadth first, level by level, exact: every reachable state once, each property's shortest witness.

Each level is an array of packed states. Workers (threads that run compiled code without Python's lock) take blocks of it,
enter successors into one shared table, and collect the new ones, which make the next level. What is reported does not
depend on who found what: counts are sums, and where one state must be chosen it is the smallest packed one.

No predecessors are stored. A witness is rebuilt backwards: among the violating states of the first level that has any the
smallest; before it the smallest state of the level above that leads there; by the first action in model order.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import EvaluationError, LimitReached
from .explicit import kernel, loops
from .explicit.crew import Claims, Worker
from .explicit.graph import Graph, explored_graph
from .explicit.layout import WORD_BITS
from .interpreter import State, holds, initial, readable, successors
from .language.model import Instance, Property
from .result import INTERRUPTED, MEMORY, STATES, TIME, Coverage, Limits, Move, Outcome, Progress, Report, Watch, Witness

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

DECIDED = "decided"
_LOAD = 0.75  # part of the table's slots that may be taken
_BLOCK = 64  # states of the frontier that a worker takes at once, fewer if they may have very many successors
_PIECE = 1 << 16  # states in which predecessors are looked for at once
_REPORT = 0.5  # seconds between two reports
_ALONE = 512  # a level smaller than this is not worth starting threads for
_TOLD = 16  # a state with more values than this is told by what differs from the initial one


@dataclass(frozen=True)
class Tuning:
    """Sizes that change speed and memory but no result: see kernel.build and layout; `slots` is the first table's (a power of 2)."""

    unroll: int = kernel.UNROLL
    word_bits: int = WORD_BITS
    slots: int = 1 << 18
    block: int = _BLOCK


_UNLIMITED, _USUAL = Limits(), Tuning()


@dataclass(frozen=True, eq=False)
class Exploration:
    """What a search established.

    `states` are the distinct ones, `transitions` all generated states (the initial one and one for each transition), `depth`
    the number of levels, `deadlocks` the states without successor. `finished` is False if a limit, an interruption or
    `stop_when_decided` ended the search before all states were seen; `reason` says which. `compile_seconds` is CPU time.
    """

    instance: Instance
    outcomes: list[Outcome]
    states: int
    transitions: int
    depth: int
    deadlocks: int
    coverage: Coverage
    finished: bool
    reason: str
    seconds: float
    bytes_per_state: float
    compile_seconds: float
    kernel: kernel.Kernel = field(repr=False)
    levels: list[Words] = field(repr=False)

    def outcome(self, id_: str) -> Outcome:
        """The outcome of the property with this id; KeyError if it was not asked."""
        for outcome in self.outcomes:
            if outcome.property.id == id_:
                return outcome
        raise KeyError(id_)

    def graph(self, most: int = 2_000_000) -> Graph:
        """The explored states and transitions as arrays; LimitReached if unfinished or with more than `most` states."""
        if not self.finished:
            raise LimitReached(self.reason)
        if self.states > most:
            raise LimitReached(STATES)
        return explored_graph(self.kernel, self.kernel.consts(self.instance), self.levels, self.transitions - 1)


def explore(
    instance: Instance,
    properties: Sequence[Property] | None = None,
    *,
    workers: int = 1,
    limits: Limits = _UNLIMITED,
    report: Report | None = None,
    checked: bool = True,
    stop_when_decided: bool = False,
    tuning: Tuning = _USUAL,
) -> Exploration:
    """Search all reachable states and decide `always`, `reachable`, `step` and `deadlock_free` properties (others are left out).

    `properties` are by default the model's. The checking form raises EvaluationError where the interpreter would: a
    value out of its type, an index out of range; with `checked=False` such models have no defined meaning. Ctrl-C ends
    the search like a limit does. With `stop_when_decided` it ends after the level in which every property is decided.
    """
    return _Search(instance, properties, workers, limits, report, checked, stop_when_decided, tuning).run()


class _Search:
    def __init__(
        self, instance: Instance, properties: Sequence[Property] | None, workers: int, limits: Limits,
        report: Report | None, checked: bool, stop_when_decided: bool, tuning: Tuning,
    ) -> None:  # fmt: skip
        asked = instance.model.properties if properties is None else properties
        self.instance, self.limits, self.report, self.stop_when_decided = instance, limits, report, stop_when_decided
        self.asked = [p for p in asked if p.kind in ("always", "reachable", "step", "deadlock_free")]
        self.watch = Watch(limits)
        start = time.process_time()
        self.check = Claims([p for p in self.asked if p.kind in ("always", "reachable")], 1, 0)
        self.ends = Claims([p for p in self.asked if p.kind == "deadlock_free"], 1, 1)
        self.steps = Claims([p for p in self.asked if p.kind == "step"], 2, 1)
        self.groups = [self.check, self.ends, self.steps]
        self.made = kernel.build(
            instance.model, *(c.formulas for c in self.groups), checked=checked, unroll=tuning.unroll, word_bits=tuning.word_bits
        )
        self.calls = np.array([self.made.succ, self.made.check, self.made.ends, self.made.steps], dtype=np.int64)
        self.words = self.made.layout.words
        self.consts = self.made.consts(instance)
        most = max(self.made.most, 1)
        self.block = max(1, min(tuning.block, 32768 // most))
        self.workers = [Worker(self.made, self.groups, self.block) for _ in range(max(workers, 1))]
        self.reserve = len(self.workers) * self.block * most
        self.shared = np.zeros(loops.SHARED, dtype=np.int64)
        self.table = np.zeros(tuning.slots * self.words, dtype=np.int64)
        self.levels: list[Words] = []
        self.stored = 0  # bytes of the levels
        self.threads: list[threading.Thread] = []
        self.reason = ""
        self.reported = self.watch.seconds
        self._ready()
        self.compile_seconds = time.process_time() - start

    def _ready(self) -> None:
        """Compile or load all loops that a search needs, so that this is not counted as searching."""
        nothing, start = np.empty(0, dtype=np.int64), self.made.layout.pack(initial(self.instance))
        self._expand(self.workers[0], nothing, True)
        self._predecessors(nothing, [])
        loops.enter(self.table, self._slots() - 1, nothing, 0, self.words)
        w = Worker(self.made, [], 1)
        loops.successors(self.made.succ, start, self.consts, w.out, w.tags, w.counts, w.cover)

    # -- levels -------------------------------------------------------------------------------------------------------

    def run(self) -> Exploration:
        try:
            self._levels()
        except KeyboardInterrupt:
            self.reason = INTERRUPTED
            self._halt()
        self._raise_fault()
        try:
            witnesses = self._witnesses()
        except KeyboardInterrupt:
            self.reason, witnesses = INTERRUPTED, {}
        return self._result(witnesses)

    def _levels(self) -> None:
        frontier = self._begin()
        while len(frontier):
            self.levels.append(frontier)
            self.stored += frontier.nbytes
            if self._settled() or self._limited():
                return
            self.shared[loops.CURSOR] = 0
            while True:
                self._sweep(frontier)
                if all(w.status == loops.DONE for w in self.workers):
                    break
                if self._limited() or not self._grow():
                    self._merge(len(self.levels))
                    return
            frontier = self._merge(len(self.levels))
            self._raise_fault()
            self._tell()

    def _halt(self) -> None:
        """Stop the workers, wherever the interruption came, and keep what they found."""
        self.shared[loops.STOP] = 1
        for thread in self.threads:
            thread.join()
        self._merge(len(self.levels))

    def _begin(self) -> Words:
        """Enter the initial state, ask the state formulas about it, and give the first level."""
        start = self.made.layout.pack(initial(self.instance))
        while self._room() < 1:
            self._grow()
        loops.enter(self.table, self._slots() - 1, start, 1, self.words)
        self.shared[loops.COUNT] = 1
        tally = self.workers[0].tallies[0]
        found = loops.ask(self.made.check, start, self.consts, tally.masks, start) if self.made.check else 0
        if found < 0:
            self.workers[0].fault[:] = start
            self.workers[0].own[loops.FAULTS] = 1
            self._raise_fault()
        for k in range(len(self.check.properties)):
            if tally.masks[k // kernel.BITS] >> (k % kernel.BITS) & 1:
                tally.hits[k] = 1
                tally.best[k * self.words : (k + 1) * self.words] = start
        self._merge(0)
        return start

    def _slots(self) -> int:
        return len(self.table) // self.words

    def _room(self) -> int:
        """The number of states above which the table has no room for a further block of each worker."""
        return int(self._slots() * _LOAD) - self.reserve

    def _limit(self) -> int:
        return self._room() if self.limits.states is None else min(self._room(), self.limits.states)

    def _count(self) -> int:
        return int(self.shared[loops.COUNT])

    def _sweep(self, frontier: Words) -> None:
        """Expand the rest of the level until it is done, the table is full or the search is to stop."""
        for worker in self.workers:
            worker.status = loops.DONE
        if len(frontier) < _ALONE * self.words:
            self._work(self.workers[0], frontier, True)
        else:
            alone = len(self.workers) == 1
            for worker in self.workers:
                self.threads.append(threading.Thread(target=self._work, args=(worker, frontier, alone), daemon=True))
                self.threads[-1].start()
            self._wait()
        for worker in self.workers:
            worker.flush()
            if isinstance(worker.error, MemoryError):
                self.reason = MEMORY
            elif worker.error is not None:
                raise worker.error

    def _wait(self) -> None:
        while self.threads:
            while self.threads[-1].is_alive():
                try:
                    self.threads[-1].join(0.1)
                    self._tell()
                    if self._limited():
                        self.shared[loops.STOP] = 1
                except KeyboardInterrupt:
                    self.reason = INTERRUPTED
                    self.shared[loops.STOP] = 1
            self.threads.pop()

    def _work(self, worker: Worker, frontier: Words, alone: bool) -> None:
        try:
            while True:
                worker.status = self._expand(worker, frontier, alone)
                if worker.status != loops.FULL_QUEUE:
                    return
                worker.flush()
        except BaseException as error:  # noqa: BLE001  raised again by the main thread
            worker.status, worker.error = loops.STOPPED, error
            self.shared[loops.STOP] = 1

    def _expand(self, w: Worker, frontier: Words, alone: bool) -> int:
        given: list[Any] = [
            self.calls, self.words, self.consts, max(self.made.most, 1), self.block, frontier, len(frontier) // self.words, self.shared,
            alone, self.table, self._slots() - 1, self._limit(), w.out, w.tags, w.hashes, w.pair, w.fresh, w.room, w.own, w.counts, w.cover,
        ]  # fmt: skip
        for claims, tally in zip(self.groups, w.tallies, strict=True):
            given += [tally.masks, claims.open, tally.hits, tally.best]
        expand: Any = loops.expand
        status: int = expand(*given, w.fault)
        return status

    def _grow(self) -> bool:
        """Make the table larger, by 4 while it is small; False if the limit of memory forbids it."""
        old, slots = self.table, self._slots()
        slots *= 4 if slots < 1 << 20 else 2
        if self.limits.memory is not None and self._bytes() + slots * self.words * 8 > self.limits.memory:
            self.reason = MEMORY
            return False
        try:
            self.table = np.zeros(slots * self.words, dtype=np.int64)
        except MemoryError:
            self.reason = MEMORY
            return False
        loops.enter(self.table, slots - 1, old, len(old) // self.words, self.words)
        return True

    def _bytes(self) -> int:
        return self.table.nbytes + self.stored + sum(w.bytes() for w in self.workers)

    def _limited(self) -> bool:
        """Whether a limit ends the search; sets the reason."""
        if not self.reason:
            if self.watch.expired:
                self.reason = TIME
            elif self.limits.states is not None and self._count() > self.limits.states:
                self.reason = STATES
            elif self.limits.memory is not None and self._bytes() > self.limits.memory:
                self.reason = MEMORY
        return bool(self.reason)

    def _settled(self) -> bool:
        if self.stop_when_decided and self.asked and all(p in c.first for c in self.groups for p in c.properties):
            self.reason = DECIDED
        return bool(self.reason)

    def _tell(self) -> None:
        if self.report is not None and self.watch.seconds - self.reported >= _REPORT:
            self.reported = self.watch.seconds
            frontier = len(self.levels[-1]) // self.words if self.levels else 0
            self.report(Progress("explicit", len(self.levels), self._count(), frontier, self.watch.seconds))

    def _merge(self, level: int) -> Words:
        """Bring the workers' new states and first findings together; the states are those of the given level."""
        for number, claims in enumerate(self.groups):
            tallies = [w.tallies[number] for w in self.workers]
            size = claims.width * self.words
            for k, claim in enumerate(claims.properties):
                found = [tuple(t.best[k * size : (k + 1) * size].tolist()) for t in tallies if t.hits[k] and t.best[k * size] != -1]
                if found and claim not in claims.first:
                    claims.first[claim] = (level - claims.behind, min(found))
                    claims.open[k] = 0
        parts = [part for w in self.workers for part in w.parts]
        for w in self.workers:
            w.parts = []
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    # -- faults and witnesses -------------------------------------------------------------------------------------------

    def _told(self, state: State) -> str:
        """The state in words; of a large one only what differs from the initial state."""
        values = readable(self.instance, state)
        start = readable(self.instance, initial(self.instance))
        told = [f"{name}={value}" for name, value in values.items() if len(values) <= _TOLD or value != start[name]]
        rest = len(values) - len(told)
        return ", ".join(told) + (f" (the other {rest} values are the initial ones)" if rest else "")

    def _raise_fault(self) -> None:
        """Raise the interpreter's error for the smallest state in which a kernel met one."""
        states = [tuple(w.fault.tolist()) for w in self.workers if w.own[loops.FAULTS]]
        if not states:
            return
        state = self.made.layout.unpack(min(states))
        where = self._told(state)
        asked = "a property"
        try:
            for claim in self.asked:
                if claim.kind != "step":
                    asked = f"property {claim.id}"
                    holds(self.instance, claim.formula, state)
            asked = "an action"
            for step in successors(self.instance, state):
                for claim in self.steps.properties:
                    asked = f"property {claim.id} over {step.label}"
                    holds(self.instance, claim.formula, state, step.state)
                asked = f"an action after {step.label}"
        except EvaluationError as error:
            raise EvaluationError(f"{error}, in {asked}, in state {where}") from None
        raise AssertionError(f"kernel and interpreter differ: no fault in state {where}")

    def _witnesses(self) -> dict[Property, Witness]:
        """All witnesses, by one sweep from the deepest level up."""
        ends: dict[int, set[tuple[int, ...]]] = {}
        for claims in self.groups:
            for level, words in claims.first.values():
                ends.setdefault(level, set()).add(words[: self.words])
        before: dict[tuple[int, tuple[int, ...]], tuple[int, ...]] = {}
        wanted: set[tuple[int, ...]] = set()
        for level in range(max(ends, default=0), 0, -1):
            wanted |= ends.get(level, set())
            found = self._predecessors(self.levels[level - 1], sorted(wanted))
            before.update({(level, state): parent for state, parent in found.items()})
            wanted = set(found.values())
        return {
            claim: self._witness(claim, level, words, before) for claims in self.groups for claim, (level, words) in claims.first.items()
        }

    def _witness(
        self, claim: Property, level: int, words: tuple[int, ...], before: dict[tuple[int, tuple[int, ...]], tuple[int, ...]]
    ) -> Witness:
        path = [words[: self.words]]
        for at in range(level, 0, -1):
            path.append(before[at, path[-1]])
        path.reverse()
        if claim.kind == "step":
            path.append(words[self.words :])
        moves = tuple(self._move(one, other) for one, other in pairwise(path))
        states: tuple[State, ...] = tuple(self.made.layout.unpack(state) for state in path)
        return Witness(self.instance, claim, moves, states)

    def _move(self, one: tuple[int, ...], other: tuple[int, ...]) -> Move:
        """The first action in model order that leads from one state to the other."""
        w = Worker(self.made, [], 1)
        n = loops.successors(self.made.succ, np.array(one, dtype=np.int64), self.consts, w.out, w.tags, w.counts, w.cover)
        rows = w.out[: n * self.words].reshape(n, self.words)
        return self.made.move(int(w.tags[int(np.flatnonzero((rows == np.array(other)).all(axis=1))[0])]))

    def _predecessors(self, states: Words, wanted: list[tuple[int, ...]]) -> dict[tuple[int, ...], tuple[int, ...]]:
        """For each wanted state the smallest of the given level that leads there."""
        goals = np.array(wanted, dtype=np.int64).ravel()
        total = len(states) // self.words

        def scan(first: int) -> Words:
            w, best = Worker(self.made, [], 1), np.full(len(goals), -1, dtype=np.int64)
            last = min(first + _PIECE, total)
            loops.predecessors(self.made.succ, self.words, self.consts, states, first, last, goals, best, w.out, w.tags, w.counts, w.cover)
            return best.reshape(-1, self.words)

        if total <= _PIECE:
            pieces = [scan(0)]
        else:
            with ThreadPoolExecutor(len(self.workers)) as pool:
                pieces = list(pool.map(scan, range(0, total, _PIECE)))
        found = {}
        for k, state in enumerate(wanted):
            found[state] = min(tuple(best[k].tolist()) for best in pieces if best[k][0] != -1)
        return found

    # -- the result -----------------------------------------------------------------------------------------------------

    def _result(self, witnesses: dict[Property, Witness]) -> Exploration:
        own, counts = (np.sum(arrays, axis=0) for arrays in ([w.own for w in self.workers], [w.counts for w in self.workers]))
        cover = np.bitwise_or.reduce([w.cover for w in self.workers])
        states, transitions, depth = self._count(), int(own[loops.TRANSITIONS]) + 1, len(self.levels)
        seconds, finished = self.watch.seconds, not self.reason
        outcomes = {}
        for number, claims in enumerate(self.groups):
            hits = np.sum([w.tallies[number].hits for w in self.workers], axis=0)
            for k, claim in enumerate(claims.properties):
                good = claim.kind == "reachable"
                if claim in claims.first:
                    verdict: Any = "holds" if good else "violated"
                elif finished:
                    verdict = "violated" if good else "holds"
                else:
                    verdict = "unknown"
                details: dict[str, Any] = {"satisfying" if good else "violating": int(hits[k])}
                if claim.kind == "always":
                    details["satisfying"] = states - int(hits[k])
                outcomes[claim] = Outcome(
                    claim, "explicit", verdict, self.reason if verdict == "unknown" else "", witnesses.get(claim),
                    states, transitions, depth, seconds, details,
                )  # fmt: skip
        return Exploration(
            self.instance, [outcomes[p] for p in self.asked], states, transitions, depth, int(own[loops.DEADLOCKS]),
            self.made.coverage(counts, cover), finished, self.reason, seconds, self._bytes() / max(states, 1), self.compile_seconds,
            self.made, self.levels,
        )  # fmt: skip
