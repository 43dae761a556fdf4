"""Try the specification's mutants: in the small instances first, then those that nothing noticed in the large ones, then by proof.

In each instance a mutant is compared with the specification in all reachable states. Where it differs, the claims that have a verdict there
are decided for the mutant, and where none has another one than usual, steps that differ are tried on the implementation. In large instances
it is the other way round, and claims are asked last of all: each search for a mutant takes as long as the specification's own.
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
from .instances import PARTS, catalogued, scopes, spoilt
from .notice import TYPES, Notice
from .results import ARGUED, EQUAL, NOTICED, STUTTERS, SURVIVED, UNDECIDED, UNREACHABLE, SpecificationReport, SpecificationResult
from .trial import ExploredInstance, large, mutated, small

CTRL_C, TIME = "Ctrl-C", "the time limit"
_CHUNK = 40  # mutants that a process tries between two reports
_QUICK = 20_000  # states of an instance in which claims are asked first: a search there takes no longer than what the implementation does
Progress = Callable[[str, int, int], None]
Concerns = Callable[["Generated", int], bool]
"""Whether a mutant is to be tried in the large instance with this number."""
A = TypeVar("A")


@dataclass(frozen=True)
class Generated:
    """A mutant: its id in the table, and its part, its own id and its scopes."""

    id: str
    part: str
    name: str
    scopes: tuple[str, ...]

    @property
    def action(self) -> str:
        return self.name.partition(":")[0]


@dataclass(frozen=True)
class MutantTask:
    """Mutants for one process: all of one part in its small instances, or in the large instance with this number, which has so many
    states."""

    mutants: tuple[Generated, ...]
    part: str = ""
    number: int = 0
    states: int = 0


@dataclass
class MutantEvidence:
    """What was found out about a mutant: what noticed it, in how many states it was compared, whether it differed in any, and whether
    it led elsewhere; by number the large instances in which it did, with their states."""

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


def generated() -> tuple[Generated, ...]:
    """All mutants in the order of the specification."""
    found: list[Generated] = []
    for part_ in PARTS:
        where: dict[str, list[str]] = {}
        for scope in scopes(part_):
            for name in spoilt(scope).mutants:
                where.setdefault(name, []).append(scope)
        found += [Generated(f"{part_}/{name}", part_, name, tuple(names)) for name, names in where.items()]
    return tuple(found)


def chosen(asked: Sequence[str], sample: int | None, seed: int) -> tuple[Generated, ...]:
    """The mutants of these parts or actions, or with these ids; all without any. `sample`: so many of them, drawn by the seed.

    Raises InputError for a name that is none.
    """
    every = generated()
    names = {each.id: {each.id, each.part, f"{each.part}/{each.action}", *({each.action} - set(PARTS))} for each in every}
    for name in asked:
        if not any(name in of for of in names.values()):
            near = sorted(set().union(*names.values()) - names.keys())
            raise InputError(f"{name!r} is no part, action or mutant of the specification; {offer(name, near)}")
    found = [each for each in every if not asked or names[each.id] & set(asked)]
    if sample is not None and sample < len(found):
        kept = set(random.Random(seed).sample(range(len(found)), sample))
        found = [each for number, each in enumerate(found) if number in kept]
    return tuple(found)


def run(
    asked: Sequence[Generated],
    *,
    workers: int,
    seconds: float | None = None,
    progress: Progress = lambda *_: None,
    known: SpecificationReport | None = None,
) -> SpecificationReport:
    """Try mutants on so many processes, for at most so many seconds; those with a known row are left alone, and known deviations stay."""
    begun = time.monotonic()
    known = known or SpecificationReport()
    rows = {row.id: row for row in known.rows}
    work = _Work([each for each in asked if each.id not in rows], workers, None if seconds is None else begun + seconds, progress)
    report = SpecificationReport()
    try:
        work.all()
    except KeyboardInterrupt:
        interrupts.heard()
        report.stopped = CTRL_C
    except _Over:
        report.stopped = TIME
    rows |= {each.id: work.row(each) for each in work.asked}
    report.rows = [rows[each.id] for each in asked]
    report.deviations = sorted(frozenset(known.deviations).union(*(seen.deviations for seen in work.seen.values())))
    report.seconds = time.monotonic() - begun
    return report


class _Over(Exception):
    """The time is over."""


@dataclass
class _Work:
    asked: list[Generated]
    workers: int
    deadline: float | None
    progress: Progress
    pool: ProcessPoolExecutor | None = None
    seen: dict[str, MutantEvidence] = field(default_factory=dict)
    proved: dict[str, bool] = field(default_factory=dict)
    over: set[str] = field(default_factory=set)  # those about which nothing more can be found out

    def all(self) -> None:
        with ExitStack() as stack:
            if self.workers > 1 and len(self.asked) > _CHUNK:
                self.pool = stack.enter_context(pools.processes(self.workers))
            self._all()

    def _all(self) -> None:
        for each in self.asked:
            self.seen[each.id] = MutantEvidence()
        small_ones = [MutantTask(some, part_) for part_ in PARTS for some in _cut([e for e in self.asked if e.part == part_], _CHUNK)]
        done = 0
        for task, found in self._spread(in_small, small_ones):
            done += len(task.mutants)
            self.progress("mutants in small instances:", done, len(self.asked))
            self._add(found)
        many = [len(spoilt(one.source.scope).model.actions) for one in catalogued()]
        order = sorted(range(len(many)), key=lambda k: -many[k])  # where more happens, more is noticed
        tasks = {number: MutantTask((), number=number) for number in order}
        self._one_by_one("large instances:", in_large, tasks, lambda each, k: catalogued()[k].source.scope in each.scopes)
        states = {number: of for each in self._left() for number, of in self.seen[each.id].large.items()}
        tasks = {number: MutantTask((), number=number, states=states[number]) for number in sorted(states, key=lambda k: (states[k], k))}
        self._one_by_one("claims in large instances:", claims_in_large, tasks, lambda each, k: k in self.seen[each.id].large)
        same = [each for each in self._left() if not self.seen[each.id].differs]
        for number, (_, proved) in enumerate(self._spread(proofs, [MutantTask(some) for some in _cut(same, _CHUNK)])):
            self.progress("proofs:", min(number * _CHUNK, len(same)), len(same))
            self.proved |= proved
        self.over = {each.id for each in self.asked}

    def _one_by_one(
        self, what: str, function: Callable[[MutantTask], dict[str, MutantEvidence]], tasks: Mapping[int, MutantTask], concerns: Concerns
    ) -> None:
        """Do tasks, one a large instance, with the mutants that each concerns and that nothing has noticed as it begins.

        What they find counts in their order: what one has noticed is noticed by none after it, whatever the number of processes.
        """

        def begun() -> Iterator[MutantTask]:
            for task in tasks.values():
                yield replace(task, mutants=tuple(each for each in self._left() if concerns(each, task.number)))

        order, found = list(tasks), dict[int, dict[str, MutantEvidence]]()
        for task, answer in self._spread(function, begun(), self.workers):
            found[task.number] = answer
            while order and order[0] in found:
                left = {each.id for each in self._left()}
                self._add({id_: seen for id_, seen in found.pop(order.pop(0)).items() if id_ in left})
                self.progress(what, len(tasks) - len(order), len(tasks))

    def _left(self) -> list[Generated]:
        return [each for each in self.asked if self.seen[each.id].notice is None]

    def _add(self, found: dict[str, MutantEvidence]) -> None:
        for id_, seen in found.items():
            self.seen[id_].add(seen)

    def _spread(self, function: Callable[[MutantTask], A], tasks: Iterable[MutantTask], ahead: int = 0) -> Iterator[tuple[MutantTask, A]]:
        """The function's answers with their tasks, as they come, with at most `ahead` under way."""
        do = partial(_answered, function)
        for answer in map(do, tasks) if self.pool is None else pools.answers(self.pool, do, tasks, ahead or 2 * self.workers):
            yield answer
            if self.deadline is not None and time.monotonic() > self.deadline:
                raise _Over

    def row(self, each: Generated) -> SpecificationResult:
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


def _cut(some: Sequence[Generated], size: int) -> list[tuple[Generated, ...]]:
    return [tuple(some[at : at + size]) for at in range(0, len(some), size)]


def _answered(function: Callable[[MutantTask], A], task: MutantTask) -> tuple[MutantTask, A]:
    return task, function(task)


def _quick(trial: ExploredInstance, mutant: ModelMutant) -> Notice | None:
    return trial.by_claims(mutant) if trial.states <= _QUICK else None


def _slow(trial: ExploredInstance, mutant: ModelMutant) -> Notice | None:
    return trial.by_claims(mutant) if trial.states > _QUICK else None


def in_small(task: MutantTask) -> dict[str, MutantEvidence]:
    """What is seen of mutants in the small instances of their part."""
    trials = [small(one) for one in catalogued() if one.source.scope in scopes(task.part)]
    ready = sorted((trial for trial in trials if trial is not None), key=lambda trial: trial.states)
    return {each.id: _seen(each, ready, [_quick, ExploredInstance.by_implementation, _slow]) for each in task.mutants}


def in_large(task: MutantTask) -> dict[str, MutantEvidence]:
    """What is seen of mutants in one instance, its claims left out, unless it is a small one."""
    trial = large(catalogued()[task.number]) if task.mutants else None
    if trial is None:
        return {}
    found = {each.id: _seen(each, [trial], [ExploredInstance.by_implementation]) for each in task.mutants}
    for seen in found.values():
        if seen.notice is None and seen.moves and trial.one.expected:
            seen.large[task.number] = trial.states
    return found


def claims_in_large(task: MutantTask) -> dict[str, MutantEvidence]:
    """Which claims notice mutants in one instance."""
    one = catalogued()[task.number]
    made, instance = spoilt(one.source.scope), one.source.subject().instance
    return {each.id: MutantEvidence(changed(one, mutated(instance, made, made.number[each.name]), task.states)) for each in task.mutants}


def _seen(
    each: Generated, trials: Sequence[ExploredInstance], asked: Sequence[Callable[[ExploredInstance, ModelMutant], Notice | None]]
) -> MutantEvidence:
    """What is seen of a mutant, which is asked about in all instances in which it differs, in one way after the other."""
    seen, where = MutantEvidence(), []
    for trial in trials:
        mutant = trial.spoilt.mutants.get(each.name)
        if mutant is not None:
            seen.compared += trial.compared(mutant)
            if next(trial.differing(mutant), None) is not None:
                where.append((trial, mutant))
    seen.differs = bool(where)
    for by in asked:
        for trial, mutant in where:
            seen.add(MutantEvidence(by(trial, mutant), deviations=frozenset(trial.deviations)))
            if seen.notice is not None and seen.notice.by != TYPES:
                return seen
    seen.moves = any(not trial.stutters(mutant) for trial, mutant in where)
    return seen


def proofs(task: MutantTask) -> dict[str, bool]:
    """Which of these mutants change nothing in any state that the invariants allow, in all of their scopes."""

    def same(each: Generated, scope: str) -> bool:
        return equal(part(scope).model, spoilt(scope).mutants[each.name], invariants.known(scope))

    return {each.id: all(same(each, scope) for scope in each.scopes) for each in task.mutants}
