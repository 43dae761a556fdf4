"""The relation's formulas over truth values alone: each element of a state as the bits of its code, counted from the type's lowest value.

Nothing of the relation is written again: its constants are replaced by what the bits make, and a formula of bits is read back as a term of
the language, in which several bits of one element become the values that they allow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..language import Bool, Expr, SetType, Type, all_of, any_of, const
from ..language.expr import bitwise
from .relation import Relation
from .smt import z3
from .values import Value, fit, formula

LISTED = 256
"""Values of a type of which a formula lists those that it allows; of a larger one it tells single bits."""


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
        """A formula of the relation over the bits, without any arithmetic left, so that what is learnt from it has none."""
        goal = z3.Goal()
        goal.add(z3.substitute(formula(term), *self._instead))
        return z3.Then("simplify", "bit-blast", "simplify").apply(goal).as_expr()

    def codes(self, truths: Sequence[bool]) -> tuple[int, ...]:
        """The state that these bits make."""
        codes = [type_.lo for _, type_ in self.relation.slots]
        for (slot, bit), true in zip(self.places, truths, strict=True):
            codes[slot] += true << bit
        return tuple(codes)

    def term(self, found: Value) -> Expr:
        """A formula over the bits of the state before, which it may call by their numbers, as a term of the model."""
        return self._term(found, False)

    def _unknowns(self, which: str) -> list[Value]:
        return [z3.Bool(f"{self.relation.slots[slot][0]} {which} {bit}") for slot, bit in self.places]

    def _values(self, truths: Sequence[Value]) -> list[Value]:
        """What the bits make of each element, as the relation has it."""
        of: dict[int, list[Value]] = {}
        for (slot, _), truth in zip(self.places, truths, strict=True):
            of.setdefault(slot, []).append(truth)
        made = []
        for slot, (constant, (_, type_)) in enumerate(zip(self.relation.before, self.relation.slots, strict=True)):
            own = of.get(slot, [])
            if type_.sort == "bool":
                made.append(own[0])
            else:
                size = constant.size()
                code = z3.ZeroExt(size - len(own), _vector(own)) if own else z3.BitVecVal(0, size)
                made.append(code + fit(type_.lo, size))
        return made

    def _term(self, found: Value, denied: bool) -> Expr:
        if z3.is_true(found) or z3.is_false(found):
            return const(int(z3.is_true(found) != denied), Bool)
        if z3.is_not(found):
            return self._term(found.arg(0), not denied)
        if z3.is_implies(found):
            return self._term(z3.Or(z3.Not(found.arg(0)), found.arg(1)), denied)
        parts = found.children()
        if z3.is_and(found) or z3.is_or(found):
            every = z3.is_and(found) != denied
            return self._joined(parts, denied, every)
        if z3.is_eq(found):
            one, other = (self._term(part, False) for part in parts)
            return (one != other) if denied else (one == other)
        place = self._place(found)
        if place is None:
            raise ValueError(f"{found.decl().name()} is no formula over bits")
        return self._joined([found], denied, True)

    def _place(self, found: Value) -> tuple[int, int] | None:
        if z3.is_var(found):
            return self.places[int(z3.get_var_index(found))]
        return next((place for place, mine in zip(self.places, self.before, strict=True) if mine.eq(found)), None)

    def _joined(self, parts: Sequence[Value], denied: bool, every: bool) -> Expr:
        """Parts joined by `and` or `or`; the bits of one element together as the values that they allow."""
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
    """A bit-vector of these bits, the first one the lowest."""
    parts = [z3.If(truth, z3.BitVecVal(1, 1), z3.BitVecVal(0, 1)) for truth in reversed(truths)]
    return z3.Concat(*parts) if len(parts) > 1 else parts[0]


def _allowed(element: Expr, literals: Sequence[tuple[int, bool]], every: bool) -> Iterator[Expr]:
    """That all, or any, of the bits of an element's code are as told."""
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
    """That an element has one of some values of its type, as briefly as it can be told."""
    type_ = element.type
    rest = [code for code in type_.codes() if code not in codes]
    if type_.sort == "int" and codes and codes[-1] - codes[0] + 1 == len(codes):
        bounds = ([element >= codes[0]] if codes[0] > type_.lo else []) + ([element <= codes[-1]] if codes[-1] < type_.hi else [])
        if len(codes) > 1:
            return all_of(bounds)
    if len(rest) < len(codes):
        return all_of(element != const(code, type_) for code in rest)
    return any_of(element == const(code, type_) for code in codes)
