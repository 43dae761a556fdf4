"""Numbers and truth values for z3: known values stay Python ints or bools, all others are terms.

A number is a signed bit-vector; operations extend their operands to a common width first.

A translation creates hundreds of thousands of terms, so z3's C functions create them. z3's Python operators compare the sorts of all
operands each time, which takes several times longer than creating the term.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cache
from typing import Any

from ..language import Type
from .smt import z3

# A known value is an int (a bool where the sort is bool), any other a z3 term.
Value = Any


_CONTEXT = z3.main_ctx()
_REF = _CONTEXT.ref()
_Make = Callable[..., Any]


def _truth(make: _Make, *terms: Value) -> Value:
    """Return the truth value that a C function of z3 makes of terms of the right sorts."""
    return z3.BoolRef(make(_REF, *[term.ast for term in terms]), _CONTEXT)


def _number(make: _Make, *terms: Value) -> Value:
    """Return the number that a C function of z3 makes of terms of the right sorts."""
    return z3.BitVecRef(make(_REF, *[term.ast for term in terms]), _CONTEXT)


def _joined(make: _Make, terms: Collection[Value]) -> Value:
    """Return the conjunction or disjunction of several truth values."""
    return z3.BoolRef(make(_REF, len(terms), (z3.Ast * len(terms))(*[term.ast for term in terms])), _CONTEXT)


def _width(value: Value) -> int:
    """Return the width of a bit-vector."""
    width: int = z3.Z3_get_bv_sort_size(_REF, z3.Z3_get_sort(_REF, value.ast))
    return width


@cache
def _constant(code: int, width: int) -> Value:
    return z3.BitVecVal(code, width)


def bits(type_: Type) -> int:
    """Return the width of the signed bit-vector for this interval, at least 1."""
    return max(c.bit_length() if c >= 0 else (~c).bit_length() for c in (type_.lo, type_.hi)) + 1


def fit(value: Value, width: int) -> Value:
    """Return a number as a bit-vector of this width: sign-extended, or truncated if the caller knows that the value fits."""
    if isinstance(value, int):
        return _constant(int(value), width)
    have = _width(value)
    if have < width:
        return z3.BitVecRef(z3.Z3_mk_sign_ext(_REF, width - have, value.ast), _CONTEXT)
    return z3.BitVecRef(z3.Z3_mk_extract(_REF, width - 1, 0, value.ast), _CONTEXT) if have > width else value


def formula(value: Value) -> Value:
    """Return a truth value as a z3 term."""
    return z3.BoolVal(value) if isinstance(value, bool) else value


def negation(x: Value) -> Value:
    return not x if isinstance(x, bool) else _truth(z3.Z3_mk_not, x)


def conjunction(*terms: Value) -> Value:
    """Return the conjunction, a Python bool if it is known."""
    left: dict[int, Value] = {}
    for term in terms:
        if term is False:
            return False
        if term is not True:
            left[term.ast.value] = term
    if not left:
        return True
    return _joined(z3.Z3_mk_and, left.values()) if len(left) > 1 else next(iter(left.values()))


def disjunction(*terms: Value) -> Value:
    """Return the disjunction, a Python bool if it is known."""
    left: dict[int, Value] = {}
    for term in terms:
        if term is True:
            return True
        if term is not False:
            left[term.ast.value] = term
    if not left:
        return False
    return _joined(z3.Z3_mk_or, left.values()) if len(left) > 1 else next(iter(left.values()))


def implication(x: Value, y: Value) -> Value:
    if not isinstance(x, bool) and not isinstance(y, bool) and x.ast.value == y.ast.value:
        return True
    return disjunction(negation(x), y)


def choice(test: Value, x: Value, y: Value, width: int | None) -> Value:
    """Return `x` where the test holds, else `y`: truth values if `width` is None, else numbers of this width."""
    if isinstance(test, bool):
        return x if test else y
    if isinstance(x, int) and isinstance(y, int) and x == y:
        return x
    if width is None:
        if isinstance(x, bool):
            return disjunction(test, y) if x else conjunction(negation(test), y)
        if isinstance(y, bool):
            return implication(test, x) if y else conjunction(test, x)
        return _truth(z3.Z3_mk_ite, test, x, y)
    return _number(z3.Z3_mk_ite, test, fit(x, width), fit(y, width))


def same(x: Value, y: Value) -> Value:
    """Return whether two numbers, or two truth values, are equal."""
    if isinstance(x, int) and isinstance(y, int):
        return x == y
    if isinstance(x, bool | z3.BoolRef):
        if isinstance(x, bool):
            x, y = y, x
        if isinstance(y, bool):
            return x if y else negation(x)
        return _truth(z3.Z3_mk_eq, x, y)
    width = max(_needs(x) if isinstance(x, int) else _width(x), _needs(y) if isinstance(y, int) else _width(y))
    return _truth(z3.Z3_mk_eq, fit(x, width), fit(y, width))


def _needs(code: int) -> int:
    return bits(Type(code, code))


def constant(name: str, type_: Type) -> Value:
    """Return a z3 constant for a value of the type; `within` is the condition that it is such a value."""
    return z3.Bool(name) if type_.sort == "bool" else z3.BitVec(name, bits(type_))


def within(value: Value, type_: Type) -> Value:
    """Return the condition that a number, of any width, is a code of the type."""
    if isinstance(value, bool | z3.BoolRef):
        return True
    if isinstance(value, int):
        return type_.lo <= value <= type_.hi
    size = _width(value)
    lowest, highest = -(1 << (size - 1)), (1 << (size - 1)) - 1
    if type_.lo > highest or type_.hi < lowest:
        return False
    return conjunction(
        True if type_.lo <= lowest else _truth(z3.Z3_mk_bvsge, value, _constant(type_.lo, size)),
        True if type_.hi >= highest else _truth(z3.Z3_mk_bvsle, value, _constant(type_.hi, size)),
    )


def number(value: Value, type_: Type) -> Value:
    """Return the code as a z3 term of the sort that `constant` returns for the type."""
    return formula(bool(value) if isinstance(value, int) else value) if type_.sort == "bool" else fit(value, bits(type_))
