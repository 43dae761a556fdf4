"""Sets, bags and sequences as variables of a model: their layout, and arrays of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ModelError
from .expr import Compound, Expr
from .records import parts_in, parts_of
from .sequences import SequenceType, known_items
from .sets import ManyType, members_of
from .shapes import codes_of
from .types import Int, Type
from .variables import ANY, Variable, initial


class Containers(Compound):
    """An array of sets, bags, sequences, or Maybes of records; `inbox[p]` is one container."""

    def __init__(self, name: str, axes: int, make: Callable[[tuple[Any, ...]], Any]) -> None:
        self._name, self._axes, self._make = name, axes, make

    def __repr__(self) -> str:
        return self._name

    def __getitem__(self, at: Any) -> Any:
        at = at if isinstance(at, tuple) else (at,)
        if len(at) != self._axes:
            raise ModelError(f"{self._name} indexed by {len(at)} values", f"it is declared over {self._axes} indices")
        return self._make(at)


Declare = Callable[[str, Type, tuple[Type, ...], Any], Variable]


def laid_out(name: str, type_: ManyType | SequenceType, axes: tuple[Type, ...], init: Any, declare: Declare) -> list[Variable]:
    """Declare the variables of a container whose initial value is `init`."""
    depth = len(axes)

    def starts(at: tuple[int, ...]) -> Any:
        return initial(init, at[:depth], name)

    if isinstance(type_, ManyType):
        shape, members = tuple(part for _, part in parts_of(type_.of)), set(codes_of(type_.of))

        def times(*at: int) -> Any:
            first = starts(at)
            if first is ANY:
                return ANY if at[depth:] in members else 0 if type_.most else False
            count = members_of(type_, first).get(at[depth:], 0)
            return count if type_.most else count > 0

        return [declare(name, type_.cell, (*axes, *shape), times)]

    def item(number: int) -> Callable[..., Expr]:
        return lambda *at: parts_in(type_.cell, known_items(type_, starts(at), name).cells[at[depth]])[number]

    long = declare(f"{name}.length", Int(0, type_.most), axes, lambda *at: known_items(type_, starts(at), name).length)
    places = (*axes, Int(0, type_.most - 1))
    parts = enumerate(parts_of(type_.cell))
    columns = [declare(f"{name}.{part}" if part else name, kind, places, item(number)) for number, (part, kind) in parts]
    return [long, *columns]
