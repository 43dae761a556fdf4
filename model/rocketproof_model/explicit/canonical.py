"""Canonical forms on packed words: one representative of all states that differ only by a permutation of symmetric elements.

The permutations of one index are undone by sorting. Everything that belongs to an element is its column, and a sorting network brings the
columns into order. The permutations of the other indices are enumerated by exchanging two neighbours at a time; the smallest result is the
canonical form. An exchange takes few instructions, because the layout puts the fields of two elements at equal distances.

    canon(states, n) -> n      replaces n packed states by their canonical forms
    orbits(states, n) -> sum   returns how many states the n canonical states represent
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakKeyDictionary

from ..language import Action, IndexType, MaybeType, Model, Property, SetType, Type, Variable
from ..language.symmetry import Rename, asymmetric_action, asymmetry, exchange, image, symmetric_indices
from ..language.types import permuted_by
from ..routines import native
from .emit import Number, Truth
from .layout import Layout
from .packed import PackedEmitter

MOST = 5040  # maximum of enumerated arrangements; an index that exceeds it is not reduced
_UNROLL = 8  # more arrangements than this become a loop

Words = list[Number]
_asymmetries: WeakKeyDictionary[Action, Any] = WeakKeyDictionary()
_compiled: WeakKeyDictionary[Model, dict[Hashable, tuple[int, int]]] = WeakKeyDictionary()


def reducible(model: Model, claims: Sequence[Property]) -> tuple[tuple[IndexType, ...], str]:
    """Return the symmetric indices whose elements may be identified for these claims, and the reason if there are none.

    A model is checked for terms that distinguish elements when it is built. The check is repeated here because models are also derived from
    models, and claims need not be a model's own.
    """
    indices = symmetric_indices(model.variables)
    for claim in claims if indices else ():
        if reason := asymmetry(*claim.terms):
            return (), f"property {claim.id}: {reason}"
    for action in model.actions if indices else ():
        if action not in _asymmetries:
            _asymmetries[action] = asymmetric_action(action)
        if _asymmetries[action]:
            return (), f"action {action.name}: {_asymmetries[action][0]}"
    return indices, ""


@dataclass(frozen=True)
class _Piece:
    """A part of an element's column: for element k the bits `mask` of `words[k] >> shifts[k]`."""

    mask: int
    words: tuple[int, ...]
    shifts: tuple[int, ...]


@dataclass(frozen=True)
class _Name:
    """A field whose value names elements of the index."""

    word: int
    shift: int
    type: Type

    def element(self, k: int) -> int:
        """Return the code for element k of a field that holds an element or nothing."""
        return k + int(isinstance(self.type, MaybeType))

    def codes(self, rename: Rename) -> list[tuple[int, int]]:
        """Return the pairs of codes that the renaming exchanges."""
        return [(code, to) for code in self.type.codes() if code < (to := rename(self.type, code))]


class _Columns:
    """The places of the fields that belong to the elements of one index."""

    def __init__(self, places: Layout, index: IndexType) -> None:
        self.places, self.index = places, index
        self.names: list[_Name] = []
        self.sets: list[tuple[int, int, Type]] = []  # word and shift of the first bit, and the type of the members
        self.arrays: list[Variable] = []
        self.sortable = True
        single = (index, MaybeType(0, index.size, index))
        for variable in places.model.variables:
            axes = [axis for axis in variable.over if index in permuted_by(axis)]
            if axes:
                self.arrays.append(variable)
            if index in permuted_by(variable.type):
                held = variable.type.of if isinstance(variable.type, SetType) else variable.type
                for slot in range(variable.first, variable.first + variable.size):
                    if isinstance(variable.type, SetType):
                        self.sets.append((*self._place(slot), held))
                    else:
                        self.names.append(_Name(*self._place(slot), variable.type))
                axes.append(index if held in single else held)
            if any(axis != index for axis in axes) or len(axes) > 1:
                self.sortable = False  # the variable relates elements to each other, so they have no separate columns

    def _place(self, slot: int) -> tuple[int, int]:
        return int(self.places.slot_word[slot]), int(self.places.slot_shift[slot])

    def pieces(self) -> list[_Piece]:
        """Return the columns of a sortable index in as few pieces as their places allow, without names."""
        rows = [([(word, shift + k + int(of != self.index)) for k in self.index.codes()], 1) for word, shift, of in self.sets]
        for variable in self.arrays:
            axis = variable.over.index(cast("Any", self.index))
            for at in variable.elements():
                if at[axis] == 0:
                    row = [self._place(variable.slot((*at[:axis], k, *at[axis + 1 :]))) for k in self.index.codes()]
                    rows.append((row, variable.type.width))
        masks: dict[tuple[tuple[int, ...], tuple[int, ...]], int] = {}
        for row, width in rows:
            start = row[0][1]
            key = tuple(word for word, _ in row), tuple(shift - start for _, shift in row)
            masks[key] = masks.get(key, 0) | ((1 << width) - 1) << start
        return [_Piece(mask, words, shifts) for (words, shifts), mask in masks.items() if mask]

    def moves(self, i: int, j: int) -> list[tuple[int, int, int, int]]:
        """Return the exchanges for elements i and j: bits `mask` of one word with those `distance` higher of another (or the same) word."""
        masks: dict[tuple[int, int, int, int], int] = {}
        rename = exchange(self.index, i, j)
        for step, pairs in enumerate((self._elements(rename), self._bits(rename))):
            for (word, low), (other_word, high), mask in pairs:
                if (word, low) > (other_word, high):
                    word, low, other_word, high = other_word, high, word, low
                key = (step, word, other_word, high - low)
                masks[key] = masks.get(key, 0) | mask << low
        return [(word, other_word, distance, mask) for (_, word, other_word, distance), mask in masks.items() if mask]

    def _elements(self, rename: Rename) -> Iterator[tuple[tuple[int, int], tuple[int, int], int]]:
        for variable in self.arrays:
            for at in variable.elements():
                to = image(variable, at, rename)
                if at < to:
                    yield self._place(variable.slot(at)), self._place(variable.slot(to)), (1 << variable.type.width) - 1

    def _bits(self, rename: Rename) -> Iterator[tuple[tuple[int, int], tuple[int, int], int]]:
        for word, shift, type_ in self.sets:
            for code in type_.codes():
                if code < (to := rename(type_, code)):
                    yield (word, shift + code), (word, shift + to), 1


@dataclass(frozen=True, eq=False)
class CanonicalPlan:
    """How canonical forms are computed: one index (or none) is sorted, the arrangements of the others are enumerated."""

    sorted: IndexType | None
    arranged: tuple[IndexType, ...]

    @property
    def indices(self) -> tuple[IndexType, ...]:
        return self.arranged if self.sorted is None else (*self.arranged, self.sorted)

    def walk(self) -> list[tuple[int, int]]:
        """Return exchanges (position in `arranged`, k with k + 1) that lead from each arrangement to the next.

        Each exchange of a further index is followed by a walk through all arrangements so far, in alternating direction. No arrangement is
        missed, because owners come later: exchanging owners maps arrangements of the elements they own to arrangements of these elements.
        """
        steps: list[tuple[int, int]] = []
        for number, index in enumerate(self.arranged):
            for start in _blocks(index):
                inner = steps
                steps = list(inner)
                for k in plain_changes(index.block):
                    inner = inner[::-1]
                    steps += [(number, start + k), *inner]
        return steps


def _blocks(index: IndexType) -> range:
    """Return the first element of each group of elements that may be exchanged with each other."""
    return range(0, index.size, index.block)


def _order(*indices: IndexType) -> int:
    """Return the number of permutations of these indices."""
    return math.prod(math.factorial(index.block) ** len(_blocks(index)) for index in indices)


def _depth(index: IndexType) -> int:
    return 0 if index.owner is None else 1 + _depth(index.owner)


def plan(places: Layout, indices: Sequence[IndexType]) -> CanonicalPlan:
    """Choose the largest sortable index for sorting, and enumerate as many of the others as MOST allows, small indices first."""
    by_size = sorted(indices, key=_order)
    chosen = next((index for index in reversed(by_size) if _Columns(places, index).sortable), None)
    arranged, product = list[IndexType](), 1
    for index in by_size:
        if index is not chosen and product * _order(index) <= MOST:
            product *= _order(index)
            arranged.append(index)
    return CanonicalPlan(chosen, tuple(sorted(arranged, key=_depth, reverse=True)))


def plain_changes(size: int) -> list[int]:
    """Return exchanges of places k and k + 1 that enumerate all permutations (Steinhaus, Johnson, Trotter)."""
    if size < 2:
        return []
    inner, steps = plain_changes(size - 1), list[int]()
    for number in range(len(inner) + 1):
        sweep = range(size - 1)
        steps += sweep if number % 2 else reversed(sweep)
        if number < len(inner):
            steps.append(inner[number] + (number + 1) % 2)
    return steps


def network(size: int) -> Iterator[tuple[int, int]]:
    """Yield the comparisons of a sorting network for `size` places (Batcher's odd-even merge sort)."""
    run = 1
    while run < size:
        distance = run
        while distance:
            for start in range(distance % run, size - distance, 2 * distance):
                for k in range(start, min(start + distance, size - distance)):
                    if k // (2 * run) == (k + distance) // (2 * run):
                        yield k, k + distance
            distance //= 2
        run *= 2


def compiled(places: Layout, indices: Sequence[IndexType]) -> tuple[CanonicalPlan, int, int]:
    """Return the plan for these indices and the addresses of `canon` and `orbits`; 0 if no index is used."""
    how = plan(places, indices)
    if not how.indices:
        return how, 0, 0
    known = _compiled.setdefault(places.model, {})
    key = (places.words, tuple(places.slot_word.tolist()), tuple(places.slot_shift.tolist()), how.indices)
    if key not in known:
        text = _Writer(places, how).text()
        addresses = native.compile_text(text, ("canon", "orbits")).addresses
        known[key] = (addresses["canon"], addresses["orbits"])
    return how, *known[key]


class _Writer:
    """Writes the LLVM text of a plan's functions."""

    def __init__(self, places: Layout, how: CanonicalPlan) -> None:
        self.places, self.how = places, how
        self.columns = {index: _Columns(places, index) for index in how.indices}
        self.steps = how.walk()

    def text(self) -> str:
        kinds = sorted(set(self.steps))
        path = ", ".join(f"i8 {kinds.index(step)}" for step in self.steps)
        head = f"@walk = private constant [{len(self.steps)} x i8] [{path}]\n" if self.steps else ""
        return head + self._function("canon") + self._function("orbits")

    # -- functions ------------------------------------------------------------------------------------------------------

    def _function(self, name: str) -> str:
        """Write a loop over the states: `canon` stores the smallest arrangement, `orbits` counts the arrangements that equal the state."""
        e = self.e = PackedEmitter(self.places.model, self.places, {}, False)
        width = self.places.words
        e.line("%none = icmp sle i64 %n, 0")
        e.line("br i1 %none, label %end, label %state")
        e.label("state")
        again, total = f"%{e.fresh()}", f"%{e.fresh()}"
        e.line(f"%row = phi i64 [0, %entry], [{again}, %next]")
        e.line(f"%sum = phi i64 [0, %entry], [{total}, %next]")
        base = e.mul("%row", width)
        pointers = [e.value(f"getelementptr inbounds i64, ptr %states, i64 {e.add(base, k)}") for k in range(width)]
        start: Words = []
        for pointer in pointers:
            start.append(f"%{e.fresh()}")
            e.line(f"{start[-1]} = load i64, ptr {pointer}, align 8")
        if name == "canon":
            best = self._arrangements(start, self._sorted(start), smallest=True)
            for pointer, word in zip(pointers, best, strict=True):
                e.line(f"store i64 {word}, ptr {pointer}, align 8")
            add: Number = 1
        else:
            (times,) = self._arrangements(start, [1], smallest=False)
            group = _order(*self.how.indices)
            add = e.value(f"udiv i64 {group}, {e.mul(times, self._ties(start))}")
        e.line("br label %next")
        e.label("next")
        e.line(f"{again} = add i64 %row, 1")
        e.line(f"{total} = add i64 %sum, {add}")
        e.line(f"%more = icmp slt i64 {again}, %n")
        e.line("br i1 %more, label %state, label %done")
        e.label("done")
        e.line(f"ret i64 {total}")
        e.label("end")
        e.line("ret i64 0")
        return f"define i64 @{name}(ptr noalias %states, i64 %n) {{\nentry:\n" + "\n".join(e.lines) + "\n}\n"

    def _arrangements(self, start: Words, result: Words, *, smallest: bool) -> Words:
        """Enumerate the arrangements after the first. Return the smallest sorted one, or the number of those that equal `start`."""
        e, now = self.e, start

        def improved(words: Words, so_far: Words) -> Words:
            candidate = self._sorted(words)
            if smallest:
                less = self._less(candidate, so_far)
                return [e.choose(less, x, y) for x, y in zip(candidate, so_far, strict=True)]
            return [e.add(so_far[0], e.widen(self._same(candidate, start)))]

        if len(self.steps) < _UNROLL:
            for number, k in self.steps:
                now = self._exchanged(now, self.how.arranged[number], k, k + 1, True)
                result = improved(now, result)
            return result
        before, kinds = e.block, sorted(set(self.steps))
        at, following = "%at", "%following"
        words = [f"%{e.fresh()}" for _ in start]
        best_so_far = [f"%{e.fresh()}" for _ in result]
        e.line("br label %arrange")
        e.label("arrange")
        heads = len(e.lines)
        with e.scope():
            kind = e.value(f"getelementptr inbounds i8, ptr @walk, i64 {at}")
            e.line(f"%kind = load i8, ptr {kind}, align 1")
            e.line("switch i8 %kind, label %step0 [" + " ".join(f"i8 {k}, label %step{k}" for k in range(len(kinds))) + "]")
            ways: list[tuple[str, Words]] = []
            for k, (number, place) in enumerate(kinds):
                e.label(f"step{k}")
                with e.scope():
                    ways.append((e.block, self._exchanged(list(words), self.how.arranged[number], place, place + 1, True)))
                e.line("br label %arranged")
            e.label("arranged")
            new: Words = []
            for w in range(len(words)):
                new.append(f"%{e.fresh()}")
                e.line(f"{new[-1]} = phi i64 " + ", ".join(f"[{way[w]}, %{block}]" for block, way in ways))
            best = improved(new, list(best_so_far))
            e.line(f"{following} = add i64 {at}, 1")
            e.line(f"%left = icmp slt i64 {following}, {len(self.steps)}")
            e.line("br i1 %left, label %arrange, label %judged")
            phis = [(at, 0, following), *zip(words, start, new, strict=True), *zip(best_so_far, result, best, strict=True)]
            e.lines[heads:heads] = [f"  {v} = phi i64 [{first}, %{before}], [{then}, %{e.block}]" for v, first, then in phis]
        e.label("judged")
        return best

    # -- one arrangement ------------------------------------------------------------------------------------------------

    def _sorted(self, words: Words) -> Words:
        index = self.how.sorted
        if index is None:
            return words
        for start in _blocks(index):
            for i, j in ((start + i, start + j) for i, j in network(index.block)):
                words = self._exchanged(words, index, i, j, self._column_less(words, index, i, j))
        return words

    def _exchanged(self, words: Words, index: IndexType, i: int, j: int, when: Truth) -> Words:
        """Return the words with elements i and j of an index exchanged where `when` holds."""
        e, columns, words = self.e, self.columns[index], list(words)
        for word, other_word, distance, mask in columns.moves(i, j):
            high_bits = self._moved(words[other_word], distance)
            moved = e.choose(when, e.and_(self._xor(words[word], high_bits), mask), 0)
            words[word] = self._xor(words[word], moved)
            words[other_word] = self._xor(words[other_word], self._moved(moved, -distance))
        rename = exchange(index, i, j)
        for name in columns.names:
            change: Number = 0
            for code, to in name.codes(rename):
                either = e.either(self._holds(words, name, code), self._holds(words, name, to))
                change = e.choose(either, (code ^ to) << name.shift, change)
            words[name.word] = self._xor(words[name.word], e.choose(when, change, 0))
        return words

    def _column_less(self, words: Words, index: IndexType, i: int, j: int) -> Truth:
        """Return whether column i comes after column j in the canonical order."""
        e, columns = self.e, self.columns[index]
        pairs: list[tuple[Number, Number]] = []
        for piece in columns.pieces():
            x, y = (e.and_(self._moved(words[piece.words[k]], piece.shifts[k]), piece.mask) for k in (i, j))
            pairs.append((x, y))
        for at in range(0, len(columns.names), 62):
            some = columns.names[at : at + 62]
            named_by: list[Number] = [0, 0]
            for bit, name in enumerate(some):
                for side, k in enumerate((i, j)):
                    named_by[side] = e.or_(named_by[side], e.shl(e.widen(self._holds(words, name, name.element(k))), bit))
            pairs.append((named_by[0], named_by[1]))
        less: Truth = False
        for x, y in pairs:
            less = e.either(e.compare("ult", x, y), e.both(e.compare("eq", x, y), less))
        return less

    def _ties(self, words: Words) -> Number:
        """Return the number of permutations of the columns that leave a sorted state unchanged."""
        e, index = self.e, self.how.sorted
        ways: Number = 1
        run: Number
        if index is None:
            return ways
        for start in _blocks(index):
            run = 1
            for k in range(start, start + index.block - 1):
                tie = self._same(words, self._exchanged(words, index, k, k + 1, True))
                run = e.choose(tie, e.add(run, 1), 1)
                ways = e.mul(ways, run)
        return ways

    def _holds(self, words: Words, name: _Name, code: int) -> Truth:
        e = self.e
        return e.compare("eq", e.and_(e.lshr(words[name.word], name.shift), (1 << name.type.width) - 1), code)

    def _moved(self, word: Number, down: int) -> Number:
        return self.e.lshr(word, down) if down >= 0 else self.e.shl(word, -down)

    def _xor(self, x: Number, y: Number) -> Number:
        return self.e.value(f"xor i64 {x}, {y}")

    def _less(self, left: Words, right: Words) -> Truth:
        e = self.e
        less: Truth = False
        for x, y in zip(reversed(left), reversed(right), strict=True):
            less = e.either(e.compare("ult", x, y), e.both(e.compare("eq", x, y), less))
        return less

    def _same(self, left: Words, right: Words) -> Truth:
        equal: Truth = True
        for x, y in zip(left, right, strict=True):
            equal = self.e.both(equal, self.e.compare("eq", x, y))
        return equal
