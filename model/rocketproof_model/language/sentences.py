"""Sentence templates of actions: `{by} creates {topic} with {queues:queue}` becomes `broker-a creates orders with 4 queues`.

An action's body declares one with `a.says`. A template only changes how a step is shown, never what the action does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Final

from ..errors import ModelError
from .expr import Expr

ROLES: Final = ("by", "to", "from")
"""Names that a template may use for the acting part, the part that receives a message, and the part whose message is taken."""


@dataclass(frozen=True, eq=False)
class StepSentence:
    """A template and the terms that its names stand for, over the state before and the parameters.

    `{name}` is the value as text. `{name:queue}` counts a noun ("1 queue", "4 queues"); `{name:entry|entries}` gives an irregular plural.
    For a Bool, `{name:on|off}` chooses a word. Parameters and `ROLES` need no term.
    """

    template: str
    terms: Mapping[str, Expr]

    def pieces(self) -> list[tuple[str, str, str]]:
        """Return the literal texts, each with the name after it and the name's form. The last may have no name."""
        try:
            parsed = list(Formatter().parse(self.template))
        except ValueError as error:
            raise ModelError(f"the sentence {self.template!r} is no template ({error})", "write names in braces: {by} sends {t}") from None
        return [(literal, name or "", form or "") for literal, name, form, _ in parsed]

    def names(self) -> set[str]:
        return {name for _, name, _ in self.pieces() if name}


def in_form(text: str, form: str, *, truth: bool | None = None) -> str:
    """Return a value's text in a template's form; `truth` is the value of a Bool."""
    if not form:
        return text
    one, _, many = form.partition("|")
    if truth is not None:
        return one if truth else many
    return f"{text} {one if text == '1' else many or one + 's'}"


__all__ = ["ROLES", "StepSentence", "in_form"]
