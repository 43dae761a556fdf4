"""Packed states: a state as W words of 64 bits, so that the search compares, hashes and stores few words.

Each element of a variable is a field of `type.width` bits that holds `code - type.lo`. Variables over the same first index form *lanes*:
the fields of broker 1 have a fixed distance from those of broker 0, so a dynamic index is one shift for all of them. An array too large for
a word has several words of its own. Bit 63 of a word is unused, so that words compare as without a sign. Word 0 has one bit that is always
set, so no packed state is all zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..errors import ModelError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..interpreter import State
    from ..language import Model, Variable

WORD_BITS = 63


@dataclass(frozen=True)
class LayoutField:
    """The places of the elements of one variable.

    The first `outer` axes number the lanes; a word has `lanes` of them, each `lane` bits wide. The variable begins at bit `offset` of its
    lane, and its elements over the other axes follow each other. The word of lane k, inner element j is `word + k // lanes`, its bit `base
    + k % lanes * lane + offset + j * width`.
    """

    word: int
    base: int
    lanes: int
    lane: int
    offset: int
    width: int
    outer: int
    words: int

    def place(self, lane: int, inner: int) -> tuple[int, int]:
        """Return (word, shift) of one element."""
        return self.word + lane // self.lanes, self.base + lane % self.lanes * self.lane + self.offset + inner * self.width


@dataclass(frozen=True, eq=False)
class Layout:
    """How the states of a model are packed. `present` is the bit of word 0 that is always set."""

    model: Model
    words: int
    present: int
    fields: dict[Variable, LayoutField]
    slot_word: NDArray[np.int64]
    slot_shift: NDArray[np.int64]
    slot_mask: NDArray[np.int64]
    slot_low: NDArray[np.int64]

    def pack(self, state: State) -> NDArray[np.int64]:
        """Return the words of one state; the codes must be within their types."""
        row: NDArray[np.int64] = self.pack_many(np.asarray([state], dtype=np.int64).reshape(1, -1))[0]
        return row

    def pack_many(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert (n, slots) codes to (n, W) words."""
        packed = np.zeros((len(codes), self.words), dtype=np.int64)
        packed[:, 0] = 1 << self.present
        for slot in range(codes.shape[1]):
            packed[:, self.slot_word[slot]] |= (codes[:, slot] - self.slot_low[slot]) << self.slot_shift[slot]
        return packed

    def unpack(self, words: Sequence[int] | NDArray[np.int64]) -> State:
        """Return the state, one code per slot."""
        return tuple(self.unpack_many(np.asarray(words, dtype=np.int64).reshape(1, -1))[0].tolist())

    def unpack_many(self, packed: NDArray[np.int64]) -> NDArray[np.int64]:
        """Convert (n, W) words to (n, slots) codes."""
        codes: NDArray[np.int64] = (packed[:, self.slot_word] >> self.slot_shift & self.slot_mask) + self.slot_low
        return codes


@dataclass
class _Group:
    """Variables that share lanes: `count` lanes of `lane` bits each."""

    count: int
    lane: int
    members: list[tuple[Variable, int, int]]  # variable, number of outer axes, offset in the lane


def layout(model: Model, word_bits: int = WORD_BITS) -> Layout:
    """Choose places for all variables; `word_bits` (at most 63) of each word are used.

    Raises ModelError for a variable with more bits than a word offers.
    """
    capacity = word_bits - 1
    fields: dict[Variable, LayoutField] = {}
    free: list[int] = []  # first free bit of each word

    def place(group: _Group) -> None:
        total = group.count * group.lane
        if total <= capacity:
            word = next((w for w, used in enumerate(free) if used + total <= capacity), len(free))
            base, lanes, words = (free[word] if word < len(free) else 0), group.count, 1
            if word == len(free):
                free.append(0)
            free[word] += total
        else:
            lanes = capacity // group.lane
            word, base, words = len(free), 0, -(-group.count // lanes)
            free.extend([lanes * group.lane] * (words - 1))
            free.append((group.count - lanes * (words - 1)) * group.lane)
        for variable, outer, offset in group.members:
            fields[variable] = LayoutField(word, base, max(lanes, 1), group.lane, offset, variable.type.width, outer, words)

    for group in sorted(_groups(model, capacity), key=lambda g: -g.count * g.lane):
        place(group)
    low = np.zeros(model.slots, dtype=np.int64)
    mask, word, shift = low.copy(), low.copy(), low.copy()
    for variable, field in fields.items():
        inner = math.prod(axis.size for axis in variable.over[field.outer :])
        for k in range(variable.size):
            slot = variable.first + k
            word[slot], shift[slot] = field.place(k // inner, k % inner)
            low[slot], mask[slot] = variable.type.lo, (1 << field.width) - 1
    return Layout(model, max(len(free), 1), capacity, fields, word, shift, mask, low)


def _groups(model: Model, capacity: int) -> list[_Group]:
    """Return lanes by first index. A group that exceeds a word is split; a single array that does has one lane per element."""
    groups: list[_Group] = []
    open_: dict[object, list[_Group]] = {}
    for variable in model.variables:
        width = variable.type.width
        if width > capacity:
            raise ModelError(
                f"{variable.name} of {variable.type} takes {width} bits, more than the {capacity} of a packed word",
                "choose smaller bounds",
                variable.place,
            )
        if not variable.over:
            groups.append(_Group(1, width, [(variable, 0, 0)]))
            continue
        count = variable.over[0].size
        bits = width * (variable.size // count)
        if count * bits > capacity:
            groups.append(_Group(variable.size, width, [(variable, len(variable.over), 0)]))
            continue
        shared = open_.setdefault(variable.over[0], [])
        group = next((g for g in shared if (g.lane + bits) * count <= capacity), None)
        if group is None:
            group = _Group(count, 0, [])
            shared.append(group)
            groups.append(group)
        group.members.append((variable, 1, group.lane))
        group.lane += bits
    return groups
