"""Quantifiers: over indices and other types, pairs, records, and the members of sets, bags and sequences; they unfold into terms."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import ModelError
from .expr import Compared, Expr, Whole, choose, const, number
from .operations import all_of, any_of, implies
from .records import MaybeShape, Record, Shape
from .shapes import constants_of, values_of
from .types import Bool, Type, held

LARGEST_RANGE = 1 << 16
"""Choices that a quantifier may unfold into."""
Way = tuple[Expr, tuple[Any, ...]]
"""A choice: the condition under which it counts, and the values chosen."""


class Members(Compared, Whole):
    """Something with members that a quantifier can range over, and an action choose from."""

    __slots__ = ()

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """What a member is a value of."""

    @abstractmethod
    def has(self, value: Any) -> Expr:
        """Whether a value is a member."""

    @abstractmethod
    def ways(self) -> Iterable[Way]:
        """Each value that may be a member, with the condition under which it is one."""

    @abstractmethod
    def parts(self, value: Any) -> Iterable[tuple[Expr, Expr]]:
        """The terms of the state that hold it, each beside what it is where the whole is `value`."""

    def same_as(self, other: Any) -> Expr:
        return all_of(mine == its for mine, its in self.parts(other))


def ways(over: Any) -> Iterable[Way]:
    """The choices that a quantifier has: the values of a type, a record or a tuple of ranges, the members of a set, bag or sequence."""
    yes = const(1, Bool)
    if isinstance(over, tuple) and over:
        for each in itertools.product(*map(ways, over)):
            yield all_of(condition for condition, _ in each), tuple(value for _, values in each for value in values)
    elif isinstance(over, Type):
        if over.size > LARGEST_RANGE:
            raise ModelError(f"a quantifier over {over}", f"it unfolds into {over.size} parts; use at most {LARGEST_RANGE}")
        yield from ((yes, (value,)) for value in constants_of(over))
    elif isinstance(over, Record | MaybeShape):
        yield from ((yes, (value,)) for value in values_of(over))
    elif isinstance(over, Expr) and over.type.sort == "set":
        yield from ((over.has(value), (value,)) for value in constants_of(held(over.type)))
    elif isinstance(over, Members):
        yield from over.ways()
    else:
        remedy = "give an index, a type, a set, or a tuple of them, and a function of an element: forall(Broker, lambda b: ...)"
        raise ModelError(f"a quantifier over {over}", remedy)


def _each(over: Any, body: Callable[..., Any]) -> list[tuple[Expr, Any]]:
    if not callable(body):
        raise ModelError(f"a quantifier over {over}", "give an index and a function of its element: forall(Broker, lambda b: ...)")
    return [(condition, body(*values)) for condition, values in ways(over)]


def forall(over: Any, body: Callable[..., Any]) -> Expr:
    """Whether `body` holds for all elements."""
    return all_of(implies(condition, value) for condition, value in _each(over, body))


def exists(over: Any, body: Callable[..., Any]) -> Expr:
    """Whether `body` holds for some element."""
    return any_of(condition & value for condition, value in _each(over, body))


def total(over: Any, body: Callable[..., Any]) -> Expr:
    """The sum of `body` over all elements."""
    result = number(0)
    for condition, value in _each(over, body):
        result = result + choose(condition, value, 0)
    return result


def count(over: Any, body: Callable[..., Any]) -> Expr:
    """For how many elements `body` holds."""
    return total(over, lambda *chosen: choose(body(*chosen), 1, 0))
