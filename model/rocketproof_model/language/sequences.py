"""Sequences in a state, of values of any shape, and sequences computed from them.

A sequence is its length and an array of its items. The places after its end hold the smallest value, so that equal sequences are one state.
If the smallest value would name an element of a symmetric index, the places hold Maybes of items, and None after the end. No element is
then distinguished. Overflow is an error of the model: the length leaves its type.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import ModelError
from .expr import Expr, choose, coerce, const, element_name, number, refuses, some
from .operations import all_of, any_of, maximum, minimum
from .quantifiers import GuardedChoice, Members
from .records import Maybe, MaybeShape, Merged, Shape, ite, made_of, parts_in, parts_of
from .shapes import MOST_CELLS, unpacked
from .types import Bool, ContainerType, IndexType, Int, maybe_of, named
from .variables import OneOf, Variable


@dataclass(frozen=True)
class SequenceType(ContainerType):
    """Sequences of at most `most` values of a shape."""

    of: Shape
    most: int

    @property
    def cell(self) -> Shape:
        """The shape of a place: an item, or a Maybe of it if the smallest item would name an element of a symmetric index."""
        names = any(isinstance(type_, IndexType) and named(type_) for _, type_ in parts_of(self.of))
        return Maybe(self.of) if names and not isinstance(self.of, MaybeShape) else self.of

    def longer(self, by: int) -> SequenceType:
        return SequenceType(self.of, self.most + by)

    def stored(self, value: Any) -> list[Expr]:
        """Return the terms with which a place holds an item. Raises ModelError if it is no item."""
        parts = parts_in(self.of, value)
        return parts if self.cell is self.of else parts_in(self.cell, made_of(self.of, iter(parts)))


def SeqOf(of: Shape, most: int) -> SequenceType:
    """Return the type of sequences of at most `most` values of the type, record or tuple of types."""
    if not isinstance(most, int) or isinstance(most, bool) or not 1 <= most <= MOST_CELLS:
        raise ModelError(f"SeqOf has a length of {most!r}", "say how long it is at most: SeqOf(Message, 3)")
    list(parts_of(of))
    return SequenceType(of, most)


class Sequential(Members, Merged):
    """A sequence in a state, or one computed from other sequences. Only the length of an assigned sequence has to be in range."""

    _remedy = "a sequence has q.length, q[k], q[i:j], q.head, q.tail, q.append(v), q.without(k), q + p, q.has(v) and q == p"
    __len__ = refuses("write q.length", "len() asks for the number of items of '{}', which is a term")
    __iter__ = refuses(
        "write forall(q, lambda item: ...), exists, count or total; for a loop over places: for k in range(3): ... (k < q.length) ...",
        "a loop over '{}' needs its length while the model is built",
    )
    __contains__ = refuses("write q.has(v)", "'in' asks whether '{}' has an item, which is a term")
    type: SequenceType

    @property
    @abstractmethod
    def length(self) -> Expr:
        """Return the number of items."""

    @abstractmethod
    def cell(self, k: int) -> Any:
        """Return the content of a place, whatever the length is."""

    @abstractmethod
    def item(self, k: Expr) -> Any:
        """Return item number `k`; it has no value if there is no such item."""

    @property
    def shape(self) -> Shape:
        return self.type.of

    @property
    def is_empty(self) -> Expr:
        return self.length == 0

    @property
    def is_full(self) -> Expr:
        return self.length == self.type.most

    @property
    def value(self) -> Items:
        return Items(self.type, self.length, tuple(self.cell(k) for k in range(self.type.most)), str(self))

    def place(self, k: int) -> Any:
        """Return the item at a place; after the end it is the smallest value, or None."""
        cell = self.cell(k)
        return cell if self.type.cell is self.type.of else cell.get

    def __getitem__(self, k: Any) -> Any:
        """Return item number `k`, from 0 on, or for a slice `i:j` the sequence of these items.

        An item after the end has no value, so guard it.
        """
        if isinstance(k, slice):
            return self._slice(k)
        if isinstance(k, int) and not 0 <= k < self.type.most:
            raise ModelError(
                f"{self}[{k}] is never an item", f"count from the start, 0 to {self.type.most - 1}; the last is {self}[{self}.length - 1]"
            )
        return self.item(number(k))

    def _slice(self, k: slice) -> Items:
        if k.step is not None or any(isinstance(end, int) and end < 0 for end in (k.start, k.stop)):
            raise ModelError(
                f"a slice of {self} with a step or a negative end", f"count from the start: {self}[1:] or {self}[:{self}.length - 1]"
            )
        start, stop = number(0 if k.start is None else k.start), self.length if k.stop is None else number(k.stop)
        long = maximum(minimum(stop, self.length) - start, 0)
        cells = [
            self._put(long > at, parts_in(self.type.cell, self._from(start, at)), smallest(self.type.cell)) for at in range(self.type.most)
        ]
        text = ":".join("" if end is None else str(end) for end in (k.start, k.stop))
        return Items(self.type, _long(long, start, stop, self.length), tuple(cells), f"{self}[{text}]")

    def _from(self, start: Expr, at: int) -> Any:
        """Return the content of the place `start + at`."""
        content = smallest(self.type.cell)
        for first in range(self.type.most - at):
            content = self._put(start == number(first), parts_in(self.type.cell, self.cell(first + at)), content)
        return content

    def _put(self, here: Expr, parts: Sequence[Expr], old: Any) -> Any:
        merged = (ite(here, new, was) for new, was in zip(parts, parts_in(self.type.cell, old), strict=True))
        return made_of(self.type.cell, iter(list(merged)))

    @property
    def head(self) -> Any:
        """The first item; it has no value in an empty sequence, so guard it with `~q.is_empty`."""
        return self[0]

    def append(self, value: Any) -> Items:
        """Return the sequence with `value` at the end."""
        parts, cells = self.type.stored(value), [self.cell(k) for k in range(self.type.most)]
        placed = [self._put(self.length == k, parts, old) for k, old in enumerate((*cells, smallest(self.type.cell)))]
        return Items(self.type.longer(1), _long(self.length + 1, self.length), tuple(placed), f"{self}.append({value})")

    def __add__(self, other: Any) -> Items:
        """Return the items of this sequence followed by those of another sequence, a tuple or a list."""
        more = self._value(other)
        cells: list[Any] = []
        for at in range(self.type.most + more.type.most):
            cell = self.cell(at) if at < self.type.most else smallest(self.type.cell)
            for end in range(min(at, self.type.most) + 1):
                if at - end < more.type.most:
                    cell = self._put(self.length == end, parts_in(self.type.cell, more.cell(at - end)), cell)
            cells.append(cell)
        long = _long(self.length + more.length, self.length, more.length)
        return Items(self.type.longer(more.type.most), long, tuple(cells), f"({self} + {other})")

    def __radd__(self, other: Any) -> Items:
        return self._value(other) + self

    @property
    def tail(self) -> Items:
        """Return the sequence without the first item; an error of the model if it is empty."""
        cells = [self.cell(k) for k in range(1, self.type.most)]
        return Items(self.type, _long(self.length - 1, self.length), (*cells, smallest(self.type.cell)), f"{self}.tail")

    def without(self, k: Any) -> Items:
        """Return the sequence without item number `k`, from 0 on; an error of the model if there is no such item."""
        place, whole, tail = number(k), self.value, self.tail
        pairs = enumerate(zip(whole.cells, tail.cells, strict=True))
        cells = (self._put(place <= at, parts_in(self.type.cell, later), cell) for at, (cell, later) in pairs)
        inside = place < self.length if place.type.lo >= 0 else (place >= 0) & (place < self.length)
        return Items(self.type, choose(inside, tail.length, -1), tuple(cells), f"{self}.without({k})")

    def has(self, value: Any) -> Expr:
        """Return whether some item equals `value`."""
        return any_of((self.length > k) & _same(self.type.of, self.place(k), value) for k in range(self.type.most))

    def choices(self) -> Iterator[GuardedChoice]:
        for k in range(self.type.most):
            yield self.length > k, unpacked(self.place(k))

    def merged(self, condition: Any, then: Any, otherwise: Any) -> Items:
        x, y = self._value(then), self._value(otherwise)
        test, most = coerce(condition, Bool), max(x.type.most, y.type.most)
        pairs = zip(x.fitted(most).cells, y.fitted(most).cells, strict=True)
        cells = tuple(self._put(test, parts_in(self.type.cell, mine), other) for mine, other in pairs)
        type_ = x.type if x.type.most == most else y.type
        return Items(type_, choose(test, x.length, y.length), cells, f"({then} if {condition} else {otherwise})")

    def become(self, value: Any) -> Items:
        """Return a sequence, or known items in a tuple or list, as the content of every place."""
        if isinstance(value, Sequential):
            return self._value(value).fitted(self.type.most)
        return known_items(self.type, value, str(self))

    def _value(self, value: Any) -> Items:
        """Return a sequence of the same items. Raises ModelError for anything else."""
        if isinstance(value, Sequential) and value.type.of != self.type.of:
            raise ModelError(f"'{self}' and '{value}' hold different things", "use sequences of items of one type")
        if isinstance(value, tuple | list):
            return known_items(SequenceType(self.type.of, len(value)), value, str(self))
        return value.value if isinstance(value, Sequential) else known_items(self.type, value, str(self))

    def parts(self, value: Any) -> Iterator[tuple[Expr, Expr]]:
        becomes = self.become(value)
        yield self.length, becomes.length
        for k, cell in enumerate(becomes.cells):
            yield from zip(parts_in(self.type.cell, self.cell(k)), parts_in(self.type.cell, cell), strict=True)


def _long(length: Expr, *made_of: Expr) -> Expr:
    """Return the length of a computed sequence.

    It is -1, which no sequence has, if one of the lengths and ends that it is made of is negative.
    """
    for part in made_of:
        if part.type.lo < 0 and part.op != "const":
            length = choose(part >= 0, length, -1)
    return length


class Items(Sequential):
    """A sequence computed from others: its length, and the content of each place (after its end the smallest value)."""

    def __init__(self, type_: SequenceType, length: Expr, cells: tuple[Any, ...], text: str) -> None:
        self.type, self.cells = type_, cells
        self._length, self._text = length, text

    def __repr__(self) -> str:
        return self._text

    @property
    def length(self) -> Expr:
        return self._length

    def cell(self, k: int) -> Any:
        return self.cells[k]

    def item(self, k: Expr) -> Any:
        inside = (k >= 0) & (k < self.length)
        parts = parts_in(self.type.of, self.place(0))
        for at in range(1, self.type.most):
            parts = [choose(k == number(at), new, old) for new, old in zip(parts_in(self.type.of, self.place(at)), parts, strict=True)]
        types = (maybe_of(type_, part=True) for _, type_ in parts_of(self.type.of))
        held = (choose(inside, some(part, type_), const(0, type_)).get for part, type_ in zip(parts, types, strict=True))
        return made_of(self.type.of, held)

    def fitted(self, most: int) -> Items:
        """Return the sequence with `most` places; an item without a place leaves the length too large."""
        if most == self.type.most:
            return self
        rest = [smallest(self.type.cell)] * (most - self.type.most)
        return Items(SequenceType(self.type.of, most), self.length, (*self.cells[:most], *rest), self._text)


def known_items(type_: SequenceType, value: Any, name: str) -> Items:
    """Return the sequence with these items. Raises ModelError if they are too many, or are no items."""
    if isinstance(value, str | Mapping | Expr | OneOf) or not isinstance(value, Iterable):
        raise ModelError(f"'{value}' is no sequence", "give its items in a tuple or a list, () for none, or another sequence")
    items = [made_of(type_.cell, iter(type_.stored(item))) for item in value]
    if len(items) > type_.most:
        raise ModelError(f"sequence {name} of {len(items)} items", f"it has room for {type_.most}")
    rest = [smallest(type_.cell)] * (type_.most - len(items))
    return Items(type_, const(len(items), Int(0, type_.most)), (*items, *rest), f"<{', '.join(map(str, value))}>")


def smallest(shape: Shape) -> Any:
    """Return the value whose parts all have their smallest codes."""
    return made_of(shape, iter([const(type_.lo, type_) for _, type_ in parts_of(shape)]))


class Seq(Sequential):
    """A sequence in a state. `columns` are the variables of its items' parts; their last index is the place."""

    def __init__(self, type_: SequenceType, long: Variable, columns: Sequence[Variable], at: tuple[Expr, ...]) -> None:
        self.type, self.long, self.columns, self.at = type_, long, columns, at

    def __repr__(self) -> str:
        return element_name(self.long.name.rpartition(".")[0], [str(i) for i in self.at])

    @property
    def length(self) -> Expr:
        return self.long[self.at]

    def cell(self, k: Any) -> Any:
        return made_of(self.type.cell, iter([column[(*self.at, k)] for column in self.columns]))

    def item(self, k: Expr) -> Any:
        place = const(k.args[0], Int(0, self.type.most)) if k.op == "const" else k
        return self.place(choose(place < self.length, place, self.type.most))


def _same(shape: Shape, left: Any, right: Any) -> Expr:
    return all_of(x == y for x, y in zip(parts_in(shape, left), parts_in(shape, right), strict=True))
