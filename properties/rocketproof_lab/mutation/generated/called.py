"""Compute from the implementation's source which functions may be called, and the defaults of keyword arguments.

Functions are identified by their names. If a name may be called, all functions of that name count as called, so the result may be too large
but never lacks a function that is called.
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
    """Return the parsed modules of the implementation."""
    paths = sorted(Path(inspect.getfile(rocketproof_impl)).parent.rglob("*.py"))
    return tuple(ast.parse(path.read_text("utf-8")) for path in paths)


@cache
def functions() -> tuple[Function, ...]:
    """Return all functions of the implementation, including nested functions."""
    return tuple(node for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def names_called(fold: Callable[[Function], Function]) -> frozenset[str]:
    """Return the names of functions that may be called: by a module or class, or by a called function after `fold`."""
    by_name: dict[str, list[Function]] = {}
    for function in functions():
        by_name.setdefault(function.name, []).append(function)
    names: set[str] = {name for name in by_name if name.startswith("__")}
    names |= {name for tree in trees() for name in _named(_outside(tree))}
    to_visit = [*names]
    while to_visit:
        new = {name for function in by_name.get(to_visit.pop(), ()) for name in _named(ast.walk(fold(function)))} - names
        names |= new
        to_visit += new
    return frozenset(names & by_name.keys())


@cache
def defaults() -> Mapping[tuple[str, str], str]:
    """Return the default, as the dump of its tree, by function or class and keyword, if all functions of that name have the same
    default."""
    dumps: dict[tuple[str, str], set[str]] = {}
    classes = {
        id(member): node.name for tree in trees() for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for member in node.body
    }
    for function in functions():
        name = classes.get(id(function), "") if function.name == "__init__" else function.name
        ordered = [*function.args.posonlyargs, *function.args.args]
        without_default = [None] * (len(ordered) - len(function.args.defaults))
        pairs = [
            *zip(ordered, [*without_default, *function.args.defaults], strict=True),
            *zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True),
        ]
        for arg, default in pairs:
            dumps.setdefault((name, arg.arg), set()).add("" if default is None else ast.dump(default))
    return {key: next(iter(values)) for key, values in dumps.items() if len(values) == 1 and "" not in values}


def _outside(tree: ast.Module) -> Iterator[ast.AST]:
    """Yield the nodes of a module outside of function bodies, including decorators and defaults of functions."""
    to_visit: list[ast.AST] = [tree]
    while to_visit:
        node = to_visit.pop()
        yield node
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            to_visit += (*node.decorator_list, node.args)
        else:
            to_visit += ast.iter_child_nodes(node)


def _named(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the identifiers and string constants among the nodes."""
    names = set[str]()
    for node in nodes:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.Constant(str() as name):
                names.add(name)
    return names
