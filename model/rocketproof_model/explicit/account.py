"""The claims of a search: the formulas that it evaluates, the state of each claim, and finally outcomes with witnesses.

The account does not know how states are found, by threads with a table or by tasks with files. It receives the workers' results level by
level, and a function that finds predecessors. No predecessors are stored. A witness is rebuilt backwards: it ends in the smallest violating
state of the first level that has one. Each state before is the smallest predecessor in the level above, by the first action in model order.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..faults import ModelFault, fault_at_end
from ..interpreter import State, holds, initials, labelled
from ..language import Bool, Instance, Property, const, show
from ..result import SEARCHED, Engine, Move, Outcome, Witness
from ..routines import address, compile_routine
from . import kernel, loops
from .canonical import compiled, reducible
from .layout import WORD_BITS
from .runs import run_of
from .table import StateTable, constants
from .workers import ROOM, Claims, Worker, WorkerResult

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Words = NDArray[np.int64]

Packed = tuple[int, ...]
Predecessors = Callable[[int, list[Packed]], dict[Packed, Packed]]
"""Maps a level and states of the next level to the smallest predecessor of each state in the level."""

BLOCK = 64  # states that a worker expands at once
_MOST = 1 << 15  # successors of one block, unless a single state can have more
_HOMES = 1 << 14  # home buckets of a table that is emptied when it is full
PIECE = 1 << 16  # states that are searched for predecessors at once
_ANY = Property("", "a path to a state", "always", const(1, Bool))


class Account:
    """The claims of a search about an instance, and the kernel that evaluates them.

    Properties that a search of states cannot decide are left out. Raises ModelError for a model that does not fit packed words.
    """

    def __init__(
        self,
        instance: Instance,
        properties: Sequence[Property],
        *,
        checked: bool = True,
        unroll: int = kernel.UNROLL,
        word_bits: int = WORD_BITS,
        symmetry: bool = False,
    ) -> None:
        self.instance = instance
        self.claims = [p for p in properties if p.kind in SEARCHED]
        self.check = Claims([p for p in self.claims if p.kind in ("always", "reachable")], 1, 0)
        self.ends = Claims([p for p in self.claims if p.kind == "deadlock_free"], 1, 1)
        self.steps = Claims([p for p in self.claims if p.kind == "step"], 2, 1)
        self.groups = [self.check, self.ends, self.steps]
        built = kernel.build(instance.model, *(c.formulas for c in self.groups), checked=checked, unroll=unroll, word_bits=word_bits)
        indices, self.asymmetry = reducible(instance.model, self.claims) if symmetry else ((), "")
        self.plan, canon, orbits = compiled(built.layout, indices)
        self.kernel = replace(built, canon=canon, orbits=orbits)
        self.words = self.kernel.layout.words
        self.consts = self.kernel.consts(instance)
        self._scanners = threading.local()

    @property
    def decided(self) -> list[Property]:
        """The claims that a state or a step has decided already."""
        return [p for c in self.groups for p in c.first]

    @property
    def question(self) -> str:
        """A digest of everything that decides a search's result: equal for equal models, constants and claims."""
        model, layout = self.instance.model, self.kernel.layout
        content: list[Any] = [layout.words, *(a.tolist() for a in (layout.slot_word, layout.slot_shift, layout.slot_mask, layout.slot_low))]
        content += [(v.name, v.type.sort, v.type.lo, v.type.hi, [axis.size for axis in v.over]) for v in model.variables]
        for action in model.actions:
            content.append((action.name, [(name, t.lo, t.hi) for name, t in action.parameters.items()]))
            content += [show(guard.condition) for guard in action.guards]
            content += [(show(update.target), show(update.value), show(update.when)) for update in action.updates]
        content += [(p.id, p.kind, show(formula)) for c in self.groups for p, formula in zip(c.properties, c.formulas, strict=True)]
        content += [self.consts.tolist(), self.start().tolist(), self.kernel.checked, [index.name for index in self.plan.indices]]
        return hashlib.sha256("\n".join(map(repr, content)).encode()).hexdigest()

    def total(self, seen: Iterable[WorkerResult]) -> WorkerResult:
        """Return the sum of the workers' results, without their smallest states."""
        total = WorkerResult(self.kernel, self.groups)
        for result in seen:
            total.add(result)
        return total

    def findings(self) -> list[tuple[int, int, int, list[int]]]:
        """Return what is known of decided claims: the group, the place in it, the level, and the words of the state or step."""
        return [
            (number, claims.properties.index(claim), level, list(words))
            for number, claims in enumerate(self.groups)
            for claim, (level, words) in claims.first.items()
        ]

    def recall(self, findings: Iterable[Sequence[Any]]) -> None:
        """Restore what `findings` returned, possibly in another process."""
        for number, place, level, words in findings:
            claims = self.groups[number]
            claims.first[claims.properties[place]] = (level, tuple(words))
            claims.open[place] = 0

    def forget(self) -> None:
        """Mark all claims as undecided."""
        for claims in self.groups:
            claims.first.clear()
            claims.open[:] = 1

    def start(self) -> Words:
        """Return the distinct initial states, packed."""
        states = np.array(list(initials(self.instance)), dtype=np.int64)
        return run_of(self._representatives(self.kernel.layout.pack_many(states.reshape(len(states), -1))).ravel(), self.words)

    def ask(self, states: Words, seen: WorkerResult) -> None:
        """Evaluate the formulas for states that are new."""
        if not self.kernel.check:
            return
        tally, ask = seen.tallies[0], compile_routine(loops.ask_states, WIDTH=self.words)
        total = len(states) // self.words
        seen.own[loops.FAULTS] += ask(
            self.kernel.check, address(self.consts), address(states), total, address(tally.block), address(seen.fault)
        )  # fmt: skip

    def worker(self, block: int = BLOCK, spare: list[Words] | None = None, seen: WorkerResult | None = None) -> Worker:
        """Return a worker that expands at most `block` states at once, fewer if they can have very many successors."""
        block = max(1, min(block, _MOST // max(self.kernel.max_successors, 1)))
        return Worker(self.kernel, self.consts, seen or WorkerResult(self.kernel, self.groups), block, spare, ROOM)

    def ready(self, *, alone: bool) -> None:
        """Compile or load the loops of a search."""
        table = constants(self.kernel.layout)
        compile_routine(loops.expand_states, ALONE=int(alone), **table)
        compile_routine(loops.enter_states, ALONE=1, **table)
        if self.claims:
            compile_routine(loops.ask_states, WIDTH=self.words)
            compile_routine(loops.find_predecessors, WIDTH=self.words)

    def expand(self, worker: Worker, table: StateTable, *, alone: bool) -> int:
        """Let a worker expand its states under the settings of `Worker.use`. Return one of the status codes of `loops`."""
        expand = compile_routine(loops.expand_states, ALONE=int(alone), **table.constants)
        return expand(address(worker.block))

    def enter(self, worker: Worker, table: StateTable, states: Words) -> bool:
        """Let a worker enter states into the table; False if there was no room for some, and then the call is to be repeated."""
        enter = compile_routine(loops.enter_states, ALONE=1, **table.constants)
        return enter(address(worker.block), address(states), len(states) // self.words) >= 0

    def runs_of_successors(self, states: Words, seen: WorkerResult) -> Iterator[Words]:
        """Yield the successors of states as runs without duplicates, and add the counts to `seen`.

        A run ends when a table of bounded size is full. The formulas of states are not evaluated for the successors.
        """
        total = len(states) // self.words
        worker = self.worker(min(BLOCK, max(total, 1)), seen=seen)
        table, shared = StateTable(self.kernel.layout, max(1, min(total, _HOMES))), np.zeros(loops.SHARED, dtype=np.int64)
        worker.take(states, 0, total)
        worker.use(table, shared, table.shape.capacity, 0, 0)
        status = loops.FULL_TABLE
        while status != loops.DONE:
            status = self.expand(worker, table, alone=True)
            worker.flush()
            if status == loops.FULL_QUEUE:
                continue
            if worker.parts:
                yield run_of(np.concatenate(worker.parts), self.words)
            worker.parts = []
            if status == loops.FULL_TABLE:
                table.clear()
                shared[[loops.COUNT, loops.PAUSE]] = 0

    def note(self, level: int, seen: Sequence[WorkerResult]) -> None:
        """Record the first findings of a level: of its states, and of steps and deadlocks that begin one level above."""
        for number, claims in enumerate(self.groups):
            tallies = [s.tallies[number] for s in seen]
            size = claims.width * self.words
            for k, claim in enumerate(claims.properties):
                states = [tuple(t.best[k * size : (k + 1) * size].tolist()) for t in tallies if t.hits[k] and t.best[k * size] != -1]
                if states and claim not in claims.first:
                    claims.first[claim] = (level - claims.levels_back, min(states))
                    claims.open[k] = 0

    # -- faults ---------------------------------------------------------------------------------------------------------

    def fault(self, seen: Iterable[WorkerResult]) -> Packed | None:
        """Return the smallest state in which a formula, an action or a step has an error of the model; None if there is none."""
        return min((tuple(s.fault.tolist()) for s in seen if s.own[loops.FAULTS]), default=None)

    def error(self, state: Packed, levels: int, predecessors: Predecessors, outcomes: Sequence[Outcome]) -> ModelFault:
        """Return the interpreter's error, with its path, in a state that `fault` returned.

        `levels` levels are searched, the last possibly in part.
        """
        before: dict[tuple[int, Packed], Packed] = {}
        level = 0
        if state not in map(tuple, self.start().reshape(-1, self.words).tolist()):
            level = next(at for at in range(max(levels - 2, 1), levels + 1) if predecessors(at - 1, [state]))
        at = state
        for k in range(level, 0, -1):
            (before[k, at],) = predecessors(k - 1, [at]).values()
            at = before[k, at]
        path = self._witness(_ANY, level, state, before)
        error = fault_at_end(self.instance, path.moves, path.states, self.claims, outcomes)
        if error is None:
            raise AssertionError(f"kernel and interpreter differ: no fault in state {labelled(self.instance, path.states[-1])}")
        return error

    def _scanner(self) -> Worker:
        """Return this thread's worker for single calls of the kernel; its counts are ignored. A long witness needs two calls per level."""
        worker: Worker | None = getattr(self._scanners, "worker", None)
        if worker is None:
            worker = self._scanners.worker = Worker(self.kernel, self.consts, WorkerResult(self.kernel, []))
        return worker

    # -- witnesses ------------------------------------------------------------------------------------------------------

    def predecessors(self, states: Words, wanted: list[Packed], map_: Callable[..., Iterable[Words]] = map) -> dict[Packed, Packed]:
        """Return the smallest predecessor among `states` of each wanted state that has one. `map_` may process pieces in parallel."""
        goals = np.array(wanted, dtype=np.int64).ravel()
        total = len(states) // self.words
        find = compile_routine(loops.find_predecessors, WIDTH=self.words)

        def scan(first: int) -> Words:
            w, best = self._scanner(), np.full(len(goals), -1, dtype=np.int64)
            w.take(states, 0, total)
            find(address(w.block), first, min(first + PIECE, total), address(goals), len(wanted), address(best))
            return best.reshape(-1, self.words)

        pieces = list(map_(scan, range(0, max(total, 1), PIECE)))
        smallest = {}
        for k, state in enumerate(wanted):
            parents = [tuple(best[k].tolist()) for best in pieces if best[k][0] != -1]
            if parents:
                smallest[state] = min(parents)
        return smallest

    def witnesses(self, predecessors: Predecessors) -> dict[Property, Witness]:
        """Rebuild all witnesses in one pass from the deepest level up."""
        ends: dict[int, set[Packed]] = {}
        for claims in self.groups:
            for level, words in claims.first.values():
                ends.setdefault(level, set()).add(words[: self.words])
        before: dict[tuple[int, Packed], Packed] = {}
        wanted: set[Packed] = set()
        for level in range(max(ends, default=0), 0, -1):
            wanted |= ends.get(level, set())
            parents = predecessors(level - 1, sorted(wanted))
            before.update({(level, state): parent for state, parent in parents.items()})
            wanted = set(parents.values())
        return {
            claim: self._witness(claim, level, words, before) for claims in self.groups for claim, (level, words) in claims.first.items()
        }

    def _witness(self, claim: Property, level: int, words: Packed, before: dict[tuple[int, Packed], Packed]) -> Witness:
        path = [words[: self.words]]
        for at in range(level, 0, -1):
            path.append(before[at, path[-1]])
        path.reverse()
        if claim.kind == "step" and not self.kernel.canon:
            path.append(words[self.words :])
        states, moves = self._followed(np.array(path, dtype=np.int64))
        codes = list(map(tuple, self.kernel.layout.unpack_many(states).tolist()))
        if claim.kind == "step" and self.kernel.canon:
            state, move = self._violating(claim, states[-1])
            codes.append(state)
            moves.append(move)
        return Witness(self.instance, claim, tuple(moves), tuple(codes))

    def _followed(self, states: Words) -> tuple[Words, list[Move]]:
        """Return the moves of a path, and replace each state but the first by the state that its move makes.

        Works in pieces; Ctrl-C ends it between two pieces.
        """
        w, tags = self._scanner(), np.empty(len(states) - 1, dtype=np.int64)
        follow, piece = compile_routine(loops.follow_path, WIDTH=self.words), max(1, _MOST // max(self.kernel.max_successors, 1))
        for first in range(0, len(tags), piece):
            steps = min(piece, len(tags) - first)
            done = follow(address(w.block), address(states[first:]), steps, address(tags[first:]))
            assert done == steps, "a path has a step that no action makes"
        return states, [self.kernel.move(tag) for tag in tags.tolist()]

    def _violating(self, claim: Property, before: Words) -> tuple[State, Move]:
        """Return the first step from a state, in model order, that violates the claim about steps."""
        w, unpack = self._scanner(), self.kernel.layout.unpack
        n = loops.successors(self.kernel.succ, before, self.consts, w.out, w.tags, w.result.counts, w.result.cover)
        states = map(unpack, w.out[: n * self.words].reshape(n, self.words))
        steps = zip(states, w.tags[:n].tolist(), strict=True)
        state, tag = next((s, tag) for s, tag in steps if not holds(self.instance, claim.formula, unpack(before), s))
        return state, self.kernel.move(tag)

    def _representatives(self, states: Words) -> Words:
        """Return the canonical forms of states, (n, W); without symmetry the states themselves."""
        forms = np.ascontiguousarray(states).copy()
        if self.kernel.canon:
            loops.canonical(self.kernel.canon, forms, len(forms))
        return forms

    # -- outcomes -------------------------------------------------------------------------------------------------------

    def outcomes(
        self, engine: Engine, total: WorkerResult, states: int, depth: int, reason: str, seconds: float, witnesses: dict[Property, Witness]
    ) -> list[Outcome]:
        """Return one outcome per claim, in the order of the claims.

        `total` is the sum of the workers' results. `reason` is empty if all states were seen.
        """
        by_claim = {}
        for number, claims in enumerate(self.groups):
            hits = total.tallies[number].hits
            for k, claim in enumerate(claims.properties):
                good = claim.kind == "reachable"
                if claim in claims.first:
                    verdict: Any = "holds" if good else "violated"
                elif not reason:
                    verdict = "violated" if good else "holds"
                else:
                    verdict = "unknown"
                details: dict[str, Any] = {"satisfying" if good else "violating": int(hits[k])}
                if claim.kind == "always":
                    details["satisfying"] = states - int(hits[k])
                by_claim[claim] = Outcome(
                    claim, engine, verdict, reason if verdict == "unknown" else "", witnesses.get(claim),
                    states, total.transitions, depth, seconds, details,
                )  # fmt: skip
        return [by_claim[p] for p in self.claims]
