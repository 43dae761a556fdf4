"""The base class of all models of the specification."""

from __future__ import annotations

from typing import ClassVar

from rocketproof_model.language import Model


class Part:
    """A model whose sizes, indices, constants and variables are attributes, with the same names as in the model.

    `switches` names the constants whose values come from a profile.
    """

    switches: ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str) -> None:
        self.model = Model(f"specification/{name}")
        self.action = self.model.action
