"""What a profile settles of a function: its switches have one value each, so some conditions have one answer and some lines are never run.

A change of what is settled changes nothing under that profile: both functions become the same one when the values stand in the place of the
switches, and of the parameters for which every caller gives one. That is compared as text of the tree; two functions that say one thing in
two ways are not taken for the same. Settings of which programs have a few words each settle conditions too: none of these is any other
word.
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

from .called import defaults, functions, names_called
from .operators import Function

S = TypeVar("S", bound=ast.AST)
_HOLDERS: Final = ("profile", "_profile")
"""What a function calls the profile that it has, by itself or of something."""
_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    FIELDS[name]: one.values for name, one in LEGAL.items() if name in FIELDS and not any(is_digits(word) for word in one.values)
}
"""Settings that are words, as the implementation calls them, with all that programs give them."""
_LOOKS: Final = ("startswith", "endswith", "get", "lower", "isdigit")
"""Methods of texts and tables that change nothing."""
_ENDS: Final = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def same_under(profile: Profile, one: Function, other: Function, *, words: bool = False) -> bool:
    """Whether two functions are one under this profile, with `words` under the settings that programs have."""
    return ast.dump(settled(profile, one, words=words)) == ast.dump(settled(profile, other, words=words))


def uncalled(profile: Profile) -> frozenset[str]:
    """The names of functions that only what never runs under this profile calls."""
    return _called_under("") - _called_under(profile.name)


@cache
def _called_under(profile: str) -> frozenset[str]:
    return names_called(partial(settled, PROFILES[profile]) if profile else lambda one: one)


def settled(profile: Profile, function: Function, *, words: bool = False) -> Function:
    """The function with the profile's values in the place of its switches, without what never runs then."""
    made = copy.deepcopy(function)
    made.decorator_list = []
    wanted = [one.arg for one, default in zip(made.args.kwonlyargs, made.args.kw_defaults, strict=True) if default is None]
    given = {name: switch for name in wanted if (switch := _carried().get(name))}
    return cast("Function", _Settling(profile, given, words).visit(made))


@cache
def _carried() -> Mapping[str, str]:
    """By the name of a parameter the switch that everybody gives it who does not pass on his own parameter of that name."""
    asking = {(function.name, one.arg) for function in functions() for one in function.args.kwonlyargs}
    found: dict[str, set[str]] = {}
    for function in functions():
        own = {one.arg for one in function.args.kwonlyargs}
        calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
        for called, keyword in ((_called(call.func), keyword) for call in calls for keyword in call.keywords):
            passed_on = isinstance(keyword.value, ast.Name) and keyword.value.id == keyword.arg and keyword.arg in own
            if keyword.arg and not passed_on and {(called, keyword.arg), ("__init__", keyword.arg)} & asking:
                found.setdefault(keyword.arg, set()).add(_called(keyword.value))
    return {name: value for name, values in found.items() if len(values) == 1 and (value := next(iter(values))) in SWITCHES}


def _called(node: ast.expr) -> str:
    """The last part of a name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


class _Settling(ast.NodeTransformer):
    def __init__(self, profile: Profile, given: Mapping[str, str], words: bool) -> None:
        self._profile = profile
        self._given = given
        self._words: Mapping[str, tuple[str, ...]] = _WORDS if words else {}

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """Lists of statements end where something leaves them."""
        visited = super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            statements = getattr(visited, name, None)
            if isinstance(statements, list):
                setattr(visited, name, _reached(statements, empty=name != "body"))
        return visited

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        value = self._value(node.attr) if _called(node.value) in _HOLDERS and node.attr in SWITCHES else None
        return value or self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return (self._value(self._given[node.id]) if node.id in self._given else None) or node

    def _value(self, switch: str) -> ast.Constant | None:
        value = getattr(self._profile, switch)
        return ast.Constant(value) if value is None or isinstance(value, bool | int | str) else None

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A keyword need not be given whose value it has anyway."""
        node = _visited(self, node)
        name = _called(node.func)
        node.keywords = [one for one in node.keywords if defaults().get((name, one.arg or "")) != ast.dump(one.value)]
        return node

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
            case ast.Compare(ast.Attribute(attr=name), [ast.Eq() | ast.NotEq() as op], [ast.Constant(str() as word)]):
                if name in self._words and word not in self._words[name]:
                    return ast.Constant(isinstance(op, ast.NotEq))
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
        if bool(last.value) != neutral and not any(_does(inner) for part in parts for inner in ast.walk(part)):
            return ast.Constant(value=not neutral)
        parts = [*(parts[:-1] if bool(last.value) == neutral else parts)]
    return ast.Constant(neutral) if not parts else parts[0] if len(parts) == 1 else ast.BoolOp(test.op, parts)


def _does(node: ast.AST) -> bool:
    """Whether it may do something, where others only look."""
    looks = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LOOKS
    return isinstance(node, ast.Call | ast.Await) and not looks


def _reached(statements: Sequence[ast.stmt], *, empty: bool) -> list[ast.stmt]:
    """Statements up to one that leaves them, without those that do nothing, but for one where there must be some."""
    kept: list[ast.stmt] = []
    for one in statements:
        if not isinstance(one, ast.Pass):
            kept.append(one)
        if isinstance(one, _ENDS):
            break
    return kept if kept or empty else [ast.Pass()]
