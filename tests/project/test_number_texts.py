"""Numbers in texts are read by `rocketproof_protocol.numbers`, never by Python's `int`.

Python's `int` takes `"1_0"` and `" 0"`, which Java refuses, and `str.isdigit` is true for `"²"`, which `int` refuses. So
`int(...)` may only get a value that is known to be a number: by its form, its annotation or the result of its function. `\\d`, `isdigit`,
`isdecimal` and `isnumeric` are not used at all. In place of `int` of an array's item, `operator.index` refuses texts.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
READ = ("impl/rocketproof_impl", "traces/rocketproof_traces", "properties/rocketproof_properties", "model/rocketproof_protocol")
ANNOTATED = (*READ, "model/rocketproof_model", "model/rocketproof_spec", "model/rocketproof_profiles")
ALLOWED = {
    "model/rocketproof_protocol/numbers.py": "the one reader of such texts",
    "traces/rocketproof_traces/witness/itf.py": "the integers of ITF traces have any size, and no broker writes them",
}
"""Files that may read a number with Python's syntax, and why."""
TEXTS = {"name", "stem", "text", "value"}
NUMBERS = ("bool", "int", "float")
FUNCTIONS = {"len", "bool", "sum", "any", "all", "round", "float", "abs", "isinstance", "ord", "index", "whole_number"}
METHODS = {"sum", "time", "monotonic", "perf_counter", "total_seconds", "any", "all", "size", "count", "uniform", "IPv4Address"}
OPERATORS = (ast.Sub, ast.Div, ast.FloorDiv, ast.Pow, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor)
ANNOTATION = re.compile(r"^ *(?:def (\w+)\([^)]*(?:\)[^)]*)*?\) -> ([^:\n]+):|(?:self\.)?(\w+): ([^=\n]+?)(?: =.*)?)$", re.MULTILINE)
SUSPECT = re.compile(r"\bint\(|\bmap\(int\b|\.is(?:digit|decimal|numeric)|\\d")
TESTS = ("isdigit", "isdecimal", "isnumeric")


def sources(folders: Iterable[str]) -> list[Path]:
    return [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]


@cache
def annotated() -> tuple[dict[str, bool], set[str]]:
    """The functions by name, with whether all of that name return a number, and the attributes that some class annotates as one."""
    functions: dict[str, bool] = {}
    attributes: set[str] = set()
    for path in sources(ANNOTATED):
        for function, result, attribute, type_ in ANNOTATION.findall(path.read_text(encoding="utf-8")):
            if function:
                functions[function] = result in NUMBERS and functions.get(function, True)
            if (result or type_).removesuffix(" | None") in NUMBERS:
                attributes.add(function or attribute)
    return functions, attributes - TEXTS


def is_number_type(annotation: ast.expr | None) -> bool:
    return isinstance(annotation, ast.Name) and annotation.id in NUMBERS


class Finder:
    """Finds, in one module, what may read a text with Python's syntax of numbers."""

    def __init__(self, module: ast.Module) -> None:
        self.functions, self.attributes = annotated()
        self.arrays = any(isinstance(node, ast.Import) and any(each.name == "numpy" for each in node.names) for node in ast.walk(module))
        self.module = module

    def lines(self) -> Iterator[int]:
        yield from self._within(self.module, {})

    def _within(self, node: ast.AST, local: dict[str, bool]) -> Iterator[int]:
        if isinstance(node, (ast.FunctionDef, ast.Lambda)):
            local = local | self._names(node, local)
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.expr) and self._reads(inner, local):
                yield inner.lineno
            yield from self._within(inner, local)

    def _names(self, function: ast.FunctionDef | ast.Lambda, outer: dict[str, bool]) -> dict[str, bool]:
        """Whether each name of a function is a number: by its annotation, or by all that is assigned to it."""
        found = {one.arg: is_number_type(one.annotation) for one in (*function.args.args, *function.args.kwonlyargs)}
        for node in ast.walk(function):
            pairs: list[tuple[ast.expr, ast.expr]] = []
            if isinstance(node, ast.Assign) and len(node.targets) == 1:
                target = node.targets[0]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                else:
                    pairs = [(each, node.value) for each in (target.elts if isinstance(target, ast.Tuple) else [target])]
            elif isinstance(node, ast.NamedExpr):
                pairs = [(node.target, node.value)]
            for name, value in pairs:
                if isinstance(name, ast.Name):
                    found[name.id] = self._is_number(value, outer | found) and found.get(name.id, True)
        return found

    def _reads(self, node: ast.AST, local: dict[str, bool]) -> bool:
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else ""
            mapped = called == "map" and isinstance(node.args[0], ast.Name) and node.args[0].id == "int"
            return mapped or (called == "int" and bool(node.args) and not self._is_number(node.args[0], local))
        if isinstance(node, ast.Attribute):
            return node.attr in TESTS
        return isinstance(node, ast.Constant) and isinstance(node.value, str) and "\\d" in node.value

    def _is_number(self, node: ast.expr, local: dict[str, bool]) -> bool:
        match node:
            case ast.Constant():
                return isinstance(node.value, (int, float))
            case ast.Compare() | ast.UnaryOp(op=ast.Not()) | ast.BinOp(op=ast.Sub() | ast.Div() | ast.FloorDiv()):
                return True
            case ast.BinOp():
                return isinstance(node.op, OPERATORS) or self._is_number(node.left, local) or self._is_number(node.right, local)
            case ast.BoolOp():
                return all(self._is_number(each, local) for each in node.values)
            case ast.UnaryOp():
                return self._is_number(node.operand, local)
            case ast.IfExp():
                return self._is_number(node.body, local) and self._is_number(node.orelse, local)
            case ast.Call(func=ast.Name(id=name)):
                if name in ("min", "max"):
                    return any(self._is_number(each, local) for each in node.args)
                return name in FUNCTIONS or self.functions.get(name, False)
            case ast.Call(func=ast.Attribute(attr=name)):
                return name in METHODS or self.functions.get(name, False)
            case ast.Name(id=name):
                return local.get(name, False)
            case ast.Attribute(attr=name):
                return name in self.attributes or (self.arrays and name not in TEXTS)
            case ast.Subscript():  # an array's item, but not an object's by its name
                return self.arrays and not (isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str))
        return False


def readers(text: str) -> list[int]:
    """Return the numbers of the lines that may read a text with Python's syntax of numbers."""
    return sorted(set(Finder(ast.parse(text)).lines())) if SUSPECT.search(text) else []


def test_no_number_is_read_with_the_syntax_of_python() -> None:
    found = {path.relative_to(ROOT).as_posix(): readers(path.read_text(encoding="utf-8")) for path in sources(READ)}
    assert len(found) > 300
    assert {name: lines for name, lines in found.items() if lines and name not in ALLOWED} == {}
    assert {name for name in ALLOWED if not found[name]} == set(), "an allowed file that needs no leave"


@pytest.mark.parametrize(
    "text",
    [
        "int(fields['queueId'])",
        "int(value or 0)",
        "[int(each) for each in items]",
        "def f(text: str):\n  return int(text)",
        "sum(map(int, words))",
        "text.isdigit()",
        "re.compile(r'\\d+')",
        "import numpy\nint(entry['queueId'])",
    ],
)
def test_text_read_by_python_is_found(text: str) -> None:
    assert readers(text)


@pytest.mark.parametrize(
    "text",
    [
        "int(a == b)",
        "int(not text)",
        "def f(wide: bool):\n  return int(wide)",
        "int(time.time() * 1000)",
        "import numpy\nint(column[row])",
        "def f(a, b):\n  c = a == b\n  return int(c)",
    ],
)
def test_number_may_be_given_to_int(text: str) -> None:
    assert readers(text) == []


if __name__ == "__main__":
    for path in sources(READ):
        lines = path.read_text(encoding="utf-8").splitlines()
        for number in readers(path.read_text(encoding="utf-8")):
            sys.stdout.write(f"{path.relative_to(ROOT)}:{number}: {lines[number - 1].strip()[:150]}\n")
