"""The rules that guards of the specification state, and which of them a judged part puts to the test or contradicts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Final

from rocketproof_model import Action
from rocketproof_profiles import PROFILES
from rocketproof_traces.checker.shape import MachineShape, model_of

_NAMES: Final = ("blank name", "illegal characters", "name too long", "forbidden topic")
_REFUSING: Final = ("order topic on a read-only broker", "illegal queue id")
_ACCEPTING: Final = ("legal queue id", "may inherit", "retry topic")
"""Guards that state a rule. Others say where a request is, or what nobody sees from outside."""
_NOT: Final = "not: "


@cache
def guards(profile: str) -> Mapping[tuple[str, str], str]:
    """The rule that is contradicted where a guard refuses what a broker did, by action and guard.

    They are those of actions by which a request goes on: which of several reasons a broker had to refuse one, its answer does not tell.
    """
    stated = _stating(profile)
    rule = {_NOT + guard: id_ for (_, guard), id_ in stated.items()} | {g: id_ for (_, g), id_ in stated.items() if g in _ACCEPTING}
    going_on = [action for action in _actions(profile) if not action.name.startswith("refuse_")]
    return {(action.name, guard.name): rule[guard.name] for action in going_on for guard in action.guards if guard.name in rule}


def contradicted(profile: str, action: str, guard: str) -> tuple[str, ...]:
    """The rule that is contradicted where this guard of this action refuses, none where it states none."""
    rule = guards(profile).get((action, guard))
    return () if rule is None else (rule,)


def kept(profile: str, actions: Collection[str]) -> frozenset[str]:
    """The rules of the actions that explain what a broker did."""
    return frozenset(rule for (action, _), rule in _stating(profile).items() if action in actions)


@cache
def _stating(profile: str) -> Mapping[tuple[str, str], str]:
    """The rule that a guard states, the first of its action's, by action and guard."""
    given = PROFILES[profile]
    names = (*(_NAMES if given.check_names else ()), *(("reserved name",) if given.reserves_template else ()))
    wanted = {*names, *_REFUSING, *_ACCEPTING}
    return {(action.name, guard.name): action.rules[0] for action in _actions(profile) for guard in action.guards if guard.name in wanted}


def _actions(profile: str) -> Sequence[Action]:
    return model_of(MachineShape(profile, ("template", "ordinary", "retry"), 8))[1].actions
