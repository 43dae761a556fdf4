"""Symmetric indices: elements that a model does not distinguish, and the terms that would distinguish them.

Exchanging two elements of a symmetric index throughout a state and an action's arguments maps steps to steps. Ip and Dill's scalarsets
guarantee this by allowing few operations: equality, indexing, membership. Here quantifiers are unfolded while terms are built, so `forall`
and a list of all elements give the same term. The check therefore judges terms. Operations that depend on the element itself (order,
arithmetic) are refused by type. The rest must be the same term, up to the order of commutative operands, after each exchange of two
neighbours; these exchanges generate all permutations.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any

from .actions import Action, Assignment
from .expr import Expr, children, const, in_reach, show, walk
from .numbers import BINARY
from .types import IndexType, MaybeType, SetType, Type, held, named, permuted_by
from .variables import Variable

_SETS = ("bitand", "bitor", "bitandnot")
# The same after any renaming of elements:
_EQUIVARIANT = ("ref", "after", "and", "or", "not", "ite", "eq", "has", "single", "get", "some", "owner")
_ONCE = ("and", "or", "bitand", "bitor", "minimum", "maximum")  # idempotent and commutative
_COMMUTATIVE = ("add", "mul", *_ONCE)
REMEDY = "treat all elements alike, or declare the index without symmetric=True"

Rename = Callable[[Type, int], int]


def neighbours(index: IndexType) -> Iterator[tuple[int, int]]:
    """Yield pairs of adjacent elements that may be exchanged. The exchanges generate all permutations that keep the owners."""
    return ((k, k + 1) for k in index.codes() if (k + 1) % index.block)


def exchange(index: IndexType, i: int, j: int) -> Rename:
    """Return the renaming of codes that exchanges elements i and j of the index and all elements that they own."""
    places = {i: j, j: i}

    def rename(type_: Type, code: int) -> int:
        if type_ == index:
            return places.get(code, code)
        if isinstance(type_, IndexType) and type_.owner is not None:
            return rename(type_.owner, code // type_.block) * type_.block + code % type_.block
        if isinstance(type_, MaybeType) and code:
            return rename(type_.of, code - 1 + type_.of.lo) + 1 - type_.of.lo
        if isinstance(type_, SetType):
            return sum(1 << rename(type_.of, k) - type_.of.lo for k in type_.members(code))
        return code

    return rename


def image(variable: Variable, at: Sequence[int], rename: Rename) -> tuple[int, ...]:
    """Return the element of the variable to which the renaming moves an element."""
    return tuple(rename(axis, k) for axis, k in zip(variable.over, at, strict=True))


def symmetric_indices(variables: Iterable[Variable]) -> tuple[IndexType, ...]:
    """Return the symmetric indices with at least two elements that occur in the types or indices of variables, in order of appearance."""
    indices = {index: None for v in variables for type_ in (*v.over, v.type) for index in permuted_by(type_) if index.block > 1}
    return tuple(indices)


def asymmetry(*terms: Expr | None) -> str | None:
    """Return how one of the terms distinguishes elements of a symmetric index; None if none does."""
    for term in terms:
        if term is None:
            continue
        if reason := _mistyped(term):
            return reason
        forms = _Forms()
        for index, rename in _exchanges([term]):
            if forms.under(rename)(term) != forms.under(_same)(term):
                return f"'{show(term)}' is about single elements of {index.name}"
    return None


def asymmetric_action(action: Action) -> tuple[str, str] | None:
    """Return how an action distinguishes elements of a symmetric index, and the source line; None if it does not.

    All updates are compared together: an effect for all elements unfolds into one update per element.
    """
    for guard in action.guards:
        if reason := asymmetry(guard.condition):
            return f"guard {guard.name!r}: {reason}", guard.place
    for update in action.updates:
        target, value = update.target, update.value
        reason = _mistyped(target) or _mistyped(value) or _mistyped(update.when)
        if reason is None and value.type != target.type and (named(target.type) or named(value.type)):
            reason = f"'{_assignment(update)}' takes an element for a number, or a number for an element"
        if reason is not None:
            return reason, update.place
    forms = _Forms()
    for index, rename in _exchanges(t for u in action.updates for t in (u.target, u.value, u.when)):
        there, here = forms.under(_same), forms.under(rename)
        known = {(there(u.target), there(u.value), there(u.when)) for u in action.updates}
        for update in action.updates:
            if (here(update.target), here(update.value), here(update.when)) not in known:
                return f"'{_assignment(update)}' is about single elements of {index.name}", update.place
    return None


def asymmetric_start(variable: Variable) -> str | None:
    """Return how a variable's initial values distinguish elements of a symmetric index; None if they do not."""
    start = dict(zip(variable.elements(), variable.init, strict=True))
    forms = _Forms()
    for index, rename in _exchanges((term for way in variable.init for term in way), variable.over):
        here, there = forms.under(rename), forms.under(_same)
        for at, way in start.items():
            if set(map(here, way)) != set(map(there, start[image(variable, at, rename)])):
                return f"'{show(way[0])}' as the start of {variable.label_at(at)} is about single elements of {index.name}"
    return None


def _assignment(update: Assignment) -> str:
    return f"{show(update.target)} := {show(update.value)}"


def _same(type_: Type, code: int) -> int:
    return code


def _exchanges(terms: Iterable[Expr], axes: Iterable[Type] = ()) -> Iterator[tuple[IndexType, Rename]]:
    """Yield the exchanges of neighbours in the symmetric indices of these axes, or whose elements the terms name."""
    types = [*axes]
    for e in walk(*(term for term in terms if term.names or not term.typed)):
        types += _named_in(e)
    for index in dict.fromkeys(index for type_ in types for index in permuted_by(type_)):
        for i, j in neighbours(index):
            yield index, exchange(index, i, j)


def _named_in(e: Expr) -> list[Type]:
    """The types of which a term, leaving out its subterms, names a value."""
    return [e.type] if e.op == "const" else [axis for at, axis in _subscripts(e) if at.op == "const"]


def _subscripts(e: Expr) -> Iterable[tuple[Expr, Type]]:
    """Return the arguments that denote a value of some type, such as an element, even if a number is written, with that type."""
    if e.op in ("ref", "after"):
        return zip(e.args[1:], e.args[0].over, strict=True)
    if e.op in ("some", "single"):
        return [(e.args[0], held(e.type))]
    return [(e.args[1], e.args[0].type.of)] if e.op == "has" else []


def _mistyped(term: Expr) -> str | None:
    """Return an operation that a symmetric index does not have, in words; None if there is none."""
    for e in walk(term, known=_TYPED):
        if reason := _mistyped_here(e):
            return reason
        e.typed = True
        e.names = any(c.names for c in e.children) or any(named(type_) for type_ in _named_in(e))
    return None


class _Typed(Container[Expr]):
    """The terms whose operations are all allowed."""

    def __contains__(self, term: object) -> bool:
        return isinstance(term, Expr) and term.typed


_TYPED = _Typed()


def _mistyped_here(e: Expr) -> str | None:
    """Return the same for a term whose subterms are allowed."""
    parts = children(e)
    for x in parts if e.op not in _EQUIVARIANT else ():
        if (index := named(x.type)) and not (e.op in _SETS and isinstance(x.type, SetType)):
            return f"'{show(e)}' takes an element of {index.name} for a number"
    if e.op == "given" and (index := named(e.type)):
        return f"the constant {show(e)} is about single elements of {index.name}"
    mixed = parts[0].type != parts[1].type if e.op == "eq" else e.op == "ite" and any(x.type != e.type for x in parts[1:])
    if mixed and any(named(x.type) for x in parts):
        return f"'{show(e)}' takes an element for a number, or a number for an element"
    if e.op == "owner" and named(e.type) and getattr(parts[0].type, "owner", None) != e.type:
        return f"'{show(e)}' takes a number for an element"
    for at, axis in _subscripts(e):
        if at.op == "const" or at.type == axis:
            continue
        if index := named(axis):
            return f"'{show(e)}' takes a number for an element of {index.name}"
        if index := named(at.type):
            return f"'{show(e)}' takes an element of {index.name} for a number"
    return None


class _Forms:
    """Numbers for the meaning of terms, up to the order of commutative operands: equal numbers mean equal terms."""

    def __init__(self) -> None:
        self.numbers: dict[tuple[Any, ...], int] = {}
        self.functions: dict[Rename, Callable[[Expr], int]] = {}

    def under(self, rename: Rename) -> Callable[[Expr], int]:
        """Return a function that numbers terms after a renaming of elements."""
        known: dict[Expr, int] = {}

        def of(e: Expr) -> int:
            for part in in_reach(e, known):
                form = parts(part)
                known[part] = form if isinstance(form, int) else self._number(*form)
            return known[e]

        def place(at: Expr, axis: Type) -> int:
            return self._number("const", rename(axis, at.args[0]), axis) if at.op == "const" else of(at)

        def parts(e: Expr) -> tuple[Any, ...] | int:
            if e.op == "const":
                return ("const", rename(e.type, e.args[0]), None if type(e.type) is Type else e.type)
            if e.op in ("par", "given", "free"):
                return (e.op, e.args[0])
            if e.op in ("ref", "after", "has"):
                first = of(e.args[0]) if e.op == "has" else e.args[0]
                return (e.op, first, *(place(at, axis) for at, axis in _subscripts(e)))
            if e.op == "ite" and (cases := _cases(e)):
                compared, ways, rest = cases
                return ("cases", of(compared), *sorted((of(constant), of(value)) for constant, value in ways), of(rest))
            op, operands = _operation(e)
            if op == "add":
                terms = list(_flat(op, operands))
                fixed = sum(x.args[0] for x in terms if x.op == "const")
                others = sorted(of(x) for x in terms if x.op != "const")
                if len(others) == 1 and not fixed:
                    return others[0]
                return (op, fixed, *others) if others else ("const", fixed, None)
            if op in _COMMUTATIVE:
                numbers = map(of, _joined(op, _flat(op, operands)))
                return (op, *sorted(set(numbers) if op in _ONCE else numbers))
            numbers = map(of, operands)
            return (op, *(sorted(numbers) if op == "eq" else numbers))

        return self.functions.setdefault(rename, of)

    def _number(self, *form: Any) -> int:
        return self.numbers.setdefault(form, len(self.numbers))


def _cases(e: Expr) -> tuple[Expr, list[tuple[Expr, Expr]], Expr] | None:
    """Return a chain of choices by the value of one term: the term, the constants with their values, and the rest; None for other choices.

    The constants differ, so at most one case applies, whatever the order of the cases.
    """
    compared: Expr | None = None
    ways: dict[Expr, Expr] = {}
    while e.op == "ite" and e.args[0].op == "eq":
        term, constant = e.args[0].args if e.args[0].args[1].op == "const" else reversed(e.args[0].args)
        alike = compared is None or (term is compared and constant.type == next(iter(ways)).type)
        if constant.op != "const" or not alike or constant in ways:
            break
        compared, ways[constant], e = term, e.args[1], e.args[2]
    return None if compared is None else (compared, list(ways.items()), e)


def _operation(e: Expr) -> tuple[str, tuple[Expr, ...]]:
    """Return the operation and its operands; minimum and maximum are distinguished from other choices."""
    if e.op == "ite" and e.args[0].op == "lt":
        compared = e.args[0].args
        for name, arms in (("minimum", e.args[1:]), ("maximum", e.args[:0:-1])):
            if all(x is y for x, y in zip(compared, arms, strict=True)):
                return name, compared
    return e.op, children(e)


def _joined(op: str, operands: Iterable[Expr]) -> Iterator[Expr]:
    """Yield the operands, with the constants of a union or an intersection combined.

    The order of operands decides which constants are already folded.
    """
    fixed: Expr | None = None
    for e in operands:
        if op not in _SETS or e.op != "const":
            yield e
        else:
            fixed = e if fixed is None else const(BINARY[op](fixed.args[0], e.args[0]), e.type)
    if fixed is not None:
        yield fixed


def _flat(op: str, operands: Iterable[Expr]) -> Iterator[Expr]:
    """Yield the operands, with those of the same operation replaced by their operands."""
    stack = [*operands]
    while stack:
        inner, parts = _operation(e := stack.pop())
        if inner == op:
            stack.extend(parts)
        else:
            yield e
