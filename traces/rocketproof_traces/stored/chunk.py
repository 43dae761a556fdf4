"""A chunk of a walk: its rows of facts, and the text and bodies of their records.

The next chunk reuses the memory of a chunk: copy what must be kept. Texts are copies.
"""

# Numba's functions have no types that a checker knows.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"
# pyright: basic, reportCallIssue=false
from __future__ import annotations

import ipaddress
from operator import index
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from rocketproof_model.routines.compiled import compiled

from .facts import Column, column
from .kinds import BIT, RowKind
from .layout import BORN_HOST_AT, IPV6_MORE, STORE_HOST_AT
from .memory import byte, put_byte
from .names import NameTable
from .segments import Range
from .window import Window

if TYPE_CHECKING:
    import pyarrow as pa


class Chunk:
    """Rows in the order of the file. `table` has a line for each of facts.COLUMNS; `chunk[name]` is a real or virtual column."""

    def __init__(self, range_: Range, table: NDArray[np.int64], names: NameTable, window: Window) -> None:
        self.range = range_
        self.table = table
        self.names = names
        self._window = window

    @property
    def rows(self) -> int:
        return int(self.table.shape[1])

    def __getitem__(self, name: str) -> Column:
        return column(self.table, name)

    @property
    def is_message(self) -> NDArray[np.bool_]:
        """Whether each row is a record."""
        mask: NDArray[np.bool_] = self["kind"] <= RowKind.MESSAGE_V2
        return mask

    def bytes_at(self, offset: int, length: int) -> bytes:
        """Return bytes of this file at a physical offset, fewer at the start or end of the file. Raises StoredError."""
        start = max(offset - self.range.file.base, 0)
        return self._window.bytes_at(start, max(0, min(offset - self.range.file.base + length, self.range.file.length) - start))

    def spans(self, offsets: Column, length: int) -> NDArray[np.uint8]:
        """Return `length` bytes at each physical offset, concatenated. The offsets must be in the part of the file of this chunk."""
        starts = offsets - self._window.offset_of_zero
        data = np.empty(len(starts) * length, np.uint8)
        _gather(self._window.address, starts, starts + length, data.ctypes.data)
        return data

    def text(self, name: str) -> pa.Array:
        """Return the texts of "topic", "properties", "tags" or "keys", null where a row has none.

        Invalid UTF-8 is replaced by replacement characters.
        """
        import pyarrow as pa

        if name == "topic":
            numbers = self["topic"]
            return pa.array(self.names.texts(), pa.string()).take(pa.array(numbers, mask=numbers < 0))
        if name == "properties":
            start, length, present = self["propertiesOffset"], self["propertiesLength"], self["propertiesLength"] >= 0
        else:
            bit = BIT[name.upper()]
            present = self.is_message & ((self["properties"] & bit) != 0)
            start, length = self["physicalOffset"] + self[f"{name}At"], self[f"{name}Length"]
        binary = self._binary(start, length, present)
        try:
            return binary.cast(pa.string())
        except pa.ArrowInvalid:
            return pa.array([None if text is None else text.decode("utf-8", "replace") for text in binary.to_pylist()], pa.string())

    def bodies(self) -> pa.Array:
        """Return the bodies as bytes, null for rows that are no record or have wrong lengths."""
        return self._binary(self["bodyOffset"], self["bodyLength"], self.is_message & (self["topicLength"] >= 0))

    def _binary(self, start: Column, length: Column, present: NDArray[np.bool_]) -> pa.Array:
        import pyarrow as pa

        starts = np.where(present, start - self._window.offset_of_zero, 0)
        ends = starts + np.where(present, length, 0)
        offsets = np.zeros(self.rows + 1, np.int64)
        np.cumsum(ends - starts, out=offsets[1:])
        data = np.empty(int(offsets[-1]), np.uint8)
        _gather(self._window.address, starts, ends, data.ctypes.data)
        kind, narrow = (pa.large_binary(), offsets) if offsets[-1] >> 31 else (pa.binary(), offsets.astype(np.int32))
        valid = None if present.all() else pa.py_buffer(np.packbits(present, bitorder="little"))
        return pa.Array.from_buffers(kind, self.rows, [valid, pa.py_buffer(narrow), pa.py_buffer(data)])

    def hosts(self, which: str) -> pa.Array:
        """Return the hosts ("born" or "store") as text `address:port`, null for rows that are no record."""
        import pyarrow as pa

        address, port = self[f"{which}Address"], self[f"{which}Port"]
        pairs, inverse = np.unique((address << 32) + (port & 0xFFFFFFFF), return_inverse=True)
        texts = np.array([f"{ipaddress.IPv4Address(index(pair) >> 32 & 0xFFFFFFFF)}:{_signed(index(pair))}" for pair in pairs], object)
        hosts = texts[inverse] if len(pairs) else np.empty(0, object)
        hosts[~self.is_message] = None
        for row in np.flatnonzero(self.is_message & (address < 0)):
            host_at = STORE_HOST_AT + (IPV6_MORE if self["bornAddress"][row] < 0 else 0) if which == "store" else BORN_HOST_AT
            data = self.bytes_at(int(self["physicalOffset"][row]) + host_at, 16)
            hosts[row] = f"[{ipaddress.IPv6Address(data)}]:{int(port[row])}"
        return pa.array(hosts, pa.string())


def _signed(word: int) -> int:
    return (word & 0xFFFFFFFF) - ((word & 0x80000000) << 1)


@compiled
def _gather(base, starts, ends, into):
    """Copy the bytes of spans, concatenated."""
    done = 0
    for number in range(starts.size):
        for at in range(starts[number], ends[number]):
            put_byte(into, done, byte(base, at))
            done += 1
