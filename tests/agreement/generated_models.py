"""Generated models: a Hypothesis strategy over the entire language, for tests that all engines agree.

A generated model has few states by construction: the product of its types' sizes is bounded while variables are drawn. Its terms have
values everywhere: divisors, subscripts and `get` are guarded by `ite` or by a lazy `&`, and assigned numbers are folded into their type.
With `faulty=True` the actions (not the properties) omit these guards. Some states then have an action without a value, which every checking
engine must detect.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from model_text import describe

from rocketproof_model import (
    ANY,
    BagOf,
    Bool,
    Enum,
    Expr,
    Index,
    Instance,
    Int,
    Maybe,
    Model,
    Record,
    SeqOf,
    SetOf,
    Type,
    after,
    all_of,
    count,
    exists,
    first,
    forall,
    free,
    full,
    implies,
    ite,
    java_abs,
    maximum,
    minimum,
    one_of,
    only,
    owner,
    rem,
    single,
    total,
    without_bits,
    wrap32,
)
from rocketproof_model.interpreter import holds, initials
from rocketproof_model.language import Body, HoldingType, MaybeType, MaybeValue, Seq, Variable, coerce, const, rewrite
from rocketproof_model.language.actions import same_place
from rocketproof_model.language.records import parts_in
from rocketproof_model.language.sets import ManyType
from rocketproof_model.language.shapes import codes_of
from rocketproof_model.language.types import held, named, set_of

MOST_STATES = 250
_EXTREMES = (2**31 - 1, -(2**31), 2**31, 65537, -65536, 2**40)
_JAVA = 2**31


@dataclass(frozen=True, eq=False)
class Case:
    """A generated model with its constants fixed; prints as the Python text that builds it."""

    instance: Instance

    @property
    def model(self) -> Model:
        return self.instance.model

    def __repr__(self) -> str:
        return "\n" + describe(self.instance)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self))


def generated(
    group: int, examples: int, *strategies: SearchStrategy[Case] | SearchStrategy[Expr]
) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Run a function on this many generated values, the same in every run.

    Shrinking a whole model can take minutes, so that only happens under `--hypothesis-profile=long`.
    """
    shrink = [Phase.shrink] if settings.get_current_profile_name() == "long" else []
    usual = settings(
        max_examples=examples,
        derandomize=False,
        database=None,
        deadline=None,
        phases=[Phase.generate, *shrink],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    return lambda function: seed(group)(usual(given(*strategies)(function)))


class Maker:
    """Draws terms of a wanted type from variables, constants, parameters and bound elements in scope."""

    def __init__(self, draw: DrawFn, *, faulty: bool) -> None:
        self.draw = draw
        self.faulty = faulty
        self.indices: list[Index] = []
        self.variables: list[Variable] = []
        self.tables: list[Any] = []
        self.containers: list[Any] = []
        self.given: list[Expr] = []
        self.parameters: list[Expr] = []
        self.step = False
        self.bound = 0

    def pick(self, options: Any) -> Any:
        return options[self.draw(st.integers(0, len(options) - 1))]

    def often(self, times: int, outof: int) -> bool:
        return bool(self.draw(st.integers(0, outof - 1)) >= outof - times)

    # Types

    def type_(self) -> Type:
        kind = self.draw(st.integers(0, 6))
        if kind == 0:
            return Bool
        if kind <= 2:
            lo = self.draw(st.integers(-3, 2))
            return Int(lo, lo + self.pick((3, 1, 2, 4, 5, 0)))
        if kind == 3:
            return self.pick((Enum("red", "blue"), Enum("idle", "busy", "done"), Enum("a", "b", "c", "d")))
        of: Any = self.pick(self.indices)
        return of if kind == 4 else (Maybe, set_of)[kind - 5](self.held())

    def held(self) -> Type:
        """Draw the element type of a Maybe, a set or an array: usually an index."""
        if self.often(2, 3):
            found: Type = self.pick(self.indices)
            return found
        return self.pick((Int(-1, 1), Enum("red", "blue"), Bool, Int(2, 3)))  # type: ignore[no-any-return]

    def code(self, type_: Type) -> Any:
        """Draw a readable value of the type."""
        return type_.decode(self.draw(st.integers(type_.lo, type_.hi)))

    # Terms

    def term(self, type_: Type, depth: int) -> Expr:
        if type_.sort == "bool":
            return self.boolean(depth)
        if isinstance(type_, Index):
            return self.element(type_, depth)
        if type_.sort == "int":
            return self.number(depth)
        if type_.sort == "maybe":
            return self.maybe(type_, depth)
        return self.set_(type_, depth) if type_.sort == "set" else self.choice(type_, depth)

    def leaf(self, type_: Type, depth: int) -> Expr:
        """Draw a variable, constant, parameter or literal of the type; numbers can have any range."""
        options: list[Any] = [e for e in (*self.given, *self.parameters) if self.fits(e.type, type_)]
        options += 2 * [v for v in self.variables if self.fits(v.type, type_) and (depth >= 0 or not v.over)]
        chosen = self.pick(options) if options and self.often(3, 4) else None
        if chosen is None:
            return const(self.draw(st.integers(type_.lo, type_.hi)), type_)
        return self.reference(chosen, depth) if isinstance(chosen, Variable) else chosen

    def fits(self, type_: Type, wanted: Type) -> bool:
        """Return whether a term of the first type is allowed where the second is required."""
        return type_.sort == "int" if wanted.sort == "int" and not isinstance(wanted, Index) else type_ == wanted

    def reference(self, variable: Variable, depth: int) -> Expr:
        """Draw the variable, or an element of the array: by a literal, by an element or by a number that can be out of range."""
        at: list[Expr] = []
        inside: list[Expr] = []
        for axis in variable.over:
            k = self.element(axis, min(depth, 1) - 1) if axis.sort != "int" or self.often(2, 3) else None
            if k is None:
                k = self.number(min(depth, 1) - 1)
                if isinstance(k.type, Index):
                    k = k * 1  # an element of another index is refused, a number is not
                if k.type.hi < axis.lo or k.type.lo > axis.hi:
                    k = const(axis.lo, axis)
                elif not self.faulty and not (k.type.lo >= axis.lo and k.type.hi <= axis.hi):
                    inside.append((k >= axis.lo) & (k <= axis.hi))
            at.append(k)
        term = variable[tuple(at)]
        if self.step and self.often(1, 2):
            term, inside = after(term), [after(condition) for condition in inside]
        for condition in inside:
            term = ite(condition, term, const(variable.type.lo, variable.type))
        return term

    def atom(self) -> Expr:
        """Draw a comparison of a variable with a value of its type, or a Bool."""
        if not self.variables or self.often(1, 5):
            return self.leaf(Bool, 0)
        return self.compared(self.pick(self.variables))

    def compared(self, v: Variable) -> Expr:
        x = self.reference(v, 0)
        if v.type.sort == "bool":
            return x if self.often(1, 2) else ~x
        y = self.leaf(v.type, 0) if self.often(1, 2) else const(self.draw(st.integers(v.type.lo, v.type.hi)), v.type)
        if v.type.sort == "int":
            y = y if isinstance(v.type, Index) else y * 1
            return self.pick((x <= y, x != y, x >= y, x == y, x != y, x < y))
        return self.pick((x != y, x == y, x != y))

    def boolean(self, depth: int) -> Expr:
        if depth <= 0:
            return self.atom()
        kind = self.draw(st.integers(0, 14))
        if kind == 0:
            return self.atom()
        if kind <= 3:
            x, y = self.number(depth - 1), self.number(depth - 1)
            if isinstance(x.type, Index) and x.type != y.type:
                x = x * 1
            return self.pick((x < y, x <= y, x == y, x > y, x >= y, x != y))
        if kind == 4:
            return ~self.boolean(depth - 1)
        if kind <= 6:
            x, y = self.boolean(depth - 1), self.boolean(depth - 1)
            return self.pick((x & y, x | y, implies(x, y), x == y))
        if kind == 7:
            return ite(self.boolean(depth - 1), self.boolean(depth - 1), self.boolean(depth - 1))
        if kind == 8 and self.variables:
            v = self.pick(self.variables)
            x, y = self.reference(v, depth - 1), self.term(v.type, depth - 1)
            return self.pick((x == y, x != y))
        if kind == 9:
            of = self.held()
            x, y = self.set_(set_of(of), depth - 1), self.element(of, depth - 1)
            if self.often(1, 3):
                return self.pick((x.size <= 1, x.is_empty, x == full(of), x.size == self.draw(st.integers(0, 3))))
            return x <= x.including(y) if self.often(1, 8) else x.has(y)
        if kind == 10:
            m = self.maybe(Maybe(self.held()), depth - 1)
            return self.pick((m.is_none, m.is_some))
        if kind == 11:
            m = self.maybe(Maybe(self.held()), depth - 1)
            equal = m.get == self.element(m.type.of, depth - 1)
            return equal if self.faulty else m.is_none | equal
        if kind == 12:
            x, y = self.number(depth - 1), self.number(depth - 1)
            bound = self.number(0)
            return (rem(x, y) <= bound) if self.faulty else ((y < 0) | (y > 0)) & (rem(x, y) <= bound)
        if kind == 13 and self.tables:
            table, axes = self.pick(self.tables)
            one, two = (table[tuple(self.element(i, depth - 1) for i in axes)] if axes else table for _ in range(2))
            same: Expr = one.same_as(two)
            return same
        if self.containers and self.often(1, 2):
            return self.asked(self.pick(self.containers), depth)
        of = self.held()
        return self.pick((forall, exists))(of, self.body(of, lambda: self.boolean(depth - 1)))

    def asked(self, of: Any, depth: int) -> Expr:
        """Draw a query of a set, a bag, a sequence or a Maybe of several parts."""
        if isinstance(of, MaybeValue):
            one = self.value_of(of.shape.of, depth - 1)
            same = [x == y for x, y in zip(parts_in(of.shape.of, of.get), parts_in(of.shape.of, one), strict=True)]
            return self.pick((of.is_none, of == one, of == None, all_of(same) if self.faulty else of.is_none | same[-1]))  # noqa: E711
        shape = of.shape
        one = self.value_of(shape, depth - 1)
        if isinstance(of, Seq):
            at = of.length > 0
            if self.often(1, 2):
                return self.made_of_sequences(of, one, self.value_of(shape, 0))
            first = of.has(one) if isinstance(shape, Record) else (of.head == one) if self.faulty else at & (of.head == one)
            return self.pick((of.has(one), of.is_empty, of.is_full, first, of == of.tail.append(one) if self.faulty else of == (one,)[:0]))
        holes = forall(of, lambda *_: self.parameters[0] == self.parameters[0]) if self.parameters else of.is_empty
        return self.pick((of.has(one), of.size <= 1, of.has(one), of <= of, of == (), of.times(one) == 1, holes))

    def made_of_sequences(self, of: Any, one: Any, two: Any) -> Expr:
        """Draw a query of a slice, a concatenation or a choice of sequences that has a value."""
        k = minimum(maximum(self.number(0), 0), 3)
        pair = (one, two)
        made = self.pick((of[1:], of[:k], of[k:], of + pair, of + of, of[1:] + pair[1:], of.append(one).append(two)[1:3]))
        made = ite(self.atom(), made, self.pick((of, (one,), made.append(two)))) if self.often(1, 2) else made
        asked = (made.has(one), made.length <= k, made == of, made.is_empty, made.is_empty | (made.head == two))
        return self.pick((*asked, exists(made, lambda *_: self.parameters[0] == self.parameters[0])) if self.parameters else asked)

    def value_of(self, shape: Any, depth: int) -> Any:
        """Draw a value of a type or a record with few values."""
        if isinstance(shape, Record):
            return shape(**{name: self.value_of(each, depth) for name, each in shape.fields.items()})
        if isinstance(shape, tuple):
            return tuple(self.value_of(each, depth) for each in shape)
        return self.element(shape, depth)

    def body(self, of: Index, make: Callable[[], Expr]) -> Callable[[Expr], Expr]:
        """Return a term with a free element, so that a quantifier states the same about each element."""
        self.bound += 1
        hole = Expr("par", (f"_{self.bound}",), of)
        self.parameters.append(hole)
        try:
            term = make()
        finally:
            self.parameters.pop()
        return lambda i: rewrite(term, lambda e: i if e is hole else None)

    def number(self, depth: int) -> Expr:
        if depth <= 0:
            if self.often(1, 40):
                return const(value := self.pick(_EXTREMES), Int(value, value))
            return self.leaf(Int(-4, 6), depth)
        kind = self.draw(st.integers(0, 12))
        if kind == 0:
            return self.leaf(Int(-4, 6), depth)
        if kind == 1:
            return ite(self.boolean(depth - 1), self.number(depth - 1), self.number(depth - 1))
        if kind == 2:
            of = self.pick(self.indices)
            return count(of, self.body(of, lambda: self.boolean(depth - 1)))
        if kind == 3:
            of = self.pick(self.indices)
            return total(of, self.body(of, lambda: self.small(depth - 1)))
        if kind == 4:
            return java_abs(self.small(depth - 1))
        x, y = self.small(depth - 1), self.small(depth - 1)
        if kind == 5:
            return self.pick((x + y, -x))
        if kind == 6:
            return x - y
        if kind == 7:
            # One factor is usually a literal: products of two unknowns are hard for z3, so few are enough.
            return x * (y if self.often(1, 6) else self.draw(st.integers(-3, 3)))
        if kind == 8:
            return wrap32(self.pick((x * 65537 * 257, x + (2**31 - 1), x - 2**31, y * 2**24)))
        if kind == 9:
            divisor = y if self.often(1, 2) or self.faulty else self.number(0)
            if self.often(1, 3) or (divisor.type.lo <= 0 <= divisor.type.hi and divisor.op == "const"):
                divisor = const(value := self.pick((2, 3, -2, 4, 1, -1, 5)), Int(value, value))
            if self.faulty or not divisor.type.lo <= 0 <= divisor.type.hi:
                return rem(x, divisor)
            return ite(divisor != 0, rem(x, divisor), x)
        if kind == 10:
            return self.pick((x & y, x | y, without_bits(x, y)))
        if kind == 11:
            return self.pick((minimum, maximum))(x, y)
        return x + self.pick((1, -1))

    def small(self, depth: int) -> Expr:
        """Draw a number so small that products and sums of a few fit in 63 bits."""
        x = self.number(depth)
        return x if -_JAVA <= x.type.lo and x.type.hi < _JAVA else wrap32(x)

    def element(self, of: Type, depth: int) -> Expr:
        """Draw a term that is certainly a value of the type."""
        if not isinstance(of, Index):
            term = self.term(of, depth) if depth >= 0 else self.leaf(of, depth)
            return minimum(maximum(term, of.lo), of.hi) if of.sort == "int" else term
        kind = self.draw(st.integers(0, 5)) if depth > 0 else 0
        if kind <= 2:
            return self.leaf(of, depth)
        if kind == 3:
            return ite(self.boolean(depth - 1), self.element(of, depth - 1), self.element(of, depth - 1))
        owned = [index for index in self.indices if index.owner == of]
        if kind == 4 and owned:
            return owner(self.element(owned[0], depth - 1))
        m = self.maybe(Maybe(of), depth - 1)
        if m.op in ("const", "some") and not self.faulty:
            return self.leaf(of, depth)
        return m.get if self.faulty else ite(m.is_some, m.get, const(self.draw(st.integers(0, of.hi)), of))

    def maybe(self, type_: Any, depth: int) -> Expr:
        kind = self.draw(st.integers(0, 5)) if depth > 0 else 0
        if kind <= 2:
            return self.leaf(type_, depth)
        if kind == 3:
            return ite(self.boolean(depth - 1), self.maybe(type_, depth - 1), self.maybe(type_, depth - 1))
        if kind == 4 and not isinstance(type_.of, HoldingType):
            chosen = only if named(type_.of) or self.often(1, 2) else first
            if self.often(1, 2):
                return chosen(self.set_(set_of(type_.of), depth - 1))
            return chosen(type_.of, self.body(type_.of, lambda: self.boolean(depth - 1)))
        return coerce(self.element(type_.of, depth - 1), type_)

    def choice(self, type_: Type, depth: int) -> Expr:
        if depth > 0 and self.often(1, 3):
            return ite(self.boolean(depth - 1), self.choice(type_, depth - 1), self.choice(type_, depth - 1))
        return self.leaf(type_, depth)

    def set_(self, type_: Any, depth: int) -> Expr:
        kind = self.draw(st.integers(0, 5)) if depth > 0 else 0
        if kind <= 1:
            return self.leaf(type_, depth)
        if kind == 2:
            element = self.element(type_.of, depth - 1)
            return single(element) if isinstance(type_.of, Index) else const(0, type_).including(element)
        if kind == 3:
            return ite(self.boolean(depth - 1), self.set_(type_, depth - 1), self.set_(type_, depth - 1))
        x, y = self.set_(type_, depth - 1), self.set_(type_, depth - 1)
        return self.pick((x | y, x & y, x - y))

    # Parts of a model

    def declare(self, model: Model) -> None:
        self.indices.append(a := self.index(model, "A", self.pick((2, 3, 1))))
        size = self.pick((2, 3, 1, 4))
        self.indices.append(self.index(model, "B", size, a if a.size * size <= 6 and self.often(1, 3) else None))
        for k in range(self.draw(st.integers(0, 2))):
            type_ = self.type_()
            self.given.append(model.constant(f"c{k}", type_, self.code(type_)))
        room = MOST_STATES // (self.contain(model) if self.often(2, 5) else 1)
        for k in range(self.pick((3, 2, 4, 5, 3, 1))):
            axes = tuple(self.held() for _ in range(self.pick((0, 0, 1, 0, 1, 2))))
            fields = {"": self.type_()} if self.often(4, 5) else {"f": self.type_(), "g": self.type_()}
            cells = math.prod(axis.size for axis in axes)
            size = math.prod(type_.size**cells for type_ in fields.values())
            if size > room:
                axes, fields = (), {"": Bool}
                size = 2
            if size > room:
                break
            room //= size
            self.variable(model, f"v{k}", fields, axes)

    def index(self, model: Model, name: str, size: int, of: Index | None = None) -> Index:
        return model.index(name, size, of=of)

    def contain(self, model: Model) -> int:
        """Draw a set, a bag, a sequence or a Maybe of several parts. Return also its number of values."""
        if self.often(1, 3):
            return self.contain_maybe(model)
        shape = self.pick((Record(a=Bool, b=Enum("x", "y")), Int(-1, 0), self.indices[0]))
        values = 4 if isinstance(shape, Record) else shape.size
        kind = self.draw(st.integers(0, 2))
        kind = 0 if kind == 1 and values > 3 else kind
        type_ = (ManyType(shape), BagOf(shape, 2), SeqOf(shape, 2))[kind]
        one = {"a": True, "b": "y"} if isinstance(shape, Record) else shape.lo
        self.containers.append(model.var("k", type_, init=(one,) if self.often(1, 2) else ()))
        return int((2**values, 3**values, 1 + values + values**2)[kind])

    def contain_maybe(self, model: Model) -> int:
        shape = self.pick((Record(a=Bool, b=Enum("x", "y")), Record(a=Maybe(Bool), b=self.indices[0]), (Int(-1, 0), Bool)))
        one = (-1, True) if isinstance(shape, tuple) else shape(a=True, b="y" if shape.fields["a"] == Bool else 0)
        init = self.pick((None, one, one_of(None, one), ANY))
        self.containers.append(model.var("k", Maybe(shape), init=init))
        return 1 + sum(1 for _ in codes_of(shape))

    def start(self, type_: Type, axes: tuple[Index, ...] | None) -> Any:
        """Draw an initial value, a choice, or a function of the indices that returns them."""
        if axes is not None and self.often(1, 8) and (not axes or type_.size ** math.prod(axis.size for axis in axes) < 5):
            return one_of(self.code(type_), self.code(type_)) if not axes else ANY
        if axes and self.often(1, 2):
            values = [const(self.draw(st.integers(type_.lo, type_.hi)), type_) for _ in range(3)]
            return lambda *at: values[sum(at) % 3]
        return self.code(type_)

    def variable(self, model: Model, name: str, fields: dict[str, Type], axes: tuple[Index, ...]) -> None:
        known = len(model.variables)
        if "" in fields:
            type_ = fields[""]
            same = [e for e in self.given if e.type == type_]
            if same and self.often(1, 2):
                init: Any = self.pick(same)
            else:
                init = self.start(type_, axes)
            model.var(name, type_, over=axes, init=init)
        else:
            row = Record(**fields)
            starts = {f: self.start(t, None) for f, t in fields.items()}
            table = model.var(name, row, over=axes, init=row(**starts))
            self.tables.append((table, axes))
        self.variables += model.variables[known:]

    def fold(self, e: Expr, type_: Type, old: Expr) -> Expr:
        """Fold the number into the range of a type."""
        if e.type.lo >= type_.lo and e.type.hi <= type_.hi:
            return e
        inside = (e >= type_.lo) & (e <= type_.hi)
        how = self.draw(st.integers(0, 3))
        if how == 0:
            return ite(inside, e, type_.lo)
        if how == 1:
            return ite(inside, e, old)
        if how == 2:
            return minimum(maximum(e, type_.lo), type_.hi)
        if -_JAVA <= e.type.lo and e.type.hi < _JAVA:
            r = rem(e - type_.lo, type_.size)
            return ite(r < 0, r + type_.size, r) + type_.lo
        return ite(inside, e, type_.hi)

    def lively(self, target: Expr) -> Expr:
        """Draw a new value that probably differs from the old, so that models have several states."""
        type_: Any = target.args[0].type
        same = [p for p in self.parameters if p.type == type_]
        if same and self.often(1, 2):
            return self.pick(same)
        if type_ == Bool:
            return ~target
        if type_.sort == "enum":
            after_each = target
            for code in type_.codes():
                after_each = ite(target == const(code, type_), const((code + 1) % type_.size, type_), after_each)
            return after_each
        if type_.sort in ("maybe", "set"):
            element = self.element(type_.of, 0)
            if type_.sort == "maybe":
                return ite(target.is_none | self.atom(), coerce(element, type_), const(0, type_))
            return ite(target.has(element), target.excluding(element), target.including(element))
        if isinstance(type_, Index):
            return self.element(type_, 1)
        step = self.pick((1, 2, -1))
        if self.faulty and type_.size > abs(step):
            return target + step
        inside = target + step <= type_.hi if step > 0 else target + step >= type_.lo
        return ite(inside, target + step, type_.lo if step > 0 else type_.hi)

    def assigned(self, target: Expr) -> Expr:
        type_: Type = target.args[0].type
        new = self.lively(target) if self.often(3, 4) else self.term(type_, 2)
        if type_.sort != "int":
            return new
        if self.faulty and new.op != "const" and new.type.hi >= type_.lo and new.type.lo <= type_.hi:
            return new
        return self.fold(new, type_, target)

    def action(self, model: Model, name: str) -> None:
        parameters = {f"p{k}": self.type_() for k in range(self.pick((0, 1, 1, 2)))}
        instances = 1
        for type_ in parameters.values():
            instances *= type_.size
        if instances > 6:
            parameters = {"p0": self.pick(self.indices)}
        fair = (None, "weak", "strong")[self.draw(st.integers(0, 2))]

        def fill(a: Body, **parameters: Any) -> None:
            """Something happens."""
            self.parameters = [p for p in parameters.values() if isinstance(p, Expr)]
            for k in range(self.pick((0, 1, 0, 1, 2))):
                condition = self.boolean(2) if self.often(1, 3) else self.atom()
                if condition.op == "const" and not self.often(1, 4):
                    condition = self.atom()
                (a.bound if self.often(1, 4) else a.guard)(f"g{k}", condition, f"condition {k} holds")
            targets = [self.pick(self.variables) for _ in range(self.draw(st.integers(1, 3)))]
            for variable in dict.fromkeys(targets):
                self.update(a, variable)
            if self.containers and self.often(1, 2):
                of = self.pick(self.containers)
                self.refill(a, of, parameters["m"]) if isinstance(parameters.get("m"), MaybeValue) else self.refill(a, of)

        if self.containers and instances <= 2 and self.often(1, 3):
            of = self.pick(self.containers)
            parameters["m"] = of.shape if isinstance(of, MaybeValue) else of
        model.action(name=name, fair=fair, **parameters)(fill)
        self.parameters = []

    def refill(self, a: Body, of: Any, given: Any = None) -> None:
        """Change a set, bag, sequence or Maybe. The change has a value unless the model is faulty."""
        if isinstance(of, MaybeValue):
            value = self.value_of(of.shape.of, 1)
            a.set(of, self.pick((given, value, ite(self.atom(), value, given), ite(self.atom(), of, value))), when=self.atom())
            return
        one, two = self.value_of(of.shape, 1), self.value_of(of.shape, 0)
        if isinstance(of, Seq):
            pair = (one, two)
            if self.faulty:
                a.set(of, self.pick((of.tail, of.append(one), of.tail.append(one), of + pair[:1], (of + of)[1:])))
            elif self.often(1, 3):
                a.set(of, (), when=self.atom())
            elif self.often(1, 3):
                a.set(of, self.pick(((of + pair)[:2], of[1:] + pair[1:], ite(self.atom(), of[:1], (one,)), pair)))
            else:
                a.set(of, *self.pick(((of.append(one), ~of.is_full), (of.tail, ~of.is_empty), (of.tail.append(one), ~of.is_empty))))
            return
        if of.type.most and not self.faulty:
            a.add(of, one, when=of.times(one) < of.type.most)
            return
        if self.often(1, 4):
            a.set(of, () if self.often(1, 2) else lambda *_: 0 if of.type.most else self.atom())
            return
        (a.add if self.often(1, 2) else a.remove)(of, one)
        if not of.type.most:
            (a.add if self.often(1, 2) else a.remove)(of, two, when=self.atom())

    def turn(self, model: Model, name: str, variable: Variable) -> None:
        """Declare an action that mainly changes one variable, so that models have several states."""

        def fill(a: Body, **at: Expr) -> None:
            """One variable turns."""
            if self.often(1, 4):
                a.guard("g", self.atom(), "the condition holds")
            target = variable[tuple(at.values())]
            a.set(target, self.lively(target))

        model.action(name=name, fair=self.pick((None, "weak", "strong")), **{f"i{k}": i for k, i in enumerate(variable.over)})(fill)

    def take_any(self, model: Model, variable: Variable) -> None:
        def become(a: Body, value: Expr) -> None:
            """The variable takes any value."""
            a.set(variable[()], value)

        model.action(name=f"set {variable.name}", value=variable.type)(become)

    def guarded(self, a: Body, variable: Variable) -> None:
        """Write a variable several times, each time under a condition; only faulty models write an element twice."""
        made: list[tuple[Expr, Expr]] = []
        for _ in range(self.pick((2, 1, 3))):
            at, needed = [], []
            for axis in variable.over:
                index, conditions = self.risky(axis)
                at.append(index)
                needed += conditions
            target = variable[tuple(at)]
            counts = isinstance(variable.type, MaybeType) and type(variable.type.of) is Type
            if counts:  # one more, if that fits
                needed += [target.is_some] if self.faulty else [target.is_some, target.get < variable.type.of.hi]
            if not self.faulty:
                needed += [~(when & same_place(target, other)) for other, when in made]
            when = all_of([*needed, self.boolean(1)])
            if when.op != "const":
                a.set(target, target.get + 1 if counts else self.assigned(target), when=when)
                made.append((target, when))

    def risky(self, axis: Type) -> tuple[Expr, list[Expr]]:
        """Draw an index that can be missing or out of range, and the conditions under which it is an element."""
        kind = self.draw(st.integers(0, 3))
        m = self.maybe(Maybe(axis), 0) if kind == 0 and axis.sort != "maybe" else const(0, Bool)
        if m.op in ("ref", "given", "par"):
            return m.get, [m.is_some]
        if kind == 1 and axis.sort == "int":
            k = self.number(1) * 1
            if k.op != "const" and k.type.hi >= axis.lo and k.type.lo <= axis.hi:
                return k, [k >= axis.lo, k <= axis.hi]
        return self.element(axis, 1), []

    def update(self, a: Body, variable: Variable) -> None:
        if self.often(1, 4):
            self.guarded(a, variable)
            return
        ats: list[tuple[Expr, ...]]
        if variable.over and self.often(1, 3):
            ats = [tuple(const(k, i) for k, i in zip(at, variable.over, strict=True)) for at in variable.elements()]
            ats = [at for at in ats if self.often(2, 3)]
        elif self.faulty and variable.over:
            ats = [self.reference(variable, 1).args[1:]]
        else:
            ats = [tuple(self.element(i, 1) for i in variable.over)]
        if variable.over and self.often(1, 6):
            ats.append(tuple(self.element(i, 1) for i in variable.over))
        ats = list(dict.fromkeys(ats))
        places = {tuple(i.args[0] if i.op == "const" else i for i in at) for at in ats}
        if len(places) < len(ats) or (len(ats) > 1 and not self.faulty and not all(i.op == "const" for at in ats for i in at)):
            ats = ats[:1]
        for at in ats:
            target = variable[at]
            if variable.type.sort == "set" and self.often(1, 4):
                a.set(target, self.body(held(variable.type), lambda: self.boolean(1)))
                continue
            a.set(target, self.assigned(target), **({"when": self.boolean(1)} if self.often(1, 4) else {}))

    def begin(self, model: Model) -> None:
        """Exclude some of several initial states."""
        if not any(len(way) > 1 for v in model.variables for way in v.init) or not self.often(1, 2):
            return
        first, before = model.given(), (self.given, self.faulty)
        self.given, self.faulty = [], False
        condition = self.boolean(1)
        self.given, self.faulty = before
        if any(holds(first, condition, state) for state in initials(first)):
            model.initially(condition)

    def claims(self, model: Model) -> None:
        for k in range(self.draw(st.integers(1, 2))):
            model.always(f"always{k}", self.boolean(2), "claimed of every state")
        model.reachable("reachable", self.boolean(2), "claimed of some state")
        self.step = True
        model.step("step", self.boolean(2), "claimed of every step")
        self.step = False
        unless = {"unless": self.boolean(1)} if self.often(1, 2) else {}
        model.deadlock_free("deadlock", "there is always a next step", **unless)
        model.leads_to("leads", self.boolean(2), self.boolean(2), "claimed of every fair path")
        model.eventually("eventually", self.boolean(1), "claimed of every fair path for ever")
        model.eventually_always("lasts", self.boolean(1), "claimed of the end of every fair path")
        model.until("until", self.boolean(1), self.boolean(1), "claimed of every fair path", when=self.boolean(1))
        model.until("first", self.boolean(1), self.boolean(1), "claimed from the start on", weak=True)
        clock = self.pick(("", *(action.name for action in model.actions[:1])))
        model.within("within", self.boolean(1), self.boolean(1), "claimed of every path", steps=self.pick((1, 2, 3)), clock=clock)


@st.composite
def _cases(draw: DrawFn, faulty: bool) -> Case:
    maker = Maker(draw, faulty=faulty)
    model = Model("generated")
    maker.declare(model)
    maker.begin(model)
    for k in range((2, 3, 1, 2)[draw(st.integers(0, 3))]):
        maker.action(model, f"a{k}")
    for k in range(draw(st.integers(0, 2))):
        maker.turn(model, f"t{k}", maker.pick(maker.variables))
    maker.faulty = False
    maker.claims(model)
    values = {name: maker.code(type_) for name, (type_, _) in model.constants.items() if maker.often(1, 2)}
    return Case(model.given(**values))


def models(*, faulty: bool = False) -> SearchStrategy[Case]:
    """Generate models of at most `MOST_STATES` states with properties of every kind; variables of `faulty` models leave their types."""
    return _cases(faulty)


@st.composite
def formulas(draw: DrawFn, *, faulty: bool = False) -> Case:
    """Generate many state formulas about a model that reaches every value of its few variables."""
    maker = Maker(draw, faulty=faulty)
    model = Model("values")
    maker.indices = [model.index("A", 3), model.index("B", 2)]
    for name, type_ in {"x": Int(-3, 3), "y": Int(-2, 2), "s": SetOf(maker.indices[1]), "m": Maybe(maker.indices[0])}.items():
        maker.variable(model, name, {"": type_}, ())
        maker.take_any(model, maker.variables[-1])
    for k in range(12 if faulty else 40):
        number, bound = maker.number(2), draw(st.integers(-4, 8))
        model.always(f"formula {k}", number <= bound if k % 2 else maker.boolean(3), "claimed of every state")
    return Case(model.given())


@st.composite
def terms(draw: DrawFn) -> Expr:
    """Generate a number or formula over a few unknowns of small types that always has a value."""
    maker = Maker(draw, faulty=False)
    model = Model("term")
    maker.indices = [model.index("A", 3), model.index("B", 2)]
    maker.parameters = [free(f"x{k}", maker.type_()) for k in range(draw(st.integers(1, 3)))]
    return maker.number(3) if maker.often(2, 3) else maker.boolean(3)
