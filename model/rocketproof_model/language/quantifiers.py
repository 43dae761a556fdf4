"""Quantifiers over indices and other types, pairs, records, and the members of sets, bags and sequences. They unfold into terms."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterable
from typing import Any

from ..errors import ModelError
from .expr import Compared, Compound, Expr, choose, const, number, some, unknown
from .operations import all_of, any_of, full, implies, set_where
from .records import MaybeShape, Record, Shape
from .shapes import constants_of, values_of
from .types import LARGEST_SET, Bool, MaybeType, SetType, Type, held, maybe_of, named, set_of

LARGEST_RANGE = 1 << 16
"""Maximum of choices that a quantifier unfolds into."""
GuardedChoice = tuple[Expr, tuple[Any, ...]]
"""A choice of a quantifier: the condition under which it counts, and the chosen values."""

OfElements = (
    Callable[[Expr], Any] | Callable[[Expr, Expr], Any] | Callable[[Expr, Expr, Expr], Any] | Callable[[Expr, Expr, Expr, Expr], Any]
)
"""A function of the chosen elements, one parameter for each."""


class Members(Compared, Compound):
    """A container over whose members a quantifier can range, and from which an action can choose."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        return unknown(self, name)

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """Return the shape of a member."""

    @abstractmethod
    def has(self, value: Any) -> Expr:
        """Return whether a value is a member."""

    @abstractmethod
    def choices(self) -> Iterable[GuardedChoice]:
        """Return each possible member, with the condition under which it is one."""

    @abstractmethod
    def parts(self, value: Any) -> Iterable[tuple[Expr, Expr]]:
        """Return the terms of the state that hold the container, each with its value if the container equals `value`."""

    def same_as(self, other: Any) -> Expr:
        return all_of(part == other_part for part, other_part in self.parts(other))


def choices(over: Any) -> Iterable[GuardedChoice]:
    """Return the choices of a quantifier: the values of a type, a record or a tuple of ranges, or the members of a set, bag or sequence."""
    yes = const(1, Bool)
    if isinstance(over, tuple) and over:
        for combination in itertools.product(*map(choices, over)):
            yield all_of(condition for condition, _ in combination), tuple(value for _, values in combination for value in values)
    elif isinstance(over, Type):
        if over.size > LARGEST_RANGE:
            raise ModelError(f"a quantifier over {over}", f"it unfolds into {over.size} parts; use at most {LARGEST_RANGE}")
        yield from ((yes, (value,)) for value in constants_of(over))
    elif isinstance(over, Record | MaybeShape):
        yield from ((yes, (value,)) for value in values_of(over))
    elif isinstance(over, Expr) and over.type.sort == "set":
        yield from ((over.has(value), (value,)) for value in constants_of(held(over.type)))
    elif isinstance(over, Members):
        yield from over.choices()
    else:
        remedy = "give an index, a type, a set, or a tuple of them, and a function of an element: forall(Broker, lambda b: ...)"
        raise ModelError(f"a quantifier over {over}", remedy)


def _each(over: Any, body: Callable[..., Any]) -> list[tuple[Expr, Any]]:
    if not callable(body):
        raise ModelError(f"a quantifier over {over}", "give an index and a function of its element: forall(Broker, lambda b: ...)")
    return [(condition, body(*values)) for condition, values in choices(over)]


def forall(over: Any, body: OfElements) -> Expr:
    """Return whether `body` holds for all elements."""
    return all_of(implies(condition, value) for condition, value in _each(over, body))


def exists(over: Any, body: OfElements) -> Expr:
    """Return whether `body` holds for some element."""
    return any_of(condition & value for condition, value in _each(over, body))


def total(over: Any, body: OfElements) -> Expr:
    """Return the sum of `body` over all elements."""
    result = number(0)
    for condition, value in _each(over, body):
        result = result + choose(condition, value, 0)
    return result


def count(over: Any, body: OfElements) -> Expr:
    """Return the number of elements for which `body` holds."""
    return total(over, lambda *chosen: choose(body(*chosen), 1, 0))


def first(over: Any, body: Callable[[Expr], Any] | None = None) -> Expr:
    """Return a Maybe of the first element of a type, an index or a small set for which `body` holds, in the order of the type.

    It is None if there is no such element. Raises ModelError for a symmetric index, whose elements have no order.
    """
    of = _chosen_from("first", over)
    if index := named(of):
        remedy = "write only(...), the element if there is exactly one, or choose by a parameter of the action"
        raise ModelError(f"first() of {index.name}: the elements of a symmetric index have no order", remedy)
    result = const(0, maybe_of(of))
    for condition, (element,) in reversed([*choices(over)]):
        result = choose(condition if body is None else condition & body(element), some(element, maybe_of(of)), result)
    return result


def only(over: Any, body: Callable[[Expr], Any] | None = None) -> Expr:
    """Return a Maybe of the element of a type, an index or a small set for which `body` holds, if it is exactly one.

    It is None if there is no such element, or more than one. The index may be symmetric. The type has at most 32 values.
    """
    of = _chosen_from("only", over)
    if of.size > LARGEST_SET:
        raise ModelError(f"only() of {of}, which has {of.size} values", f"use a type of at most {LARGEST_SET} values, or first(...)")
    members = full(of) if body is None else set_where(set_of(of), body)
    if isinstance(over, Expr):
        members = over if body is None else over & members
    result = const(0, maybe_of(of))
    for code in reversed(of.codes()):
        result = choose(members == const(1 << code - of.lo, members.type), const(code - of.lo + 1, maybe_of(of)), result)
    return result


def _chosen_from(what: str, over: Any) -> Type:
    """Return the type of the elements that `first` and `only` choose from."""
    of = over.type.of if isinstance(over, Expr) and isinstance(over.type, SetType) else over
    if not isinstance(of, Type) or isinstance(of, MaybeType):
        raise ModelError(f"{what}() of {over}", f"give an index, a type or a set of at most 32 values: {what}(Broker, lambda b: ...)")
    return of
