"""Properties that need an observer, decided by engines without support for observers: they run on the observed model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .errors import RocketproofError
from .faults import ModelFault
from .language import Instance, Property, observed
from .result import Limits, Outcome, Report, Watch, Witness
from .search import explore

Ask = Callable[[Instance, Sequence[Property]], Outcome]


def through(instance: Instance, claim: Property, ask: Ask) -> Outcome:
    """Return an engine's outcome for a claim that needs an observer.

    `ask` is called with the observed instance and the equivalent plain claims. Witnesses and errors refer to the instance itself, counts of
    states to the observed instance.
    """
    model, plain = observed(instance.model, [claim])
    try:
        outcome = ask(Instance(model, instance.constants), plain[claim])
    except ModelFault as fault:
        raise ModelFault(str(fault), _without_observer(fault.witness, instance, claim), fault.outcomes) from None
    witness = None if outcome.witness is None else _without_observer(outcome.witness, instance, claim)
    return replace(outcome, property=claim, witness=witness)


def check(
    instance: Instance,
    claim: Property,
    *,
    limits: Limits = Limits(),
    report: Report | None = None,
    workers: int = 1,
    symmetry: bool = True,
) -> Outcome:
    """Decide such a claim by exhaustive search, and `until` also by its fair loops, which needs the whole graph, without symmetry.

    A violation has a shortest witness: a path to a violating state if there is one, else a lasso.
    """

    def ask(seen: Instance, plain: Sequence[Property]) -> Outcome:
        watch = Watch(limits)
        first, *rest = plain
        exploration = explore(seen, [first], workers=workers, limits=limits, report=report, symmetry=symmetry and not rest)
        outcome = exploration.outcome(first.id)
        if outcome.verdict != "holds" or not rest:
            return outcome
        from . import liveness

        left = replace(limits, seconds=watch.left)
        (other,) = liveness.check(seen, rest, limits=left, report=report, workers=workers, exploration=exploration)
        return replace(other, seconds=watch.seconds)

    return through(instance, claim, ask)


def bounded(instance: Instance, claim: Property, *, depth: int, limits: Limits | None = None, report: Report | None = None) -> Outcome:
    """Search all paths of at most `depth` steps for a state that violates such a claim.

    It does not detect that the goal of `until` is never reached.
    """
    from . import symbolic

    return through(instance, claim, lambda seen, plain: symbolic.bounded(seen, plain[:1], depth=depth, limits=limits, report=report)[0])


def induction(instance: Instance, claim: Property, *, k: int = 1, lemmas: Sequence[Property] = (), limits: Limits | None = None) -> Outcome:
    """Prove a `weak_until` or a `within` by k-induction. Raises RocketproofError for `until`, whose goal has to be reached."""
    if claim.kind == "until":
        raise RocketproofError(f"induction for {claim.id}: that its goal is reached in the end no induction shows; use observing.check")
    from . import symbolic

    return through(instance, claim, lambda seen, plain: symbolic.induction(seen, plain[0], k=k, lemmas=lemmas, limits=limits))


def simulate(instance: Instance, claim: Property, *, runs: int, steps: int, seed: int = 0, limits: Limits = Limits()) -> Outcome:
    """Search for a state that violates such a claim by random walks."""
    from . import simulate

    return through(
        instance, claim, lambda seen, plain: simulate.check(seen, plain[:1], runs=runs, steps=steps, seed=seed, limits=limits)[0]
    )


def _without_observer(witness: Witness, instance: Instance, claim: Property) -> Witness:
    """Return a witness of the observed model as a witness of the model: without the observer, which is the last slot."""
    return replace(witness, instance=instance, property=claim, states=tuple(state[: instance.model.slots] for state in witness.states))
