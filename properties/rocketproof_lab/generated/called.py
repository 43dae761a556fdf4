"""What a profile's switches leave uncalled, and what a call gives that it need not give: from the implementation's source alone.

Functions are known by their names. One that a function of another class has too is called wherever that one is, so that nothing is taken
for uncalled which somebody calls.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path

import rocketproof_impl

from .operators import Function


@cache
def trees() -> tuple[ast.Module, ...]:
    """The modules of the implementation."""
    paths = sorted(Path(inspect.getfile(rocketproof_impl)).parent.rglob("*.py"))
    return tuple(ast.parse(path.read_text("utf-8")) for path in paths)


@cache
def functions() -> tuple[Function, ...]:
    """Its functions, inner ones too."""
    return tuple(node for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def names_called(settled: Callable[[Function], Function]) -> frozenset[str]:
    """The names of functions that something calls, or may: module or class, or a function that is itself called, as `settled` has it."""
    by_name: dict[str, list[Function]] = {}
    for one in functions():
        by_name.setdefault(one.name, []).append(one)
    found: set[str] = {name for name in by_name if name.startswith("__")}
    found |= {name for tree in trees() for name in _named(_outside(tree))}
    left = [*found]
    while left:
        new = {name for one in by_name.get(left.pop(), ()) for name in _named(ast.walk(settled(one)))} - found
        found |= new
        left += new
    return frozenset(found & by_name.keys())


@cache
def defaults() -> Mapping[tuple[str, str], str]:
    """By a function, or a class, and a keyword its default as its tree is written down, where all of that name have the same."""
    found: dict[tuple[str, str], set[str]] = {}
    classes = {id(one): node.name for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for one in node.body}
    for one in functions():
        name = classes.get(id(one), "") if one.name == "__init__" else one.name
        ordered = [*one.args.posonlyargs, *one.args.args]
        given = [None] * (len(ordered) - len(one.args.defaults))
        pairs = [*zip(ordered, [*given, *one.args.defaults], strict=True), *zip(one.args.kwonlyargs, one.args.kw_defaults, strict=True)]
        for arg, default in pairs:
            found.setdefault((name, arg.arg), set()).add("" if default is None else ast.dump(default))
    return {key: next(iter(values)) for key, values in found.items() if len(values) == 1 and "" not in values}


def _outside(tree: ast.Module) -> Iterator[ast.AST]:
    """The nodes of a module that are in no function's body: its classes too, and what decorates functions or is a parameter's default."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            left += (*node.decorator_list, node.args)
        else:
            left += ast.iter_child_nodes(node)


def _named(nodes: Iterable[ast.AST]) -> set[str]:
    """What the nodes call by a name, or by a text."""
    found = set[str]()
    for node in nodes:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(str() as name):
                found.add(name)
    return found
