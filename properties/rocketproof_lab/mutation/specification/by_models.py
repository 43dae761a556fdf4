"""Trial by models: first in the small instances, then the unnoticed mutants in the large instances, then by proof.

In each instance a mutant is compared with the specification in all reachable states. If it differs, the claims that have a verdict there
are decided for the mutant. If no verdict changes, differing steps are tried on the implementation. In large instances the order is reversed
and claims are decided last, since each search for a mutant takes as long as the specification's own.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar

from rocketproof_model.transforms.mutation import ModelMutant
from rocketproof_spec import part
from rocketproof_traces.common import pools

from .. import arguments
from ..forks import OutOfTime
from ..results import ARGUED, EQUAL, NOTICED, STUTTERS, SURVIVED, UNDECIDED, UNREACHABLE, MutantOutcome, ResultFormat
from ..runner import RunLimits
from . import invariants
from .claims import IMPLEMENTATION, TYPES, Notice, changed
from .explored import ExploredInstance, large, mutated, small
from .instances import PARTS, catalogued, mutated_model, scopes
from .mutants import SpecificationMutant, fingerprint

_CHUNK = 40  # number of mutants per task
_QUICK = 20_000  # up to this many states claims are decided first: such a search is no slower than the implementation
Concerns = Callable[[SpecificationMutant, int], bool]
"""Whether a mutant is to be tried in the large instance with this number."""
A = TypeVar("A")
FORMAT: Final = ResultFormat(
    option="--specification",
    noun="mutant",
    schema="rocketproof-specification-mutants",
    rows="mutants",
    columns={name: name for name in ("id", "part", "action", "verdict", "by", "where", "how", "compared")},
    words={
        NOTICED: "",
        EQUAL: "the same value in every state that the types and the invariants allow, by proof",
        UNREACHABLE: "other in no reachable state of any instance",
        STUTTERS: "only further steps that change nothing, or lead where others lead",
        ARGUED: "other, and no rule of the described system says which",
        SURVIVED: "nothing notices them",
        UNDECIDED: "the run ended before",
    },
    styles={SURVIVED: "bold red", UNDECIDED: "bold yellow"},
    by={IMPLEMENTATION: "the implementation does otherwise", TYPES: "a value leaves its type, and the search ends"},
    computed=lambda: {"specification": fingerprint()},
    differs="is about another specification or catalogue; leave out --resume to try all mutants again",
)


@dataclass(frozen=True)
class MutantTask:
    """Mutants for one process: all of one part in its small instances, or in the large instance with this number and this many states."""

    mutants: tuple[SpecificationMutant, ...]
    part: str = ""
    number: int = 0
    states: int = 0


@dataclass
class MutantEvidence:
    """The evidence about a mutant: what noticed it, the number of compared states, whether it differs in any, and whether it leads
    elsewhere. `large`: by number, the large instances in which it leads elsewhere, with their states."""

    notice: Notice | None = None
    compared: int = 0
    differs: bool = False
    moves: bool = False
    large: dict[int, int] = field(default_factory=dict)
    deviations: frozenset[str] = frozenset()

    def add(self, other: MutantEvidence) -> None:
        self.compared += other.compared
        self.differs |= other.differs
        self.moves |= other.moves
        self.large |= other.large
        self.deviations |= other.deviations
        if other.notice is not None and (self.notice is None or self.notice.by == TYPES):
            self.notice = other.notice


class TrialByModels:
    """Tries mutants of the specification. Outcomes have these further columns: `part`, `action`, and `compared`, the number of states in
    which the mutant was compared with the specification. They represent all states."""

    format = FORMAT
    options: Mapping[str, Any] = {}

    def __init__(self) -> None:
        self.mutants: Sequence[SpecificationMutant] = ()
        self.seen: dict[str, MutantEvidence] = {}
        self._limits = RunLimits(1, float("inf"), lambda *_: None, lambda _: None)
        self._pool: ProcessPoolExecutor | None = None
        self._proved: dict[str, bool] = {}
        self._finished = False  # every method has been tried for every mutant

    def run(self, mutants: Sequence[SpecificationMutant], limits: RunLimits) -> None:
        self.mutants, self._limits = mutants, limits
        with ExitStack() as stack:
            if limits.workers > 1 and len(mutants) > _CHUNK:
                self._pool = stack.enter_context(pools.processes(limits.workers))
            self._run()

    def deviations(self) -> list[str]:
        return sorted(frozenset[str]().union(*(seen.deviations for seen in self.seen.values())))

    def _run(self) -> None:
        for each in self.mutants:
            self.seen[each.id] = MutantEvidence()
        small_tasks = [MutantTask(some, part_) for part_ in PARTS for some in _cut([e for e in self.mutants if e.part == part_], _CHUNK)]
        done = 0
        for task, evidence in self._spread(in_small, small_tasks):
            done += len(task.mutants)
            self._limits.progress("mutants in small instances:", done, len(self.mutants))
            self._add(evidence)
        action_counts = [len(mutated_model(instance.source.scope).model.actions) for instance in catalogued()]
        order = sorted(range(len(action_counts)), key=lambda k: -action_counts[k])  # instances with more actions notice more mutants
        tasks = {number: MutantTask((), number=number) for number in order}
        self._in_order("large instances:", in_large, tasks, lambda each, k: catalogued()[k].source.scope in each.scopes)
        states = {number: of for each in self._unnoticed() for number, of in self.seen[each.id].large.items()}
        tasks = {number: MutantTask((), number=number, states=states[number]) for number in sorted(states, key=lambda k: (states[k], k))}
        self._in_order("claims in large instances:", claims_in_large, tasks, lambda each, k: k in self.seen[each.id].large)
        same = [each for each in self._unnoticed() if not self.seen[each.id].differs]
        for number, (_, proved) in enumerate(self._spread(proofs, [MutantTask(some) for some in _cut(same, _CHUNK)])):
            self._limits.progress("proofs:", min(number * _CHUNK, len(same)), len(same))
            self._proved |= proved
        self._finished = True

    def _in_order(
        self,
        activity: str,
        function: Callable[[MutantTask], dict[str, MutantEvidence]],
        tasks: Mapping[int, MutantTask],
        concerns: Concerns,
    ) -> None:
        """Run one task per large instance, with the mutants that it concerns and that are unnoticed when it begins.

        Results count in the order of the tasks, whatever the number of processes: a mutant noticed by one task is not noticed by a later
        one.
        """

        def begun() -> Iterator[MutantTask]:
            for task in tasks.values():
                yield replace(task, mutants=tuple(each for each in self._unnoticed() if concerns(each, task.number)))

        order, answers = list(tasks), dict[int, dict[str, MutantEvidence]]()
        for task, answer in self._spread(function, begun(), self._limits.workers):
            answers[task.number] = answer
            while order and order[0] in answers:
                unnoticed = {each.id for each in self._unnoticed()}
                self._add({id_: seen for id_, seen in answers.pop(order.pop(0)).items() if id_ in unnoticed})
                self._limits.progress(activity, len(tasks) - len(order), len(tasks))

    def _unnoticed(self) -> list[SpecificationMutant]:
        return [each for each in self.mutants if self.seen[each.id].notice is None]

    def _add(self, evidence: dict[str, MutantEvidence]) -> None:
        for id_, seen in evidence.items():
            self.seen[id_].add(seen)

    def _spread(self, function: Callable[[MutantTask], A], tasks: Iterable[MutantTask], ahead: int = 0) -> Iterator[tuple[MutantTask, A]]:
        """Yield the function's answers with their tasks as they arrive, with at most `ahead` tasks in progress."""
        do = partial(_answered, function)
        for answer in map(do, tasks) if self._pool is None else pools.answers(self._pool, do, tasks, ahead or 2 * self._limits.workers):
            yield answer
            if time.monotonic() > self._limits.deadline:
                raise OutOfTime

    def final(self, mutant: SpecificationMutant, outcome: MutantOutcome | None, stopped: str) -> MutantOutcome:
        """Return the known outcome, or that of the evidence so far."""
        del stopped
        if outcome is not None:
            return outcome
        seen = self.seen.get(mutant.id, MutantEvidence())
        more = {"part": mutant.part, "action": mutant.place, "compared": seen.compared}
        outcome = MutantOutcome(mutant.id, UNDECIDED, more=more)
        if seen.notice is not None:
            return replace(outcome, verdict=NOTICED, by=seen.notice.by, where=seen.notice.where, how=seen.notice.how)
        if not self._finished:
            return outcome
        if self._proved.get(mutant.id):
            return replace(outcome, verdict=EQUAL)
        argument = arguments.of_specification(mutant.id)
        if not seen.differs:
            return replace(outcome, verdict=UNREACHABLE, how=argument)
        if not seen.moves:
            return replace(outcome, verdict=STUTTERS)
        return replace(outcome, verdict=ARGUED if argument else SURVIVED, how=argument)


def _cut(mutants: Sequence[SpecificationMutant], size: int) -> list[tuple[SpecificationMutant, ...]]:
    return [tuple(mutants[at : at + size]) for at in range(0, len(mutants), size)]


def _answered(function: Callable[[MutantTask], A], task: MutantTask) -> tuple[MutantTask, A]:
    return task, function(task)


def _quick(trial: ExploredInstance, mutant: ModelMutant) -> Notice | None:
    return trial.by_claims(mutant) if trial.states <= _QUICK else None


def _slow(trial: ExploredInstance, mutant: ModelMutant) -> Notice | None:
    return trial.by_claims(mutant) if trial.states > _QUICK else None


def in_small(task: MutantTask) -> dict[str, MutantEvidence]:
    """Return the evidence about mutants in the small instances of their part."""
    trials = [small(instance) for instance in catalogued() if instance.source.scope in scopes(task.part)]
    ready = sorted((trial for trial in trials if trial is not None), key=lambda trial: trial.states)
    return {each.id: _evidence(each, ready, [_quick, ExploredInstance.by_implementation, _slow]) for each in task.mutants}


def in_large(task: MutantTask) -> dict[str, MutantEvidence]:
    """Return the evidence about mutants in one large instance, without its claims; nothing for a small instance."""
    trial = large(catalogued()[task.number]) if task.mutants else None
    if trial is None:
        return {}
    evidence = {each.id: _evidence(each, [trial], [ExploredInstance.by_implementation]) for each in task.mutants}
    for seen in evidence.values():
        if seen.notice is None and seen.moves and trial.catalogued.expected:
            seen.large[task.number] = trial.states
    return evidence


def claims_in_large(task: MutantTask) -> dict[str, MutantEvidence]:
    """Return the evidence of claims about mutants in one instance."""
    catalogue_entry = catalogued()[task.number]
    model, instance = mutated_model(catalogue_entry.source.scope), catalogue_entry.source.subject().instance
    return {
        each.id: MutantEvidence(changed(catalogue_entry, mutated(instance, model, model.number[each.name]), task.states))
        for each in task.mutants
    }


def _evidence(
    each: SpecificationMutant,
    trials: Sequence[ExploredInstance],
    methods: Sequence[Callable[[ExploredInstance, ModelMutant], Notice | None]],
) -> MutantEvidence:
    """Return the evidence about a mutant: each method in turn is tried in all instances in which the mutant differs."""
    seen, differing = MutantEvidence(), []
    for trial in trials:
        mutant = trial.mutated.mutants.get(each.name)
        if mutant is not None:
            seen.compared += trial.compared(mutant)
            if next(trial.differing(mutant), None) is not None:
                differing.append((trial, mutant))
    seen.differs = bool(differing)
    for method in methods:
        for trial, mutant in differing:
            seen.add(MutantEvidence(method(trial, mutant), deviations=frozenset(trial.deviations)))
            if seen.notice is not None and seen.notice.by != TYPES:
                return seen
    seen.moves = any(not trial.stutters(mutant) for trial, mutant in differing)
    return seen


def proofs(task: MutantTask) -> dict[str, bool]:
    """Return for each mutant whether it changes nothing in any state that the invariants allow, in all its scopes."""

    def same(each: SpecificationMutant, scope: str) -> bool:
        return invariants.equal(part(scope).model, mutated_model(scope).mutants[each.name], invariants.known(scope))

    return {each.id: all(same(each, scope) for scope in each.scopes) for each in task.mutants}
