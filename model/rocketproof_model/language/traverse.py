"""Terms as data: rebuild a term with some of its subterms replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .expr import Expr, arithmetic, bitwise, children, choose, compare, const, equal, free, logical, of_sets, show, walk
from .numbers import BINARY
from .operations import wrap32
from .types import Bool, SetType, Type


def rewrite(term: Expr, change: Callable[[Expr], Expr | None], memo: dict[Expr, Expr] | None = None) -> Expr:
    """Rebuild a term bottom-up, with types inferred again; `change` may replace a (rebuilt) node or return None.

    `memo` keeps what subterms have become, for further terms that the same `change` rewrites.
    """
    memo = {} if memo is None else memo
    for e in walk(term, known=memo):
        args = tuple(memo[a] if isinstance(a, Expr) else a for a in e.args)
        same = all(a is b for a, b in zip(args, e.args, strict=True))
        rebuilt = e if same else rebuild(e.op, args, e.type)
        replaced = change(rebuilt)
        memo[e] = rebuilt if replaced is None else replaced
    return memo[term]


def joined(op: str, term: Expr) -> list[Expr]:
    """Return the operands of a chain of one operation, in order; a term of another operation is the only element."""
    parts, stack = list[Expr](), [term]
    while stack:
        e = stack.pop()
        if e.op == op:
            stack += reversed(children(e))
        else:
            parts.append(e)
    return parts


def premises(term: Expr) -> list[Expr]:
    """Return the premises of each conjunct: for `a` implies (`b` implies ...) their conjunction. Empty if a conjunct is no implication."""
    result: list[Expr] = []
    for part in joined("and", term):
        premise = const(1, Bool)
        if part.op != "or" or part.args[0].op != "not":
            return []
        while part.op == "or" and part.args[0].op == "not":
            premise, part = premise & part.args[0].args[0], part.args[1]
        result.append(premise)
    return result


def rebuild(op: str, args: tuple[Any, ...], type_: Type) -> Expr:
    """Return a term of the same operation with other arguments and its type inferred again."""
    if op in ("add", "sub", "mul", "rem"):
        return arithmetic(op, *args)
    if op in ("bitand", "bitor", "bitandnot"):
        return of_sets(op, *args) if isinstance(type_, SetType) else bitwise(op, *args)
    if op in ("and", "or"):
        return logical(op, "", *args)
    if op in ("lt", "le"):
        return compare(op, *args)
    if op == "eq":
        return equal(*args)
    if op in ("not", "ite"):
        term: Expr = ~args[0] if op == "not" else choose(*args)
        return term
    if op == "wrap32":
        return wrap32(*args)
    if op == "owner" and args[0].op == "const":
        return const(BINARY[op](args[0].args[0], args[1].args[0]), type_)
    return Expr(op, args, type_)


def generalise(term: Expr, wide: Callable[[Expr], Type | None]) -> Expr:
    """Replace leaves (ref, par, given) by unknowns of the wider types that `wide` returns; None keeps a leaf.

    A lemma can thus use the specification's own guards and effects for all 32-bit inputs, not only those of a scope.
    """

    def change(e: Expr) -> Expr | None:
        type_ = wide(e) if e.op in ("ref", "after", "par", "given") else None
        return None if type_ is None else free(show(e), type_)

    return rewrite(term, change)
