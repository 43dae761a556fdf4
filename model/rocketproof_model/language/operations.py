"""Operations derived from the basic operations of terms: Java's arithmetic, extremes, sets, logic."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..errors import ModelError
from .expr import Expr, arithmetic, bitwise, choose, coerce, const, number, of_type, singleton
from .numbers import fold32
from .types import JAVA_INT, LARGEST_SET, Bool, IndexType, SetType, Type, set_of


def rem(dividend: Any, divisor: Any) -> Expr:
    """Return Java's %: the result has the sign of the dividend; no value for divisor 0."""
    return arithmetic("rem", dividend, divisor)


def wrap32(value: Any) -> Expr:
    """Return the value folded into 32 bits, as Java's int arithmetic does.

    The operation stays in the term even if the scope's range needs no folding: a lemma may widen that range.
    """
    x = number(value)
    if x.op == "const":
        return number(fold32(x.args[0]))
    fits = JAVA_INT[0] <= x.type.lo and x.type.hi <= JAVA_INT[1]
    return Expr("wrap32", (x,), Type(x.type.lo, x.type.hi) if fits else Type(*JAVA_INT))


def java_abs(value: Any) -> Expr:
    """Return Math.abs of a 32-bit int: -2**31 stays negative. The operation stays in the term even if the scope has no negative value."""
    x = number(value)
    if x.op == "const":
        return number(fold32(abs(x.args[0])))
    term: Expr = choose(x < 0, wrap32(-x), x)
    return term if x.type.lo <= JAVA_INT[0] else _narrow(term, 0, max(x.type.hi, -x.type.lo))


def minimum(left: Any, right: Any) -> Expr:
    x, y = number(left), number(right)
    term: Expr = choose(x < y, x, y)
    return _narrow(term, min(x.type.lo, y.type.lo), min(x.type.hi, y.type.hi))


def maximum(left: Any, right: Any) -> Expr:
    x, y = number(left), number(right)
    term: Expr = choose(x < y, y, x)
    return _narrow(term, max(x.type.lo, y.type.lo), max(x.type.hi, y.type.hi))


def _narrow(term: Expr, lo: int, hi: int) -> Expr:
    return Expr(term.op, term.args, Type(lo, hi)) if term.op == "ite" else term


def without_bits(value: Any, mask: Any) -> Expr:
    """Return value & ~mask."""
    return bitwise("bitandnot", value, mask)


def single(element: Any) -> Expr:
    """Return the set with one element."""
    if not isinstance(element, Expr) or element.type.size > LARGEST_SET:
        raise ModelError(f"'{element}' is not an element of an index", "single() takes an element; a set of numbers has s.including(x)")
    return singleton(of_type(element, element.type), set_of(element.type))


def full(of: Type) -> Expr:
    """Return the set of all values of a type: `full(Broker)`."""
    if not isinstance(of, Type):
        raise ModelError(f"full() of '{of}'", "give an index or another type of at most 32 values: full(Broker)")
    type_ = set_of(of)
    return const(type_.hi, type_)


def set_where(type_: SetType, member: Callable[[Expr], Any]) -> Expr:
    """Return the set of the values for which `member` holds."""
    bits = ((const(code, type_.of), const(1 << code - type_.of.lo, type_)) for code in type_.of.codes())
    parts: Iterator[Expr] = (choose(member(value), alone, const(0, type_)) for value, alone in bits)
    return functools.reduce(operator.or_, parts)


def owner(element: Any) -> Expr:
    """Return the owner of an element of an index that was declared with `of=`."""
    of = element.type if isinstance(element, Expr) else None
    if not isinstance(of, IndexType) or of.owner is None:
        raise ModelError(f"'{element}' belongs to no element", 'owner() takes an element of m.index("Queue", 4, of=Broker) and the like')
    if element.op == "const":
        return const(element.args[0] // of.block, of.owner)
    return Expr("owner", (element, number(of.block)), of.owner)


def implies(premise: Any, conclusion: Any) -> Expr:
    result: Expr = ~coerce(premise, Bool) | conclusion
    return result


def all_of(terms: Iterable[Any]) -> Expr:
    """Return the conjunction; without terms it is true."""
    result = const(1, Bool)
    for term in terms:
        result = result & term
    return result


def any_of(terms: Iterable[Any]) -> Expr:
    """Return the disjunction; without terms it is false."""
    result = const(0, Bool)
    for term in terms:
        result = result | term
    return result
