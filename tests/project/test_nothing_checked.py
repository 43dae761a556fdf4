"""No test passes because there was nothing to check: a test that asserts only inside loops proves that they have items."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from nonempty import nonempty

TESTS = Path(__file__).parents[1]
CHECKS = ("raises", "fail", "warns")
LOOP = re.compile(r"^ +for ", re.MULTILINE)
DRAWN = ("given", "generated")
"""Decorators that draw the items of a loop, so that some examples may have none."""


def is_check(node: ast.AST) -> bool:
    return isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and name_of(node.func) in CHECKS)


def name_of(function: ast.expr) -> str:
    """The last part of a function's name."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def has_items(loop: ast.For) -> bool:
    """Whether a reader sees that a loop has an item: of a literal, of a constant range, or checked by `nonempty`."""
    match loop.iter:
        case ast.Tuple(elts) | ast.List(elts):
            return bool(elts)
        case ast.Call(func=ast.Name("nonempty")):
            return True
        case ast.Call(func=ast.Name("range"), args=args):
            return all(isinstance(arg, ast.Constant) for arg in args)
        case ast.Call(func=ast.Name("enumerate" | "reversed" | "sorted"), args=[ast.Tuple(elts) | ast.List(elts), *_]):
            return bool(elts)
    return False


def is_drawn(function: ast.FunctionDef) -> bool:
    return any(ast.unparse(decorator).partition("(")[0] in DRAWN for decorator in function.decorator_list)


def checks(node: ast.AST, doubtful: bool = False) -> Iterator[bool]:
    """For each check in a function: whether a loop that may have no items surrounds it."""
    for child in ast.iter_child_nodes(node):
        if is_check(child):
            yield doubtful
        if isinstance(child, ast.FunctionDef) and is_drawn(child):
            yield False
        else:
            yield from checks(child, doubtful or (isinstance(child, ast.For) and not has_items(child)))


def looping(node: ast.Module | ast.ClassDef, lines: Sequence[str]) -> Iterator[ast.FunctionDef]:
    """The tests of a module with these lines that have a loop."""
    for child in node.body:
        if isinstance(child, ast.ClassDef):
            yield from looping(child, lines)
        elif isinstance(child, ast.FunctionDef) and child.name.startswith("test_"):
            if any(map(LOOP.match, lines[child.lineno - 1 : child.end_lineno])):
                yield child


def vacuous(source: str) -> list[str]:
    """The tests of a module whose checks are all inside loops that may have no items."""
    if not LOOP.search(source):
        return []
    made = {f.name: list(checks(f)) for f in looping(ast.parse(source), source.splitlines()) if not is_drawn(f)}
    return [name for name, doubts in made.items() if doubts and all(doubts)]


def test_no_test_passes_without_a_check() -> None:
    paths = nonempty(TESTS.rglob("test_*.py"))
    assert {str(p.relative_to(TESTS)): names for p in paths if (names := vacuous(p.read_text(encoding="utf-8")))} == {}


@pytest.mark.parametrize(
    ("body", "is_vacuous"),
    [
        ("for x in xs:\n  assert x", True),
        ("for x in nonempty(xs):\n  assert x", False),
        ("for x in xs:\n  with pytest.raises(E):\n   f(x)", True),
        ("for x in xs:\n  assert x\n assert xs", False),
        ("for x in (1, 2):\n  assert x", False),
        ("for x in range(n):\n  assert x", True),
        ("for x in range(3):\n  for y in x:\n   assert y", True),
        ("assert True", False),
    ],
)
def test_loops_that_may_have_no_items_are_noticed(body: str, is_vacuous: bool) -> None:
    assert bool(vacuous(f"def test_it(xs):\n {body}\n")) == is_vacuous
