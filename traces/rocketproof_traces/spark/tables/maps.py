"""The properties of messages as maps: convert text `name 1 value 2 name 1 value 2 …` to Arrow's map type without a loop over messages."""

# pyarrow.compute defines its functions at import, so type checkers do not know them.
# pyright: reportAttributeAccessIssue=false
from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from rocketproof_protocol.properties import PROPERTY_END


def properties_map(texts: pa.Array) -> pa.MapArray:
    """Return a map for each text, null for a null text.

    It contains what a broker reads: a piece without a name or a value is ignored, and the last value of a name wins.
    """
    pieces = pc.split_pattern(texts, PROPERTY_END)
    flat, owners = pieces.flatten(), pc.list_parent_indices(pieces).to_numpy(zero_copy_only=False)
    # A value can contain the byte that ends a name.
    split = pc.extract_regex(flat, "(?s)^(?P<name>[^\x01]+)\x01(?P<value>.+)$")
    valid = np.flatnonzero(split.is_valid().to_numpy(zero_copy_only=False))
    names, values = (pc.struct_field(split, field).take(pa.array(valid)) for field in ("name", "value"))
    codes = names.dictionary_encode().indices.to_numpy(zero_copy_only=False).astype(np.int64)
    kept = _last_of_each(owners[valid].astype(np.int64) * (len(valid) + 1) + codes)
    counts = np.bincount(owners[valid][kept], minlength=len(texts))
    offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
    absent = np.append(texts.is_null().to_numpy(zero_copy_only=False), np.False_)
    return pa.MapArray.from_arrays(pa.array(offsets, mask=absent), names.take(pa.array(kept)), values.take(pa.array(kept)))


def _last_of_each(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions of the last of equal codes, in order."""
    _, backwards = np.unique(codes[::-1], return_index=True)
    return np.sort(len(codes) - 1 - backwards)
