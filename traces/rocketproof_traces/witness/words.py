"""Names and texts used by this package: values as text and as JSON, elements of arrays, and changes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, NamedTuple

from rocketproof_model import Bool, Instance, Model, ModelError, Variable
from rocketproof_model.interpreter import State
from rocketproof_model.language import MaybeType, SetType, Type

from ..common.errors import short

_NAME = re.compile(r"[^.\[]+")  # of the variable or table that an element belongs to


def value_text(value: Any) -> str:
    """Return a readable value as the model's author writes it; sets as `{0, 2}`."""
    return "{" + ", ".join(map(str, sorted(value))) + "}" if isinstance(value, frozenset) else str(value)


def plain(type_: Type, code: int) -> Any:
    """Return a value for ordinary JSON: sets become sorted lists, None becomes null."""
    value = type_.decode(code)
    return sorted(value) if isinstance(value, frozenset) else value


def code_of(type_: Type, value: Any) -> int:
    """Return the code of an external value (lists are sets). Raises ValueError with a phrase that names value and type."""
    try:
        if isinstance(type_, SetType):
            if not isinstance(value, list | tuple | set | frozenset) or any(isinstance(i, bool) for i in value if type_.of != Bool):
                raise TypeError
            value = frozenset(value)
        if isinstance(type_, MaybeType) and isinstance(value, bool) and type_.of != Bool:
            raise TypeError
        return type_.encode(value)
    except (ModelError, TypeError):
        raise ValueError(f"{short(value)} is not a value of {type_} ({type_.describe()})") from None


class Element(NamedTuple):
    """A value in a state: its name in files, its label for users, and its slot."""

    name: str
    label: str
    variable: Variable
    at: tuple[int, ...]
    slot: int


def elements(model: Model) -> Iterator[Element]:
    """Yield all elements of a state, in the order of the slots."""
    for variable in model.variables:
        for at in variable.elements():
            yield Element(variable.name_at(at), variable.label_at(at), variable, at, variable.slot(at))


@dataclass(frozen=True)
class ElementChange:
    """An element that a step changes, with its values as text; `variable` is the element's variable."""

    name: str
    before: str
    after: str
    variable: Variable


def present_names(model: Model, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values under the current names of variables and elements, if a file has former names."""
    if not model.former:
        return dict(values)
    return {_NAME.sub(lambda match: model.former.get(match[0], match[0]), name, count=1): value for name, value in values.items()}


def changes(instance: Instance, before: State, after: State) -> tuple[ElementChange, ...]:
    return tuple(
        ElementChange(element.label, element.text(before), element.text(after), element.variable)
        for element in instance.model.shown()
        if element.differs(before, after)
    )


def change_lines(moved: Sequence[ElementChange], width: int, arrow: str, *, flow: bool) -> list[str]:
    """Return changes as lines of text: the fields of one row of a table together, other changes before them (next to each other if
    `flow`)."""
    rows: dict[str, list[tuple[str, ElementChange]]] = {}
    for change in moved:
        field = change.variable.name.partition(".")[2]
        row = change.name.removesuffix(f".{field}") if field else change.name
        field = field if row != change.name else ""
        rows.setdefault(row, []).append((field, change))
    single = [f"{c.name}: {c.before} {arrow} {c.after}" for fields in rows.values() if len(fields) == 1 for _, c in fields]
    lines = fill(single, width, "   ") if flow else [line for text in single for line in fill([text], width)]
    for row, fields in rows.items():
        if len(fields) > 1:
            texts = [f"{field} {c.before} {arrow} {c.after}" for field, c in fields]
            head = f"{row}: {texts[0]}"
            if len(head) > width - 1:
                lines += fill([f"{row}:"], width)
            else:
                texts[0] = head
            for k, text in enumerate(texts):
                ends = text + ("," if k < len(texts) - 1 else "")
                if k and len(lines[-1]) + 1 + len(ends) <= width:
                    lines[-1] += f" {ends}"
                else:
                    lines += [("" if text is head else "  ") + part for part in fill([ends], width - 2)]
    return lines


def fill(words: Sequence[str], width: int, between: str = " ") -> list[str]:
    """Return lines of whole words; a word longer than a line is broken, at a blank if it has one."""
    lines: list[str] = []
    for whole in words:
        for word in wrap(whole, width, break_on_hyphens=False) or [""]:
            if lines and len(lines[-1]) + len(between) + len(word) <= width:
                lines[-1] += between + word
            else:
                lines.append(word)
    return lines
