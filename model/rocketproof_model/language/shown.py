"""The values of a state as a reader sees them: elements of variables, and values in several variables (sets, bags, sequences, Maybes)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from .expr import element_name
from .records import MaybeShape, MaybeValue, Shape
from .sequences import Seq, SequenceType
from .sets import Many, ManyType
from .shapes import codes_of, data_of, text_of
from .types import Type
from .variables import Variable


@dataclass(frozen=True, eq=False)
class Container:
    """A set, a bag, a sequence or a Maybe of a record, or an array of them, as the model declares it.

    `variables` hold its parts.
    """

    name: str
    type: ManyType | SequenceType | MaybeShape
    over: tuple[Type, ...]
    variables: tuple[Variable, ...]

    def value(self, at: tuple[Any, ...]) -> Many | Seq | MaybeValue:
        """Return the terms of one container of the array."""
        first, *columns = self.variables
        if isinstance(self.type, ManyType):
            return Many(self.type, first, at)
        if isinstance(self.type, SequenceType):
            return Seq(self.type, first, columns, at)
        return MaybeValue(self.type, [variable[at] for variable in self.variables])

    def values(self, state: Sequence[int], at: tuple[int, ...]) -> list[Iterator[int]]:
        """Return the codes of each member's parts, in order; a member of a bag is repeated for each occurrence."""
        members: list[Iterator[int]] = []
        if isinstance(self.type, SequenceType):
            long, *columns = self.variables
            for k in range(state[long.slot(at)]):
                members.append(iter([state[column.slot((*at, k))] for column in columns]))
            return members
        (variable,) = self.variables
        for codes in codes_of(self.type.of):
            members += [iter(codes) for _ in range(state[variable.slot((*at, *codes))])]
        return members

    def text(self, state: Sequence[int], at: tuple[int, ...]) -> str:
        """Return `{[type: 1a, ballot: 0]}`, or for a sequence `<0, 1>`."""
        if isinstance(self.type, MaybeShape):
            return text_of(self.type, self.codes(state, at))
        opens, closes = "<>" if isinstance(self.type, SequenceType) else "{}"
        return opens + ", ".join(text_of(self.member, codes) for codes in self.values(state, at)) + closes

    @property
    def member(self) -> Shape:
        """The shape of a member."""
        return self.type.cell if isinstance(self.type, SequenceType) else self.type.of

    def codes(self, state: Sequence[int], at: tuple[int, ...]) -> Iterator[int]:
        """Return the codes of the variables of a Maybe."""
        return iter([state[variable.slot(at)] for variable in self.variables])

    def data(self, state: Sequence[int], at: tuple[int, ...]) -> Any:
        """Return the members as data, in the order in which they are printed; for a Maybe the value it holds, or None."""
        if isinstance(self.type, MaybeShape):
            return data_of(self.type, self.codes(state, at))
        return [data_of(self.member, codes) for codes in self.values(state, at)]


@dataclass(frozen=True, eq=False)
class ShownVariable:
    """A printed value of a state: an element of a variable, or a whole set, bag, sequence or Maybe.

    `name` is its name in files, `label` its name in printed output. `variable` holds the value, or one of its parts.
    """

    name: str
    label: str
    variable: Variable
    at: tuple[int, ...]
    container: Container | None = None

    def text(self, state: Sequence[int]) -> str:
        """Return the readable value."""
        if self.container is not None:
            return self.container.text(state, self.at)
        return self.variable.type.text(state[self.variable.slot(self.at)])

    def data(self, state: Sequence[int]) -> Any:
        """Return the value as data."""
        if self.container is not None:
            return self.container.data(state, self.at)
        return self.variable.type.decode(state[self.variable.slot(self.at)])

    def differs(self, before: Sequence[int], after: Sequence[int]) -> bool:
        """Return whether the value differs between two states."""
        if self.container is not None:
            return self.text(before) != self.text(after)
        slot = self.variable.slot(self.at)
        return before[slot] != after[slot]


def declared_variables(variables: Iterable[Variable], containers: Iterable[Container]) -> Iterator[Variable | Container]:
    """Yield the containers, and the variables that are no part of a container, in the order of the slots."""
    held = {variable: container for container in containers for variable in container.variables}
    for variable in variables:
        container = held.get(variable)
        if container is None:
            yield variable
        elif variable is container.variables[0]:
            yield container


def shown(variables: Iterable[Variable], containers: Iterable[Container]) -> Iterator[ShownVariable]:
    """Yield all values of a state in the order of the slots."""
    for whole in declared_variables(variables, containers):
        if isinstance(whole, Variable):
            for at in whole.elements():
                yield ShownVariable(whole.name_at(at), whole.label_at(at), whole, at)
        else:
            for at in itertools.product(*(axis.codes() for axis in whole.over)):
                name = whole.name + (f"[{','.join(map(str, at))}]" if at else "")
                label = element_name(whole.name, [axis.text(k) for axis, k in zip(whole.over, at, strict=True)])
                yield ShownVariable(name, label, whole.variables[0], at, whole)


__all__ = ["Container", "ShownVariable", "shown", "declared_variables"]
