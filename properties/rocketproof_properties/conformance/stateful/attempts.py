"""Attempts of steps on the implementation, whether or not the specification allows them.

A program follows the specification's guards. It never shows that a guard is too strict, and shows too weak guards only on its own path.
This module attempts any step in a given state.
"""

from __future__ import annotations

from collections.abc import Iterable

from rocketproof_model import Action
from rocketproof_model.interpreter import State
from rocketproof_model.result import Move

from ...programs.offers import Args
from .machine import Campaign, perform


def attempt(campaign: Campaign, moves: Iterable[Move], action: Action, args: Args) -> State | str | None:
    """Perform a program and then attempt a step. Return the resulting state, or the reason why the step cannot be done.

    Returns None if the implementation, which may choose among allowed steps, does not take it. Raises ConformanceError if the program
    deviates from the specification, and NeverTaken at a step of it that the implementation never takes.
    """
    driver = perform(campaign, moves).driver
    try:
        if not driver.can(action, args):
            return None
        driver.perform(action, args)
        return driver.observe()
    except Exception as error:  # noqa: BLE001 - an impossible step fails in many ways
        return str(error) or type(error).__name__
