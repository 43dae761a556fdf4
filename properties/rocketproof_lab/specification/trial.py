"""Mutants of the specification in one instance: where each differs, and what the implementation does there."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, cached_property, lru_cache, partial

from rocketproof_model import Action, Instance, search
from rocketproof_model.explicit.difference import Differences, StepDifference
from rocketproof_model.explicit.exploration import Exploration
from rocketproof_model.explicit.paths import Paths
from rocketproof_model.interpreter import State, labelled
from rocketproof_model.result import Limits, Move
from rocketproof_model.transforms.mutation import CONSTANT, ModelMutant
from rocketproof_properties.catalogue.source import WITHOUT_IMPLEMENTATION
from rocketproof_properties.conformance.stateful.attempts import attempt
from rocketproof_properties.conformance.stateful.engine import target_of
from rocketproof_properties.conformance.stateful.follow import ConformanceError, NeverTaken
from rocketproof_properties.conformance.stateful.machine import Campaign

from .claims import changed
from .instances import Catalogued, MutatedModel, spoilt
from .notice import IMPLEMENTATION, TYPES, Notice

SMALL, MOST = 65_000, 5_000_000
"""States of an instance that is small, and that an instance may have at all."""
_TRIED, _STEPS, _ALIKE = 24, 4, 12  # states in which the implementation is asked about a mutant, steps of each, states like each
_DETOURS = 3  # actions that the implementation does not take where a path has them


class ExploredInstance:
    """One instance, explored."""

    def __init__(self, one: Catalogued, spoilt_: MutatedModel, found: Exploration) -> None:
        self.one, self.spoilt, self.states = one, spoilt_, found.states
        self.subject = one.source.subject()
        graph = found.graph(found.states)
        self.differences, self.kernel = Differences(graph, found.instance), graph.kernel
        self.deviations: set[str] = set()
        self._shown: dict[tuple[int, Move], State | str | None] = {}
        self._paths: dict[frozenset[str], Paths] = {}
        self._alike: dict[tuple[int, str], list[int]] = {}

    def compared(self, mutant: ModelMutant) -> int:
        """In how many states the mutant is compared; they stand for all."""
        return len(self.differences.compared(self.spoilt.model.named(mutant.action)))

    def differing(self, mutant: ModelMutant) -> Iterator[int]:
        """The states in which the mutant differs, one of all that are alike to its action."""
        return self.differences.states(self.instance(mutant), self.spoilt.model.named(mutant.action))

    def instance(self, mutant: ModelMutant) -> Instance:
        """With the mutant."""
        return mutated(self.subject.instance, self.spoilt, self.spoilt.number[mutant.id])

    def stutters(self, mutant: ModelMutant) -> bool:
        """Whether all that the mutant does otherwise is to allow steps that change nothing or lead where another one leads."""
        instance = self.instance(mutant)
        return not any(self._moves(instance, state) for state in self.differing(mutant))

    def _moves(self, instance: Instance, state: int) -> bool:
        """Whether what the instance does otherwise in a state is more than to allow steps that change nothing or lead where others lead."""
        steps = self.differences.steps(instance, state)
        known = {tuple(self.differences.graph.states[state].tolist())}
        for name in {step.move.action for step in steps}:
            known |= self.differences.reached(state, name)
        return not steps or any(step.one is not None or step.other not in known for step in steps)

    def by_claims(self, mutant: ModelMutant) -> Notice | None:
        """The first claim whose verdict is another one, if any."""
        return changed(self.one, self.instance(mutant), self.states)

    def by_implementation(self, mutant: ModelMutant) -> Notice | None:
        """The first step found that the implementation does otherwise than the mutant says, if any.

        States come first in which the mutant leads elsewhere: steps that change nothing contradict nothing. Where the
        implementation does otherwise than the specification itself says, that is one of `deviations`, and says nothing about mutants.
        A state in which the mutant has no value is noticed last.
        """
        instance, action = self.instance(mutant), self.spoilt.model.named(mutant.action)
        states = self._telling(mutant, instance)
        for state in states:
            notice, told = self._asked(instance, state)
            if not told:  # of all states that are alike to the action, the implementation may not do it in this one
                others = map(partial(self._asked, instance), self._like(state, action))
                notice = next((found for found, _ in others if found is not None), None)
            if notice is not None:
                return notice
        if not all(self.differences.steps(instance, state) for state in states):
            return Notice(TYPES, str(self.one), f"in a state that is reached {mutant.action} has no value of its type")
        return None

    def _telling(self, mutant: ModelMutant, instance: Instance) -> list[int]:
        """Some of the states in which the mutant differs, those first in which it leads elsewhere."""
        first: list[int] = []
        last: list[int] = []
        for state in self.differing(mutant):
            (first if self._moves(instance, state) else last).append(state)
            if len(first) == _TRIED:
                break
        return [*first, *last][:_TRIED]

    def _like(self, state: int, action: Action) -> list[int]:
        """Some of the states that are like this one to the action."""
        key = (state, action.name)
        if key not in self._alike:
            self._alike[key] = self.differences.alike(state, action, _ALIKE)
        return self._alike[key]

    def _asked(self, instance: Instance, state: int) -> tuple[Notice | None, bool]:
        """What the implementation says about the steps that differ in a state, and whether it says anything."""
        told = False
        for step in self.differences.steps(instance, state)[:_STEPS]:
            shown = self._tried(state, step)
            told |= shown is not None
            how = None if shown is None else self._contradicts(step, shown)
            if how:
                label = self.subject.instance.model.named(step.move.action).label(step.move.args)
                return Notice(IMPLEMENTATION, str(self.one), f"{label}: {how}"), True
        return None, told

    def _contradicts(self, step: StepDifference, shown: State | str) -> str:
        """In words how the mutant is contradicted by what was shown; "" if it is not."""
        if isinstance(shown, str):
            if step.one is not None:
                self.deviations.add(f"{self.one}: {step.move.action} is allowed, and the implementation cannot do it: {shown}")
                return ""
            return f"allowed, and the implementation cannot do it: {shown}"
        found = tuple(self.kernel.layout.pack(shown).tolist())
        if step.one is not None and found != step.one:
            self.deviations.add(f"{self.one}: the implementation does {step.move.action} otherwise than the specification")
            return ""
        if found == step.other:
            return ""
        if step.other is None:
            return "refused, and the implementation does it"
        expected, seen = (labelled(self.subject.instance, state) for state in (self.kernel.layout.unpack(step.other), shown))
        differs = [f"{name} is {seen[name]}, not {value}" for name, value in expected.items() if seen[name] != value]
        return f"in the implementation {'; '.join(differs[:3])}"

    def _tried(self, state: int, step: StepDifference) -> State | str | None:
        """What the implementation does when the step is tried there; None if it never gets there, chooses not to, or has nothing of it."""
        if self.one.source.scope in WITHOUT_IMPLEMENTATION:
            return None
        key = (state, step.move)
        if key not in self._shown:
            self._shown[key] = self._try(state, step.move)
        return self._shown[key]

    def _try(self, state: int, move: Move) -> State | str | None:
        action = self.subject.instance.model.named(move.action)
        without: frozenset[str] = frozenset()
        for _ in range(_DETOURS):
            if without not in self._paths:
                self._paths[without] = Paths(self.differences.graph, without)
            moves = self._paths[without].to(state)
            if moves is None:
                return None
            try:
                return attempt(self.campaign, moves, action, move.args)
            except NeverTaken as refused:
                without |= {refused.action}
            except ConformanceError as finding:
                self.deviations.add(f"{self.one}: {'; '.join(finding.steps)}: {finding.text}")
                return None
        return None

    @cached_property
    def campaign(self) -> Campaign:
        return Campaign(self.subject.instance, target_of(self.one.source, self.subject))


def mutated(instance: Instance, spoilt_: MutatedModel, number: int) -> Instance:
    """The instance with a mutant, by its number; 0 is none."""
    return Instance(spoilt_.model, {**instance.constants, CONSTANT: number})


def _explored(one: Catalogued, most: int) -> ExploredInstance | None:
    made = spoilt(one.source.scope)
    found = search.explore(mutated(one.source.subject().instance, made, 0), [], limits=Limits(states=most), symmetry=False)
    return ExploredInstance(one, made, found) if found.finished else None


@cache
def small(one: Catalogued) -> ExploredInstance | None:
    """The instance, if it is small: all of those fit memory together."""
    return _explored(one, SMALL)


@lru_cache(maxsize=1)
def large(one: Catalogued) -> ExploredInstance | None:
    """The instance, if it is not small."""
    return _explored(one, MOST) if small(one) is None else None
