"""Column programs: the values of terms in many states at once; each slot of a variable is a column and each state a row.

A column holds codes and has the name of `Variable.name_at` (`config.read[0,1]`); Arrow batches may contain readable values (`arrow`). Rules
about records read from files are properties of a small model without actions. Its variables are the columns of a table. A rule about
successive records is a `step` property; the earlier record is the state before. Interpreter, z3 and this form thus give a rule one meaning;
tests compare them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..language import Expr, Instance, show, walk
from ..routines import native
from . import emit
from .emit import BITS, InputColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

_BLOCK = 8192  # rows evaluated before failing rows are collected: the masks stay in the processor's caches
_STORED = {np.dtype(name).str: name for name in emit.STORED}
_ARGUMENTS = (ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p)
_Function = Any  # a ctypes function


@dataclass(frozen=True, eq=False)
class TermErrors:
    """Failed terms, one element per (row, term) pair, ordered by row and term: `row`, `term` (its number), `fault` (no value)."""

    row: NDArray[np.int64]
    term: NDArray[np.int64]
    fault: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.row)

    @property
    def valued(self) -> TermErrors:
        """Return the errors without terms that have no value."""
        return TermErrors(self.row[~self.fault], self.term[~self.fault], self.fault[~self.fault])

    @classmethod
    def joined(cls, parts: Sequence[TermErrors]) -> TermErrors:
        """Concatenate the parts."""
        if len(parts) == 1:
            return parts[0]
        if not parts:
            return cls(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.bool_))
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in ("row", "term", "fault")))


@dataclass(frozen=True, eq=False)
class Answers(Mapping[str, "NDArray[Any]"]):
    """The values of the terms in each of `rows` rows: bool arrays for truth values, int64 arrays of codes for all others.

    A term has no value if the interpreter would raise EvaluationError, or if it reads a number outside its variable's type. `fault` is then
    set, a truth value is False and a number is 0.
    """

    rows: int
    truths: Mapping[str, bool]  # for each term, whether it is a truth value
    failed: NDArray[np.uint64]  # (words, rows)
    faults: NDArray[np.uint64]
    numbers: Mapping[str, NDArray[np.int64]]

    def __getitem__(self, name: str) -> NDArray[Any]:
        return ~self._bit(self.failed, name) if self.truths[name] else self.numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.truths)

    def __len__(self) -> int:
        return len(self.truths)

    def fault(self, name: str) -> NDArray[np.bool_]:
        """Return the rows in which the term has no value."""
        return self._bit(self.faults, name)

    def broken(self, rows: NDArray[np.int64] | None = None, terms: Iterable[str] | None = None) -> TermErrors:
        """Return all (row, term) pairs of false terms and of terms without a value.

        Optionally only for some rows, which then count from 0, or for some terms.
        """
        failed, faults = (self.failed, self.faults) if rows is None else (self.failed[:, rows], self.faults[:, rows])
        if terms is not None:
            asked = np.zeros((len(failed), 1), np.uint64)
            for word, bit in map(self._place, terms):
                asked[word] |= bit
            failed = failed & asked
        return _pairs(failed, faults, 0)

    def _place(self, name: str) -> tuple[int, np.uint64]:
        """Return word and bit of a term in the masks."""
        word, bit = divmod(self._numbers[name], BITS)
        return word, np.uint64(1 << bit)

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.truths)}

    def _bit(self, masks: NDArray[np.uint64], name: str) -> NDArray[np.bool_]:
        word, bit = self._place(name)
        is_set: NDArray[np.bool_] = masks[word] & bit != 0
        return is_set


@dataclass(frozen=True, eq=False)
class ColumnProgram:
    """Terms and the columns that they read. Machine code is compiled at the first run for each combination of column kinds."""

    instance: Instance
    terms: Mapping[str, Expr]
    columns: tuple[InputColumn, ...]
    _compiled: dict[tuple[str, ...], _Function] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        return compile_columns, (self.instance, dict(self.terms))

    def run(
        self,
        before: Mapping[str, NDArray[Any]],
        after: Mapping[str, NDArray[Any]] | None = None,
        parameters: Mapping[str, NDArray[Any]] | None = None,
        *,
        rows: int | None = None,
    ) -> Answers:
        """Evaluate all terms in all rows.

        The mappings hold codes by the columns' names, arrays of equal length of integers or bools; further arrays are ignored. `rows` is
        their length, needed if there is no array. Raises ModelError for columns that are missing or invalid.
        """
        rows, arrays = self._columns({"ref": before, "after": after or {}, "par": parameters or {}}, rows)
        results = self._results(rows)
        self._function(arrays)(_table(arrays), 0, rows, _table(results))
        return self._answers(rows, results)

    def broken(
        self,
        before: Mapping[str, NDArray[Any]],
        after: Mapping[str, NDArray[Any]] | None = None,
        parameters: Mapping[str, NDArray[Any]] | None = None,
        *,
        rows: int | None = None,
    ) -> TermErrors:
        """Return `run(...).broken()`, for tables with few failing rows: nothing else is stored."""
        rows, arrays = self._columns({"ref": before, "after": after or {}, "par": parameters or {}}, rows)
        return self._bound(arrays, rows).broken(rows)

    def bind(
        self,
        before: Mapping[str, NDArray[Any]],
        after: Mapping[str, NDArray[Any]] | None = None,
        parameters: Mapping[str, NDArray[Any]] | None = None,
    ) -> BoundProgram:
        """Return the program bound to arrays that are refilled repeatedly.

        Raises ModelError as `run` does, and for an array that needs a copy.
        """
        rows, arrays = self._columns({"ref": before, "after": after or {}, "par": parameters or {}}, None)
        sources = {"ref": before, "after": after or {}, "par": parameters or {}}
        for column, array in zip(self.columns, arrays, strict=True):
            if array is not sources[column.source][column.name]:
                raise ModelError(f"column {column.label} cannot be bound", "give contiguous codes in this machine's byte order")
        return self._bound(arrays, rows)

    def _bound(self, arrays: list[NDArray[Any]], rows: int) -> BoundProgram:
        results = self._results(min(rows, _BLOCK))
        return BoundProgram(self._function(arrays), arrays, _table(arrays), results, _table(results), emit.words(len(self.terms)))

    def over(self, batch: Any) -> Answers:
        """Call `run` for an Arrow record batch (or table) of readable values, see `arrow.columns`."""
        return self.run(*self._arrow(batch))

    def broken_over(self, batch: Any) -> TermErrors:
        """Call `broken` for an Arrow record batch (or table)."""
        return self.broken(*self._arrow(batch))

    @cached_property
    def _numbers(self) -> int:
        """The number of terms that are numbers."""
        return sum(term.type.sort != "bool" for term in self.terms.values())

    def _arrow(self, batch: Any) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
        from . import arrow

        return arrow.columns(batch, self.columns)

    def _columns(self, sources: Mapping[str, Mapping[str, NDArray[Any]]], rows: int | None) -> tuple[int, list[NDArray[Any]]]:
        """Return the number of rows and the arrays that the machine code reads."""
        if rows is None:
            rows = next((len(array) for source in sources.values() for array in source.values()), None)
        if rows is None:
            raise ModelError("a column program got no columns, so that it cannot know how many rows there are", "give at least one")
        arrays = []
        for column in self.columns:
            array = sources[column.source].get(column.name)
            if array is None:
                known = ", ".join(map(str, sources[column.source])) or "none"
                raise ModelError(f"no column {column.label}", f"give it; the {_SOURCES[column.source]} given: {known}")
            arrays.append(_plain(np.asarray(array), rows, column))
        return rows, arrays

    def _function(self, arrays: list[NDArray[Any]]) -> _Function:
        stored = tuple(_STORED[array.dtype.str] for array in arrays)
        function = self._compiled.get(stored)
        if function is None:
            text = emit.text(self.instance, list(self.terms.values()), self.columns, stored)
            address = native.compile_text(text, (emit.FUNCTION,)).addresses[emit.FUNCTION]
            function = self._compiled[stored] = ctypes.CFUNCTYPE(ctypes.c_int64, *_ARGUMENTS)(address)
        return function

    def _results(self, rows: int) -> NDArray[np.uint64]:
        return np.empty((2 * emit.words(len(self.terms)) + self._numbers, rows), np.uint64)

    def _answers(self, rows: int, results: NDArray[np.uint64]) -> Answers:
        words = emit.words(len(self.terms))
        truths = {name: term.type.sort == "bool" for name, term in self.terms.items()}
        numbers = (name for name, truth in truths.items() if not truth)
        values = dict(zip(numbers, results[2 * words :].view(np.int64), strict=True))
        return Answers(rows, truths, results[:words], results[words : 2 * words], values)


@dataclass(frozen=True, eq=False)
class BoundProgram:
    """A program bound to the arrays that it reads; it holds their addresses."""

    _function: _Function
    _arrays: list[NDArray[Any]]  # kept alive while their addresses are used
    _columns: Any
    _results: NDArray[np.uint64]
    _table: Any
    _words: int

    def broken(self, rows: int) -> TermErrors:
        """Return `ColumnProgram.broken` for the first `rows` rows."""
        errors = []
        for first in range(0, rows, _BLOCK):
            count = min(_BLOCK, rows - first)
            if self._function(self._columns, first, count, self._table):
                failed, faults = self._results[: self._words, :count], self._results[self._words : 2 * self._words, :count]
                errors.append(_pairs(failed, faults, first))
        return TermErrors.joined(errors)

    def failed(self, rows: int) -> NDArray[np.uint64]:
        """Return the rows, among the first `rows` (at most 8192), in which the first term is false or has no value: words with bit 0 set.

        The next call overwrites the result.
        """
        self._function(self._columns, 0, rows, self._table)
        first: NDArray[np.uint64] = self._results[0, :rows]
        return first


_SOURCES = {"ref": "columns of the state before", "after": "columns of the state after", "par": "parameters"}


def compile_columns(instance: Instance, terms: Mapping[str, Expr]) -> ColumnProgram:
    """Compile a program that evaluates the terms over variables, variables after a step, parameters and constants of the instance.

    Raises ModelError for terms that belong to another model, for unknowns of lemmas, and for a parameter of two types.
    """
    if not terms:
        raise ModelError("a column program of no terms", "give at least one term and its name")
    columns = tuple(emit.columns_of(terms.values()))
    known = {v.name_at(at) for v in instance.model.variables for at in v.elements()}
    names: set[tuple[str, str]] = set()
    for column in columns:
        if column.source != "par" and column.name not in known:
            raise ModelError(f"a column program reads unknown variable {column.name}", "give it an instance of the same model")
        if (column.source, column.name) in names:
            raise ModelError(f"parameter {column.name} has two types in one column program", "give it one type, or make two programs")
        names.add((column.source, column.name))
    for e in walk(*terms.values()):
        if e.op == "free":
            raise ModelError(f"a column program reads the unknown '{show(e)}' of a lemma", "only terms over a state have columns")
        if e.op == "given" and e.args[0] not in instance.constants:
            raise ModelError(f"a column program reads unknown constant {e.args[0]}", "give it an instance of the same model")
    return ColumnProgram(instance, dict(terms), columns)


def _plain(array: NDArray[Any], rows: int, column: InputColumn) -> NDArray[Any]:
    """Return the array as the machine code reads it: contiguous, in this machine's byte order, of a kind in `emit.STORED`."""
    if array.shape != (rows,):
        raise ModelError(f"column {column.label} has shape {array.shape}", f"give {rows} values, as in the first column")
    if array.dtype.str in _STORED and array.flags.c_contiguous:
        return array
    if array.dtype.name == "uint64":
        array = np.minimum(array, np.uint64(2**63 - 1)).astype(np.int64)  # no type has greater values
    if array.dtype.name not in emit.STORED:
        raise ModelError(f"column {column.label} holds {array.dtype}", "give codes: integers of at most 64 bits, or bools")
    return np.ascontiguousarray(array, array.dtype.newbyteorder("="))


def _table(arrays: Iterable[NDArray[Any]]) -> Any:
    """Return a table of the arrays' addresses."""
    addresses = [_address(array) for array in arrays]
    return (ctypes.c_void_p * max(1, len(addresses)))(*addresses)


def _address(array: Any) -> int:
    """Return `array.ctypes.data`, by a way that takes a quarter of its time if available."""
    quick = array.size and array.flags.writeable
    return ctypes.addressof(ctypes.c_char.from_buffer(array)) if quick else int(array.ctypes.data)


def _pairs(failed: NDArray[np.uint64], faults: NDArray[np.uint64], first: int) -> TermErrors:
    """Return the set bits of masks of (words, rows); rows are counted from `first`."""
    rows = np.flatnonzero(failed.any(axis=0)) if len(failed) > 1 else np.flatnonzero(failed[0])
    bits = np.unpackbits(np.ascontiguousarray(failed[:, rows].T).astype("<u8").view(np.uint8), axis=1, bitorder="little")
    at, term = np.nonzero(bits)
    word, bit = np.divmod(term, BITS)
    fault = faults[word, rows[at]] >> bit.astype(np.uint64) & np.uint64(1)
    return TermErrors(rows[at].astype(np.int64) + first, term.astype(np.int64), fault.astype(np.bool_))
