"""What can be opened in the explorer: a trace that goes on from any of its states, or a history, which is shown as it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rocketproof_model import Bool, Instance, Property
from rocketproof_model.interpreter import initial
from rocketproof_model.language import const
from rocketproof_model.result import Witness

from .document import CommandLine, TraceSubject, of_witness

NO_PROPERTY: Final = Property("walk", "no property is asked: every step is free", "always", const(1, Bool))
Progress = Callable[[str], None]
"""Is told in a line what a long opening does."""


@dataclass(frozen=True, eq=False)
class Trace:
    """A witness with what is known of it; `title` is what it is called, if not by its property."""

    witness: Witness
    subject: TraceSubject
    commands: tuple[CommandLine, ...] = ()
    title: str = ""

    def document(self, session: str | None = None) -> dict[str, Any]:
        made = of_witness(self.witness, self.subject, self.commands, session=session)
        return {**made, "title": self.title} if self.title else made


@dataclass(frozen=True, eq=False)
class OpenedHistory:
    """The document of a history of clients."""

    made: Mapping[str, Any]

    def document(self, session: str | None = None) -> dict[str, Any]:
        return dict(self.made)


Opened = Trace | OpenedHistory


def walk(
    instance: Instance, subject: TraceSubject, claim: Property = NO_PROPERTY, note: str = "", commands: Sequence[CommandLine] = ()
) -> Trace:
    """A trace that has only its beginning. Raises EvaluationError where the instance has no initial state."""
    made = Witness(instance, claim, (), (initial(instance),), None, note)
    return Trace(made, subject, tuple(commands), f"{claim.id}: a walk" if claim is not NO_PROPERTY else "a walk from the initial state")


__all__ = ["NO_PROPERTY", "OpenedHistory", "Opened", "Progress", "Trace", "walk"]
