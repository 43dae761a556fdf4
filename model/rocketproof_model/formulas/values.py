"""Numbers and truth values for z3: what is known stays a Python int or bool, anything else is a term.

A number is a signed bit-vector; operations give their operands a common width first.
"""

from __future__ import annotations

from typing import Any

from ..language import Type
from ..smt import z3

# A known value is an int (a bool where the sort is bool), any other a z3 term.
Value = Any


def bits(type_: Type) -> int:
    """Width of the signed bit-vector for this interval, at least 1."""
    return max(c.bit_length() if c >= 0 else (~c).bit_length() for c in (type_.lo, type_.hi)) + 1


def fit(value: Value, width: int) -> Value:
    """A number as a bit-vector of this width: sign-extended, or cut where the caller knows that the value fits."""
    if isinstance(value, int):
        return z3.BitVecVal(value, width)
    have = value.size()
    if have < width:
        return z3.SignExt(width - have, value)
    return z3.Extract(width - 1, 0, value) if have > width else value


def formula(value: Value) -> Value:
    """A truth value as a z3 term."""
    return z3.BoolVal(value) if isinstance(value, bool) else value


def negation(x: Value) -> Value:
    return not x if isinstance(x, bool) else z3.Not(x)


def conjunction(*terms: Value) -> Value:
    """The conjunction, a Python bool where that is known."""
    left: dict[int, Value] = {}
    for term in terms:
        if term is False:
            return False
        if term is not True:
            left[term.get_id()] = term
    if not left:
        return True
    return z3.And(*left.values()) if len(left) > 1 else next(iter(left.values()))


def disjunction(*terms: Value) -> Value:
    """The disjunction, a Python bool where that is known."""
    left: dict[int, Value] = {}
    for term in terms:
        if term is True:
            return True
        if term is not False:
            left[term.get_id()] = term
    if not left:
        return False
    return z3.Or(*left.values()) if len(left) > 1 else next(iter(left.values()))


def implication(x: Value, y: Value) -> Value:
    if not isinstance(x, bool) and not isinstance(y, bool) and x.eq(y):
        return True
    return disjunction(negation(x), y)


def choice(test: Value, x: Value, y: Value, width: int | None) -> Value:
    """`x` where the test holds, else `y`: truth values if `width` is None, else numbers of this width."""
    if isinstance(test, bool):
        return x if test else y
    if isinstance(x, int) and isinstance(y, int) and x == y:
        return x
    if width is None:
        if isinstance(x, bool):
            return disjunction(test, y) if x else conjunction(negation(test), y)
        if isinstance(y, bool):
            return implication(test, x) if y else conjunction(test, x)
        return z3.If(test, x, y)
    return z3.If(test, fit(x, width), fit(y, width))


def same(x: Value, y: Value) -> Value:
    """Whether two numbers, or two truth values, are equal."""
    if isinstance(x, int) and isinstance(y, int):
        return x == y
    if isinstance(x, bool | z3.BoolRef):
        if isinstance(x, bool):
            x, y = y, x
        if isinstance(y, bool):
            return x if y else negation(x)
        return x == y
    width = max(x.size() if not isinstance(x, int) else _needs(x), y.size() if not isinstance(y, int) else _needs(y))
    return fit(x, width) == fit(y, width)


def _needs(code: int) -> int:
    return bits(Type(code, code))


def constant(name: str, type_: Type) -> Value:
    """A z3 constant for a value of the type; `within` is the condition that it is one."""
    return z3.Bool(name) if type_.sort == "bool" else z3.BitVec(name, bits(type_))


def within(value: Value, type_: Type) -> Value:
    """That a number, of any width, is a code of the type."""
    if isinstance(value, bool | z3.BoolRef):
        return True
    if isinstance(value, int):
        return type_.lo <= value <= type_.hi
    size = value.size()
    lowest, highest = -(1 << (size - 1)), (1 << (size - 1)) - 1
    if type_.lo > highest or type_.hi < lowest:
        return False
    return conjunction(
        True if type_.lo <= lowest else value >= z3.BitVecVal(type_.lo, size),
        True if type_.hi >= highest else value <= z3.BitVecVal(type_.hi, size),
    )


def number(value: Value, type_: Type) -> Value:
    """The code as a z3 term of the sort that `constant` gives for the type."""
    return formula(bool(value) if isinstance(value, int) else value) if type_.sort == "bool" else fit(value, bits(type_))
