"""A phrase of the pool: one or more steps with the possible values of their arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from rocketproof_protocol.numbers import java_long

from .vocabulary import EVERY, plain

Values = Mapping[str, Sequence[Any]]
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
    """

    name: str
    steps: tuple[tuple[str, Values], ...]
    boundary: tuple[str, str] | None = None
    lasting: bool = False
    large: bool = False
    server: bool = False
    unread: str = ""
    needs: str = ""
    switch: tuple[str, bool] | None = None

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
        """The weight with which it is drawn. It grows with the number of values that its arguments can have."""
        return 1 + sum(len(choices) - 1 for _, values in self.steps for choices in values.values()) // 3


def single(kind: str, values: Values, /, *, name: str = "", lasting: bool = False, server: bool = False) -> Phrase:
    """Return a phrase of a single step."""
    return Phrase(name or kind, ((kind, values),), lasting=lasting, server=server)


def series(
    name: str,
    /,
    *steps: tuple[str, Values],
    lasting: bool = False,
    server: bool = False,
    needs: str = "",
    switch: tuple[str, bool] | None = None,
) -> Phrase:
    """Return a phrase of several steps."""
    return Phrase(name, steps, lasting=lasting, server=server, needs=needs, switch=switch)


def formed(kind: str, values: Values, /, *, but: Collection[str] = ()) -> tuple[Phrase, ...]:
    """Return phrases of malformed requests: without one field, without all of them, or with a text in place of a number.

    Fields in `but` are never left out or changed.
    """
    fields = {name: text for name, text in (plain(kind).ext_fields or {}).items() if name not in but}
    lacks = [name for name in (*fields, EVERY) if name not in but]
    texts = [(name, "x") for name, text in fields.items() if java_long(text) is not None]
    lacking = single(kind, {**values, "without": lacks}, name=f"{kind} without a field")
    return lacking, *([single(kind, {**values, "altered": texts}, name=f"{kind} without a number")] if texts else [])
