"""Constant folding of a function under a profile: replace the profile's switches by their values, and remove conditions and statements that
this decides.

A change that folding removes has no effect under the profile: both functions are equal after folding. Parameters that every caller sets to
the same switch are folded too, and attributes that keep a switch. The comparison is textual, so functions that express the same otherwise
count as different. Settings for which programs use only a few words also decide conditions: such a setting never equals another word.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Final, TypeVar, cast

from rocketproof_impl.broker.settingstext import FIELDS
from rocketproof_profiles import PROFILES, Profile
from rocketproof_profiles.switches import SWITCHES
from rocketproof_properties.programs.settings import LEGAL
from rocketproof_protocol.numbers import is_digits

from .called import defaults, functions, names_called, trees
from .operators import Function

S = TypeVar("S", bound=ast.AST)
_HOLDERS: Final = ("profile", "_profile")
"""Names under which a function accesses its profile, as a variable or an attribute."""
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    FIELDS[name]: setting.values
    for name, setting in LEGAL.items()
    if name in FIELDS and not any(is_digits(word) for word in setting.values)
}
"""Settings whose values are words, by the implementation's name, with all values that programs use."""
_PURE: Final = ("startswith", "endswith", "get", "lower", "isdigit")
"""Methods of texts and tables without side effects."""
_ENDS: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def same_under(profile: Profile, first: Function, second: Function, *, words: bool = False) -> bool:
    """Whether two functions are equal under this profile; with `words` also under the settings that programs use."""
    return ast.dump(folded(profile, first, words=words)) == ast.dump(folded(profile, second, words=words))


def uncalled(profile: Profile) -> frozenset[str]:
    """Return the names of functions that are called only by code that never runs under this profile."""
    return _called_under("") - _called_under(profile.name)


@cache
def _called_under(profile: str) -> frozenset[str]:
    return names_called(partial(folded, PROFILES[profile]) if profile else lambda function: function)


def folded(profile: Profile, function: Function, *, words: bool = False) -> Function:
    """Return the function with the profile's values in place of its switches, without the code that never runs then."""
    copied = copy.deepcopy(function)
    copied.decorator_list = []
    required = [argument.arg for argument, default in zip(copied.args.kwonlyargs, copied.args.kw_defaults, strict=True) if default is None]
    switch_of = {name: switch for name in required if (switch := _carried().get(name))}
    return cast("Function", _Folding(profile, switch_of, words).visit(copied))


@cache
def _carried() -> Mapping[str, str]:
    """Map the name of a parameter to the switch that every caller passes, ignoring callers that pass on their own parameter of that
    name."""
    parameters = {(function.name, argument.arg) for function in functions() for argument in function.args.kwonlyargs}
    values_passed: dict[str, set[str]] = {}
    for function in functions():
        own = {argument.arg for argument in function.args.kwonlyargs}
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        for called, keyword in ((_called(call.func), keyword) for call in calls for keyword in call.keywords):
            passed_on = isinstance(keyword.value, ast.Name) and keyword.value.id == keyword.arg and keyword.arg in own
            if keyword.arg and not passed_on and {(called, keyword.arg), ("__init__", keyword.arg)} & parameters:
                value = _called(keyword.value)
                values_passed.setdefault(keyword.arg, set()).add(_kept().get(value, value))
    return _switches(values_passed)


@cache
def _kept() -> Mapping[str, str]:
    """Map the name of an attribute to the switch that every assignment to it has as its value. A name that a class also declares or defines
    is not among them."""
    values: dict[str, set[str]] = {}
    for node in (node for tree in trees() for node in ast.walk(tree)):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    values.setdefault(_called(target), set()).add(_called(value) if isinstance(target, ast.Attribute) else "")
            case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                values.setdefault(_called(target), set()).add("")
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                values.setdefault(name, set()).add("")
    return _switches(values)


def _switches(values: Mapping[str, set[str]]) -> dict[str, str]:
    """Return the names with a single value that is a switch."""
    return {name: value for name, found in values.items() if len(found) == 1 and (value := next(iter(found))) in SWITCHES}


def _called(node: ast.expr) -> str:
    """Return the last part of a name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class _Folding(ast.NodeTransformer):
    def __init__(self, profile: Profile, switch_of: Mapping[str, str], words: bool) -> None:
        self._profile = profile
        self._switch_of = switch_of
        self._words: Mapping[str, tuple[str, ...]] = _WORDS if words else {}

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Cut lists of statements after a statement that leaves them."""
        visited = super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(visited, name, None)
            if isinstance(statements, list):
                setattr(visited, name, _reached(statements, empty=name != "body"))
        return visited

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        kept = _kept().get(node.attr) if isinstance(node.ctx, ast.Load) else None
        switch = node.attr if _called(node.value) in _HOLDERS and node.attr in SWITCHES else kept
        return (self._value(switch) if switch else None) or self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return (self._value(self._switch_of[node.id]) if node.id in self._switch_of else None) or node

    def _value(self, switch: str) -> ast.Constant | None:
        value = getattr(self._profile, switch)
        return ast.Constant(value) if value is None or isinstance(value, bool | int | str) else None

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Remove keywords that equal the parameter's default."""
        node = _visited(self, node)
        name = _called(node.func)
        node.keywords = [keyword for keyword in node.keywords if defaults().get((name, keyword.arg or "")) != ast.dump(keyword.value)]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        node = _visited(self, node)
        if isinstance(node.op, ast.Not) and isinstance(node.operand, ast.Constant):
            return ast.Constant(not node.operand.value)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        node = _visited(self, node)
        match node:
            case ast.Compare(ast.Constant(left), [ast.Eq() | ast.Is() as op], [ast.Constant(right)]):
                return ast.Constant(left == right if isinstance(op, ast.Eq) else left is right)
            case ast.Compare(ast.Constant(left), [ast.NotEq() | ast.IsNot() as op], [ast.Constant(right)]):
                return ast.Constant(left != right if isinstance(op, ast.NotEq) else left is not right)
            case ast.Compare(ast.Attribute(attr=name), [ast.Eq() | ast.NotEq() as op], [ast.Constant(str() as word)]):
                if name in self._words and word not in self._words[name]:
                    return ast.Constant(isinstance(op, ast.NotEq))
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Stop at the first operand that decides. Remove operands that are neutral and not the last."""
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
        node.test = _condition(node.test)
        if isinstance(node.test, ast.Constant):
            return node.body if node.test.value else node.orelse
        return node

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        node = _visited(self, node)
        node.test = _condition(node.test)
        if isinstance(node.test, ast.Constant):
            return (node.body if node.test.value else node.orelse) or ast.Pass()
        return node


def _visited(folding: _Folding, node: S) -> S:
    return cast("S", folding.generic_visit(node))


def _condition(test: ast.expr) -> ast.expr:
    """Simplify an expression whose value is only used as a condition. A true operand of `and` and a false operand of `or` are removed.
    Operands without side effects are removed if another operand decides."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _condition(test.operand)
        return ast.Constant(not inner.value) if isinstance(inner, ast.Constant) else ast.UnaryOp(test.op, inner)
    if not isinstance(test, ast.BoolOp):
        return test
    neutral = isinstance(test.op, ast.And)
    parts = [_condition(part) for part in test.values]
    last = parts[-1]
    if isinstance(last, ast.Constant):
        if bool(last.value) != neutral and not any(_has_effect(inner) for part in parts for inner in ast.walk(part)):
            return ast.Constant(value=not neutral)
        parts = [*(parts[:-1] if bool(last.value) == neutral else parts)]
    return ast.Constant(neutral) if not parts else parts[0] if len(parts) == 1 else ast.BoolOp(test.op, parts)


def _has_effect(node: ast.AST) -> bool:
    """Whether a node may have a side effect."""
    pure = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _PURE
    return isinstance(node, ast.Call | ast.Await) and not pure


def _reached(statements: Sequence[ast.stmt], *, empty: bool) -> list[ast.stmt]:
    """Return the statements up to one that leaves them, without `pass` except where a statement is required."""
    kept: list[ast.stmt] = []
    for statement in statements:
        if not isinstance(statement, ast.Pass):
            kept.append(statement)
        if isinstance(statement, _ENDS):
            break
    return kept if kept or empty else [ast.Pass()]
