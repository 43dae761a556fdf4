"""`check`: properties of a model decided in this process, the outcomes as objects."""

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
    """What `check` found: an Outcome for each property, in the order in which the model states them.

    `outcomes["mutual exclusion"]` is the one of a property, by its id or its sentence. `vacuous` are ids of properties that hold only
    because their premise never did: `implies(p, q)` in a model in which p is nowhere true.
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
        """The outcome of a property (by id, sentence or the Property itself), or those at places. Raises InputError for one not asked."""
        if isinstance(key, int | slice):
            return self.outcomes[key]
        for claim in self.chosen.claims(key):
            for outcome in self.outcomes:
                if outcome.property is claim:
                    return outcome
        raise InputError(f"property {key!r} was not asked for; those that were: {', '.join(one.property.id for one in self.outcomes)}")

    def __repr__(self) -> str:
        said = ", ".join(f"{one.property.id}: {one.verdict}" for one in self.outcomes)
        return f"<Outcomes of {self.chosen.name}: {said}>"

    def __bool__(self) -> bool:
        """Refused: `assert check(model)` would pass whatever came out."""
        raise TypeError("outcomes are neither true nor false; ask .held, or use assert_holds(...)")

    @property
    def held(self) -> bool:
        """Whether every property holds, and none of them vacuously."""
        return not self.vacuous and all(one.verdict == "holds" for one in self.outcomes)

    @property
    def violated(self) -> tuple[Outcome, ...]:
        """Those that do not hold, the shortest witness first."""
        return tuple(sorted((one for one in self.outcomes if one.verdict == "violated"), key=lambda one: len(one.witness or ())))

    @property
    def undecided(self) -> tuple[Outcome, ...]:
        """Those that a limit or the engine left open; `reason` says why."""
        return tuple(one for one in self.outcomes if one.verdict not in ("holds", "violated"))


class _Collected(Work):
    """The engines, whose answers are kept as they are."""

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

    `model` is a Model, an Instance, a function that builds a Model, or the path of a model file (`FILE::NAME` for another name of it than
    `model`); None is the built-in specification in `scope` (`tiny`) and `profile` (`P49`). `property` names some, by id or sentence.
    `values` are sizes, the parameters of the function that builds the model, and constants of the model.

    `engine`: `explicit` searches all states; `symbolic` bounds by z3, then proves by induction; `simulate` takes random paths from `seed`,
    and only refutes. A lemma is always z3's. `symmetry=False` searches all states of a model with symmetric indices.
    `limits` bounds seconds, bytes and states; `workers` are threads, one for each core unless given. What a limit ends is `unknown`, with
    the reason. Raises RocketproofError, in one line, for what is no model, no property or no size, and for an engine that does not decide
    such a property; and ModelFault, with `witness`, its path, and `outcomes`, what was decided before, for a model that has no value
    somewhere, or one outside its type.
    """
    __tracebackhide__ = True
    made = chosen(model, values, scope=scope, profile=profile)
    claims = made.claims(property)
    known("engine", engine, ENGINES)
    if workers is not None and workers < 1:
        raise InputError(f"workers={workers} is not positive; give 1 or more, or leave it out")
    for claim in claims:
        if claim.kind != LEMMA and claim.kind not in APPLICABLE[engine]:
            raise InputError(f"{engine} does not decide {claim.id} ({claim.declared}); use engine='explicit'")
    budget = Budget(limits, workers or cores(), seed, symmetry=symmetry)
    found: dict[tuple[str, str], Outcome] = {}
    vacuous: set[str] = set()
    for name, some in (
        (engine, [claim for claim in claims if claim.kind != LEMMA]),
        ("symbolic", [claim for claim in claims if claim.kind == LEMMA]),
    ):
        if some:
            work = _answered(CheckSubject(made.subject.instance, tuple(some)), name, budget)
            found |= work.outcomes
            vacuous |= work.vacuous
    if any(one.reason == INTERRUPTED for one in found.values()):
        raise KeyboardInterrupt
    outcomes = tuple(found[claim.id, claim.kind] for claim in claims)
    return Outcomes(made.subject.instance, outcomes, frozenset(vacuous), made)


def _answered(subject: CheckSubject, engine: Any, budget: Budget) -> _Collected:
    """What an engine says of the subject's properties; unknown where a limit ended it."""
    tasks = tuple(_task(claim, engine) for claim in subject.properties)
    work = _Collected(Unit(tasks[0].source, engine, tasks, ("",) * len(tasks)), budget, _silent)
    try:
        work.on(subject)
        reason = MEMORY
    except ModelFault as fault:
        before = ", ".join(repr(one.property.id) for one in fault.outcomes if one.verdict == "violated")
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
    """Nobody hears how far it is."""
