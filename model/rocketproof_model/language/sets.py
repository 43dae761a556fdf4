"""Sets and bags in a state, of values of any shape, laid out over variables that every engine supports.

A set or bag is an array with a cell for each possible member: a Bool for a set, a number for a bag. Equal sets are therefore one state, in
whatever order members were added. Overflow is an error of the model: a number leaves its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, overload

from ..errors import ModelError
from .expr import Expr, choose, coerce, const, element_name, refuses
from .operations import all_of
from .quantifiers import GuardedChoice, Members
from .records import Record, Shape, parts_in, parts_of
from .shapes import MOST_CELLS, codes_of, unpacked, values_of
from .types import LARGEST_SET, Bool, ContainerType, Int, SetType, Type, set_of
from .variables import OneOf, Variable


@dataclass(frozen=True)
class ManyType(ContainerType):
    """Sets (`most` is 0) of values of a shape, or bags that hold a value up to `most` times."""

    of: Shape
    most: int = 0

    @property
    def cell(self) -> Type:
        return Int(0, self.most) if self.most else Bool


@overload
def SetOf(of: Type) -> SetType: ...


@overload
def SetOf(of: Record | tuple[Any, ...]) -> ManyType: ...


def SetOf(of: Shape) -> SetType | ManyType:
    """Return the type of sets of values of a type, of a record, or of a tuple of types.

    Sets of a type with at most 32 values are values themselves; others can only be variables.
    """
    if isinstance(of, Type) and of.size <= LARGEST_SET:
        return set_of(of)
    return ManyType(_few(of, "SetOf"))


def BagOf(of: Shape, most: int) -> ManyType:
    """Return the type of bags that hold a value of the type, record or tuple of types at most `most` times."""
    if not isinstance(most, int) or isinstance(most, bool) or most < 1:
        raise ModelError(f"BagOf holds a value {most!r} times", "say how often at most: BagOf(Message, 2)")
    return ManyType(_few(of, "BagOf"), most)


def _few(of: Shape, what: str) -> Shape:
    size = 1
    for _, type_ in parts_of(of):
        size *= type_.size
    if size > MOST_CELLS:
        raise ModelError(f"{what} values of which there are {size:,}", f"choose smaller types: at most {MOST_CELLS:,} values")
    return of


class Many(Members):
    """A set or a bag in a state."""

    _remedy = "a set has s.has(v), s.size, s.is_empty, s <= t and s == t; an action changes it with a.add, a.remove and a.set"
    __len__ = refuses("write s.size", "len() asks for the number of members of '{}', which is a term")
    __iter__ = refuses(
        "write forall(s, lambda member: ...), exists, count or total", "a loop over '{}' needs its members while the model is built"
    )
    __contains__ = refuses("write s.has(v)", "'in' asks whether '{}' has a member, which is a term")

    def __init__(self, type_: ManyType, variable: Variable, at: tuple[Expr, ...]) -> None:
        self.type, self.variable, self.at = type_, variable, at

    def __repr__(self) -> str:
        return element_name(self.variable.name, [str(i) for i in self.at])

    @property
    def shape(self) -> Shape:
        return self.type.of

    def cell(self, value: Any) -> Expr:
        """Return the term for a value's membership, or for a bag its number of occurrences."""
        return self.variable[(*self.at, *parts_in(self.type.of, value))]

    def has(self, value: Any) -> Expr:
        """Return whether `value` is a member."""
        cell = self.cell(value)
        return cell > 0 if self.type.most else cell

    def times(self, value: Any) -> Expr:
        """Return how often `value` is a member."""
        cell = self.cell(value)
        return cell if self.type.most else choose(cell, 1, 0)

    def choices(self) -> Iterator[GuardedChoice]:
        for value in values_of(self.type.of):
            yield self.has(value), unpacked(value)

    @property
    def size(self) -> Expr:
        """The number of members; in a bag each occurrence counts."""
        return sum((self.times(value) for value in values_of(self.type.of)), start=const(0, Int(0, 0)))

    @property
    def is_empty(self) -> Expr:
        return all_of(~self.has(value) for value in values_of(self.type.of))

    def __le__(self, other: Any) -> Expr:
        """Return whether `other` has every member at least as often."""
        return all_of(self._up_to(mine, theirs) for mine, theirs in self.parts(other))

    def __ge__(self, other: Any) -> Expr:
        return all_of(self._up_to(theirs, mine) for mine, theirs in self.parts(other))

    def _up_to(self, mine: Expr, theirs: Expr) -> Expr:
        return mine <= theirs if self.type.most else ~mine | theirs

    def parts(self, value: Any) -> Iterator[tuple[Expr, Expr]]:
        return zip(map(self.cell, values_of(self.type.of)), self.become(value), strict=True)

    def become(self, value: Any) -> list[Expr]:
        """Return the value of each cell for a new content: members, another set or bag of this kind, or a function of a member."""
        if isinstance(value, Many):
            if value.type != self.type:
                raise ModelError(f"'{value}' and '{self}' hold different things", "use sets or bags of the same shape")
            return [value.cell(member) for member in values_of(self.type.of)]
        if callable(value) and not isinstance(value, Expr):
            return [coerce(value(*unpacked(member)), self.type.cell) for member in values_of(self.type.of)]
        counts = members_of(self.type, value)
        return [const(counts.get(codes, 0), self.type.cell) for codes in codes_of(self.type.of)]


def members_of(type_: ManyType, value: Any) -> dict[tuple[int, ...], int]:
    """Return how often each known member occurs, by the codes of its parts."""
    if isinstance(value, str | Mapping | Expr | OneOf) or not isinstance(value, Iterable):
        raise ModelError(f"'{value}' is no set or bag of values", "give the members in a tuple or a list, or () for none")
    counts: dict[tuple[int, ...], int] = {}
    for member in value:
        parts = parts_in(type_.of, member)
        if any(part.op != "const" for part in parts):
            raise ModelError(f"member '{member}' depends on the state", "use a.add() and a.remove(), or a function that says of each value")
        codes = tuple(int(part.args[0]) for part in parts)
        counts[codes] = counts.get(codes, 0) + 1 if type_.most else 1
    return counts
