"""The names that a text about a model can use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .expr import Index
from .model import Model
from .types import EnumType, Type, held
from .variables import Variable


@dataclass(frozen=True)
class Vocabulary:
    """The names that a text can use."""

    variables: Mapping[str, Variable]
    tables: Mapping[str, Mapping[str, Variable]]
    constants: Mapping[str, Type]
    indices: Mapping[str, Index]
    values: Sequence[str]
    enums: Sequence[EnumType]
    parameters: Mapping[str, Type] = field(default_factory=dict)

    @staticmethod
    def of(model: Model, parameters: Mapping[str, Type] | None = None) -> Vocabulary:
        """Return the vocabulary of a model, or of an action with these parameters."""
        action_parameters = dict(parameters or {})
        types: list[Type] = [*(v.type for v in model.variables), *(t for t, _ in model.constants.values()), *action_parameters.values()]
        types += [t for action in model.actions for t in action.parameters.values()]
        types = [axis for variable in model.variables for axis in variable.over] + types
        types = [held(held(t)) for t in types]
        indices = dict.fromkeys(t for t in types if isinstance(t, Index))
        enums = tuple(dict.fromkeys(t for t in types if isinstance(t, EnumType)))
        values = dict.fromkeys(name for enum in enums for name in enum.names)
        values |= dict.fromkeys(name for index in indices for name in names_of(index))
        tables: dict[str, dict[str, Variable]] = {}
        for variable in model.variables:
            table, dot, column = variable.name.partition(".")
            if dot:
                tables.setdefault(table, {})[column] = variable
        plain = {v.name: v for v in model.variables if "." not in v.name}
        constants = {name: type_ for name, (type_, _) in model.constants.items()}
        return Vocabulary(plain, tables, constants, {i.name: i for i in indices}, tuple(values), enums, action_parameters)

    def known(self) -> list[str]:
        """Return every name, for messages about a mistyped name."""
        return [*self.variables, *self.tables, *self.parameters, *self.indices, *self.constants, *self.values]


def names_of(type_: Type) -> Sequence[str]:
    """Return the names of a type's values: an enumeration's names, or the names of an index's elements."""
    names: Sequence[str] = getattr(type_, "names", ())
    return names


__all__ = ["Vocabulary", "names_of"]
