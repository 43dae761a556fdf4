"""Routines as LLVM text: one walk over a function's syntax tree, a statement or an expression at a time.

Local variables are places on the stack, which LLVM turns into registers.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType
from typing import Any, NoReturn, TypeVar

from . import words

F = TypeVar("F", bound=Callable[..., Any])
Constant = int | tuple[int, ...]

_HEAD = """\
declare i64 @llvm.ctlz.i64(i64, i1)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
"""
_ARITHMETIC = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl",
    ast.RShift: "lshr", ast.FloorDiv: "udiv", ast.Mod: "urem",
}  # fmt: skip
_RELATION = {ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge", ast.Eq: "eq", ast.NotEq: "ne"}
_WORD = (1 << 64) - 1


_routines: set[Callable[..., Any]] = set()


def routine(function: F) -> F:
    """Mark a function to be compiled. Python cannot run it."""
    _routines.add(function)
    return function


def text(function: Callable[..., Any], constants: Mapping[str, Constant]) -> str:
    """Return a module with the function and the routines that it calls."""
    done: dict[Callable[..., Any], str] = {}
    wanted = [function]
    while wanted:
        callee = wanted.pop()
        if callee not in done:
            writer = _Writer(callee, constants, callee is not function)
            done[callee] = writer.text()
            wanted += writer.called
    return _HEAD + "\n".join(done.values())


@cache
def _tree(function: Callable[..., Any]) -> ast.FunctionDef:
    definition = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(definition, ast.FunctionDef)
    return definition


@cache
def _names(node: ast.AST) -> frozenset[str] | None:
    """Return the names in an expression, None if it has a call. Nodes live as long as their trees, which are cached."""
    if isinstance(node, ast.Call):
        return None
    names = {node.id} if isinstance(node, ast.Name) else set()
    for child in ast.iter_child_nodes(node):
        inside = _names(child)
        if inside is None:
            return None
        names |= inside
    return frozenset(names)


@cache
def _evaluated(node: ast.expr) -> CodeType:
    return compile(ast.fix_missing_locations(ast.Expression(node)), "routine", "eval")


class _Writer:
    """One function. Local variables are places on the stack, which LLVM turns into registers."""

    def __init__(self, function: Callable[..., Any], constants: Mapping[str, Constant], internal: bool) -> None:
        self.name, self.internal = function.__name__, internal
        self.tree = _tree(function)
        self.names: dict[str, Any] = {**function.__globals__, **constants}
        self.called: list[Callable[..., Any]] = []
        self.lines: list[str] = []
        self.ended = False  # the block under construction has its last instruction
        self.count = 0
        self.loops: list[tuple[str, str]] = []  # the targets of `continue` and `break`
        self.known: dict[str, int] = {}  # variables of unrolled loops
        self.locals = list(dict.fromkeys(
            [a.arg for a in self.tree.args.args]
            + [n.id for n in ast.walk(self.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        ))  # fmt: skip

    def text(self) -> str:
        parameters = [a.arg for a in self.tree.args.args]
        for name in self.locals:
            self.line(f"%{name}.at = alloca i64")
        for name in parameters:
            self.line(f"store i64 %{name}, ptr %{name}.at")
        self.block(self.tree.body)
        if not self.ended:
            self.line("ret i64 0")
        head = ", ".join(f"i64 %{name}" for name in parameters)
        body = "\n".join(self.lines)
        return f"define {'internal ' if self.internal else ''}i64 @{self.name}({head}) {{\nbegin.0:\n{body}\n}}\n"

    # -- lines --------------------------------------------------------------------------------------------------------

    def fresh(self, stem: str = "v") -> str:
        self.count += 1
        return f"{stem}.{self.count}"

    def line(self, text: str) -> None:
        if not self.ended:
            self.lines.append("  " + text)

    def value(self, text: str) -> str:
        name = f"%{self.fresh()}"
        self.line(f"{name} = {text}")
        return name

    def leave(self, text: str) -> None:
        """Write the last instruction of a block."""
        self.line(text)
        self.ended = True

    def label(self, name: str) -> None:
        if not self.ended:
            self.line(f"br label %{name}")
        self.ended = False
        self.lines.append(f"{name}:")

    def refuse(self, node: ast.AST) -> NoReturn:
        source, line = ast.unparse(node).splitlines()[0], getattr(node, "lineno", 0)
        raise SyntaxError(f"routine {self.name}, line {line}: no routine can say '{source}'")

    # -- what constants decide ----------------------------------------------------------------------------------------

    def constant(self, node: ast.expr) -> int | None:
        """Return the value of an expression that constants decide, else None."""
        if isinstance(node, ast.BoolOp):
            ends = isinstance(node.op, ast.Or)
            values = [self.constant(part) for part in node.values]
            if any(v is not None and bool(v) == ends for v in values):
                return int(ends)
            return None if None in values else int(not ends)
        names = _names(node)
        if names is None:
            return None
        values_of = {name: self.known.get(name, None if name in self.locals else self.names.get(name)) for name in names}
        if not all(isinstance(value, (int, tuple)) for value in values_of.values()):
            return None
        return int(eval(_evaluated(node), {}, values_of))

    # -- expressions --------------------------------------------------------------------------------------------------

    def number(self, node: ast.expr) -> str:
        """Return the operand that holds a value."""
        known = self.constant(node)
        if known is not None:
            return str(known - (1 << 64) if known > _WORD >> 1 else known)
        if isinstance(node, ast.Name) and node.id in self.locals:
            return self.value(f"load i64, ptr %{node.id}.at")
        if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
            return self.value(f"{_ARITHMETIC[type(node.op)]} i64 {self.number(node.left)}, {self.number(node.right)}")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self.value(f"sub i64 0, {self.number(node.operand)}")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
            return self.value(f"xor i64 {self.number(node.operand)}, -1")
        if isinstance(node, ast.IfExp):
            return self.chosen(node)
        if isinstance(node, ast.BoolOp):
            return self.chosen(ast.IfExp(node, ast.Constant(1), ast.Constant(0)))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            function = self.names.get(node.func.id)
            word = WORDS.get(function)
            if word is not None:
                return word(self, node.args)
            if function is not None and function in _routines:
                self.called.append(function)
                arguments = ", ".join(f"i64 {self.number(a)}" for a in node.args)
                return self.value(f"call i64 @{function.__name__}({arguments})")
        if isinstance(node, (ast.Compare, ast.UnaryOp)):
            return self.value(f"zext i1 {self.truth(node)} to i64")
        return self.refuse(node)

    def chosen(self, node: ast.IfExp) -> str:
        known = self.constant(node.test)
        if known is not None:
            return self.number(node.body if known else node.orelse)
        place, yes, no, after = f"%{self.fresh('c')}", self.fresh("Y"), self.fresh("N"), self.fresh("A")
        self.lines.insert(0, f"  {place} = alloca i64")
        self.branch(node.test, yes, no)
        for name, arm in ((yes, node.body), (no, node.orelse)):
            self.label(name)
            self.line(f"store i64 {self.number(arm)}, ptr {place}")
            self.leave(f"br label %{after}")
        self.label(after)
        return self.value(f"load i64, ptr {place}")

    def truth(self, node: ast.expr) -> str:
        """Return the one-bit operand that holds a truth value; without short circuits."""
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _RELATION:
            relation = _RELATION[type(node.ops[0])]
            return self.value(f"icmp {relation} i64 {self.number(node.left)}, {self.number(node.comparators[0])}")
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.value(f"xor i1 {self.truth(node.operand)}, true")
        return self.value(f"icmp ne i64 {self.number(node)}, 0")

    def branch(self, node: ast.expr, yes: str, no: str) -> None:
        """Branch to one of two labels."""
        known = self.constant(node)
        if known is not None:
            self.leave(f"br label %{yes if known else no}")
        elif isinstance(node, ast.BoolOp):
            for part in node.values[:-1]:
                following = self.fresh("B")
                self.branch(part, *((following, no) if isinstance(node.op, ast.And) else (yes, following)))
                self.label(following)
            self.branch(node.values[-1], yes, no)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            self.branch(node.operand, no, yes)
        else:
            self.leave(f"br i1 {self.truth(node)}, label %{yes}, label %{no}")

    # -- statements ---------------------------------------------------------------------------------------------------

    def block(self, body: list[ast.stmt]) -> None:
        for statement in body:
            if not self.ended:
                self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            self.assign(node.targets[0], node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            self.assign(node.target, ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value))
        elif isinstance(node, ast.If):
            self.if_(node)
        elif isinstance(node, ast.While) and not node.orelse:
            self.while_(node)
        elif isinstance(node, ast.For) and isinstance(node.target, ast.Name) and not node.orelse:
            self.for_(node, node.target.id)
        elif isinstance(node, (ast.Break, ast.Continue)) and self.loops:
            self.leave(f"br label %{self.loops[-1][isinstance(node, ast.Break)]}")
        elif isinstance(node, ast.Return):
            self.leave(f"ret i64 {self.number(node.value) if node.value is not None else 0}")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            self.number(node.value)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):  # a docstring
            self.refuse(node)

    def assign(self, target: ast.expr, value: ast.expr) -> None:
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            pairs = list(zip(target.elts, value.elts, strict=True))
        operands = [(place, self.number(value)) for place, value in pairs]
        for place, operand in operands:
            if not isinstance(place, ast.Name):
                self.refuse(place)
            self.line(f"store i64 {operand}, ptr %{place.id}.at")

    def if_(self, node: ast.If) -> None:
        known = self.constant(node.test)
        if known is not None:
            self.block(node.body if known else node.orelse)
            return
        yes, no, after = self.fresh("Y"), self.fresh("N"), self.fresh("A")
        self.branch(node.test, yes, no)
        for name, body in ((yes, node.body), (no, node.orelse)):
            self.label(name)
            self.block(body)
            if not self.ended:
                self.leave(f"br label %{after}")
        self.label(after)

    def while_(self, node: ast.While) -> None:
        head, body, after = self.fresh("H"), self.fresh("W"), self.fresh("A")
        self.label(head)
        self.branch(node.test, body, after)
        self.label(body)
        self.inside(node.body, head, after)
        self.leave(f"br label %{head}")
        self.label(after)

    def inside(self, body: list[ast.stmt], again: str, after: str) -> None:
        self.loops.append((again, after))
        self.block(body)
        self.loops.pop()

    def for_(self, node: ast.For, name: str) -> None:
        loop = node.iter
        if not (isinstance(loop, ast.Call) and isinstance(loop.func, ast.Name) and 1 <= len(loop.args) <= 2):
            self.refuse(node)
        if self.names.get(loop.func.id) is words.unrolled:
            times = self.constant(loop.args[0])
            if times is None:
                self.refuse(loop)
            self.locals.remove(name)
            for k in range(times):
                self.known[name] = k
                self.block(node.body)
            self.known.pop(name, None)
            self.locals.append(name)
            return
        first = self.number(loop.args[0]) if len(loop.args) == 2 else "0"
        last = self.number(loop.args[-1])
        head, body, again, after = self.fresh("H"), self.fresh("F"), self.fresh("G"), self.fresh("A")
        self.line(f"store i64 {first}, ptr %{name}.at")
        self.label(head)
        here = self.value(f"load i64, ptr %{name}.at")
        self.leave(f"br i1 {self.value(f'icmp slt i64 {here}, {last}')}, label %{body}, label %{after}")
        self.label(body)
        self.inside(node.body, again, after)
        self.label(again)
        here = self.value(f"load i64, ptr %{name}.at")
        self.line(f"store i64 {self.value(f'add i64 {here}, 1')}, ptr %{name}.at")
        self.leave(f"br label %{head}")
        self.label(after)

    # -- words --------------------------------------------------------------------------------------------------------

    def pointer(self, node: ast.expr, index: ast.expr | None = None) -> str:
        base = self.value(f"inttoptr i64 {self.number(node)} to ptr")
        return base if index is None else self.value(f"getelementptr i64, ptr {base}, i64 {self.number(index)}")

    def bits(self, node: ast.expr) -> int:
        """Return the bits of a number of bytes, which must be constant."""
        count = self.constant(node)
        if count is None or not 1 <= count <= 8:
            self.refuse(node)
        return 8 * count

    def narrow(self, value: ast.expr, bits: int) -> str:
        operand = self.number(value)
        return operand if bits == 64 else self.value(f"trunc i64 {operand} to i{bits}")

    def widen(self, operand: str, bits: int) -> str:
        return operand if bits == 64 else self.value(f"zext i{bits} {operand} to i64")

    def word_get(self, a: list[ast.expr]) -> str:
        return self.value(f"load i64, ptr {self.pointer(*a)}, align 8")

    def word_put(self, a: list[ast.expr]) -> str:
        value = self.number(a[2])
        self.line(f"store i64 {value}, ptr {self.pointer(a[0], a[1])}, align 8")
        return "0"

    def word_load(self, a: list[ast.expr]) -> str:
        bits = self.bits(a[1])
        return self.widen(self.value(f"load i{bits}, ptr {self.pointer(a[0])}, align 1"), bits)

    def word_store(self, a: list[ast.expr]) -> str:
        bits = self.bits(a[1])
        self.line(f"store i{bits} {self.narrow(a[2], bits)}, ptr {self.pointer(a[0])}, align 1")
        return "0"

    def word_acquire(self, a: list[ast.expr]) -> str:
        bits = self.bits(a[1])
        return self.widen(self.value(f"load atomic i{bits}, ptr {self.pointer(a[0])} acquire, align {bits // 8}"), bits)

    def word_release(self, a: list[ast.expr]) -> str:
        bits = self.bits(a[1])
        self.line(f"store atomic i{bits} {self.narrow(a[2], bits)}, ptr {self.pointer(a[0])} release, align {bits // 8}")
        return "0"

    def word_exchange(self, a: list[ast.expr]) -> str:
        bits = self.bits(a[1])
        expected, value, at = self.narrow(a[2], bits), self.narrow(a[3], bits), self.pointer(a[0])
        pair = self.value(f"cmpxchg ptr {at}, i{bits} {expected}, i{bits} {value} acq_rel acquire, align {bits // 8}")
        return self.widen(self.value(f"extractvalue {{ i{bits}, i1 }} {pair}, 0"), bits)

    def word_fetch_add(self, a: list[ast.expr]) -> str:
        return self.value(f"atomicrmw add ptr {self.pointer(a[0])}, i64 {self.number(a[1])} acq_rel, align 8")

    def word_prefetch(self, a: list[ast.expr]) -> str:
        self.line(f"call void @llvm.prefetch.p0(ptr {self.pointer(a[0])}, i32 0, i32 3, i32 1)")
        return "0"

    def word_matches(self, a: list[ast.expr]) -> str:
        row = self.value(f"load <16 x i8>, ptr {self.pointer(a[0])}, align 1")
        vector = self.value(f"insertelement <16 x i8> poison, i8 {self.narrow(a[1], 8)}, i32 0")
        every = self.value(f"shufflevector <16 x i8> {vector}, <16 x i8> poison, <16 x i32> zeroinitializer")
        equal = self.value(f"icmp eq <16 x i8> {row}, {every}")
        return self.widen(self.value(f"bitcast <16 x i1> {equal} to i16"), 16)

    def word_last_bit(self, a: list[ast.expr]) -> str:
        return self.value(f"sub i64 63, {self.value(f'call i64 @llvm.ctlz.i64(i64 {self.number(a[0])}, i1 false)')}")

    def word_call(self, a: list[ast.expr]) -> str:
        arguments = ", ".join(f"i64 {self.number(x)}" for x in a[1:])
        return self.value(f"call i64 {self.pointer(a[0])}({arguments})")


WORDS: dict[Any, Callable[[_Writer, list[ast.expr]], str]] = {
    getattr(words, name.removeprefix("word_")): method for name, method in vars(_Writer).items() if name.startswith("word_")
}
