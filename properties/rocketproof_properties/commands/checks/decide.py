"""Decide one unit of work: the tasks of one engine on one instance. Every call of an engine is in this module.

The explicit engine answers all tasks of an instance in one search over all claims of the specification. A single compiled kernel therefore
serves every unit of a scope. Tasks that differ only in their profile's name share one answer.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rocketproof_model import LimitReached, Property, RocketproofError, interrupts
from rocketproof_model.faults import ModelFault
from rocketproof_model.language import OBSERVED
from rocketproof_model.language.symmetry import symmetric_indices
from rocketproof_model.result import (
    BOUND,
    GAVE_UP,
    INTERRUPTED,
    LIVE,
    MEMORY,
    MODEL_ERROR,
    SEARCHED,
    Explored,
    Limits,
    Outcome,
    Report,
    Watch,
)
from rocketproof_protocol.numbers import whole_number

from ...catalogue.source import CheckSubject
from ...reports.choices import InputError
from ...reports.output import counted
from . import vacuity, witnessfiles
from .certificates import widened
from .evidence import VerdictEvidence
from .plan import DEPTH, INVARIANTS, PROVABLE, SPACER, CheckTask
from .rows import decided, undecided
from .units import Budget, Unit, UnitResult

if TYPE_CHECKING:
    from rocketproof_model import Instance
    from rocketproof_model.explicit.exploration import Exploration

Widen = tuple[tuple[str, int], ...]
Widened = tuple["Instance", dict[tuple[str, str], Property]]
"""A widened instance, and its claims by id and kind."""
RUNS, STEPS = 10_000, 100  # per simulation, per run
LOCAL = "liveness is decided in one machine's memory: --engine explicit"


def decide(unit: Unit, budget: Budget, report: Report) -> UnitResult:
    """Answer a unit's tasks. Raises RocketproofError if a model file is wrong or a witness cannot be written.

    Limits and Ctrl-C are answers, not errors. An engine's internal error is a problem of the answer, so that earlier verdicts are kept.
    """
    work = Work(unit, budget, report)
    reason = GAVE_UP
    try:
        if unit.source.is_messages:
            work.history()
        else:
            work.on(work.subject)
    except KeyboardInterrupt:
        interrupts.heard()
        reason, work.answer.interrupted = INTERRUPTED, True
    except LimitReached as error:
        reason = error.reason
    except MemoryError:
        reason = MEMORY
    except ModelFault as fault:
        reason = MODEL_ERROR
        work.fault(fault)
    except RocketproofError as error:
        if unit.source.file is not None or isinstance(error, InputError):
            raise
        work.answer.problems.append(f"{unit}: {error}")
    except Exception as error:  # noqa: BLE001  (an internal error must not discard the verdicts established so far)
        if interrupts.came():  # a library has turned the interrupt into another exception
            reason, work.answer.interrupted = INTERRUPTED, True
        else:
            at = traceback.extract_tb(error.__traceback__)[-1]
            message = " ".join(f"{type(error).__name__}: {error}".split())
            work.answer.problems.append(f"{unit} failed: {message} ({Path(at.filename).name}:{at.lineno})")
    for task in unit.tasks:
        work.answer.rows.setdefault(task, undecided(task, reason))
    return work.answer


class Work:
    """The engines, applied to one subject. Their answers are recorded by `enter`."""

    def __init__(self, unit: Unit, budget: Budget, report: Report) -> None:
        self.unit, self.budget, self.report = unit, budget, report
        self.watch = Watch(budget.limits)
        self.answer = UnitResult()
        self.wide: dict[Widen, Widened] = {}
        self.paths = dict(zip(unit.tasks, unit.paths, strict=True))

    @property
    def limits(self) -> Limits:
        """The limits of the next engine: all engines of this unit share its time."""
        return replace(self.budget.limits, seconds=self.watch.left)

    @property
    def subject(self) -> CheckSubject:
        """The subject of the unit.

        The stateful engine needs the specification itself, because the implementation performs its steps. The other engines use the cached
        form.
        """
        return self.unit.source.subject() if self.unit.engine == "stateful" else self.unit.source.kept()

    def on(self, subject: CheckSubject) -> None:
        """Run the unit's engine on its tasks."""
        engines = {
            "explicit": self.explicit,
            "symbolic": self.symbolic,
            "simulate": self.simulate,
            "stateful": self.stateful,
            "spark": self.spark,
        }
        engines[self.unit.engine](subject)

    def enter(self, tasks: Iterable[CheckTask], outcome: Outcome, proof: str, vacuous: bool = False) -> None:
        """Record an answer as the rows of its tasks, and its evidence."""
        for task in tasks:
            evidence = self.answer.evidence[task] = VerdictEvidence.of(task, outcome)
            row = decided(task, outcome, proof=proof, vacuous=vacuous)
            self.answer.rows[task] = evidence.written(row, task, self.paths[task], self.budget.certificates)

    def fault(self, fault: ModelFault) -> None:
        """Record what was decided before a model error, and the path to the error."""
        source = self.unit.source
        decided = {o.property: o for o in fault.outcomes if o.verdict != "unknown"}
        for tasks, claim in self.questions(self.subject):
            if claim in decided and tasks[0] not in self.answer.rows:
                self.enter(tasks, decided[claim], "up to the model error")
        path = witnessfiles.save_fault(self.unit.paths[0], source, self.unit.engine, fault.witness)
        remedy = "fix the model: give the variable a wider type, or the action a guard"
        message = f"{self.unit if source.file is None else source.file}: {fault}; {remedy}; its path: {witnessfiles.show_command(path)}"
        (self.answer.problems if source.file is None else self.answer.faults).append(message)

    def stop_if_interrupted(self) -> None:
        if any(row.reason == INTERRUPTED for row in self.answer.rows.values()):
            raise KeyboardInterrupt

    def explicit(self, subject: CheckSubject) -> None:
        from rocketproof_model import observing, search

        claims, extra = _searched(subject)
        instance, searched, budget = subject.instance, [*claims, *extra], self.budget
        live = [(tasks, claim) for tasks, claim in self.questions(subject) if claim.kind in LIVE]
        symmetry, checkpoint = budget.symmetry and not live, None
        if budget.checkpoint is not None:
            from rocketproof_model.explicit.checkpoint import SearchCheckpoint

            checkpoint = SearchCheckpoint(budget.checkpoint / search.question(instance, searched, symmetry=symmetry)[:16])
        limits = replace(self.limits, disk=budget.disk)
        exploration = search.explore(
            instance, searched, workers=budget.workers, limits=limits, report=self.report, symmetry=symmetry, checkpoint=checkpoint
        )
        files = f", {exploration.disk / (1 << 20):,.1f} MB of files" if exploration.disk else ""
        proof = _size(exploration) + files + _reduction(exploration, live=bool(live), wanted=self.budget.symmetry)
        never = self.searched(subject, exploration, extra, proof)
        if live:
            from rocketproof_model import liveness

            wanted = [claim for _, claim in live]
            answers = liveness.check(
                subject.instance, wanted, limits=self.limits, report=self.report, workers=budget.workers, exploration=exploration
            )
            for (tasks, claim), outcome in zip(live, answers, strict=True):
                self.enter(tasks, outcome, proof, vacuity.PREFIX + claim.id in never)
            self.stop_if_interrupted()
        for tasks, claim in self.questions(subject):
            if claim.kind in OBSERVED:
                outcome = observing.check(
                    instance, claim, limits=self.limits, report=self.report, workers=budget.workers, symmetry=budget.symmetry
                )
                self.observed(tasks, outcome, never)

    def spark(self, subject: CheckSubject) -> None:
        """Run the explicit search on Spark's workers, for all claims except liveness."""
        from rocketproof_model import observing
        from rocketproof_traces.common.errors import TraceError
        from rocketproof_traces.spark import search

        for tasks, claim in self.questions(subject):
            if claim.kind in LIVE:
                self.answer.rows.update({task: undecided(task, LOCAL) for task in tasks})
        if all(task in self.answer.rows for task in self.unit.tasks):
            return
        claims, extra = _searched(subject)
        cluster = self.budget.cluster

        def explore(instance: Instance, properties: Sequence[Property]) -> Explored:
            return search.explore(cluster.session(), instance, properties, scratch=cluster.scratch, limits=self.limits, report=self.report)

        def ask(observed: Instance, plain: Sequence[Property]) -> Outcome:
            first, *rest = plain
            outcome = explore(observed, [first]).outcome(first.id)
            return replace(outcome, verdict="unknown", reason=LOCAL) if rest and outcome.verdict == "holds" else outcome

        try:
            explored = explore(subject.instance, [*claims, *extra])
            never = self.searched(subject, explored, extra, _size(explored))
            for tasks, claim in self.questions(subject):
                if claim.kind in OBSERVED:
                    self.observed(tasks, observing.through(subject.instance, claim, ask), never)
        except TraceError as error:
            raise InputError(str(error)) from None

    def observed(self, tasks: list[CheckTask], outcome: Outcome, never: set[str]) -> None:
        """Record the result of a search on the observed model."""
        vacuous = vacuity.PREFIX + outcome.property.id in never
        self.enter(tasks, outcome, f"{outcome.states or 0:,} states with its observer", vacuous)
        self.stop_if_interrupted()

    def searched(self, subject: CheckSubject, explored: Explored, extra: Sequence[Property], proof: str) -> set[str]:
        """Record the results of a search. Return the ids of premises that never held."""
        self.answer.coverage, self.answer.complete = explored.coverage, explored.finished
        outcomes = {o.property: o for o in explored.outcomes}
        never = {p.id for p in extra if explored.finished and vacuity.occurred(p.kind, outcomes[p].verdict) is False}
        for tasks, claim in self.questions(subject):
            if claim.kind in SEARCHED:
                self.enter(tasks, outcomes[claim], proof, vacuity.PREFIX + claim.id in never)
        self.stop_if_interrupted()
        return never

    def symbolic(self, subject: CheckSubject) -> None:
        from rocketproof_model import lemmas, observing, symbolic

        questions = list(self.questions(subject))
        for depth in sorted({depth for tasks, _ in questions if (depth := _bound(tasks[0])) is not None}):
            together = [(tasks, claim) for tasks, claim in questions if _bound(tasks[0]) == depth]
            wanted = list(dict.fromkeys(claim for _, claim in together if claim.kind not in OBSERVED))
            outcomes = symbolic.bounded(subject.instance, wanted, depth=depth, limits=self.limits, report=self.report) if wanted else []
            answers = dict(zip(wanted, outcomes, strict=True))
            for claim in dict.fromkeys(claim for _, claim in together if claim.kind in OBSERVED):
                answers[claim] = observing.bounded(subject.instance, claim, depth=depth, limits=self.limits, report=self.report)
            for tasks, claim in together:
                self.enter(tasks, answers[claim], f"{depth} steps")
            self.stop_if_interrupted()
        for tasks, claim in questions:
            if claim.kind == "lemma":
                outcome = lemmas.prove(subject.instance, claim, limits=self.limits)
                self.enter(tasks, outcome, "all values", outcome.reason == lemmas.VACUOUS)
            elif tasks[0].method == SPACER:
                self.spacer(subject, tasks)
            elif not tasks[0].method.startswith("bounded") and tasks[0].method != INVARIANTS:
                self.induction(subject, tasks, claim)
            self.stop_if_interrupted()
        self.invariants(subject, [(tasks, claim) for tasks, claim in questions if tasks[0].method == INVARIANTS])
        self.stop_if_interrupted()

    def induction(self, subject: CheckSubject, tasks: list[CheckTask], claim: Property) -> None:
        """Prove by induction. A task without a method was checked to a bound before; a violation found then remains."""
        from rocketproof_model import observing, symbolic

        task = tasks[0]
        before = self.answer.rows.get(task)
        if before is not None and (before.verdict != "unknown" or before.reason != BOUND or claim.kind not in PROVABLE):
            return
        k = whole_number(task.method.partition(":")[2] or 1)
        instance, claims = self.widened(subject, task.widen)
        claim, lemmas = claims[task.claim, task.kind], [claims[id_, "always"] for id_ in task.lemmas]
        prove = observing.induction if claim.kind in OBSERVED else symbolic.induction
        outcome = _described(prove(instance, claim, k=k, lemmas=lemmas, limits=self.limits), task)
        if before is not None and outcome.verdict == "not inductive":
            outcome = replace(outcome, reason=f"no violation in {DEPTH} steps, no proof by induction: {outcome.reason}")
        if before is None or outcome.verdict != "unknown":
            self.enter(tasks, outcome, f"induction, k = {k}")

    def invariants(self, subject: CheckSubject, questions: Sequence[tuple[list[CheckTask], Property]]) -> None:
        """Prove by induction with inferred invariants. Claims about one model are proved together."""
        from rocketproof_model.proofs import invariants

        together: dict[Widen, list[list[CheckTask]]] = {}
        for tasks, _ in questions:
            together.setdefault(tasks[0].widen, []).append(tasks)
        for widen, group in together.items():
            instance, claims = self.widened(subject, widen)
            wanted = [claims[tasks[0].claim, tasks[0].kind] for tasks in group]
            for tasks, outcome in zip(group, invariants.prove(instance, wanted, limits=self.limits), strict=True):
                count = len(outcome.details.get("invariants", ()))
                self.enter(tasks, _described(outcome, tasks[0]), f"induction, {counted(count, 'invariant')} found")

    def spacer(self, subject: CheckSubject, tasks: list[CheckTask]) -> None:
        from rocketproof_model.proofs import spacer

        task = tasks[0]
        instance, claims = self.widened(subject, task.widen)
        outcome = _described(spacer.prove(instance, claims[task.claim, task.kind], limits=self.limits), task)
        inferred = outcome.details.get("invariants")
        self.enter(tasks, outcome, "spacer" if inferred is None else f"spacer, {counted(len(inferred), 'invariant')} found")

    def widened(self, subject: CheckSubject, widen: Widen) -> Widened:
        """Return the instance with widened variables, and the claims and lemmas of all tasks about it.

        The result is cached so that engines can reuse what they derive from it.
        """
        if widen not in self.wide:
            same_widening = [task for task in self.unit.tasks if task.widen == widen]
            named = dict.fromkeys(
                pair for task in same_widening for pair in ((task.claim, task.kind), *((id_, "always") for id_ in task.lemmas))
            )
            instance, claims = widened(subject.instance, [subject.property(*pair) for pair in named], widen)
            self.wide[widen] = instance, dict(zip(named, claims, strict=True))
        return self.wide[widen]

    def simulate(self, subject: CheckSubject) -> None:
        from rocketproof_model import observing, simulate

        questions = [(tasks, claim) for tasks, claim in self.questions(subject) if claim.kind not in OBSERVED]
        wanted = [claim for _, claim in questions]
        budget = self.budget
        estimate = simulate.estimate(
            subject.instance, wanted, runs=RUNS, steps=STEPS, seed=budget.seed, limits=self.limits, report=self.report
        )  # fmt: skip
        self.answer.coverage, self.answer.complete = estimate.coverage, not estimate.reason
        for (tasks, _), tally in zip(questions, estimate.tallies, strict=True):
            self.enter(tasks, simulate.outcome(estimate, tally), f"{estimate.runs:,} runs")
        for tasks, claim in self.questions(subject):
            if claim.kind in OBSERVED:
                outcome = observing.simulate(subject.instance, claim, runs=RUNS, steps=STEPS, seed=budget.seed, limits=self.limits)
                self.enter(tasks, outcome, f"{RUNS:,} runs")
        self.stop_if_interrupted()

    def stateful(self, subject: CheckSubject) -> None:
        from ...conformance.stateful import engine, report

        questions = list(self.questions(subject))
        expected = {id(claim): tasks[0].expected for tasks, claim in questions}
        budget = self.budget
        result = engine.campaign(
            self.unit.source,
            subject,
            [claim for _, claim in questions],
            lambda claim: expected[id(claim)],
            programs=budget.programs,
            seed=budget.seed,
            limits=self.limits,
            report=self.report,
        )
        self.answer.coverage = result.coverage
        for finding in result.findings:
            file = report.save(self.unit.source, finding)
            command = f"rocketproof explore {report.course_of(file)}"
            self.answer.problems.append(f"{self.unit}: {finding.text}\nAs a test: {file}\nTo walk in the steps: {command}")
        for (tasks, _), outcome in zip(questions, result.outcomes, strict=True):
            self.enter(tasks, outcome, f"{result.programs:,} programs, {result.steps:,} steps")

    def history(self) -> None:
        """Run programs of messages. The witness of a broken claim is a test."""
        from ...conformance.stateful import history

        budget, source = self.budget, self.unit.source
        condition = self.unit.tasks[0].condition
        expected = {task.claim: task.expected for task in self.unit.tasks}
        result = history.campaign(
            source.profile, condition, expected, programs=budget.programs, seed=budget.seed, limits=self.limits, report=self.report
        )
        for task in self.unit.tasks:
            breach = result.breaches.get(task.claim)
            saved = history.save(self.paths[task], source.profile, condition, breach, task.expected)
            self.answer.rows[task] = replace(
                undecided(task, "" if breach else result.reason),
                verdict="violated" if breach else "unknown",
                seconds=round(result.seconds, 3),
                witness=saved,
                length=len(breach.steps) if breach else None,
                proof=f"{result.programs:,} programs, {result.steps:,} steps",
                note=breach.text if breach else "",
            )

    def questions(self, subject: CheckSubject) -> Iterator[tuple[list[CheckTask], Property]]:
        """Yield groups of tasks that share an answer, with their claim."""
        same: dict[tuple[Any, ...], list[CheckTask]] = {}
        for task in self.unit.tasks:
            same.setdefault((task.claim, task.kind, task.method, task.widen, task.lemmas), []).append(task)
        for (id_, kind, *_), tasks in same.items():
            yield tasks, subject.property(id_, kind)


def _searched(subject: CheckSubject) -> tuple[list[Property], list[Property]]:
    """Return the claims that a search decides, and the premises of all claims."""
    return [p for p in subject.properties if p.kind in SEARCHED], vacuity.premises(subject.properties)


def _size(explored: Explored) -> str:
    return f"{explored.states:,} states"


def _reduction(exploration: Exploration, *, live: bool, wanted: bool) -> str:
    """Describe the symmetry reduction of a search; "" if the model declares no symmetry or the user disabled it."""
    declared = [index.name for index in symmetric_indices(exploration.instance.model.variables)]
    if not declared or not wanted:
        return ""
    if exploration.symmetric:
        return f" up to symmetry of {', '.join(exploration.symmetric)}"
    reason = "fairness is each element's own" if live else exploration.asymmetry
    return f" without the symmetry of {', '.join(declared)}: {reason}" if reason else ""


def _bound(task: CheckTask) -> int | None:
    """Return the depth of a task's bounded check. A task without a method is checked to a bound first, then proved."""
    method, _, number = task.method.partition(":")
    return whole_number(number) if method == "bounded" else DEPTH if method == "" else None


def _described(outcome: Outcome, task: CheckTask) -> Outcome:
    """Remove the witness of a widened model: witness files cannot describe it."""
    return replace(outcome, witness=None) if task.widen else outcome
