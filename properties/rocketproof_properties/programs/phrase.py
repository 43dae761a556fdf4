"""A phrase of the pool: one or more steps with the possible values of their arguments."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from rocketproof_protocol.numbers import java_long

from .values import Values, values_of
from .vocabulary import EVERY, plain

PhraseStep = tuple[str, Values]
WAITING: Final = ("time", "question", "notified", "checked")
"""Steps that take seconds."""


@dataclass(frozen=True)
class Phrase:
    """Steps with the possible values of their arguments.

    - `boundary`: the boundary that the phrase meets, and the side.
    - `lasting`: some effect is delayed or unacknowledged, so that its state after a kill of the process is not predictable.
    - `large`: the messages exceed a small file.
    - `server`: the phrase sends requests to a name server.
    - `unread`: the catalogue's conditions for records of the phrase that cannot be read again.
    - `needs`: the settings that the phrase requires.
    - `switch`: a profile switch and the value it must have.
    - `often`: the weight; 0 to derive it from the number of values.
    - `changes`: how many arguments of a step differ from their defaults; one of these numbers is drawn.
    """

    name: str
    steps: tuple[PhraseStep, ...]
    boundary: tuple[str, str] | None = None
    lasting: bool = False
    large: bool = False
    server: bool = False
    unread: str = ""
    needs: str = ""
    switch: tuple[str, bool] | None = None
    often: int = 0
    changes: tuple[int, ...] = (0, 1, 1, 2)

    @property
    def waits(self) -> bool:
        """Whether a step lets time pass."""
        return any(name in WAITING for name, _ in self.steps)

    @property
    def concurrent(self) -> bool:
        """Whether it needs several clients."""
        return any("client" in values for _, values in self.steps)

    @cached_property
    def weight(self) -> int:
        """The weight with which it is drawn: `often`, or a number that grows with the values that its arguments can have."""
        return self.often or 1 + sum(len(choices) - 1 for _, values in self.steps for choices in values.values()) // 3


def step(kind: str, vary: str = "", /, **fixed: Any) -> PhraseStep:
    """Return a step whose arguments in `vary` have all values of the table. `fixed` gives defaults and further arguments.

    See `values.values_of`.
    """
    return kind, values_of(kind, vary.split(), fixed)


def phrase(name: str, /, *steps: PhraseStep, **more: Any) -> Phrase:
    """Return a phrase of these steps; `more` has the other fields of `Phrase`. Without a name it is named after its first step."""
    return Phrase(name or steps[0][0], steps, **more)


def formed(well_formed: PhraseStep, /, *, but: Collection[str] = ()) -> tuple[Phrase, ...]:
    """Return phrases of malformed requests: without one field, without all of them, or with a text in place of a number.

    Fields in `but` are never left out or changed.
    """
    kind, values = well_formed
    fields = {name: text for name, text in (plain(kind).ext_fields or {}).items() if name not in but}
    lacks = [name for name in (*fields, EVERY) if name not in but]
    texts = [(name, "x") for name, text in fields.items() if java_long(text) is not None]
    lacking = phrase(f"{kind} without a field", (kind, {**values, "without": lacks}), changes=(1,))
    return lacking, *([phrase(f"{kind} without a number", (kind, {**values, "altered": texts}), changes=(1,))] if texts else [])
