"""What a profile settles of a function: its switches have one value each, so some conditions have one answer and some lines are never run.

A change of what is settled changes nothing under that profile: both functions become the same one when the values stand in the place of the
switches. That is compared as text of the tree; two functions that say one thing in two ways are not taken for the same.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from dataclasses import fields
from typing import Final, TypeVar, cast

from rocketproof_profiles import Profile

from .operators import Function

S = TypeVar("S", bound=ast.AST)
_HOLDERS: Final = ("profile", "_profile")
"""What a function calls the profile that it has, by itself or of something."""
_SWITCHES: Final = frozenset(each.name for each in fields(Profile) if "changes" in each.metadata)
_ENDS: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def same_under(profile: Profile, one: Function, other: Function) -> bool:
    """Whether two functions are one under this profile."""
    return ast.dump(settled(profile, one)) == ast.dump(settled(profile, other))


def settled(profile: Profile, function: Function) -> Function:
    """The function with the profile's values in the place of its switches, without what never runs then."""
    made = copy.deepcopy(function)
    made.decorator_list = []
    return cast("Function", _Settling(profile).visit(made))


class _Settling(ast.NodeTransformer):
    def __init__(self, profile: Profile) -> None:
        self._profile = profile

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Lists of statements end where something leaves them."""
        visited = super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(visited, name, None)
            if isinstance(statements, list):
                setattr(visited, name, _reached(statements, empty=name != "body"))
        return visited

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        holder = node.value.attr if isinstance(node.value, ast.Attribute) else node.value.id if isinstance(node.value, ast.Name) else ""
        if holder in _HOLDERS and node.attr in _SWITCHES:
            value = getattr(self._profile, node.attr)
            if value is None or isinstance(value, bool | int | str):
                return ast.Constant(value)
        return self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        node = _visited(self, node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant):
            return ast.Constant(not node.operand.value)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        node = _visited(self, node)
        match node:
            case ast.Compare(ast.Constant(one), [ast.Eq() | ast.Is() as op], [ast.Constant(other)]):
                return ast.Constant(one == other if isinstance(op, ast.Eq) else one is other)
            case ast.Compare(ast.Constant(one), [ast.NotEq() | ast.IsNot() as op], [ast.Constant(other)]):
                return ast.Constant(one != other if isinstance(op, ast.NotEq) else one is not other)
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """What comes first and decides, decides; what does not is left out where its value is not the whole's."""
        node = _visited(self, node)
        neutral = isinstance(node.op, ast.And)
        kept: list[ast.expr] = []
        for place, part in enumerate(node.values):
            if isinstance(part, ast.Constant) and bool(part.value) != neutral:
                kept.append(part)
                break
            if not isinstance(part, ast.Constant) or place == len(node.values) - 1:
                kept.append(part)
        return kept[0] if len(kept) == 1 else ast.BoolOp(node.op, kept)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node = _visited(self, node)
        node.test = _asked(node.test)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        node = _visited(self, node)
        node.test = _asked(node.test)
        if isinstance(node.test, ast.Constant):
            return (node.body if node.test.value else node.orelse) or ast.Pass()
        return node


def _visited(settling: _Settling, node: S) -> S:
    return cast("S", settling.generic_visit(node))


def _asked(test: ast.expr) -> ast.expr:
    """A condition, of which nobody but the question sees the value: what is true beside an `and` says nothing, nor what is false beside an
    `or`; and what is only looked at makes no difference to one that decides."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _asked(test.operand)
        return ast.Constant(not inner.value) if isinstance(inner, ast.Constant) else ast.UnaryOp(test.op, inner)
    if not isinstance(test, ast.BoolOp):
        return test
    neutral = isinstance(test.op, ast.And)
    parts = [_asked(part) for part in test.values]
    last = parts[-1]
    if isinstance(last, ast.Constant):
        if bool(last.value) != neutral and not any(isinstance(inner, ast.Call | ast.Await) for part in parts for inner in ast.walk(part)):
            return ast.Constant(value=not neutral)
        parts = [*(parts[:-1] if bool(last.value) == neutral else parts)]
    return ast.Constant(neutral) if not parts else parts[0] if len(parts) == 1 else ast.BoolOp(test.op, parts)


def _reached(statements: Sequence[ast.stmt], *, empty: bool) -> list[ast.stmt]:
    """Statements up to one that leaves them, without those that do nothing, but for one where there must be some."""
    kept: list[ast.stmt] = []
    for one in statements:
        if not isinstance(one, ast.Pass):
            kept.append(one)
        if isinstance(one, _ENDS):
            break
    return kept if kept or empty else [ast.Pass()]
