"""`check`: decide properties of a model in this process and return the outcomes as objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rocketproof_model import Instance, LimitReached, Property
from rocketproof_model.faults import ModelFault
from rocketproof_model.result import INTERRUPTED, MEMORY, Limits, Outcome, Progress, Report
from rocketproof_traces.common.pools import cores

from ...catalogue.source import CheckSubject, ModelSource
from ...reports.choices import InputError, known
from ..checks.decide import Work
from ..checks.plan import APPLICABLE, CheckTask, method_of
from ..checks.units import Budget, Unit
from .subjects import Chosen, ModelLike, chosen

Engine = Literal["explicit", "symbolic", "simulate"]
ENGINES = ("explicit", "symbolic", "simulate")
LEMMA = "lemma"


@dataclass(frozen=True, eq=False, repr=False)
class Outcomes(Sequence[Outcome]):
    """The result of `check`: an Outcome for each property, in the order in which the model declares them.

    `outcomes["mutual exclusion"]` is the outcome of a property, by its id or its sentence. `vacuous` are the ids of properties that hold
    only because their premise never did: `implies(p, q)` in a model in which p is never true.
    """

    instance: Instance
    outcomes: tuple[Outcome, ...]
    vacuous: frozenset[str]
    chosen: Chosen

    def __len__(self) -> int:
        return len(self.outcomes)

    def __iter__(self) -> Iterator[Outcome]:
        return iter(self.outcomes)

    def __getitem__(self, key: Any) -> Any:
        """Return the outcome of a property (by id, sentence or the Property itself), or the outcomes at an index or slice.

        Raises InputError for a property that was not checked.
        """
        if isinstance(key, int | slice):
            return self.outcomes[key]
        for claim in self.chosen.claims(key):
            for outcome in self.outcomes:
                if outcome.property is claim:
                    return outcome
        raise InputError(
            f"property {key!r} was not asked for; those that were: {', '.join(checked.property.id for checked in self.outcomes)}"
        )

    def __repr__(self) -> str:
        verdicts = ", ".join(f"{outcome.property.id}: {outcome.verdict}" for outcome in self.outcomes)
        return f"<Outcomes of {self.chosen.name}: {verdicts}>"

    def __bool__(self) -> bool:
        """Raise TypeError: `assert check(model)` would pass for every result."""
        raise TypeError("outcomes are neither true nor false; ask .held, or use assert_holds(...)")

    @property
    def held(self) -> bool:
        """Whether every property holds, and none of them vacuously."""
        return not self.vacuous and all(outcome.verdict == "holds" for outcome in self.outcomes)

    @property
    def violated(self) -> tuple[Outcome, ...]:
        """The violated properties, the shortest witness first."""
        return tuple(
            sorted((outcome for outcome in self.outcomes if outcome.verdict == "violated"), key=lambda outcome: len(outcome.witness or ()))
        )

    @property
    def undecided(self) -> tuple[Outcome, ...]:
        """The properties that a limit or the engine left open; `reason` is the cause."""
        return tuple(outcome for outcome in self.outcomes if outcome.verdict not in ("holds", "violated"))


class _Collected(Work):
    """The engines; their answers are kept as outcomes."""

    def __init__(self, unit: Unit, budget: Budget, report: Report) -> None:
        super().__init__(unit, budget, report)
        self.outcomes: dict[tuple[str, str], Outcome] = {}
        self.vacuous: set[str] = set()

    def enter(self, tasks: Iterable[CheckTask], outcome: Outcome, proof: str, vacuous: bool = False) -> None:
        for task in tasks:
            self.outcomes[task.claim, task.kind] = outcome
            if vacuous:
                self.vacuous.add(task.claim)


def check(
    model: ModelLike = None,
    *,
    property: str | Property | Iterable[str | Property] | None = None,
    engine: Engine = "explicit",
    scope: str | None = None,
    profile: str | None = None,
    limits: Limits = Limits(),
    workers: int | None = None,
    seed: int = 0,
    symmetry: bool = True,
    **values: Any,
) -> Outcomes:
    """Decide properties of a model, by default all of them, in this process.

    `model` is a Model, an Instance, a function that builds a Model, or the path of a model file. `FILE::NAME` selects another name in the
    file than `model`. None is the built-in specification in `scope` (`tiny`) and `profile` (`P49`). `property` selects properties by id or
    sentence. `values` are sizes, parameters of the function that builds the model, and constants of the model.

    `engine`: `explicit` searches all states; `symbolic` checks to a bound with z3, then proves by induction; `simulate` takes random paths
    from `seed` and only refutes. A lemma is always decided by z3. `symmetry=False` searches all states of a model with symmetric indices.

    `limits` bounds seconds, bytes and states. `workers` is the number of threads, by default one per core. A property that a limit cuts
    short is `unknown`, with the reason.

    Raises RocketproofError, in one line, for an invalid model, property or size, and if the engine does not decide this kind of property.
    Raises ModelFault for a model whose effect has no value in some state, or a value outside its type. ModelFault has `witness`, the path
    to that state, and `outcomes`, the properties decided before.
    """
    __tracebackhide__ = True
    selection = chosen(model, values, scope=scope, profile=profile)
    claims = selection.claims(property)
    known("engine", engine, ENGINES)
    if workers is not None and workers < 1:
        raise InputError(f"workers={workers} is not positive; give 1 or more, or leave it out")
    for claim in claims:
        if claim.kind != LEMMA and claim.kind not in APPLICABLE[engine]:
            raise InputError(f"{engine} does not decide {claim.id} ({claim.declared}); use engine='explicit'")
    budget = Budget(limits, workers or cores(), seed, symmetry=symmetry)
    outcome_of: dict[tuple[str, str], Outcome] = {}
    vacuous: set[str] = set()
    for name, group in (
        (engine, [claim for claim in claims if claim.kind != LEMMA]),
        ("symbolic", [claim for claim in claims if claim.kind == LEMMA]),
    ):
        if group:
            work = _answered(CheckSubject(selection.subject.instance, tuple(group)), name, budget)
            outcome_of |= work.outcomes
            vacuous |= work.vacuous
    if any(outcome.reason == INTERRUPTED for outcome in outcome_of.values()):
        raise KeyboardInterrupt
    outcomes = tuple(outcome_of[claim.id, claim.kind] for claim in claims)
    return Outcomes(selection.subject.instance, outcomes, frozenset(vacuous), selection)


def _answered(subject: CheckSubject, engine: Any, budget: Budget) -> _Collected:
    """Run an engine on the subject's properties. A property that a limit cut short is unknown."""
    tasks = tuple(_task(claim, engine) for claim in subject.properties)
    work = _Collected(Unit(tasks[0].source, engine, tasks, ("",) * len(tasks)), budget, _silent)
    try:
        work.on(subject)
        reason = MEMORY
    except ModelFault as fault:
        before = ", ".join(repr(outcome.property.id) for outcome in fault.outcomes if outcome.verdict == "violated")
        raise ModelFault(f"{fault}; violated before that: {before}", fault.witness, fault.outcomes) if before else fault from None
    except LimitReached as error:
        reason = error.reason
    except MemoryError:
        reason = MEMORY
    for claim in subject.properties:
        work.outcomes.setdefault((claim.id, claim.kind), Outcome(claim, engine, "unknown", reason))
    return work


def _task(claim: Property, engine: str) -> CheckTask:
    return CheckTask(
        ModelSource(""), claim.id, claim.id, claim.kind, claim.sentence, "", engine, method_of(claim.kind, engine, ""), "holds"
    )


def _silent(at: Progress) -> None:
    """Ignore the progress."""
