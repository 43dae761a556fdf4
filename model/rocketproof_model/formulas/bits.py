"""The relation's formulas over truth values only: each element of a state is the bits of its code minus the type's lowest value.

The relation's formulas are reused: their constants are replaced by the values of the bits. A formula over bits is translated back to a term
of the language. Several bits of one element then become the values that they allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..language import Bool, Expr, SetType, Type, all_of, any_of, const
from ..language.expr import bitwise
from .relation import Relation
from .smt import z3
from .values import Value, fit, formula

LISTED = 256
"""Maximum of values of a type for which a formula lists the allowed values; for a larger type it has conditions on single bits."""


class Bits:
    """Truth values for the state before and after of a relation, and for the step between them."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.places = [(slot, bit) for slot, (_, type_) in enumerate(relation.slots) for bit in range(_count(type_))]
        self.before = self._unknowns("before")
        self.after = self._unknowns("after")
        self.chosen = [z3.Bool(f"choice {bit}") for bit in range(relation.choice.size())]
        self._instead = [
            *zip(relation.before, self._values(self.before), strict=True),
            *zip(relation.after, self._values(self.after), strict=True),
            (relation.choice, _vector(self.chosen)),
        ]
        slots = [v.element(at) for v in relation.instance.model.variables for at in v.elements()]
        self._elements = dict(enumerate(slots))

    def of(self, term: Value) -> Value:
        """Return a formula of the relation over the bits without arithmetic, so that formulas derived from it have none either."""
        goal = z3.Goal()
        goal.add(z3.substitute(formula(term), *self._instead))
        return z3.Then("simplify", "bit-blast", "simplify").apply(goal).as_expr()

    def codes(self, truths: Sequence[bool]) -> tuple[int, ...]:
        """Return the state with these bits."""
        codes = [type_.lo for _, type_ in self.relation.slots]
        for (slot, bit), true in zip(self.places, truths, strict=True):
            codes[slot] += true << bit
        return tuple(codes)

    def term(self, formula: Value) -> Expr:
        """Return a formula over the bits of the state before, which may be variables by number, as a term of the model."""
        return self._term(formula, False)

    def _unknowns(self, which: str) -> list[Value]:
        return [z3.Bool(f"{self.relation.slots[slot][0]} {which} {bit}") for slot, bit in self.places]

    def _values(self, truths: Sequence[Value]) -> list[Value]:
        """Return the value of each element from the bits, as the relation represents it."""
        of: dict[int, list[Value]] = {}
        for (slot, _), truth in zip(self.places, truths, strict=True):
            of.setdefault(slot, []).append(truth)
        values = []
        for slot, (constant, (_, type_)) in enumerate(zip(self.relation.before, self.relation.slots, strict=True)):
            own = of.get(slot, [])
            if type_.sort == "bool":
                values.append(own[0])
            else:
                size = constant.size()
                code = z3.ZeroExt(size - len(own), _vector(own)) if own else z3.BitVecVal(0, size)
                values.append(code + fit(type_.lo, size))
        return values

    def _term(self, formula: Value, denied: bool) -> Expr:
        if z3.is_true(formula) or z3.is_false(formula):
            return const(int(z3.is_true(formula) != denied), Bool)
        if z3.is_not(formula):
            return self._term(formula.arg(0), not denied)
        if z3.is_implies(formula):
            return self._term(z3.Or(z3.Not(formula.arg(0)), formula.arg(1)), denied)
        parts = formula.children()
        if z3.is_and(formula) or z3.is_or(formula):
            every = z3.is_and(formula) != denied
            return self._joined(parts, denied, every)
        if z3.is_eq(formula):
            left, right = (self._term(part, False) for part in parts)
            return (left != right) if denied else (left == right)
        place = self._place(formula)
        if place is None:
            raise ValueError(f"{formula.decl().name()} is no formula over bits")
        return self._joined([formula], denied, True)

    def _place(self, bit: Value) -> tuple[int, int] | None:
        if z3.is_var(bit):
            return self.places[int(z3.get_var_index(bit))]
        return next((place for place, mine in zip(self.places, self.before, strict=True) if mine.eq(bit)), None)

    def _joined(self, parts: Sequence[Value], denied: bool, every: bool) -> Expr:
        """Return parts joined by `and` or `or`; bits of the same element are combined to the values that they allow."""
        bits: dict[int, list[tuple[int, bool]]] = {}
        terms: list[Expr] = []
        for part in parts:
            inner, sign = (part.arg(0), denied) if z3.is_not(part) else (part, not denied)
            place = self._place(inner) if not inner.children() and not z3.is_true(inner) and not z3.is_false(inner) else None
            if place is None:
                terms.append(self._term(part, denied))
            else:
                bits.setdefault(place[0], []).append((place[1], sign))
        for slot, literals in bits.items():
            terms += _allowed(self._elements[slot], literals, every)
        return all_of(terms) if every else any_of(terms)


def _count(type_: Type) -> int:
    return (type_.hi - type_.lo).bit_length()


def _vector(truths: Sequence[Value]) -> Value:
    """Return a bit-vector of these bits, the lowest bit first."""
    parts = [z3.If(truth, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)) for truth in reversed(truths)]
    return z3.Concat(*parts) if len(parts) > 1 else parts[0]


def _allowed(element: Expr, literals: Sequence[tuple[int, bool]], every: bool) -> Iterator[Expr]:
    """Yield conditions that all, or any, of the bits of an element's code have the given values."""
    type_ = element.type
    if type_ is Bool:
        yield from (element if sign else ~element for _, sign in literals)
    elif isinstance(type_, SetType):
        for bit, sign in literals:
            member = element.has(const(type_.of.lo + bit, type_.of))
            yield member if sign else ~member
    elif type_.size <= LISTED:
        join = all if every else any
        yield _one_of(element, [code for code in type_.codes() if join(bool(code - type_.lo >> bit & 1) == sign for bit, sign in literals)])
    else:
        for bit, sign in literals:
            is_set: Expr = bitwise("bitand", element - type_.lo, 1 << bit) != 0
            yield is_set if sign else ~is_set


def _one_of(element: Expr, codes: Sequence[int]) -> Expr:
    """Return a short condition that an element has one of some values of its type."""
    type_ = element.type
    rest = [code for code in type_.codes() if code not in codes]
    if type_.sort == "int" and codes and codes[-1] - codes[0] + 1 == len(codes):
        bounds = ([element >= codes[0]] if codes[0] > type_.lo else []) + ([element <= codes[-1]] if codes[-1] < type_.hi else [])
        if len(codes) > 1:
            return all_of(bounds)
    if len(rest) < len(codes):
        return all_of(element != const(code, type_) for code in rest)
    return any_of(element == const(code, type_) for code in codes)
