"""What programs of the pool are put together from: a phrase, which is some steps with the values that their arguments may have."""

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
    """Steps with the values of their arguments. `boundary`: the one that it meets, and the side. `lasting`: something of it comes later, or
    without an answer, so that nobody knows what a process that ends leaves of it. `large`: more bytes than a small file has. `server`: it
    asks a name server. `unread`: what of it nobody can read again, in the catalogue's words. `needs`: the settings without which it
    means nothing. `switch`: a switch and its value in the releases that are asked so."""

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
        """Whether it lets time pass."""
        return any(name in WAITING for name, _ in self.steps)

    @property
    def concurrent(self) -> bool:
        """Whether it takes several clients."""
        return any("client" in values for _, values in self.steps)

    @cached_property
    def worth(self) -> int:
        """How often it comes while another comes once: the more, the more values it has to show."""
        return 1 + sum(len(of) - 1 for _, values in self.steps for of in values.values()) // 3


def one(kind: str, values: Values, /, *, name: str = "", lasting: bool = False, server: bool = False) -> Phrase:
    return Phrase(name or kind, ((kind, values),), lasting=lasting, server=server)


def many(
    name: str,
    /,
    *steps: tuple[str, Values],
    lasting: bool = False,
    server: bool = False,
    needs: str = "",
    switch: tuple[str, bool] | None = None,
) -> Phrase:
    return Phrase(name, steps, lasting=lasting, server=server, needs=needs, switch=switch)


def formed(kind: str, values: Values, /, *, but: Collection[str] = ()) -> tuple[Phrase, ...]:
    """A request that lacks one of its fields, or all of them, but none of `but`, and one that has no number where there should be one."""
    fields = {name: text for name, text in (plain(kind).ext_fields or {}).items() if name not in but}
    lacks = [name for name in (*fields, EVERY) if name not in but]
    texts = [(name, "x") for name, text in fields.items() if java_long(text) is not None]
    lacking = one(kind, {**values, "without": lacks}, name=f"{kind} without a field")
    return lacking, *([one(kind, {**values, "altered": texts}, name=f"{kind} without a number")] if texts else [])
