"""The question of `explain` that teaches most about a witness: at which step to look, and which action did not happen there.

- A lasso: at its first step that repeats, the last action that could happen before and cannot in the loop, of those that involve a part
  for which what the property waits for is false.
- Any other: at the step in which the property fails or is reached, or at the end where nothing can happen any more, the action that came
  closest: one of the same arguments as the step that was taken, of whose guards most passed before one refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rocketproof_model import EvaluationError
from rocketproof_model.interpreter import Environment, State, effect, holds
from rocketproof_model.result import Move, Witness

from ..common.refusal import false_part
from .choices import ActionChoice, choices
from .parts import acting, owners
from .show import SHOWN
from .truth import truths

_OUTSIDE = ("administrator", "environment")
_DECIDES = {kind: word for kind, word in SHOWN.items() if kind != "leads_to"}


@dataclass(frozen=True)
class Question:
    """What to ask: the state before `step` (one more than the last is the end), and an action that is refused there, "" for none."""

    step: int
    why_not: str = ""


def question(witness: Witness) -> Question | None:
    """The question to ask of a witness; None if it has no steps."""
    if not witness.moves:
        return None
    return _of_loop(witness, witness.loop) if witness.loop is not None else _of_path(witness)


def _of_loop(witness: Witness, loop: int) -> Question:
    """Of the actions that could happen before the loop and never can in it, the last that is not taken."""
    instance, lacking = witness.instance, _lacking(witness)
    taken = {(move.action, move.args) for move in witness.moves[:loop]}
    lost: dict[tuple[str, tuple[int, ...]], tuple[int, str]] = {}
    for k, state in enumerate(witness.states[:loop]):
        for each in choices(instance, state):
            if each.refused is None and not each.error and each.action.actor not in _OUTSIDE:
                who = acting(instance, state, each.action, each.args)
                key = each.action.name, each.args
                if key not in taken and lacking & {who.by, who.to, who.source}:
                    lost[key] = k, each.label
    for state in witness.states[loop:]:
        for each in choices(instance, state):
            if each.refused is None:
                lost.pop((each.action.name, each.args), None)
    return Question(loop + 1, max(lost.values(), key=lambda one: one[0], default=(0, ""))[1])


def _lacking(witness: Witness) -> set[str]:
    """The parts whose variables make the goal false at the end."""
    goal, instance = witness.property.goal, witness.instance
    if goal is None:
        return set()
    try:
        false = false_part(goal, Environment(witness.states[-1], {}, instance.constants))
    except EvaluationError:
        return set()
    return owners(instance.model, false)


def _of_path(witness: Witness) -> Question:
    told = _DECIDES.get(witness.property.kind, "")
    said = truths(witness)
    at = next((k for k, one in enumerate(said) if one.word == told), len(said) - 1)
    if witness.property.kind in ("deadlock_free", "leads_to"):
        return Question(at + 1, _closest(witness, at, None))
    at = max(at, 1)
    return Question(at, _closest(witness, at - 1, witness.moves[at - 1]))


def _closest(witness: Witness, at: int, taken: Move | None) -> str:
    """The refused action of which most guards passed; of a property over states one after which it would hold."""
    best: tuple[int, str] = (0, "")
    for each in _refused(witness, witness.states[at]):
        if taken is not None and not _alike(witness, each, taken):
            continue
        passed = next(k for k, guard in enumerate(each.action.guards) if guard is each.refused)
        if passed > best[0] and not each.error and _good(witness, witness.states[at], each):
            best = (passed, each.label)
    return best[1]


def _refused(witness: Witness, state: State) -> Iterator[ActionChoice]:
    return (each for each in choices(witness.instance, state) if each.refused is not None and not each.refused.bound)


def _alike(witness: Witness, each: ActionChoice, taken: Move) -> bool:
    """Whether it is another action of the same actor, and what both have as a parameter is the same."""
    action = witness.instance.model.named(taken.action)
    if each.action is action or each.action.actor != action.actor:
        return False
    given = dict(zip(action.parameters, taken.args, strict=True))
    shared = [(given[name], arg) for name, arg in zip(each.action.parameters, each.args, strict=True) if name in given]
    return (bool(shared) or not given) and all(one == other for one, other in shared)


def _good(witness: Witness, state: State, each: ActionChoice) -> bool:
    """Whether the property would hold after it, if no guard refused it; it need not for one that is reached."""
    claim = witness.property
    if claim.kind not in ("always", "step"):
        return True
    try:
        then = effect(witness.instance, state, each.action, each.args)
        return holds(witness.instance, claim.formula, state, then) if claim.kind == "step" else holds(witness.instance, claim.formula, then)
    except EvaluationError:
        return False


__all__ = ["Question", "question"]
