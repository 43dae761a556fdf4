"""Variables, arrays of them over indices and other small types, and tables: arrays of records."""

from __future__ import annotations

import inspect
import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from .expr import Compound, Expr, Index, choose, coerce, const, element_name
from .records import Record, Row
from .traverse import rewrite
from .types import Type


@dataclass(frozen=True, eq=False, repr=False)
class Variable(Compound):
    """A variable or an array of them over indices or other small types. `first` is the slot of its first element in a state.

    `init` has the possible initial terms of each element. `sentence` describes the variable ("" if the model does not). For a column,
    `sentence` describes the table and `detail` the column. `part` is the part it belongs to, if that is not the first index's element.
    """

    name: str
    type: Type
    over: tuple[Type, ...]
    init: tuple[tuple[Expr, ...], ...]
    first: int
    place: str
    sentence: str = ""
    part: str = ""
    detail: str = ""

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        # Engines compare variables; comparing an array with a value in a model would always be False.
        if isinstance(other, Variable):
            return self is other
        raise ModelError(f"{self.name} compared with '{other}' as a whole", f"compare its elements: {self.name}[i]")

    @property
    def meaning(self) -> str:
        """The description of the variable; "" if the model has none."""
        return ": ".join(text for text in (self.sentence, self.detail) if text)

    @property
    def size(self) -> int:
        return math.prod(i.size for i in self.over)

    def elements(self) -> Iterable[tuple[int, ...]]:
        return itertools.product(*(i.codes() for i in self.over))

    def element(self, at: tuple[int, ...]) -> Expr:
        """Return the element at these codes as a term; the caller has checked the range."""
        return Expr("ref", (self, *(const(k, axis) for k, axis in zip(at, self.over, strict=True))), self.type)

    def name_at(self, at: tuple[int, ...]) -> str:
        """Return `config.perm[0,1]`: an element's name in files and columns of data, independent of the names of an index's elements."""
        return self.name + (f"[{','.join(map(str, at))}]" if at else "")

    def label_at(self, at: tuple[int, ...]) -> str:
        """Return `config[broker-a, orders].perm`: an element's name in printed output."""
        return element_name(self.name, [axis.text(k) for axis, k in zip(self.over, at, strict=True)])

    def slot(self, at: tuple[int, ...]) -> int:
        """Return the slot of an element; the caller has checked the range."""
        offset = 0
        for i, k in zip(self.over, at, strict=True):
            offset = offset * i.size + k - i.lo
        return self.first + offset

    def at(self, slot: int) -> tuple[int, ...]:
        """Return the codes of the element in a slot."""
        offset, codes = slot - self.first, []
        for axis in reversed(self.over):
            offset, k = divmod(offset, axis.size)
            codes.append(axis.lo + k)
        return tuple(reversed(codes))

    def __getitem__(self, at: Any) -> Expr:
        at = at if isinstance(at, tuple) else (at,)
        if len(at) != len(self.over):
            raise ModelError(f"{self.name} indexed by {len(at)} values", f"it is declared over {len(self.over)} indices")
        return Expr("ref", (self, *(_element(self.name, a, i) for a, i in zip(at, self.over, strict=True))), self.type)


def moved(term: Expr, to: Mapping[Variable, Variable], memo: dict[Expr, Expr] | None = None) -> Expr:
    """Return the term with some variables replaced by others, with types inferred again. `memo` is as in `rewrite`."""

    def change(e: Expr) -> Expr | None:
        new = to.get(e.args[0]) if e.op in ("ref", "after") else None
        return None if new is None else Expr(e.op, (new, *e.args[1:]), new.type)

    return rewrite(term, change, memo)


def _element(name: str, at: Any, of: Type) -> Expr:
    if isinstance(at, Expr) and at.type.sort == "int" and not isinstance(at.type, Index) and of.sort in ("int", "bool"):
        if at.type.hi < of.lo or at.type.lo > of.hi:
            raise ModelError(f"{name}[{at}] is never in range", f"the index {of} has other elements")
        return at
    term = coerce(at, of)
    return choose(term, 1, 0) if term.type.sort == "bool" and term.op != "const" else term


class Table(Compound):
    """An array of records; `table[i]` is a Row. `fields` are arrays of the fields' shapes."""

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        self.name, self.fields = name, fields
        self._rows: dict[Expr, Row] = {}

    def __repr__(self) -> str:
        return self.name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ModelError(f"field {name} of all of {self.name}", f"take the field of one row: {self.name}[i].{name}")

    def __getitem__(self, at: Any) -> Row:
        if not isinstance(at, Expr):
            return self._row(at)
        if at not in self._rows:  # actions ask for the row of one parameter again and again
            self._rows[at] = self._row(at)
        return self._rows[at]

    def _row(self, at: Any) -> Row:
        return Row({name: field[at] for name, field in self.fields.items()})


def part_of_start(init: Any, take: Callable[[Any], Any]) -> Any:
    """Return the initial value of a part from the initial value `init` of the whole; `take` selects the part."""
    if init is ANY:
        return ANY
    if isinstance(init, OneOf):
        return OneOf(tuple(map(take, init.values)))
    if callable(init) and not isinstance(init, Expr):
        return lambda *at: part_of_start(initial(init, at, "a record"), take)
    return take(init)


def field_in(record: Record, field: str, row: Any) -> Any:
    """Return a field of a record's initial row."""
    if not isinstance(row, Row):
        raise ModelError(f"a record starts as {row!r}", "give a row: call the Record with all its fields")
    if row.fields.keys() != record.fields.keys():
        raise ModelError(f"a record starts as {row!r}", "give a row of the same Record")
    return record(**row.fields).fields[field]


class OneOf:
    """A choice of initial values for an element: one of some values, or any value of its type if there are none."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values

    def __repr__(self) -> str:
        return f"one_of({', '.join(map(repr, self.values))})"

    def terms(self, type_: Type) -> tuple[Expr, ...]:
        """Return the terms to choose from. Raises ModelError if they are too many."""
        if not self.values and type_.size > MOST_STARTS:
            raise ModelError(f"{type_} starts as any of {type_.size:,} values", f"choose a smaller type: at most {MOST_STARTS:,}")
        if not self.values:
            return tuple(const(code, type_) for code in type_.codes())
        return tuple(dict.fromkeys(coerce(value, type_) for value in self.values))


MOST_STARTS = 1 << 16
"""Maximum of initial values of an element."""
ANY = OneOf(())
"""Any value of the type: `init=ANY`."""


def one_of(*values: Any) -> OneOf:
    """Return a choice for `init=`: the model starts with any of the values. Raises ModelError without values."""
    if not values:
        raise ModelError("one_of() of nothing", "give the values to choose from, or init=ANY for every value of the type")
    return OneOf(values)


def initial(init: Any, at: tuple[int, ...], name: str) -> Any:
    if not callable(init) or isinstance(init, Expr):
        return init
    try:
        inspect.signature(init).bind(*at)
    except TypeError as problem:
        raise ModelError(f"initial value of {name}: {problem}", f"its function gets {len(at)} indices") from None
    return init(*at)
