"""Mutation operators: how a function is changed in one place (conditions, boundaries, constants, statements, arguments, fields,
attributes).

An edit identifies a node by its index in the walk of the function's tree, and replaces it. `changed` works on a copy of the tree. Parts
that do not affect behaviour are not changed: docstrings, annotations, decorators, texts of exceptions, and log messages.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

Function = ast.FunctionDef | ast.AsyncFunctionDef
Alike = Mapping[str, tuple[str, ...]]
"""By attribute name: other attributes of its class with the same type."""

KINDS: Final[Mapping[str, str]] = {
    "negated": "a condition is negated",
    "fixed": "a condition is always true or never",
    "part": "one part of an `and` or `or` is missing, or they are exchanged",
    "boundary": "a comparison is moved by one, or turned round",
    "constant": "a number, a text or a truth value is another one",
    "arithmetic": "what is added is taken away, or the other way round",
    "dropped": "a statement is missing",
    "swapped": "two arguments are exchanged",
    "lost": "a keyword argument, or an entry of a table, is missing",
    "attribute": "another attribute of the same type is meant",
}
"""The kinds of changes, each in one sentence."""
_LOGGING: Final = frozenset({"log", "logger", "narrate", "narrator", "tell", "warnings"})
"""Objects that receive log messages. No behaviour depends on them."""
_COMPARED: Final[Mapping[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_EXCHANGED: Final[Mapping[type[ast.operator], type[ast.operator]]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
}


Make = Callable[[Any], ast.AST | None]
"""Return the replacement for a copy of a node, or None to remove it. The copy shares its children with the node, and they are not
changed."""


@dataclass(frozen=True)
class Edit:
    """A change of one node. `first` and `last` are the lines of its statement, or of the statement's head."""

    node: int
    kind: str
    before: str
    after: str
    first: int
    last: int
    make: Make


def edits(function: Function, alike: Alike) -> Iterator[Edit]:
    """Yield all changes of a function, in the order of its tree."""
    skipped = _skipped(function)
    heads = _heads(function)
    for number, node in enumerate(ast.walk(function)):
        if node in skipped or node is function:
            continue
        first, last = heads.get(node, (0, 0))
        for kind, make in _of(node, alike):
            replacement = make(copy.copy(node))
            before, after = _shown(node), "" if replacement is None else _shown(ast.fix_missing_locations(replacement))
            if before != after:
                yield Edit(number, kind, before, after, first, last, make)


def changed(function: Function, edit: Edit) -> Function:
    """Return a copy of the function with the edit applied, without its decorators."""
    copied = copy.deepcopy(function)
    target = next(node for number, node in enumerate(ast.walk(copied)) if number == edit.node)
    replaced = _Replacing(target, edit.make(target)).visit(copied)
    assert isinstance(replaced, ast.FunctionDef | ast.AsyncFunctionDef)
    replaced.decorator_list = []
    return ast.fix_missing_locations(replaced)


def _shown(node: ast.AST) -> str:
    """Return the source of the part of a node that edits change."""
    return ast.unparse(node.test if isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert) else node)


class _Replacing(ast.NodeTransformer):
    def __init__(self, target: ast.AST, new: ast.AST | None) -> None:
        self._target = target
        self._new = new

    def visit(self, node: ast.AST) -> ast.AST:
        if node is not self._target:
            visited: ast.AST = super().visit(node)
            return visited
        new = self._new or ast.Pass()
        return new if new is node else ast.copy_location(new, node)


def _of(node: ast.AST, alike: Alike) -> Iterator[tuple[str, Make]]:
    match node:
        case ast.If() | ast.While() | ast.IfExp() | ast.Assert():
            yield "negated", lambda n: _with(n, test=_not(n.test))
            yield "fixed", lambda n: _with(n, test=ast.Constant(True))
            yield "fixed", lambda n: _with(n, test=ast.Constant(False))
        case ast.comprehension(ifs=[_, *_]):
            yield "fixed", lambda n: _with(n, ifs=[])
        case ast.BoolOp():
            yield "part", lambda n: _with(n, op=ast.And() if isinstance(n.op, ast.Or) else ast.Or())
            yield from (("part", partial(_without, names=("values",), at=i)) for i in range(len(node.values)))
        case ast.Compare(ops=[operator, *_]) if type(operator) in _COMPARED:
            yield "boundary", lambda n: _with(n, ops=[_COMPARED[type(n.ops[0])](), *n.ops[1:]])
            if isinstance(operator, ast.Lt | ast.LtE | ast.Gt | ast.GtE):
                yield "boundary", lambda n: _with(n, comparators=[_plus(n.comparators[0], 1), *n.comparators[1:]])
        case ast.Constant(value=bool()):
            yield "constant", lambda n: ast.Constant(not n.value)
        case ast.Constant(value=int()):
            yield "constant", lambda n: ast.Constant(n.value + 1)
            if node.value:
                yield "constant", lambda n: ast.Constant(0)
        case ast.Constant(value=str() | bytes()) if node.value:
            yield "constant", lambda n: ast.Constant(n.value[:0])
        case ast.BinOp(op=op) if type(op) in _EXCHANGED:
            yield "arithmetic", lambda n: _with(n, op=_EXCHANGED[type(n.op)]())
        case ast.Expr(value=ast.Call() | ast.Await() | ast.YieldFrom()) | ast.Raise() | ast.Continue() | ast.Break():
            yield "dropped", lambda n: None
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]) | ast.AugAssign() | ast.Delete():
            yield "dropped", lambda n: None
        case ast.Return(value=None):
            yield "dropped", lambda n: None
        case ast.Return():
            yield "dropped", lambda n: _with(n, value=ast.Constant(None))
        case ast.Call():
            for i in range(len(node.args) - 1) if not _symmetric(node) else ():
                yield "swapped", partial(_exchanged, at=i)
            for i in range(len(node.keywords)):
                yield "lost", partial(_without, names=("keywords",), at=i)
        case ast.Dict():
            for i in range(len(node.keys)):
                yield "lost", partial(_without, names=("keys", "values"), at=i)
        case ast.Set() | ast.List() if len(node.elts) > 1:
            for i in range(len(node.elts)):
                yield "lost", partial(_without, names=("elts",), at=i)
        case ast.Attribute() if node.attr in alike:
            for name in alike[node.attr]:
                yield "attribute", partial(_with, attr=name)
        case _:
            pass


def _with(node: ast.AST, **values: object) -> ast.AST:
    for name, value in values.items():
        setattr(node, name, value)
    return node


def _without(node: ast.AST, names: Sequence[str], at: int) -> ast.AST:
    """Remove the value at an index of some lists. A Boolean operation with one remaining operand becomes that operand."""
    for name in names:
        remaining = list(getattr(node, name))
        del remaining[at]
        setattr(node, name, remaining)
    return node.values[0] if isinstance(node, ast.BoolOp) and len(node.values) == 1 else node


def _symmetric(node: ast.Call) -> bool:
    """Whether the order of the arguments has no effect."""
    return isinstance(node.func, ast.Name) and node.func.id in ("max", "min")


def _not(test: ast.expr) -> ast.expr:
    return test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else ast.UnaryOp(ast.Not(), test)


def _plus(value: ast.expr, more: int) -> ast.expr:
    if isinstance(value, ast.Constant) and isinstance(value.value, int):
        return ast.Constant(value.value + more)
    return ast.BinOp(value, ast.Add(), ast.Constant(more))


def _exchanged(node: ast.Call, at: int) -> ast.AST:
    first, second = node.args[at : at + 2]
    return _with(node, args=[*node.args[:at], second, first, *node.args[at + 2 :]])


def _skipped(function: Function) -> set[ast.AST]:
    """Return the nodes that are not changed."""
    roots: list[ast.AST] = [*function.decorator_list, function.args]
    if function.returns is not None:
        roots.append(function.returns)
    for node in ast.walk(function):
        match node:
            case ast.AnnAssign():
                roots.append(node.annotation)
            case ast.arg(annotation=ast.expr() as annotation):
                roots.append(annotation)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                roots += node.decorator_list + ([node.returns] if node.returns is not None else [])
            case ast.Raise(exc=ast.Call() as raised):
                roots += [part for part in ast.walk(raised) if isinstance(part, ast.Constant) and isinstance(part.value, str)]
            case ast.Expr(value=ast.Constant()):
                roots.append(node)
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name)))) if name in _LOGGING:
                roots.append(node)
            case ast.JoinedStr():
                roots += [part for part in node.values if isinstance(part, ast.Constant)]
                roots += [part.format_spec for part in node.values if isinstance(part, ast.FormattedValue) and part.format_spec]
            case ast.Call(func=ast.Name(id="cast" | "TypeVar")):
                roots.append(node)
            case _:
                pass
    return {part for node in roots for part in ast.walk(node)}


def _heads(function: Function) -> dict[ast.AST, tuple[int, int]]:
    """Return the lines of each node's statement. For a statement with a body: the lines of its head."""
    lines: dict[ast.AST, tuple[int, int]] = {}

    def note(statement: ast.stmt) -> None:
        inner = [child for name in ("body", "orelse", "finalbody", "handlers", "cases") for child in getattr(statement, name, ())]
        body = min((child.lineno for child in inner if hasattr(child, "lineno")), default=None)
        last = statement.end_lineno or statement.lineno if body is None else max(statement.lineno, body - 1)
        for node in ast.walk(statement):
            lines[node] = (statement.lineno, last)
        for child in inner:
            for nested in [child] if isinstance(child, ast.stmt) else getattr(child, "body", ()):
                note(nested)

    for statement in function.body:
        note(statement)
    return lines
