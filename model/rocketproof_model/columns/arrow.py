"""Columns of Arrow batches as codes: converts readable values into the input of a program's machine code, without a copy where possible.

| type of the variable | Arrow column |
|---|---|
| Bool | bool |
| Int, an index, a set (bit i is element i) | integers, timestamps and durations as their number; dictionaries of integers |
| Maybe | the same of its index; null is None |
| Enum | text, or a dictionary of it |

A null elsewhere, a name that the Enum does not have, or a number out of range has no code. It becomes a number outside the type, so a term
that reads it is a fault in that row only. A column of another type is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as _pc

from ..errors import ModelError
from ..language import EnumType, MaybeType, Type
from .emit import InputColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

pc: Any = _pc  # its functions are created at import time, which type checkers do not see
Sources = tuple[dict[str, "NDArray[Any]"], dict[str, "NDArray[Any]"], dict[str, "NDArray[Any]"]]
_TICKS = (pa.types.is_timestamp, pa.types.is_duration, pa.types.is_time64)


def columns(batch: Any, wanted: Sequence[InputColumn]) -> Sources:
    """Return the columns of a record batch or table as codes: the state before, the state after, and parameters.

    Their names are the `InputColumn.label`s: `x`, `x'` and, for a parameter of an action, its name. Raises ModelError if a column is
    missing, is ambiguous, or has a type that its variable cannot take.
    """
    labels = [column.label for column in wanted]
    for label in labels:
        if labels.count(label) > 1:
            raise ModelError(f"column {label} is a variable and a parameter", "call run() with the two in mappings of their own")
    sources: Sources = ({}, {}, {})
    names = batch.schema.names
    for column in wanted:
        if column.label not in names:
            raise ModelError(f"no column {column.label} in the batch", f"its columns are {', '.join(names)}")
        array = batch.column(column.label)
        sources[("ref", "after", "par").index(column.source)][column.name] = codes(array, column.type, column.label)
    return sources


def codes(array: Any, type_: Type, label: str) -> NDArray[Any]:
    """Return the codes of an Arrow array (chunked or not); `label` is for errors."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks() if array.num_chunks != 1 else array.chunk(0)
    if isinstance(type_, MaybeType):
        element = codes(array, type_.of, label).astype(np.int64)
        inside = (element >= type_.of.lo) & (element <= type_.of.hi)
        code = np.where(inside, element - type_.of.lo + 1, type_.hi + 1)
        return np.where(np.asarray(array.is_null().to_numpy(zero_copy_only=False)), 0, code)
    if isinstance(type_, EnumType):
        return _names(array, type_, label)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if type_.sort == "bool":
        if not pa.types.is_boolean(array.type):
            raise _refused(array, type_, label, "bool")
        return _filled(array.cast(pa.uint8()), 2) if array.null_count else np.asarray(array.to_numpy(zero_copy_only=False))
    if any(ticks(array.type) for ticks in _TICKS):
        array = array.view(pa.int64())
    if not pa.types.is_integer(array.type):
        raise _refused(array, type_, label, "integers")
    return _filled(array, type_.hi + 1)


def _names(array: Any, type_: EnumType, label: str) -> NDArray[Any]:
    """Return the codes of names; -1 for null and for a name that the type does not have."""
    if pa.types.is_dictionary(array.type):
        known = np.append(_names(array.dictionary, type_, label), -1)
        codes_: NDArray[Any] = known[_filled(array.indices, len(known) - 1)]
        return codes_
    if not (pa.types.is_string(array.type) or pa.types.is_large_string(array.type) or pa.types.is_string_view(array.type)):
        raise _refused(array, type_, label, "text, or a dictionary of text")
    names = pa.array(type_.names, array.type)
    return _filled(pc.index_in(array, value_set=names), -1)


def _filled(array: Any, instead: int) -> NDArray[Any]:
    """Return numbers, with `instead` for nulls. A number that no int64 holds becomes the greatest int64, which is outside every type."""
    if array.type == pa.uint64():
        array = pc.min_element_wise(array, pa.scalar(2**63 - 1, pa.uint64()))
    if array.null_count or array.type == pa.uint64():
        array = array.cast(pa.int64()).fill_null(instead)
    return np.asarray(array.to_numpy(zero_copy_only=False))


def _refused(array: Any, type_: Type, label: str, needed: str) -> ModelError:
    return ModelError(f"column {label} holds {array.type} where {type_} is needed", f"give {needed}")
