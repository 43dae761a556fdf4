"""Expressions as z3 terms, each with the condition under which it has a value, so that nothing is silently excluded.

A number is a signed bit-vector just wide enough for its term's interval. Every operation has a width that holds its operands and its
result, so nothing wraps unless the term has `wrap32`. Values known during translation stay Python ints or bools, so constants, parameters
of an action instance and everything derived from them never reach z3.

The interpreter raises if a term has no value (remainder by zero, the element of None, an index out of range). Here a term becomes a
`TermMeaning`: its value, and `defined`. `defined` follows the interpreter's laziness: an arm that is not taken, or the right side of a
decided `and`, may have no value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import ModelError
from ..language import Expr, Type, Variable, children, fold32, held, in_reach, java_rem, show, walk
from .smt import z3
from .values import Value, bits, choice, conjunction, constant, disjunction, fit, formula, implication, negation, same, within


class TermMeaning(NamedTuple):
    """The value of a term and the condition under which it has one; where `defined` is false, `value` means nothing."""

    value: Value
    defined: Value = True


class Unknowns:
    """z3 constants created at first use, each limited to its type: the leaves of a lemma."""

    def __init__(self) -> None:
        self.constants: dict[tuple[str, str], tuple[Type, Value]] = {}

    def value(self, kind: str, name: str, type_: Type) -> Value:
        known = self.constants.get((kind, name))
        if known is None:
            known = self.constants[kind, name] = (type_, constant(f"{kind} {name}", type_))
        if known[0] != type_:
            raise ModelError(f"{kind} term {name} has the types {known[0]} and {type_}", "give each unknown of a lemma one type")
        return known[1]

    def limits(self) -> Value:
        """Return the condition that all of them are values of their types."""
        return conjunction(*(within(value, type_) for type_, value in self.constants.values()))


class Elements(Sequence[Value]):
    """The slots of a state whose elements are unknowns, created only where a term reads them."""

    def __init__(self, unknowns: Unknowns, kind: str, variables: Sequence[Variable]) -> None:
        self.unknowns, self.kind = unknowns, kind
        self.slots = [(v.name_at(at), v.type) for v in variables for at in v.elements()]

    def __len__(self) -> int:
        return len(self.slots)

    def __getitem__(self, slot: Any) -> Any:
        name, type_ = self.slots[slot]
        return self.unknowns.value(self.kind, name, type_)


class Translation:
    """Terms over one state (and its successor) as z3 terms, each translated once.

    `state` and `after` hold one value per slot; `args` and `constants` map names to codes. Other leaves are taken from `unknowns`. `facts`
    collects consequences of the translated terms, to be added to a solver as help: a remainder is smaller than its divisor, which z3
    otherwise derives from the circuit of a divider.

    With `rough=True` a remainder is any number that obeys these facts. A formula that is then true for all values is true. z3 proves it in
    milliseconds where a 32-bit divider takes minutes. A counterexample may be spurious.
    """

    def __init__(
        self,
        state: Sequence[Value] = (),
        after: Sequence[Value] = (),
        *,
        constants: Mapping[str, int] | None = None,
        unknowns: Unknowns | None = None,
        rough: bool = False,
    ) -> None:
        self.state, self.after, self.rough = state, after, rough
        self.args: Mapping[str, int] = {}
        self.constants = constants or {}
        self.unknowns = unknowns
        self.facts: list[Value] = []
        self._memo: dict[Expr, TermMeaning] = {}
        self._parametric: dict[Expr, bool] = {}
        self._parent: Translation | None = None

    def under(self, args: Mapping[str, int]) -> Translation:
        """Return the translation with an action's arguments; terms without parameters are shared."""
        translation = Translation(self.state, self.after, constants=self.constants, unknowns=self.unknowns, rough=self.rough)
        translation.args, translation.facts, translation._parametric, translation._parent = args, self.facts, self._parametric, self
        return translation

    def __call__(self, e: Expr) -> TermMeaning:
        known = self._memo.get(e)
        if known is not None:
            return known
        if self._parent is not None and not self._has_parameter(e):
            self._memo[e] = self._parent(e)
        for part in in_reach(e, self._memo):
            self._memo[part] = self._leaf(part) if part.op in _LEAVES else self._inner(part)
        return self._memo[e]

    def truth(self, e: Expr) -> Value:
        """Return the condition that a formula has a value and is true."""
        meaning = self(e)
        return conjunction(meaning.defined, meaning.value)

    def _has_parameter(self, e: Expr) -> bool:
        known = self._parametric.get(e)
        if known is not None:
            return known
        for part in walk(e, known=self._parametric):
            self._parametric[part] = part.op == "par" or any(self._parametric[c] for c in children(part))
        return self._parametric[e]

    def _leaf(self, e: Expr) -> TermMeaning:
        known: int | None = None
        if e.op == "const":
            known = e.args[0]
        elif e.op == "par":
            known = self.args.get(e.args[0])
        elif e.op == "given":
            known = self.constants.get(e.args[0])
        if known is not None:
            return TermMeaning(bool(known) if e.type.sort == "bool" else known)
        if self.unknowns is None:
            raise ModelError(f"{e.op} term '{show(e)}' has no value here", "only lemmas have unknowns")
        return TermMeaning(self.unknowns.value(e.op, e.args[0], e.type))

    def _inner(self, e: Expr) -> TermMeaning:
        if e.op in ("ref", "after"):
            return self._element(e)
        if e.op in ("and", "or"):
            x, y = self(e.args[0]), self(e.args[1])
            asked = x.value if e.op == "and" else negation(x.value)
            join = conjunction if e.op == "and" else disjunction
            return TermMeaning(join(x.value, y.value), conjunction(x.defined, implication(asked, y.defined)))
        if e.op == "ite":
            test, x, y = (self(a) for a in e.args)
            width = None if e.type.sort == "bool" else bits(e.type)
            return TermMeaning(
                choice(test.value, x.value, y.value, width),
                conjunction(test.defined, choice(test.value, x.defined, y.defined, None)),
            )
        parts = [self(a) for a in e.args]
        defined = conjunction(*(p.defined for p in parts))
        if defined is False:
            return TermMeaning(False if e.type.sort == "bool" else e.type.lo, False)
        value, has_value = _OPERATIONS[e.op](self, e, *(p.value for p in parts))
        return TermMeaning(value, conjunction(defined, has_value))

    def _element(self, e: Expr) -> TermMeaning:
        variable: Variable = e.args[0]
        slots = self.state if e.op == "ref" else self.after
        at = [self(i) for i in e.args[1:]]
        inside = [within(i.value, axis) for i, axis in zip(at, variable.over, strict=True)]
        defined = conjunction(*(i.defined for i in at), *inside)
        if defined is False:
            return TermMeaning(False if e.type.sort == "bool" else e.type.lo, False)
        width = None if e.type.sort == "bool" else bits(e.type)

        def select(prefix: tuple[int, ...]) -> Value:
            if len(prefix) == len(at):
                return slots[variable.slot(prefix)]
            index, axis = at[len(prefix)].value, variable.over[len(prefix)]
            if isinstance(index, int):
                return select((*prefix, index))
            result = select((*prefix, axis.hi))
            for k in reversed(range(axis.lo, axis.hi)):
                result = choice(same(index, k), select((*prefix, k)), result, width)
            return result

        return TermMeaning(select(()), defined)


_LIMIT = 2**63
_LEAVES = ("const", "par", "given", "free")
_Operation = Callable[..., tuple[Value, Value]]


def _known(*values: Value) -> bool:
    return all(isinstance(v, int) for v in values)


def _at_common_width(plain: Callable[[int, int], int], term: Callable[[Value, Value], Value], *, truth: bool = False) -> _Operation:
    """Return a total operation whose width holds both operands and the result."""

    def operate(_: Translation, e: Expr, x: Value, y: Value) -> tuple[Value, Value]:
        if _known(x, y):
            return plain(x, y), True
        width = max(bits(e.args[0].type), bits(e.args[1].type), 0 if truth else bits(e.type))
        value = term(fit(x, width), fit(y, width))
        return (value if truth else fit(value, bits(e.type))), True

    return operate


def _rem(translation: Translation, e: Expr, x: Value, y: Value) -> tuple[Value, Value]:
    if y == 0 if isinstance(y, int) else False:
        return e.type.lo, False
    if _known(x, y):
        return java_rem(x, y), True
    dividend, divisor = e.args[0].type, e.args[1].type
    # One bit more than both operands need, so that the facts can negate the divisor.
    width = max(bits(dividend), bits(divisor)) + 1
    wide_x, wide_y = fit(x, width), fit(y, width)
    nonzero = y != 0 if isinstance(y, int) else wide_y != z3.BitVecVal(0, width)
    if translation.rough:
        value = z3.BitVec(f"remainder {len(translation.facts)}", width)
    elif dividend.lo >= 0 and divisor.lo >= 0:
        value = z3.URem(wide_x, wide_y)
    else:
        value = z3.SRem(wide_x, wide_y)
    zero = z3.BitVecVal(0, width)
    size = z3.If(wide_y < zero, -wide_y, wide_y)
    facts = [value < size, -size < value]
    facts.append(z3.If(wide_x < zero, z3.And(wide_x <= value, value <= zero), z3.And(zero <= value, value <= wide_x)))
    facts.append(z3.Implies(z3.And(-size < wide_x, wide_x < size), value == wide_x))
    translation.facts.append(z3.Implies(formula(nonzero), z3.And(*facts)))
    return fit(value, bits(e.type)), nonzero


def _wrap32(_: Translation, e: Expr, x: Value) -> tuple[Value, Value]:
    if isinstance(x, int):
        return fold32(x), True
    return (fit(x, 32) if bits(e.args[0].type) > 32 else x), True


def _eq(_: Translation, e: Expr, x: Value, y: Value) -> tuple[Value, Value]:
    return same(x, y), True


def _not(_: Translation, e: Expr, x: Value) -> tuple[Value, Value]:
    return negation(x), True


def _has(_: Translation, e: Expr, members: Value, element: Value) -> tuple[Value, Value]:
    of = held(e.args[0].type)
    if isinstance(element, int):
        return (_bit(members, element - of.lo) if of.lo <= element <= of.hi else False), element >= of.lo
    hits = (conjunction(same(element, code), _bit(members, code - of.lo)) for code in of.codes())
    return disjunction(*hits), within(element, Type(of.lo, _LIMIT))


def _bit(members: Value, k: int) -> Value:
    return bool(members >> k & 1) if isinstance(members, int) else z3.Extract(k, k, members) == z3.BitVecVal(1, 1)


def _single(_: Translation, e: Expr, element: Value) -> tuple[Value, Value]:
    lo = held(e.type).lo
    if isinstance(element, int):
        return 1 << element - lo, True
    width = max(bits(e.type), bits(e.args[0].type)) + 1
    return fit(z3.BitVecVal(1, width) << fit(element, width) - lo, bits(e.type)), True


def _some(_: Translation, e: Expr, element: Value) -> tuple[Value, Value]:
    lo = held(e.type).lo
    if isinstance(element, int):
        return element - lo + 1, True
    width = max(bits(e.type), bits(e.args[0].type)) + 1
    return fit(fit(element, width) + (1 - lo), bits(e.type)), True


def _get(_: Translation, e: Expr, maybe: Value) -> tuple[Value, Value]:
    lo = held(e.args[0].type).lo
    if isinstance(maybe, int):
        return max(maybe - 1, 0) + lo, maybe != 0
    width = max(bits(e.type), bits(e.args[0].type)) + 1
    return fit(fit(maybe, width) + (lo - 1), bits(e.type)), negation(same(maybe, 0))


_OPERATIONS: dict[str, _Operation] = {
    "add": _at_common_width(lambda x, y: x + y, lambda x, y: x + y),
    "sub": _at_common_width(lambda x, y: x - y, lambda x, y: x - y),
    "mul": _at_common_width(lambda x, y: x * y, lambda x, y: x * y),
    "rem": _rem,
    "owner": _at_common_width(lambda x, y: x // y, z3.UDiv),
    "wrap32": _wrap32,
    "bitand": _at_common_width(lambda x, y: x & y, lambda x, y: x & y),
    "bitor": _at_common_width(lambda x, y: x | y, lambda x, y: x | y),
    "bitandnot": _at_common_width(lambda x, y: x & ~y, lambda x, y: x & ~y),
    "lt": _at_common_width(lambda x, y: x < y, lambda x, y: x < y, truth=True),
    "le": _at_common_width(lambda x, y: x <= y, lambda x, y: x <= y, truth=True),
    "eq": _eq,
    "not": _not,
    "has": _has,
    "single": _single,
    "some": _some,
    "get": _get,
}
