"""A step tried on the implementation, whether the specification allows it or not.

A program follows the specification's guards, so it never shows that they refuse too much, and what they allow too much it shows only where
it happens to go. Here any step is tried in a state that is named.
"""

from __future__ import annotations

from collections.abc import Iterable

from rocketproof_model import Action
from rocketproof_model.interpreter import State
from rocketproof_model.result import Move

from ...programs.offers import Args
from .machine import Campaign, perform


def attempt(campaign: Campaign, moves: Iterable[Move], action: Action, args: Args) -> State | str | None:
    """Perform a program and then try a step: the state that it led to, or in words why it cannot be done.

    None where the implementation, which may choose among what is allowed, does not take it. Raises Finding where the program deviates
    from the specification, and Refused at a step of it that the implementation never takes.
    """
    target = perform(campaign, moves).target
    try:
        if not target.can(action, args):
            return None
        target.perform(action, args)
        return target.observe()
    except Exception as error:  # noqa: BLE001 - who is told to do what cannot be done finds nothing there, and says so in many ways
        return str(error) or type(error).__name__
