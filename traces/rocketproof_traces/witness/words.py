"""How this room names things: values as text and as JSON, elements of arrays, changes, and the lanes of actors.

A *lane* is the process that acts, by the action's parameter that names it, written with the index's name
(`Producer 0`); an action without such a parameter belongs to the lane `system`. The *actor kinds* of a model are the
indices that name a lane; an action that also has a parameter of an actor kind goes from its lane to that partner.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rocketproof_model import Action, Index, Instance, Model, ModelError, Variable
from rocketproof_model.interpreter import State
from rocketproof_model.language import MaybeType, SetType, Type

from ..errors import short

SYSTEM = "system"
_NAME = re.compile(r"[^.\[]+")  # of the variable or table that an element belongs to


def value_text(value: Any) -> str:
    """A readable value as the model's author writes it; sets as `{0, 2}`."""
    if isinstance(value, frozenset):
        return "{" + ", ".join(map(str, sorted(value))) + "}"
    return str(value)


def code_text(type_: Type, code: int) -> str:
    return value_text(type_.decode(code))


def plain(type_: Type, code: int) -> Any:
    """A value for ordinary JSON: sets become sorted lists, None becomes null."""
    value = type_.decode(code)
    return sorted(value) if isinstance(value, frozenset) else value


def code_of(type_: Type, value: Any) -> int:
    """The code of a value from outside (lists are sets). Raises ValueError with a phrase that names value and type."""
    try:
        if isinstance(type_, SetType):
            if not isinstance(value, list | tuple | set | frozenset) or any(isinstance(i, bool) for i in value):
                raise TypeError
            value = frozenset(value)
        if isinstance(type_, MaybeType) and isinstance(value, bool):
            raise TypeError
        return type_.encode(value)
    except (ModelError, TypeError):
        raise ValueError(f"{short(value)} is not a value of {type_} ({type_.describe()})") from None


def elements(model: Model) -> Iterator[tuple[str, Variable, int]]:
    """Name, variable and slot of everything that a state holds, in the order of the slots."""
    for variable in model.variables:
        for at in variable.elements():
            yield variable.name_at(at), variable, variable.slot(at)


@dataclass(frozen=True)
class Change:
    """One element that a step changes, with its readable values."""

    name: str
    before: str
    after: str


def present_names(model: Model, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values by the present names of their variables or elements, where a file has a variable's former name."""
    if not model.former:
        return dict(values)
    return {_NAME.sub(lambda found: model.former.get(found[0], found[0]), name, count=1): value for name, value in values.items()}


def changes(instance: Instance, before: State, after: State) -> tuple[Change, ...]:
    return tuple(
        Change(name, code_text(variable.type, before[slot]), code_text(variable.type, after[slot]))
        for name, variable, slot in elements(instance.model)
        if before[slot] != after[slot]
    )


def actor_kinds(model: Model) -> list[str]:
    """Names of the indices that name lanes, in the order of the actions.

    Where all actions start with one index, every index that an action takes counts, so that its partners show.
    """
    kinds: dict[str, None] = {}
    for action in model.actions:
        key = action.process
        if key is not None:
            kinds[str(getattr(action.parameters[key], "name", ""))] = None
    if len(kinds) == 1:
        for action in model.actions:
            kinds.update({type_.name: None for type_ in action.parameters.values() if isinstance(type_, Index)})
    return list(kinds)


def lane(action: Action, args: Sequence[int]) -> str:
    """Who acts, as its line is called."""
    key = action.process
    if key is None:
        return SYSTEM
    return f"{getattr(action.parameters[key], 'name', '')} {args[list(action.parameters).index(key)]}"


def partner(model: Model, action: Action, args: Sequence[int]) -> str | None:
    """The other actor that an action involves, or None."""
    kinds, own = actor_kinds(model), lane(action, args)
    for type_, code in zip(action.parameters.values(), args, strict=True):
        if isinstance(type_, Index) and type_.name in kinds and f"{type_.name} {code}" != own:
            return f"{type_.name} {code}"
    return None


def in_order(model: Model, lanes: set[str]) -> list[str]:
    """The lanes by kind, in the order of the actions, and by element; `system` comes first."""
    kinds = actor_kinds(model)

    def rank(name: str) -> tuple[float, int]:
        kind, _, number = name.rpartition(" ")
        return (kinds.index(kind) if kind in kinds else -math.inf, int(number) if number.isdigit() else 0)

    return sorted(lanes, key=rank)


def change_lines(moved: Sequence[Change], width: int, arrow: str, *, flow: bool) -> list[str]:
    """Changes as lines of text: the fields of one row of a table together, the rest before them (side by side if `flow`)."""
    rows: dict[str, list[tuple[str, Change]]] = {}
    for change in moved:
        table, dot, rest = change.name.partition(".")
        field, bracket, index = rest.partition("[")
        rows.setdefault(table + bracket + index if dot else change.name, []).append((field, change))
    single = [f"{c.name}: {c.before} {arrow} {c.after}" for fields in rows.values() if len(fields) == 1 for _, c in fields]
    lines = fill(single, width, "   ") if flow else [line for text in single for line in fill([text], width)]
    for row, fields in rows.items():
        if len(fields) > 1:
            texts = [f"{field} {c.before} {arrow} {c.after}" for field, c in fields]
            first, *more = fill([f"{row}: {texts[0]}", *texts[1:]], width - 3, ", ")
            lines += [first + ("," if more else ""), *(f"  {part}{',' if k < len(more) else ''}" for k, part in enumerate(more, 1))]
    return lines


def fill(words: Sequence[str], width: int, between: str = " ") -> list[str]:
    """Lines of whole words; a word longer than a line is broken."""
    lines: list[str] = []
    for whole in words:
        for word in [whole[i : i + width] for i in range(0, len(whole), width)] or [""]:
            if lines and len(lines[-1]) + len(between) + len(word) <= width:
                lines[-1] += between + word
            else:
                lines.append(word)
    return lines
