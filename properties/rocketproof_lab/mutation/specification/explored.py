"""Mutants of the specification in one instance: where each mutant differs, and what the implementation does there."""

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
from rocketproof_properties.conformance.stateful.engine import driver_of
from rocketproof_properties.conformance.stateful.follow import ConformanceError, NeverTaken
from rocketproof_properties.conformance.stateful.machine import Campaign, attempt

from .claims import IMPLEMENTATION, TYPES, Notice, changed
from .instances import Catalogued, MutatedModel, mutated_model

SMALL, MOST = 65_000, 5_000_000
"""Maximum states of a small instance, and of any instance."""
_TRIED, _STEPS, _ALIKE = 24, 4, 12  # states in which the implementation tries a mutant, steps per state, equivalent states per state
_DETOURS = 3  # retries of a path after an action that the implementation does not take


class ExploredInstance:
    """One instance with all its reachable states."""

    def __init__(self, instance: Catalogued, model: MutatedModel, exploration: Exploration) -> None:
        self.catalogued, self.mutated, self.states = instance, model, exploration.states
        self.subject = instance.source.subject()
        graph = exploration.graph(exploration.states)
        self.differences, self.kernel = Differences(graph, exploration.instance), graph.kernel
        self.deviations: set[str] = set()
        self._shown: dict[tuple[int, Move], State | str | None] = {}
        self._paths: dict[frozenset[str], Paths] = {}
        self._equivalents: dict[tuple[int, str], list[int]] = {}

    def compared(self, mutant: ModelMutant) -> int:
        """Return the number of states in which the mutant is compared. They represent all states."""
        return len(self.differences.compared(self.mutated.model.named(mutant.action)))

    def differing(self, mutant: ModelMutant) -> Iterator[int]:
        """Yield the states in which the mutant differs, one per class of states that its action cannot distinguish."""
        return self.differences.states(self.instance(mutant), self.mutated.model.named(mutant.action))

    def instance(self, mutant: ModelMutant) -> Instance:
        """Return the instance with the mutant."""
        return mutated(self.subject.instance, self.mutated, self.mutated.number[mutant.id])

    def stutters(self, mutant: ModelMutant) -> bool:
        """Whether the mutant only adds steps that change nothing or lead to the target of another step."""
        instance = self.instance(mutant)
        return not any(self._moves(instance, state) for state in self.differing(mutant))

    def _moves(self, instance: Instance, state: int) -> bool:
        """Whether the mutant does more in a state than adding steps that change nothing or lead to the target of another step."""
        steps = self.differences.steps(instance, state)
        known = {tuple(self.differences.graph.states[state].tolist())}
        for name in {step.move.action for step in steps}:
            known |= self.differences.reached(state, name)
        return not steps or any(step.one is not None or step.other not in known for step in steps)

    def by_claims(self, mutant: ModelMutant) -> Notice | None:
        """Return the first claim whose verdict changes, if any."""
        return changed(self.catalogued, self.instance(mutant), self.states)

    def by_implementation(self, mutant: ModelMutant) -> Notice | None:
        """Return the first step found in which the implementation differs from the mutant, if any.

        States in which the mutant leads elsewhere are tried first: steps that change nothing contradict nothing. A difference between the
        implementation and the unchanged specification is one of `deviations` and is no evidence about mutants. A state in which the mutant
        has no value is noticed last.
        """
        instance, action = self.instance(mutant), self.mutated.model.named(mutant.action)
        states = self._distinguishing(mutant, instance)
        for state in states:
            notice, decided = self._compared_steps(instance, state)
            if not decided:  # the implementation may take the action in an equivalent state only
                notices = map(partial(self._compared_steps, instance), self._equivalent(state, action))
                notice = next((found for found, _ in notices if found is not None), None)
            if notice is not None:
                return notice
        if not all(self.differences.steps(instance, state) for state in states):
            return Notice(TYPES, str(self.catalogued), f"in a state that is reached {mutant.action} has no value of its type")
        return None

    def _distinguishing(self, mutant: ModelMutant, instance: Instance) -> list[int]:
        """Return some of the states in which the mutant differs, first those in which it leads elsewhere."""
        first: list[int] = []
        last: list[int] = []
        for state in self.differing(mutant):
            (first if self._moves(instance, state) else last).append(state)
            if len(first) == _TRIED:
                break
        return [*first, *last][:_TRIED]

    def _equivalent(self, state: int, action: Action) -> list[int]:
        """Return some of the states that the action cannot distinguish from this one."""
        key = (state, action.name)
        if key not in self._equivalents:
            self._equivalents[key] = self.differences.alike(state, action, _ALIKE)
        return self._equivalents[key]

    def _compared_steps(self, instance: Instance, state: int) -> tuple[Notice | None, bool]:
        """Compare the implementation with the steps that differ in a state. Return what it notices, and whether it took any of them."""
        decided = False
        for step in self.differences.steps(instance, state)[:_STEPS]:
            shown = self._tried(state, step)
            decided |= shown is not None
            how = None if shown is None else self._contradicts(step, shown)
            if how:
                label = self.subject.instance.model.named(step.move.action).label(step.move.args)
                return Notice(IMPLEMENTATION, str(self.catalogued), f"{label}: {how}"), True
        return None, decided

    def _contradicts(self, step: StepDifference, shown: State | str) -> str:
        """Describe how the observed state contradicts the mutant; "" if it does not."""
        if isinstance(shown, str):
            if step.one is not None:
                self.deviations.add(f"{self.catalogued}: {step.move.action} is allowed, and the implementation cannot do it: {shown}")
                return ""
            return f"allowed, and the implementation cannot do it: {shown}"
        packed = tuple(self.kernel.layout.pack(shown).tolist())
        if step.one is not None and packed != step.one:
            self.deviations.add(f"{self.catalogued}: the implementation does {step.move.action} otherwise than the specification")
            return ""
        if packed == step.other:
            return ""
        if step.other is None:
            return "refused, and the implementation does it"
        expected, seen = (labelled(self.subject.instance, state) for state in (self.kernel.layout.unpack(step.other), shown))
        differs = [f"{name} is {seen[name]}, not {value}" for name, value in expected.items() if seen[name] != value]
        return f"in the implementation {'; '.join(differs[:3])}"

    def _tried(self, state: int, step: StepDifference) -> State | str | None:
        """Return the implementation's state after the step; None if the implementation does not reach it, does not take it, or does not
        model it."""
        if self.catalogued.source.scope in WITHOUT_IMPLEMENTATION:
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
                self.deviations.add(f"{self.catalogued}: {'; '.join(finding.steps)}: {finding.text}")
                return None
        return None

    @cached_property
    def campaign(self) -> Campaign:
        return Campaign(self.subject.instance, driver_of(self.catalogued.source, self.subject))


def mutated(instance: Instance, model: MutatedModel, number: int) -> Instance:
    """Return the instance with a mutant, by its number. 0 selects none."""
    return Instance(model.model, {**instance.constants, CONSTANT: number})


def _explored(instance: Catalogued, most: int) -> ExploredInstance | None:
    model = mutated_model(instance.source.scope)
    exploration = search.explore(mutated(instance.source.subject().instance, model, 0), [], limits=Limits(states=most), symmetry=False)
    return ExploredInstance(instance, model, exploration) if exploration.finished else None


@cache
def small(instance: Catalogued) -> ExploredInstance | None:
    """Return the explored instance if it is small. All small instances fit into memory together."""
    return _explored(instance, SMALL)


@lru_cache(maxsize=1)
def large(instance: Catalogued) -> ExploredInstance | None:
    """Return the explored instance if it is not small."""
    return _explored(instance, MOST) if small(instance) is None else None
