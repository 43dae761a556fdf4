"""The rules that guards of the specification state, and which rules a judged part exercises or contradicts."""

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
"""Guards that state a rule. Other guards state where a request is, or a fact that is not visible from outside."""
_NOT: Final = "not: "


@cache
def guards(profile: str) -> Mapping[tuple[str, str], str]:
    """Return the rule that is contradicted if a guard rejects what a broker did, by action and guard.

    Only guards of actions by which a request proceeds are included. If a broker rejects a request, its response does not show which of
    several reasons applied.
    """
    stated = _stating(profile)
    rule = {_NOT + guard: id_ for (_, guard), id_ in stated.items()} | {g: id_ for (_, g), id_ in stated.items() if g in _ACCEPTING}
    going_on = [action for action in _actions(profile) if not action.name.startswith("refuse_")]
    return {(action.name, guard.name): rule[guard.name] for action in going_on for guard in action.guards if guard.name in rule}


def contradicted(profile: str, action: str, guard: str) -> tuple[str, ...]:
    """Return the rule that is contradicted if this guard of this action rejects. Empty if the guard states no rule."""
    rule = guards(profile).get((action, guard))
    return () if rule is None else (rule,)


def kept(profile: str, actions: Collection[str]) -> frozenset[str]:
    """Return the rules of the actions that explain what a broker did."""
    return frozenset(rule for (action, _), rule in _stating(profile).items() if action in actions)


@cache
def _stating(profile: str) -> Mapping[tuple[str, str], str]:
    """Map each action and guard that states a rule to that rule, the first of its action."""
    switches = PROFILES[profile]
    names = (*(_NAMES if switches.check_names else ()), *(("reserved name",) if switches.reserves_template else ()))
    wanted = {*names, *_REFUSING, *_ACCEPTING}
    return {(action.name, guard.name): action.rules[0] for action in _actions(profile) for guard in action.guards if guard.name in wanted}


def _actions(profile: str) -> Sequence[Action]:
    return model_of(MachineShape(profile, ("template", "ordinary", "retry"), 8))[1].actions
