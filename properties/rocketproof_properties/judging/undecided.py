"""The error for a question that a limit left open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketproof_model import RocketproofError

if TYPE_CHECKING:
    from rocketproof_model.result import Outcome


class Undecided(RocketproofError):
    """A limit left open what was asserted or judged: neither a pass nor a violation. `outcome` is the engine's, with its `reason`. It is
    None if recorded responses were judged."""

    __module__ = "rocketproof"  # the name by which a test knows it

    def __init__(self, text: str, outcome: Outcome | None = None) -> None:
        super().__init__(text)
        self.outcome = outcome
