"""Errors that state the problem, its source line, and the remedy.

A model is ordinary Python, so the place of a mistake is a `file:line:column` of the caller's file. `caller()` finds it: the innermost frame
that is not part of this package.
"""

from __future__ import annotations

import ast
import itertools
import linecache
import os
import re
import sys
from collections.abc import Iterator
from functools import lru_cache
from types import CodeType, FrameType

_HERE = os.path.dirname(os.path.abspath(__file__))
_LANGUAGE = (_HERE, os.path.join(_HERE, "language"))


class RocketproofError(Exception):
    """Base of all errors that a user can fix; `str(error)` is one line."""


class ModelError(RocketproofError):
    """A wrongly built model. `place` is `file:line:column` of the declaration, `remedy` is how to fix it."""

    def __init__(self, problem: str, remedy: str, place: str | None = None) -> None:
        self.problem = problem
        self.remedy = remedy
        self.place = place or caller()
        super().__init__(f"{self.place}: {problem}; {remedy}")


class EvaluationError(RocketproofError):
    """An expression has no value in a state: an index out of range, a remainder by zero, a value outside its type."""


class LimitReached(RocketproofError):
    """A limit of time, memory or states ended a run before it could decide; `reason` is one of the verdict's reasons."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(reason)


def caller() -> str:
    """Return the position of the innermost frame outside the modelling language (the specification counts as a caller)."""
    frame = _outside()
    return "<unknown>" if frame is None else position(frame.f_code, frame.f_lasti)


def position(code: CodeType, instruction: int) -> str:
    """Return `file:line:column` of an instruction, such as a frame's `f_lasti` or a traceback's `tb_lasti`. Both count from 1."""
    line, _, begin, _ = next(itertools.islice(code.co_positions(), instruction // 2, None), (None, None, None, None))
    line = line or code.co_firstlineno
    return f"{code.co_filename}:{line}:{column(linecache.getline(code.co_filename, line), begin or 0)}"


_POSITION = re.compile(r"(.+):([0-9]+):[0-9]+", re.DOTALL)


def file_and_line(place: str) -> tuple[str, int] | None:
    """Return file and line of a position `file:line:column`; None for another text, such as that of an unknown place."""
    parts = _POSITION.fullmatch(place)
    return None if parts is None else (parts[1], int(parts[2]))


def column(line: str, offset: int) -> int:
    """Return the column, from 1, of a byte of a source line in UTF-8: Python counts the bytes before a syntax node."""
    return len(line.encode()[:offset].decode("utf-8", "ignore")) + 1


def _outside() -> FrameType | None:
    """Return the innermost frame outside the modelling language."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if not _is_language(frame.f_code.co_filename):
            return frame
        frame = frame.f_back
    return None


@lru_cache(maxsize=1024)
def _is_language(name: str) -> bool:
    """Return whether a file belongs to the modelling language, or there is no file."""
    return name.startswith("<") or os.path.dirname(os.path.abspath(name)) in _LANGUAGE


def instead() -> str:
    """Return what to write instead of the Python construct with which the caller asks a term for its truth value."""
    return next(filter(None, map(_instead_of, _expressions())), "use & | ~ and ite(), not and, or, not, if")


def parentheses() -> str:
    """Return the caller's comparison with its missing parentheses, as in `x == 1 & y == 2`; "" if none are missing."""
    return next(filter(None, map(_in_parentheses, _expressions())), "")


def _expressions() -> Iterator[ast.expr]:
    """Yield the expression that the caller is evaluating and those around it, innermost first. Empty if the source is not known."""
    frame = _outside()
    if frame is None:
        return
    first, last, left, right = next(itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None))
    if first is None or last is None or left is None or right is None:
        return
    try:
        tree = ast.parse("".join(linecache.getlines(frame.f_code.co_filename)))
    except SyntaxError:
        return
    around = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.expr)
        and (node.lineno, node.col_offset) <= (first, left)
        and (node.end_lineno or 0, node.end_col_offset or 0) >= (last, right)
    ]
    yield from reversed(around)  # `walk` yields outer expressions first


_FUNCTIONS = {
    "all": "write forall(Broker, lambda b: ...), or all_of(...) for a list of conditions",
    "any": "write exists(Broker, lambda b: ...), or any_of(...) for a list of conditions",
    "min": "write minimum(x, y)",
    "max": "write maximum(x, y)",
}


def _instead_of(node: ast.expr) -> str:
    """Return the model's form of this Python expression; "" if there is none."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return _FUNCTIONS.get(node.func.id, "")
    if isinstance(node, ast.Compare) and any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
        return f"write any_of({ast.unparse(node.left)} == each for each in {ast.unparse(node.comparators[0])})"
    if regrouped := _in_parentheses(node):
        return f"write {regrouped}"
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        sides = [node.left, *node.comparators]
        parts = [ast.Compare(sides[k], [op], [sides[k + 1]]) for k, op in enumerate(node.ops)]
        return "write two comparisons: " + " & ".join(f"({ast.unparse(part)})" for part in parts)
    if isinstance(node, ast.BoolOp):
        sign = " & " if isinstance(node.op, ast.And) else " | "
        return "write " + sign.join(f"({ast.unparse(value)})" for value in node.values)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return f"write ~({ast.unparse(node.operand)})"
    if isinstance(node, ast.IfExp):
        return f"write ite({ast.unparse(node.test)}, {ast.unparse(node.body)}, {ast.unparse(node.orelse)})"
    return ""


def _in_parentheses(node: ast.expr) -> str:
    """Return the intended comparison, if & or | joins values that belong to two comparisons; "" otherwise."""
    if not isinstance(node, ast.Compare):
        return ""
    parts: list[str] = []
    left: ast.expr | None = None
    sides = [node.left, *node.comparators]
    for number, side in enumerate(sides):
        operands = _joined(side)
        if len(operands) == 1 and 0 < number < len(sides) - 1:
            return ""  # a chain of comparisons
        for at, (sign, operand) in enumerate(operands):
            if at == 0 and left is not None:
                text = f"({ast.unparse(ast.Compare(left, [node.ops[number - 1]], [operand]))})"
            else:
                text = f"({ast.unparse(operand)})" if isinstance(operand, ast.Compare) else ast.unparse(operand)
            last = at == len(operands) - 1
            left = operand if last else None
            if not last or number == len(sides) - 1:
                parts += [sign, text]
            elif at:
                parts.append(sign)
    return "" if len(parts) < 3 else " ".join(filter(None, parts))


def _joined(side: ast.expr) -> list[tuple[str, ast.expr]]:
    """Return the operands that & and | join, each with the sign before it; the first has none."""
    if not isinstance(side, ast.BinOp) or not isinstance(side.op, ast.BitAnd | ast.BitOr):
        return [("", side)]
    return [*_joined(side.left), ("&" if isinstance(side.op, ast.BitAnd) else "|", side.right)]
