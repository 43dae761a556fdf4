"""LLVM text for terms: every operation of the language, as values of a function under construction.

Operands are a Python int (a known 64-bit value), a Python bool (a known truth value), or the name of an LLVM value. Known values are
folded, and a dominating instruction is reused.

The interpreter evaluates `and`, `or` and the arms of `ite` only where needed. This module computes all of them, so no computation may trap:
a divisor is made non-zero, a shift stays below 64, an index into memory is clamped, and `get` of None gives element 0. Whether the
interpreter would have no value is a separate truth value, `fault(term)`, which the checking form of a kernel tests.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..errors import ModelError
from ..language import DEEPEST, Expr, children, held, in_reach, show, walk

Number = int | str
Truth = bool | str
Bindings = Mapping[str, Number]

_Key = tuple[Any, ...]  # the kind of value, the term, and the bindings of its parameters

_MASK = (1 << 64) - 1


def signed(x: int) -> int:
    """Return the 64-bit two's complement value."""
    x &= _MASK
    return x - (1 << 64) if x >> 63 else x


class Emitter(ABC):
    """One function under construction. Subclasses know how states are stored and read variables and constants."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.block = "entry"
        self._count = 0
        self._values: dict[str, str] = {}  # instruction to its name
        self._numbers: dict[_Key, Number] = {}
        self._truths: dict[_Key, Truth] = {}
        self._scopes: list[list[str | _Key]] = [[]]
        self._depends: dict[Expr, frozenset[str]] = {}

    # -- instructions ---------------------------------------------------------------------------------------------

    def fresh(self, stem: str = "v") -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def line(self, text: str) -> None:
        self.lines.append("  " + text)

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")
        self.block = name

    def value(self, text: str) -> str:
        """Return an instruction without side effects, or an equal one that dominates this place."""
        name = self._values.get(text)
        if name is None:
            name = self._values[text] = f"%{self.fresh()}"
            self.line(f"{name} = {text}")
            self._scopes[-1].append(text)
        return name

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Open a scope whose values do not dominate the code after it."""
        self._scopes.append([])
        yield
        for key in self._scopes.pop():
            if isinstance(key, str):
                del self._values[key]
            elif key[0] == "number":
                del self._numbers[key]
            else:
                del self._truths[key]

    def add(self, x: Number, y: Number) -> Number:
        if isinstance(x, int) and isinstance(y, int):
            return signed(x + y)
        if x == 0 or y == 0:
            return y if x == 0 else x
        return self.value(f"add i64 {x}, {y}")

    def sub(self, x: Number, y: Number) -> Number:
        if isinstance(x, int) and isinstance(y, int):
            return signed(x - y)
        return x if y == 0 else self.value(f"sub i64 {x}, {y}")

    def mul(self, x: Number, y: Number) -> Number:
        if isinstance(x, int) and isinstance(y, int):
            return signed(x * y)
        if x == 0 or y == 0:
            return 0
        if x == 1 or y == 1:
            return y if x == 1 else x
        return self.value(f"mul i64 {x}, {y}")

    def and_(self, x: Number, y: Number) -> Number:
        if isinstance(x, int) and isinstance(y, int):
            return signed(x & y)
        if x == 0 or y == 0:
            return 0
        if x == -1 or y == -1:
            return y if x == -1 else x
        return self.value(f"and i64 {x}, {y}")

    def or_(self, x: Number, y: Number) -> Number:
        if isinstance(x, int) and isinstance(y, int):
            return signed(x | y)
        if x == 0 or y == 0:
            return y if x == 0 else x
        return self.value(f"or i64 {x}, {y}")

    def not_(self, x: Number) -> Number:
        return signed(~x) if isinstance(x, int) else self.value(f"xor i64 {x}, -1")

    def shl(self, x: Number, by: Number) -> Number:
        """Shift left; `by` must be below 64."""
        if isinstance(x, int) and isinstance(by, int):
            return signed(x << by)
        return x if by == 0 else self.value(f"shl i64 {x}, {by}")

    def lshr(self, x: Number, by: Number) -> Number:
        """Shift right without sign; `by` must be below 64."""
        if isinstance(x, int) and isinstance(by, int):
            return signed((x & _MASK) >> by)
        return x if by == 0 else self.value(f"lshr i64 {x}, {by}")

    def least(self, x: Number, most: int) -> Number:
        """Return the unsigned minimum, so a negative number becomes `most`."""
        if isinstance(x, int):
            return min(x & _MASK, most)
        return self.value(f"call i64 @llvm.umin.i64(i64 {x}, i64 {most})")

    def choose(self, test: Truth, x: Number, y: Number) -> Number:
        if isinstance(test, bool):
            return x if test else y
        return x if x == y else self.value(f"select i1 {test}, i64 {x}, i64 {y}")

    def compare(self, relation: str, x: Number, y: Number) -> Truth:
        """Compare two numbers; `relation` is eq, ne, slt, sle, ult or ugt."""
        if isinstance(x, int) and isinstance(y, int):
            a, b = (x & _MASK, y & _MASK) if relation[0] == "u" else (x, y)
            return {"eq": a == b, "ne": a != b, "slt": a < b, "sle": a <= b, "ult": a < b, "ugt": a > b}[relation]
        return self.value(f"icmp {relation} i64 {x}, {y}")

    def both(self, x: Truth, y: Truth) -> Truth:
        if isinstance(x, bool):
            return y if x else False
        if isinstance(y, bool):
            return x if y else False
        return x if x == y else self.value(f"and i1 {x}, {y}")

    def either(self, x: Truth, y: Truth) -> Truth:
        if isinstance(x, bool):
            return True if x else y
        if isinstance(y, bool):
            return True if y else x
        return x if x == y else self.value(f"or i1 {x}, {y}")

    def negate(self, x: Truth) -> Truth:
        return not x if isinstance(x, bool) else self.value(f"xor i1 {x}, true")

    def choose_truth(self, test: Truth, x: Truth, y: Truth) -> Truth:
        if isinstance(test, bool):
            return x if test else y
        if isinstance(x, bool) or isinstance(y, bool):
            return self.either(self.both(test, x), self.both(self.negate(test), y))
        return self.value(f"select i1 {test}, i1 {x}, i1 {y}")

    def widen(self, x: Truth) -> Number:
        return int(x) if isinstance(x, bool) else self.value(f"zext i1 {x} to i64")

    def narrow(self, x: Number) -> Truth:
        """Return the lowest bit."""
        return bool(x & 1) if isinstance(x, int) else self.value(f"trunc i64 {x} to i1")

    # -- terms ----------------------------------------------------------------------------------------------------

    def depends(self, term: Expr) -> frozenset[str]:
        """Return the names of the parameters that a term reads."""
        names = self._depends.get(term)
        if names is not None:
            return names
        for e in walk(term, known=self._depends):
            own = {e.args[0]} if e.op == "par" else set[str]()
            self._depends[e] = frozenset(own.union(*(self._depends[c] for c in children(e))))
        return self._depends[term]

    def _key(self, kind: str, term: Expr, bound: Bindings) -> _Key:
        names = self.depends(term)
        return (kind, term, *((name, bound[name]) for name in sorted(names))) if names else (kind, term)

    def number(self, term: Expr, bound: Bindings) -> Number:
        """Return the code of a term."""
        if term.type.sort == "bool":
            return self.widen(self.truth(term, bound))
        if term.op == "const":
            return int(term.args[0])
        if term.op == "par":
            return bound[term.args[0]]
        key = self._key("number", term, bound)
        known = self._numbers.get(key)
        if known is None:
            self._emit_parts(term, bound)
            known = self._numbers[key] = self._number(term, bound)
            self._scopes[-1].append(key)
        return known

    def _emit_parts(self, term: Expr, bound: Bindings, *, faults: bool = False) -> None:
        """Compute parts of a deep term first, which bounds the depth of recursion."""
        if term.depth > DEEPEST:
            for part in in_reach(term, _Emitted(self, bound, faults)):
                if part is not term:
                    (self.fault if faults else self.truth if part.type.sort == "bool" else self.number)(part, bound)

    def emitted(self, term: Expr, bound: Bindings, *, fault: bool) -> bool:
        """Return whether the value of a term, or its fault, is already computed at this place."""
        kind = "fault" if fault else "truth" if term.type.sort == "bool" else "number"
        return self._key(kind, term, bound) in (self._numbers if kind == "number" else self._truths)

    def _number(self, term: Expr, bound: Bindings) -> Number:
        op, a = term.op, term.args
        if op in ("ref", "after"):
            return self.read(term, bound)
        if op == "given":
            return self.given(term)
        if op == "ite":
            test = self.truth(a[0], bound)
            if isinstance(test, bool):
                return self.number(a[1] if test else a[2], bound)
            return self.choose(test, self.number(a[1], bound), self.number(a[2], bound))
        x = self.number(a[0], bound)
        if op == "get":
            return self.add(self.sub(x, self.widen(self.compare("ne", x, 0))), held(a[0].type).lo)
        if op == "some":
            return self.add(x, 1 - held(term.type).lo)
        if op == "single":
            return self.shl(1, self.and_(self.sub(x, held(term.type).lo), 63))
        if op == "wrap32":
            return signed(x << 32) >> 32 if isinstance(x, int) else self.value(f"ashr i64 {self.shl(x, 32)}, 32")
        y = self.number(a[1], bound)
        if op == "add":
            return self.add(x, y)
        if op == "sub":
            return self.sub(x, y)
        if op == "mul":
            return self.mul(x, y)
        if op == "rem":
            return self._rem(x, y, a[0].type.lo >= 0 and a[1].type.lo >= 0)
        if op == "owner":
            return self.value(f"udiv i64 {x}, {y}")
        if op == "bitand":
            return self.and_(x, y)
        if op == "bitor":
            return self.or_(x, y)
        if op == "bitandnot":
            return self.and_(x, self.not_(y))
        raise ModelError(f"'{show(term)}' has no kernel form", "only terms over the state, parameters and constants can be compiled")

    def _rem(self, x: Number, y: Number, natural: bool) -> Number:
        if isinstance(y, int):
            if y in (-1, 0, 1):
                return 0
        else:
            tiny = self.compare("ult", self.add(y, 1), 2)
            y = self.choose(tiny, 1, y)
        return self.value(f"{'urem' if natural else 'srem'} i64 {x}, {y}")

    def truth(self, term: Expr, bound: Bindings) -> Truth:
        """Return the value of a term of sort bool."""
        if term.op == "const":
            return bool(term.args[0])
        key = self._key("truth", term, bound)
        known = self._truths.get(key)
        if known is None:
            self._emit_parts(term, bound)
            known = self._truths[key] = self._truth(term, bound)
            self._scopes[-1].append(key)
        return known

    def _truth(self, term: Expr, bound: Bindings) -> Truth:
        op, a = term.op, term.args
        if op in ("ref", "after"):
            return self.narrow(self.read(term, bound))
        if op == "par":
            return self.narrow(bound[a[0]])
        if op == "given":
            return self.narrow(self.given(term))
        if op in ("and", "or"):
            x = self.truth(a[0], bound)
            if isinstance(x, bool):
                return self.truth(a[1], bound) if x == (op == "and") else x
            return (self.both if op == "and" else self.either)(x, self.truth(a[1], bound))
        if op == "not":
            return self.negate(self.truth(a[0], bound))
        if op == "ite":
            test = self.truth(a[0], bound)
            if isinstance(test, bool):
                return self.truth(a[1] if test else a[2], bound)
            return self.choose_truth(test, self.truth(a[1], bound), self.truth(a[2], bound))
        left, right = self.number(a[0], bound), self.number(a[1], bound)
        if op == "has":
            right = self.sub(right, held(a[0].type).lo)
            by = self.least(right, 63) if a[1].type.hi > 63 else self.and_(right, 63)
            return self.narrow(self.lshr(left, by))
        return self.compare({"lt": "slt", "le": "sle", "eq": "eq"}[op], left, right)

    # -- what a state holds -------------------------------------------------------------------------------------------

    @abstractmethod
    def given(self, term: Expr) -> Number:
        """Return the code of a constant of the model."""

    @abstractmethod
    def read(self, ref: Expr, bound: Bindings) -> Number:
        """Return the code of an element of a variable before (`ref`) or after (`after`) a step. States do not change during the call."""

    # -- where the interpreter finds no value -------------------------------------------------------------------------

    def fault(self, term: Expr, bound: Bindings) -> Truth:
        """Return whether evaluating a term raises EvaluationError in the interpreter."""
        if term.op in ("const", "given"):
            return False
        key = self._key("fault", term, bound)
        known = self._truths.get(key)
        if known is None:
            self._emit_parts(term, bound, faults=True)
            known = self._truths[key] = self._fault(term, bound)
            self._scopes[-1].append(key)
        return known

    def _fault(self, term: Expr, bound: Bindings) -> Truth:
        op, a = term.op, term.args
        if op in ("and", "or"):
            later = self.fault(a[1], bound)
            if later is not False:
                first = self.truth(a[0], bound)
                later = self.both(first if op == "and" else self.negate(first), later)
            return self.either(self.fault(a[0], bound), later)
        if op == "ite":
            x, y = self.fault(a[1], bound), self.fault(a[2], bound)
            arms: Truth = False if x is False and y is False else self.choose_truth(self.truth(a[0], bound), x, y)
            return self.either(self.fault(a[0], bound), arms)
        fault: Truth = False
        for argument in children(term):
            fault = self.either(fault, self.fault(argument, bound))
        if op in ("ref", "after"):
            for index, axis in zip(a[1:], a[0].over, strict=True):
                if index.type.lo < axis.lo or index.type.hi > axis.hi:
                    fault = self.either(fault, self.outside(self.number(index, bound), axis.lo, axis.hi))
        elif op == "get":
            fault = self.either(fault, self.compare("eq", self.number(a[0], bound), 0))
        elif op == "rem" and a[1].type.lo <= 0 <= a[1].type.hi:
            fault = self.either(fault, self.compare("eq", self.number(a[1], bound), 0))
        return fault

    def outside(self, x: Number, lo: int, hi: int) -> Truth:
        return self.compare("ugt", self.sub(x, lo), signed(hi - lo))


class _Emitted:
    """The terms whose values, or whose faults, an emitter has computed at this place."""

    def __init__(self, emitter: Emitter, bound: Bindings, faults: bool) -> None:
        self.emitter, self.bound, self.faults = emitter, bound, faults

    def __contains__(self, term: object) -> bool:
        assert isinstance(term, Expr)
        return self.emitter.emitted(term, self.bound, fault=self.faults)
