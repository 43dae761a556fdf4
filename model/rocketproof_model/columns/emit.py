"""LLVM text of one loop over rows that evaluates all terms of a program: variables and parameters are columns.

A function of a program (`i64` numbers; `columns` and `results` are tables of pointers):

    decide(columns, first, rows, results)

It reads `rows` values from number `first` on of each column and writes as many to each result, from 0 on. The results are the words of
`failed`, the words of `faults`, then the values of the terms that are numbers, 0 if there is none. It returns 0 if no bit of `failed` is
set. Bit k of a word belongs to term k: `faults` is set if the term has no value, `failed` if it is false or has no value. There are no
branches, so that LLVM can process several rows at once. (For the choice of LLVM text see explicit/kernel.py, whose emitter this module
uses.)

A number outside its variable's type has no meaning: reading it is a fault where the interpreter reads it. The width of the column's numbers
decides which can occur, so a column of bytes for an `Int(0, 255)` costs no test.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..explicit.emit import Bindings, Emitter, Number, Truth
from ..language import Expr, Instance, Type, Variable, walk

BITS = 64  # terms in one word of `failed`
FUNCTION = "decide"
# The kinds of a column's numbers by NumPy's name: bits, and whether they are signed.
STORED = {"bool": (8, False), "uint8": (8, False), "uint16": (16, False), "uint32": (32, False)}
STORED |= {f"int{bits}": (bits, True) for bits in (8, 16, 32, 64)}

_HEAD = "declare i64 @llvm.umin.i64(i64, i64)"
_LOOP = """!0 = distinct !{}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.parallel_accesses", !0}
"""
_GROUP = ", !llvm.access.group !0"  # columns and results never overlap; this states it for each of their accesses


@dataclass(frozen=True)
class InputColumn:
    """An input of a program: an element of a variable in the state before (`ref`) or after (`after`), or a parameter (`par`)."""

    source: str
    name: str
    type: Type

    @property
    def label(self) -> str:
        """Return the name as in a term: `x`, or `x'` in the state after."""
        return self.name + ("'" if self.source == "after" else "")


def words(terms: int) -> int:
    """Return the number of words of `failed` for this many terms."""
    return -(-terms // BITS)


def columns_of(terms: Iterable[Expr]) -> list[InputColumn]:
    """Return all inputs of the terms in the order of their first use."""
    return list(dict.fromkeys(column for e in walk(*terms) for column in read_by(e)))


def read_by(e: Expr) -> list[InputColumn]:
    """Return the inputs that this term itself, without its arguments, may read."""
    if e.op == "par":
        return [InputColumn("par", e.args[0], e.type)]
    return [InputColumn(e.op, e.args[0].name_at(at), e.type) for at in positions(e)] if e.op in ("ref", "after") else []


def positions(ref: Expr) -> Iterator[tuple[int, ...]]:
    """Yield the elements that a reference may mean; an index that is never in range still means the nearest element."""
    variable: Variable = ref.args[0]
    ways = []
    for index, axis in zip(ref.args[1:], variable.over, strict=True):
        lo, hi = (index.args[0],) * 2 if index.op == "const" else (index.type.lo, index.type.hi)
        ways.append(range(min(max(lo, axis.lo), axis.hi), max(min(hi, axis.hi), axis.lo) + 1))
    return itertools.product(*ways)


class ColumnEmitter(Emitter):
    """One row: `stored` is the type of the numbers of each column. Constants are the instance's."""

    def __init__(self, instance: Instance, columns: Sequence[InputColumn], stored: Sequence[str]) -> None:
        super().__init__()
        self.constants = instance.constants
        self.number_of = {column: k for k, column in enumerate(columns)}
        self.stored = stored

    def given(self, term: Expr) -> Number:
        return self.constants[term.args[0]]

    def load(self, column: InputColumn) -> Number:
        """Return the number in this row."""
        k = self.number_of[column]
        bits, signed = STORED[self.stored[k]]
        pointer = self.value(f"getelementptr inbounds i{bits}, ptr %column{k}, i64 %row")
        stored_number = self.value(f"load i{bits}, ptr {pointer}, align 1{_GROUP}")
        return stored_number if bits == 64 else self.value(f"{'sext' if signed else 'zext'} i{bits} {stored_number} to i64")

    def read(self, ref: Expr, bound: Bindings) -> Number:
        """Return the selected element; an index out of range, which is a fault, selects some element."""
        variable: Variable = ref.args[0]
        at = [self.number(index, bound) for index in ref.args[1:]]
        chosen = {p: self.load(InputColumn(ref.op, variable.name_at(p), ref.type)) for p in positions(ref)}
        for k in reversed(at):
            rows: dict[tuple[int, ...], dict[int, Number]] = {}
            for position, number in chosen.items():
                rows.setdefault(position[:-1], {})[position[-1]] = number
            chosen = {position: self._select(k, by_index) for position, by_index in rows.items()}
        (result,) = chosen.values()
        return result

    def _select(self, k: Number, by_index: Mapping[int, Number]) -> Number:
        """Return the number at index `k`, the last number for an index that is not among them."""
        if len(by_index) == 1:
            return next(iter(by_index.values()))
        *others, (_, result) = by_index.items()
        for index, number in reversed(others):
            result = self.choose(self.compare("eq", k, index), number, result)
        return result

    def _fault(self, term: Expr, bound: Bindings) -> Truth:
        fault = super()._fault(term, bound)
        if any(map(self._may_leave, read_by(term))):
            raw = bound[term.args[0]] if term.op == "par" else self.read(term, bound)
            fault = self.either(fault, self.outside(raw, term.type.lo, term.type.hi))
        return fault

    def _may_leave(self, column: InputColumn) -> bool:
        """Return whether the column can hold a number outside its type."""
        stored = self.stored[self.number_of[column]]
        bits, signed = STORED[stored]
        lo, hi = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, 1 if stored == "bool" else (1 << bits) - 1)
        return lo < column.type.lo or hi > column.type.hi


def text(instance: Instance, terms: Sequence[Expr], columns: Sequence[InputColumn], stored: Sequence[str]) -> str:
    """Return the module for these terms over columns that hold numbers of these kinds."""
    e = ColumnEmitter(instance, columns, stored)
    bound = {column.name: e.load(column) for column in columns if column.source == "par"}
    failed: list[Number] = [0] * words(len(terms))
    faults: list[Number] = [0] * len(failed)
    numbers: list[Number] = []
    for k, term in enumerate(terms):
        word, bit = divmod(k, BITS)
        broken = fault = e.fault(term, bound)
        if term.type.sort == "bool":
            broken = e.either(fault, e.negate(e.truth(term, bound)))
        else:
            numbers.append(e.choose(fault, 0, e.number(term, bound)))
        failed[word] = e.or_(failed[word], e.shl(e.widen(broken), bit))
        faults[word] = e.or_(faults[word], e.shl(e.widen(fault), bit))
    for k, value in enumerate([*failed, *faults, *numbers]):
        pointer = e.value(f"getelementptr inbounds i64, ptr %result{k}, i64 %at")
        e.line(f"store i64 {value}, ptr {pointer}, align 8{_GROUP}")
    some: Number = "%some"
    for bits in failed:
        some = e.or_(some, bits)
    before = [*_pointers("column", len(columns)), *_pointers("result", 2 * len(failed) + len(numbers))]
    return "\n".join(
        (
            _HEAD,
            f"define i64 @{FUNCTION}(ptr noalias readonly %columns, i64 %first, i64 %rows, ptr noalias readonly %results) {{",
            "entry:",
            *before,
            "  %none = icmp eq i64 %rows, 0",
            "  br i1 %none, label %end, label %loop",
            "loop:",
            "  %at = phi i64 [0, %entry], [%next, %loop]",
            "  %some = phi i64 [0, %entry], [%more, %loop]",
            "  %row = add nuw nsw i64 %at, %first",
            *e.lines,
            f"  %more = add i64 {some}, 0",
            "  %next = add nuw nsw i64 %at, 1",
            "  %done = icmp eq i64 %next, %rows",
            "  br i1 %done, label %end, label %loop, !llvm.loop !1",
            "end:",
            "  %any = phi i64 [0, %entry], [%more, %loop]",
            "  ret i64 %any",
            "}",
            _LOOP,
        )
    )


def _pointers(name: str, count: int) -> Iterator[str]:
    for k in range(count):
        yield f"  %at.{name}{k} = getelementptr inbounds ptr, ptr %{name}s, i64 {k}"
        yield f"  %{name}{k} = load ptr, ptr %at.{name}{k}, align 8"
