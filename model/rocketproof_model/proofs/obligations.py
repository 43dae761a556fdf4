"""The obligations of an inductive invariant that proves a claim, as z3 formulas that share nothing with the engines that find proofs.

Terms are deliberately translated a second time, as plainly as possible. Every number is a bit-vector of one width, at which no operation of
the model overflows, and nothing is folded. Each instance of an action is a separate case, whose state after is written as terms over the
state before. The optimisations of `formulas` (individual widths, one relation for all steps) are not used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import interpreter
from ..errors import RocketproofError
from ..formulas.smt import z3
from ..language import Action, Expr, Instance, Property, Type, Variable, held, in_reach, walk
from ..result import Move

_Term = Any

KINDS = ("always", "reachable", "step", "deadlock_free")
BEGINS = "every initial state is one of the invariant"
KEEPS = "every step from the invariant stays inside it and does what is claimed"
SOUND = "no state of the invariant has an error of the model"
WAITS = "no state of the invariant is stuck where the claim forbids it"


class ObligationTerm(NamedTuple):
    """The value of a term, and whether it has one."""

    value: _Term
    defined: _Term


@dataclass(frozen=True)
class ObligationCase:
    """A way to violate an obligation: a formula that must have no model, and the step that it describes."""

    formula: _Term
    move: Move | None = None


@dataclass(frozen=True)
class Obligation:
    """A statement and its cases: `assumed` together with any of the cases has to be impossible."""

    statement: str
    assumed: tuple[_Term, ...]
    cases: tuple[ObligationCase, ...]


class Obligations:
    """The obligations of an instance, a claim and an invariant, the conjunction of `parts`.

    Raises RocketproofError for a kind of claim that no invariant proves.
    """

    def __init__(self, instance: Instance, claim: Property, parts: Sequence[Expr]) -> None:
        if claim.kind not in KINDS:
            raise RocketproofError(f"a certificate for {claim.id}: it is of kind {claim.declared}; invariants prove {', '.join(KINDS)}")
        self.instance, self.claim, self.parts = instance, claim, tuple(parts)
        slots = [(v.name_at(at), v.type) for v in instance.model.variables for at in v.elements()]
        self.width = _width(instance, [claim.formula, *parts])
        self.before = [self._unknown(f"{name} before", type_) for name, type_ in slots]
        self.after = [self._unknown(f"{name} after", type_) for name, type_ in slots]
        self.typed = [self._ranged(x, type_) for x, (_, type_) in zip(self.before, slots, strict=True)]
        before, after_ = self._terms(self.before, self.after), self._terms(self.after)
        self._inside = [before.truth(part) for part in self.parts]
        self._lost = z3.Not(z3.And(*map(after_.truth, self.parts)))
        self._claimed = before(claim.formula)
        if claim.kind == "step":
            self._lost = z3.Or(self._lost, z3.Not(before.truth(claim.formula)))

    def all(self) -> list[Obligation]:
        """Return the obligations in the order of their statements above."""
        taken, faults, stuck = [], [], []
        for action in self.instance.model.actions:
            for args in action.instances:
                enabled, error, becomes = self._step(action, args)
                move = Move(action.name, tuple(args))
                stuck.append(z3.Not(enabled))
                faults.append(ObligationCase(error, move))
                ends = [old == new for old, new in zip(self.after, becomes, strict=True)]
                taken.append(ObligationCase(z3.And(enabled, z3.Not(error), *ends, self._lost), move))
        assumed = (*self.typed, *self._inside)
        obligations = [self._begins(), Obligation(KEEPS, assumed, tuple(taken)), Obligation(SOUND, assumed, tuple(faults))]
        if self.claim.kind == "deadlock_free":
            forbidden = z3.Not(z3.And(self._claimed.defined, self._claimed.value))
            obligations.append(Obligation(WAITS, assumed, (ObligationCase(z3.And(*stuck, forbidden)),)))
        return obligations

    def read(self, model: _Term, state: Sequence[_Term]) -> interpreter.State:
        """Return the codes of `before` or `after` in a z3 model."""
        values = [model.eval(x, model_completion=True) for x in state]
        return tuple(int(z3.is_true(value)) if z3.is_bool(value) else int(value.as_signed_long()) for value in values)

    def _unknown(self, name: str, type_: Type) -> _Term:
        return z3.Bool(name) if type_.sort == "bool" else z3.BitVec(name, self.width)

    def _ranged(self, x: _Term, type_: Type) -> _Term:
        return z3.BoolVal(True) if type_.sort == "bool" else z3.And(x >= type_.lo, x <= type_.hi)

    def _code(self, code: int, type_: Type) -> _Term:
        return z3.BoolVal(bool(code)) if type_.sort == "bool" else z3.BitVecVal(code, self.width)

    def _terms(self, before: Sequence[_Term], after: Sequence[_Term] = (), args: Mapping[str, int] | None = None) -> _Terms:
        return _Terms(self.width, before, after, {"par": args or {}, "given": self.instance.constants})

    def _begins(self) -> Obligation:
        before = self._terms(self.before)
        types = [v.type for v in self.instance.model.variables for _ in v.elements()]
        chosen = [
            z3.Or(*(x == self._code(code, type_) for code in codes))
            for x, codes, type_ in zip(self.before, interpreter.first_codes(self.instance), types, strict=True)
        ]
        starts = [before.truth(condition) for condition in self.instance.model.starts]
        return Obligation(BEGINS, (*chosen, *starts), (ObligationCase(z3.Not(z3.And(*self._inside))),))

    def _step(self, action: Action, args: Sequence[int]) -> tuple[_Term, _Term, list[_Term]]:
        """Return whether all guards hold, whether the step is an error of the model, and the state after."""
        before = self._terms(self.before, args=dict(zip(action.parameters, args, strict=True)))
        enabled, error = z3.BoolVal(True), z3.BoolVal(False)
        for guard in action.guards:
            value, defined = before(guard.condition)
            error = z3.Or(error, z3.And(enabled, z3.Not(defined)))
            enabled = z3.And(enabled, defined, value)
        becomes, wrong = list(self.before), []
        writes: dict[int, list[tuple[_Term, _Term]]] = {}
        for update in action.updates:
            variable, *at = update.target.args
            when, new, places = before(update.when), before(update.assigned), [before(index) for index in at]
            inside = [self._ranged(place.value, axis) for place, axis in zip(map(before.number, places), variable.over, strict=True)]
            fits = self._ranged(new.value, variable.type)
            sound = z3.And(new.defined, fits, *(place.defined for place in places), *inside)
            wrong.append(z3.Not(z3.And(when.defined, z3.Implies(when.value, sound))))
            for slot, in_slot in _places(before, variable, places):
                writes.setdefault(slot, []).append((z3.And(when.value, in_slot), new.value))
        for slot, written in writes.items():
            for number, (when, value) in enumerate(written):
                wrong += [z3.And(when, also, value != other) for also, other in written[:number]]
                becomes[slot] = z3.If(when, value, becomes[slot])
        return enabled, z3.Or(error, z3.And(enabled, z3.Or(*wrong))), becomes


def _places(before: _Terms, variable: Variable, places: Sequence[ObligationTerm]) -> list[tuple[int, _Term]]:
    """Return the slots that an update may write, and the condition for each."""
    slots = []
    for element in variable.elements():
        same = z3.simplify(z3.And(*(before.number(place).value == k for place, k in zip(places, element, strict=True))))
        if not z3.is_false(same):
            slots.append((variable.slot(element), same))
    return slots


def _width(instance: Instance, formulas: Sequence[Expr]) -> int:
    """Return the bits that hold every value of every term with its sign, and one more; at least those of `wrap32`."""
    model = instance.model
    roots = [*formulas, *model.starts]
    for action in model.actions:
        roots += [guard.condition for guard in action.guards]
        roots += [term for update in action.updates for term in (update.target, update.value, update.when)]
    types = [v.type for v in model.variables] + [axis for v in model.variables for axis in v.over]
    types += [term.type for root in roots for term in walk(root)]
    return max(33, *(bits for t in types for bits in (t.lo.bit_length() + 2, t.hi.bit_length() + 2)))


class _Terms:
    """Terms over a state before and after as z3 terms; lazily evaluated terms have a value where the interpreter has one."""

    def __init__(self, width: int, before: Sequence[_Term], after: Sequence[_Term], known: Mapping[str, Mapping[str, int]]) -> None:
        self.width, self.known = width, known
        self.states = {"ref": before, "after": after}
        self._done: dict[Expr, ObligationTerm] = {}

    def truth(self, e: Expr) -> _Term:
        """Return the condition that a formula has a value and is true."""
        meaning = self(e)
        return z3.And(meaning.defined, meaning.value)

    def __call__(self, e: Expr) -> ObligationTerm:
        for part in in_reach(e, self._done):
            value, defined = self._meaning(part)
            if part.type.sort == "bool" and not z3.is_bool(value):
                value = value != 0
            self._done[part] = ObligationTerm(value, defined)
        return self._done[e]

    def number(self, meaning: ObligationTerm) -> ObligationTerm:
        """Return the same as a number, a truth value as 0 or 1."""
        value, defined = meaning
        one, zero = z3.BitVecVal(1, self.width), z3.BitVecVal(0, self.width)
        return ObligationTerm(z3.If(value, one, zero) if z3.is_bool(value) else value, defined)

    def _meaning(self, e: Expr) -> ObligationTerm:
        op, always = e.op, z3.BoolVal(True)
        if op == "const":
            return ObligationTerm(z3.BitVecVal(e.args[0], self.width), always)
        if op in ("par", "given"):
            return ObligationTerm(z3.BitVecVal(self.known[op][e.args[0]], self.width), always)
        if op in ("ref", "after"):
            return self._element(e)
        parts = [self(part) for part in e.args]
        values, defined = [part.value for part in parts], [part.defined for part in parts]
        if op == "and":
            return ObligationTerm(z3.And(*values), z3.And(defined[0], z3.Or(z3.Not(values[0]), defined[1])))
        if op == "or":
            return ObligationTerm(z3.Or(*values), z3.And(defined[0], z3.Or(values[0], defined[1])))
        if op == "ite":
            return ObligationTerm(z3.If(*values), z3.And(defined[0], z3.If(values[0], defined[1], defined[2])))
        if op == "not":
            return ObligationTerm(z3.Not(values[0]), defined[0])
        if op == "eq" and all(map(z3.is_bool, values)):
            return ObligationTerm(values[0] == values[1], z3.And(*defined))
        value, has_value = _OPERATIONS[op](e, self.width, *(self.number(part).value for part in parts))
        return ObligationTerm(value, z3.And(*defined, has_value))

    def _element(self, e: Expr) -> ObligationTerm:
        variable: Variable = e.args[0]
        places = [self.number(self(index)) for index in e.args[1:]]
        state = self.states[e.op]
        first, *others = variable.elements()
        result = state[variable.slot(first)]
        for element in others:
            here = z3.And(*(place.value == k for place, k in zip(places, element, strict=True)))
            result = z3.If(here, state[variable.slot(element)], result)
        ranges = [z3.And(place.value >= axis.lo, place.value <= axis.hi) for place, axis in zip(places, variable.over, strict=True)]
        return ObligationTerm(result, z3.And(*(place.defined for place in places), *ranges))


_Operation = Callable[..., tuple[_Term, _Term]]


def _total(operate: Callable[..., _Term]) -> _Operation:
    """Return an operation that always has a value; it gets the term, then its arguments."""
    return lambda e, width, *values: (operate(e, *values), z3.BoolVal(True))


_OPERATIONS: dict[str, _Operation] = {
    "add": _total(lambda e, x, y: x + y),
    "sub": _total(lambda e, x, y: x - y),
    "mul": _total(lambda e, x, y: x * y),
    "bitand": _total(lambda e, x, y: x & y),
    "bitor": _total(lambda e, x, y: x | y),
    "bitandnot": _total(lambda e, x, y: x & ~y),
    "lt": _total(lambda e, x, y: x < y),
    "le": _total(lambda e, x, y: x <= y),
    "eq": _total(lambda e, x, y: x == y),
    "some": _total(lambda e, x: x - held(e.type).lo + 1),
    "owner": _total(lambda e, x, y: z3.UDiv(x, y)),
    "rem": lambda e, width, x, y: (z3.SRem(x, y), y != 0),
    "wrap32": lambda e, width, x: (z3.SignExt(width - 32, z3.Extract(31, 0, x)), z3.BoolVal(True)),
    "single": lambda e, width, x: (z3.BitVecVal(1, width) << x - held(e.type).lo, x >= held(e.type).lo),
    "get": lambda e, width, x: (x - 1 + held(e.args[0].type).lo, x != 0),
    "has": lambda e, width, x, y: (z3.LShR(x, y - held(e.args[0].type).lo) & 1, y >= held(e.args[0].type).lo),
}
