"""What every part of the specification is: a model, and the words in which its rules and its properties are written."""

from __future__ import annotations

from typing import ClassVar

from rocketproof_model.language import Model


class Part:
    """A model with its vocabulary. A subclass is a model of its own: whatever it declares, its sizes, indices, constants and variables,
    is an attribute, by the name that it has in the model; `switches` are those of its constants that a profile has."""

    switches: ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str) -> None:
        self.model = Model(f"specification/{name}")
        self.action = self.model.action
