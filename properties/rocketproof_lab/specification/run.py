"""Try the specification's mutants: first in the small instances, then the unnoticed ones in the large instances, then by proof.

In each instance a mutant is compared with the specification in all reachable states. If it differs, the claims that have a verdict there
are decided for the mutant. If no verdict changes, differing steps are tried on the implementation. In large instances the order is reversed
and claims are decided last, since each search for a mutant takes as long as the specification's own.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from rocketproof_model import interrupts
from rocketproof_model.transforms.mutation import ModelMutant
from rocketproof_properties.reports.choices import InputError, offer
from rocketproof_spec import part
from rocketproof_traces.common import pools

from . import arguments, invariants
from .claims import changed
from .equal import equal
from .instances import PARTS, catalogued, mutated_model, scopes
from .notice import TYPES, Notice
from .results import ARGUED, EQUAL, NOTICED, STUTTERS, SURVIVED, UNDECIDED, UNREACHABLE, SpecificationReport, SpecificationResult
from .trial import ExploredInstance, large, mutated, small

CTRL_C, TIME = "Ctrl-C", "the time limit"
_CHUNK = 40  # number of mutants per task
_QUICK = 20_000  # up to this many states claims are decided first: such a search is no slower than the implementation
Progress = Callable[[str, int, int], None]
Concerns = Callable[["SpecificationMutant", int], bool]
"""Whether a mutant is to be tried in the large instance with this number."""
A = TypeVar("A")


@dataclass(frozen=True)
class SpecificationMutant:
    """A mutant. `id`: part and name. `name`: the id within its part. `scopes`: the scopes that contain it."""

    id: str
    part: str
    name: str
    scopes: tuple[str, ...]

    @property
    def action(self) -> str:
        return self.name.partition(":")[0]


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


def generated() -> tuple[SpecificationMutant, ...]:
    """Return all mutants in the order of the specification."""
    every: list[SpecificationMutant] = []
    for part_ in PARTS:
        scopes_of: dict[str, list[str]] = {}
        for scope in scopes(part_):
            for name in mutated_model(scope).mutants:
                scopes_of.setdefault(name, []).append(scope)
        every += [SpecificationMutant(f"{part_}/{name}", part_, name, tuple(names)) for name, names in scopes_of.items()]
    return tuple(every)


def chosen(ids: Sequence[str], sample: int | None, seed: int) -> tuple[SpecificationMutant, ...]:
    """Return the mutants of these parts or actions, or with these ids; all if none is given. `sample`: the number of them to choose by the
    seed.

    Raises InputError for an unknown name.
    """
    every = generated()
    names = {each.id: {each.id, each.part, f"{each.part}/{each.action}", *({each.action} - set(PARTS))} for each in every}
    for name in ids:
        if not any(name in own_names for own_names in names.values()):
            candidates = sorted(set().union(*names.values()) - names.keys())
            raise InputError(f"{name!r} is no part, action or mutant of the specification; {offer(name, candidates)}")
    mutants = [each for each in every if not ids or names[each.id] & set(ids)]
    if sample is not None and sample < len(mutants):
        sampled = set(random.Random(seed).sample(range(len(mutants)), sample))
        mutants = [each for number, each in enumerate(mutants) if number in sampled]
    return tuple(mutants)


def run(
    mutants: Sequence[SpecificationMutant],
    *,
    workers: int,
    seconds: float | None = None,
    progress: Progress = lambda *_: None,
    known: SpecificationReport | None = None,
) -> SpecificationReport:
    """Try mutants on `workers` processes for at most `seconds`. Mutants with a known result are skipped, and known deviations are
    included."""
    begun = time.monotonic()
    known = known or SpecificationReport()
    rows = {row.id: row for row in known.rows}
    work = _Work([each for each in mutants if each.id not in rows], workers, None if seconds is None else begun + seconds, progress)
    report = SpecificationReport()
    try:
        work.all()
    except KeyboardInterrupt:
        interrupts.heard()
        report.stopped = CTRL_C
    except _TimeOver:
        report.stopped = TIME
    rows |= {each.id: work.row(each) for each in work.mutants}
    report.rows = [rows[each.id] for each in mutants]
    report.deviations = sorted(frozenset(known.deviations).union(*(seen.deviations for seen in work.seen.values())))
    report.seconds = time.monotonic() - begun
    return report


class _TimeOver(Exception):
    """The time limit is reached."""


@dataclass
class _Work:
    mutants: list[SpecificationMutant]
    workers: int
    deadline: float | None
    progress: Progress
    pool: ProcessPoolExecutor | None = None
    seen: dict[str, MutantEvidence] = field(default_factory=dict)
    proved: dict[str, bool] = field(default_factory=dict)
    over: set[str] = field(default_factory=set)  # mutants for which every method has been tried

    def all(self) -> None:
        with ExitStack() as stack:
            if self.workers > 1 and len(self.mutants) > _CHUNK:
                self.pool = stack.enter_context(pools.processes(self.workers))
            self._all()

    def _all(self) -> None:
        for each in self.mutants:
            self.seen[each.id] = MutantEvidence()
        small_tasks = [MutantTask(some, part_) for part_ in PARTS for some in _cut([e for e in self.mutants if e.part == part_], _CHUNK)]
        done = 0
        for task, evidence in self._spread(in_small, small_tasks):
            done += len(task.mutants)
            self.progress("mutants in small instances:", done, len(self.mutants))
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
            self.progress("proofs:", min(number * _CHUNK, len(same)), len(same))
            self.proved |= proved
        self.over = {each.id for each in self.mutants}

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
        for task, answer in self._spread(function, begun(), self.workers):
            answers[task.number] = answer
            while order and order[0] in answers:
                unnoticed = {each.id for each in self._unnoticed()}
                self._add({id_: seen for id_, seen in answers.pop(order.pop(0)).items() if id_ in unnoticed})
                self.progress(activity, len(tasks) - len(order), len(tasks))

    def _unnoticed(self) -> list[SpecificationMutant]:
        return [each for each in self.mutants if self.seen[each.id].notice is None]

    def _add(self, evidence: dict[str, MutantEvidence]) -> None:
        for id_, seen in evidence.items():
            self.seen[id_].add(seen)

    def _spread(self, function: Callable[[MutantTask], A], tasks: Iterable[MutantTask], ahead: int = 0) -> Iterator[tuple[MutantTask, A]]:
        """Yield the function's answers with their tasks as they arrive, with at most `ahead` tasks in progress."""
        do = partial(_answered, function)
        for answer in map(do, tasks) if self.pool is None else pools.answers(self.pool, do, tasks, ahead or 2 * self.workers):
            yield answer
            if self.deadline is not None and time.monotonic() > self.deadline:
                raise _TimeOver

    def row(self, each: SpecificationMutant) -> SpecificationResult:
        seen = self.seen.get(each.id, MutantEvidence())
        row = SpecificationResult(each.id, each.part, each.action, UNDECIDED, compared=seen.compared)
        if seen.notice is not None:
            return replace(row, verdict=NOTICED, by=seen.notice.by, where=seen.notice.where, how=seen.notice.how)
        if each.id not in self.over:
            return row
        if self.proved.get(each.id):
            return replace(row, verdict=EQUAL)
        argument = arguments.of(each.id)
        if not seen.differs:
            return replace(row, verdict=UNREACHABLE, how=argument)
        if not seen.moves:
            return replace(row, verdict=STUTTERS)
        return replace(row, verdict=ARGUED if argument else SURVIVED, how=argument)


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
        return equal(part(scope).model, mutated_model(scope).mutants[each.name], invariants.known(scope))

    return {each.id: all(same(each, scope) for scope in each.scopes) for each in task.mutants}
