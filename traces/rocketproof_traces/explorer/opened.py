"""What the explorer can open: a trace that can be continued from any of its states, or a document that is shown unchanged."""

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
"""Called with a line of text while opening takes long."""


@dataclass(frozen=True, eq=False)
class Trace:
    """A witness with its origin; `title` replaces the title from its property."""

    witness: Witness
    subject: TraceSubject
    commands: tuple[CommandLine, ...] = ()
    title: str = ""

    def document(self, session: str | None = None) -> dict[str, Any]:
        document = of_witness(self.witness, self.subject, self.commands, session=session)
        return {**document, "title": self.title} if self.title else document


@dataclass(frozen=True, eq=False)
class OpenedDocument:
    """A document without further steps: of a history of clients, or of a hazard."""

    made: Mapping[str, Any]

    def document(self, session: str | None = None) -> dict[str, Any]:
        return dict(self.made)


Opened = Trace | OpenedDocument


def walk(
    instance: Instance, subject: TraceSubject, claim: Property = NO_PROPERTY, note: str = "", commands: Sequence[CommandLine] = ()
) -> Trace:
    """Return a trace with only an initial state. Raises EvaluationError if the instance has no initial state."""
    witness = Witness(instance, claim, (), (initial(instance),), None, note)
    return Trace(witness, subject, tuple(commands), f"{claim.id}: a walk" if claim is not NO_PROPERTY else "a walk from the initial state")


__all__ = ["NO_PROPERTY", "Opened", "OpenedDocument", "Progress", "Trace", "walk"]
