"""Terms over packed states: locates the words and fields of variables for the LLVM text that `emit` writes."""

from __future__ import annotations

from dataclasses import dataclass

from ..language import Expr, Model, Variable
from .emit import Bindings, Emitter, Number
from .layout import Layout


@dataclass(frozen=True)
class PackedPlace:
    """The place of an element: its word, by a constant or a computed number, and its shift, as a computed and a constant part."""

    word: int | None
    at: Number
    dynamic: Number
    shift: int
    width: int


class PackedEmitter(Emitter):
    """Emits terms over packed states. `sources` names the pointers that `ref` and `after` read; constants are read at run time."""

    def __init__(self, model: Model, layout: Layout, sources: dict[str, str], checked: bool) -> None:
        super().__init__()
        self.layout = layout
        self.constants = {name: k for k, name in enumerate(model.constants)}
        self.sources = sources
        self.checked = checked

    def given(self, term: Expr) -> str:
        pointer = self.value(f"getelementptr inbounds i64, ptr %consts, i64 {self.constants[term.args[0]]}")
        return self.value(f"load i64, ptr {pointer}, align 8, !invariant.load !0")

    def place(self, ref: Expr, bound: Bindings, write: bool = False) -> PackedPlace:
        """Return the place of an element. Unchecked code keeps a write inside the array, so that states stay well-formed."""
        variable: Variable = ref.args[0]
        field = self.layout.fields[variable]
        numbers: list[Number] = []
        for index, axis in zip(ref.args[1:], variable.over, strict=True):
            k = self.sub(self.number(index, bound), axis.lo)
            if isinstance(k, int):
                k = min(max(k, 0), axis.size - 1)
            elif write and not self.checked and index.op != "par":
                k = self.least(k, axis.size - 1)
            numbers.append(k)
        lane: Number = 0
        inner: Number = 0
        for axis, k in zip(variable.over[: field.outer], numbers, strict=False):
            lane = self.add(self.mul(lane, axis.size), k)
        for axis, k in zip(variable.over[field.outer :], numbers[field.outer :], strict=True):
            inner = self.add(self.mul(inner, axis.size), k)
        word: int | None = field.word
        at: Number = field.word
        shift = field.base + field.offset
        if field.words > 1:
            if isinstance(lane, int):
                word, at, lane = field.word + lane // field.lanes, 0, lane % field.lanes
            else:
                lane = self.least(lane, field.words * field.lanes - 1)
                quotient = self.value(f"udiv i64 {lane}, {field.lanes}")
                lane = self.sub(lane, self.mul(quotient, field.lanes))
                word, at = None, self.add(quotient, field.word)
        moving: Number = 0
        for k, stride in ((lane, field.lane), (inner, field.width)):
            if isinstance(k, int):
                shift += k * stride
            else:
                moving = self.add(moving, self.mul(k, stride))
        return PackedPlace(word, at, moving if isinstance(moving, int) else self.and_(moving, 63), shift, field.width)

    def read(self, ref: Expr, bound: Bindings) -> Number:
        place = self.place(ref, bound)
        if place.width == 0:
            return ref.type.lo
        whole = self.word(ref.op, place.at if place.word is None else place.word)
        lane = self.lshr(whole, place.dynamic)
        return self.add(self.and_(self.lshr(lane, place.shift), (1 << place.width) - 1), ref.type.lo)

    def word(self, source: str, at: Number) -> str:
        """Return one word of the state before (`ref`) or after (`after`). A state does not change while a kernel runs."""
        pointer = self.value(f"getelementptr inbounds i64, ptr {self.sources[source]}, i64 {at}")
        return self.value(f"load i64, ptr {pointer}, align 8")
