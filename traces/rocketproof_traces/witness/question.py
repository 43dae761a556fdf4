"""Choose the most useful question for `explain` about a witness: a step, and an action that did not happen there.

- For a lasso: the first step that repeats, and the last action that was possible before and is impossible in the loop. It involves a part
  for which the awaited condition is false.
- Otherwise: the step in which the property fails or is reached, or the end if nothing can happen any more, and the action that came
  closest. This is an action with the same arguments as the taken step that passed the most guards before one refused it.
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
    """The state before `step` (one more than the last step is the end), and an action that is refused there, empty for none."""

    step: int
    why_not: str = ""


def question(witness: Witness) -> Question | None:
    """Return the question for a witness, None if it has no steps."""
    if not witness.moves:
        return None
    return _of_loop(witness, witness.loop) if witness.loop is not None else _of_path(witness)


def _of_loop(witness: Witness, loop: int) -> Question:
    """Choose the last action not taken that was possible before the loop and never is in it."""
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
    return Question(loop + 1, max(lost.values(), key=lambda entry: entry[0], default=(0, ""))[1])


def _lacking(witness: Witness) -> set[str]:
    """Return the parts whose variables make the goal false at the end."""
    goal, instance = witness.property.goal, witness.instance
    if goal is None:
        return set()
    try:
        false = false_part(goal, Environment(witness.states[-1], {}, instance.constants))
    except EvaluationError:
        return set()
    return owners(instance.model, false)


def _of_path(witness: Witness) -> Question:
    deciding = _DECIDES.get(witness.property.kind, "")
    words = truths(witness)
    at = next((k for k, truth in enumerate(words) if truth.word == deciding), len(words) - 1)
    if witness.property.kind in ("deadlock_free", "leads_to"):
        return Question(at + 1, _closest(witness, at, None))
    at = max(at, 1)
    return Question(at, _closest(witness, at - 1, witness.moves[at - 1]))


def _closest(witness: Witness, at: int, taken: Move | None) -> str:
    """Return the refused action that passed the most guards; for a property over states, an action after which it would hold."""
    best: tuple[int, str] = (0, "")
    for each in _refused(witness, witness.states[at]):
        if taken is not None and not _is_comparable(witness, each, taken):
            continue
        passed = next(k for k, guard in enumerate(each.action.guards) if guard is each.refused)
        if passed > best[0] and not each.error and _would_satisfy(witness, witness.states[at], each):
            best = (passed, each.label)
    return best[1]


def _refused(witness: Witness, state: State) -> Iterator[ActionChoice]:
    return (each for each in choices(witness.instance, state) if each.refused is not None and not each.refused.bound)


def _is_comparable(witness: Witness, each: ActionChoice, taken: Move) -> bool:
    """Whether it is another action of the same actor with equal values for all common parameters."""
    action = witness.instance.model.named(taken.action)
    if each.action is action or each.action.actor != action.actor:
        return False
    arguments = dict(zip(action.parameters, taken.args, strict=True))
    shared = [(arguments[name], arg) for name, arg in zip(each.action.parameters, each.args, strict=True) if name in arguments]
    return (bool(shared) or not arguments) and all(value == other for value, other in shared)


def _would_satisfy(witness: Witness, state: State, each: ActionChoice) -> bool:
    """Whether the property would hold after the action if no guard refused it. Not required for a property that is reached."""
    claim = witness.property
    if claim.kind not in ("always", "step"):
        return True
    try:
        then = effect(witness.instance, state, each.action, each.args)
        return holds(witness.instance, claim.formula, state, then) if claim.kind == "step" else holds(witness.instance, claim.formula, then)
    except EvaluationError:
        return False


__all__ = ["Question", "question"]
