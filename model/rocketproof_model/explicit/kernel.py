"""Kernels: a model's actions and formulas as machine code over packed states.

Functions of a kernel (all integers are 64 bits, all arrays are addresses of such):

    succ(state, consts, out, tags, counts, cover) -> n
        the n enabled instances' successors, W words each, to `out`, and their instance numbers to `tags`, in the
        order of the model; times each action was taken are added to `counts`, answers of guards are ORed to `cover`
    check(state, consts, masks) -> any        bit i of masks[i // 62]: state formula i holds
    ends(state, consts, masks) -> any         the same for formulas asked of states without successor
    steps(before, consts, masks, after) -> any  the same for formulas over a step
    canon(states, n)                          puts in the place of each of n states the one that stands for all that are alike (canonical)
    orbits(states, n) -> sum                  how many states n of those stand for

`any` is the OR of all masks. In the checking form each of them returns -1 where the interpreter raises
EvaluationError. An instance number counts through `model.actions` and `action.instances`; `Kernel.move` undoes it.

Why LLVM's text and not a compiler of Python's: what it compiles in 0.57 CPU-seconds (the specification's scope `small`) takes Numba
21, for code that runs at half to a seventh of the speed; a state's successors take Python functions 53 us, the interpreter 610, this
0.8 (properties/bench/README.md).

The model's constants are read at run time from `consts`, so one kernel serves all instances of a model, mutants
included. Parameters of actions with few instances are unrolled, others become loops. Guards are asked in order; what
they say is one constant for each way out of an action, which is all that coverage costs.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ..language import Action, Assignment, Expr, Guard, Instance, Model
from ..result import Coverage, Move
from ..routines import native
from .emit import Bindings, Number, Truth
from .layout import WORD_BITS, Layout, layout
from .packed import PackedEmitter

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNROLL = 24
FAULT = -1
BITS = 62  # formulas in one mask
_GUARDS = 31  # guards in one word of coverage, two bits each

_actions: WeakKeyDictionary[Model, dict[Hashable, int]] = WeakKeyDictionary()
_formulas: WeakKeyDictionary[Model, dict[Hashable, tuple[Sequence[Sequence[Expr]], dict[str, int]]]] = WeakKeyDictionary()
_HEAD = "declare i64 @llvm.umin.i64(i64, i64)\n!0 = !{}\n"


@dataclass(frozen=True, eq=False)
class Kernel:
    """A compiled model. Addresses are 0 for functions without formulas, and where no symmetry is used."""

    model: Model
    layout: Layout
    checked: bool
    most: int  # successors that a state can have at most: the length of tags, and out has W words for each
    cover_words: int
    succ: int
    check: int
    ends: int
    steps: int
    canon: int = 0
    orbits: int = 0

    def consts(self, instance: Instance) -> NDArray[np.int64]:
        """The constants of an instance as the kernel reads them (never of length 0)."""
        return np.array([instance.constants[name] for name in self.model.constants] or [0], dtype=np.int64)

    @cached_property
    def _firsts(self) -> list[int]:
        return [0, *itertools.accumulate(action.count for action in self.model.actions)]

    def move(self, tag: int) -> Move:
        """The action instance with this number."""
        at = next(k for k in range(len(self.model.actions)) if tag < self._firsts[k + 1])
        action, rest, args = self.model.actions[at], tag - self._firsts[at], []
        for type_ in reversed(action.parameters.values()):
            rest, k = divmod(rest, type_.size)
            args.append(type_.lo + k)
        return Move(action.name, tuple(reversed(args)))

    def action_of(self, tags: NDArray[np.int32] | NDArray[np.int64]) -> NDArray[np.int64]:
        """For instance numbers the positions of their actions in the model."""
        found: NDArray[np.int64] = np.searchsorted(np.array(self._firsts[1:]), tags, side="right").astype(np.int64)
        return found

    def coverage(self, counts: NDArray[np.int64], cover: NDArray[np.int64]) -> Coverage:
        """What the arrays that `succ` filled say."""
        taken = {action.name: int(counts[k]) for k, action in enumerate(self.model.actions)}
        guards = {}
        for (action, guard), (word, bit) in _cover_places(self.model).items():
            bits = int(cover[word]) >> bit & 3
            guards[action.name, guard.name] = (bool(bits & 1), bool(bits & 2))
        return Coverage(taken, guards)


def build(
    model: Model,
    check: Sequence[Expr] = (),
    ends: Sequence[Expr] = (),
    steps: Sequence[Expr] = (),
    *,
    checked: bool = True,
    unroll: int = UNROLL,
    word_bits: int = WORD_BITS,
) -> Kernel:
    """Compile the model's actions and the given formulas, or take them from the cache.

    Actions with at most `unroll` instances (inner parameters of larger ones) are unrolled. Raises ModelError for a model
    that does not fit packed words.
    """
    places = layout(model, word_bits)
    succ = _compiled_actions(places, checked, unroll, word_bits)
    asked = {"check": check, "ends": ends, "steps": steps}
    at = _compiled_formulas(places, asked, checked, word_bits)
    most = sum(action.count for action in model.actions)
    words = 1 + max((word for word, _ in _cover_places(model).values()), default=0)
    return Kernel(model, places, checked, most, words, succ, at.get("check", 0), at.get("ends", 0), at.get("steps", 0))


def _compiled_actions(places: Layout, checked: bool, unroll: int, word_bits: int) -> int:
    """The address of `succ`, compiled apart from formulas: whatever is asked of a model, its actions are compiled once."""
    model = places.model
    known = _actions.setdefault(model, {})
    key = (word_bits, checked, unroll, model.declared)
    if key not in known:
        text = _HEAD + _Successors(model, places, checked, unroll).text()
        known[key] = native.compile_text(text, ("succ",)).addresses["succ"]
    return known[key]


def _compiled_formulas(places: Layout, asked: Mapping[str, Sequence[Expr]], checked: bool, word_bits: int) -> dict[str, int]:
    """The addresses of the functions that ask these formulas. All instances of a model share them."""
    known = _formulas.setdefault(places.model, {})
    key = (word_bits, checked, places.model.declared, *(tuple(map(id, formulas)) for formulas in asked.values()))
    if key not in known:
        texts = {name: _masks(name, places.model, places, formulas, checked) for name, formulas in asked.items() if formulas}
        at = native.compile_text(_HEAD + "\n".join(texts.values()), tuple(texts)).addresses if texts else {}
        known[key] = ([tuple(formulas) for formulas in asked.values()], at)  # the formulas are held, as others may get their ids
    return known[key][1]


def compile_masks(name: str, places: Layout, formulas: Sequence[Expr], *, checked: bool = True) -> int:
    """The address of `check`, `ends` or `steps` for these formulas, compiled apart from the actions; 0 without formulas."""
    if not formulas:
        return 0
    text = _masks(name, places.model, places, formulas, checked)
    return native.compile_text(_HEAD + text, (name,)).addresses[name]


def mask_words(formulas: Sequence[Expr]) -> int:
    """Length of the array of masks, at least 1."""
    return max(1, -(-len(formulas) // BITS))


def _cover_places(model: Model) -> dict[tuple[Action, Guard], tuple[int, int]]:
    """Word and first bit (true; the next one is false) of each guard; no word holds guards of two actions."""
    places, word = {}, 0
    for action in model.actions:
        for k, guard in enumerate(action.guards):
            places[action, guard] = (word + k // _GUARDS, 2 * (k % _GUARDS))
        word += -(-len(action.guards) // _GUARDS)
    return places


def _masks(name: str, model: Model, places: Layout, formulas: Sequence[Expr], checked: bool) -> str:
    e = PackedEmitter(model, places, {"ref": "%state", "after": "%after"}, checked)
    fault: Truth = False
    words: list[Number] = [0] * mask_words(formulas)
    for k, formula in enumerate(formulas):
        if checked:
            fault = e.either(fault, e.fault(formula, {}))
        words[k // BITS] = e.or_(words[k // BITS], e.shl(e.widen(e.truth(formula, {})), k % BITS))
    every: Number = 0
    for k, word in enumerate(words):
        e.line(f"store i64 {word}, ptr {e.value(f'getelementptr inbounds i64, ptr %masks, i64 {k}')}, align 8")
        every = e.or_(every, word)
    e.line(f"ret i64 {e.choose(fault, FAULT, every)}")
    reads, body = "noalias readonly", "\n".join(e.lines)
    return f"define i64 @{name}(ptr {reads} %state, ptr {reads} %consts, ptr noalias %masks, ptr {reads} %after) {{\nentry:\n{body}\n}}\n"


Gained = tuple[Number, ...]


class _Successors:
    """Writes `succ`. The number of successors so far is an LLVM value that the blocks hand on."""

    def __init__(self, model: Model, places: Layout, checked: bool, unroll: int) -> None:
        self.model, self.checked, self.unroll = model, checked, unroll
        self.width = places.words
        self.e = PackedEmitter(model, places, {"ref": "%state"}, checked)
        self.n: Number = 0

    def text(self) -> str:
        e, first = self.e, 0
        cover = _cover_places(self.model)
        for k, action in enumerate(self.model.actions):
            before, self.n_words = self.n, -(-len(action.guards) // _GUARDS)
            self.action, self.first = action, first
            self.looped = self._loops(action)
            gained = self._level(0, 0, {})
            if self.n != before:
                self._bump("counts", k, "add", e.sub(self.n, before))
            for j, bits in enumerate(gained):
                self._bump("cover", cover[action, action.guards[0]][0] + j, "or", bits)
            first += action.count
        e.line(f"ret i64 {self.n}")
        if self.checked:
            e.label("fault")
            e.line(f"ret i64 {FAULT}")
        arguments = "ptr noalias readonly %state, ptr noalias readonly %consts, " + ", ".join(
            f"ptr noalias %{name}" for name in ("out", "tags", "counts", "cover")
        )
        return f"define i64 @succ({arguments}) {{\nentry:\n" + "\n".join(e.lines) + "\n}\n"

    def _bump(self, array: str, at: int, how: str, by: Number) -> None:
        """array[at] = array[at] `how` by."""
        pointer, old, new = (f"%{self.e.fresh()}" for _ in range(3))
        self.e.line(f"{pointer} = getelementptr inbounds i64, ptr %{array}, i64 {at}")
        self.e.line(f"{old} = load i64, ptr {pointer}, align 8")
        self.e.line(f"{new} = {how} i64 {old}, {by}")
        self.e.line(f"store i64 {new}, ptr {pointer}, align 8")

    def _loops(self, action: Action) -> list[bool]:
        """Which parameters become loops: the outer ones, once the unrolled inner ones would exceed the limit."""
        looped, copies = [], 1
        for type_ in reversed(action.parameters.values()):
            copies *= type_.size
            looped.append(copies > self.unroll)
        return looped[::-1]

    def _stop_on(self, fault: Truth) -> None:
        if fault is not False:
            following = self.e.fresh("L")
            self.e.line(f"br i1 {_truth(fault)}, label %fault, label %{following}")
            self.e.label(following)

    def _level(self, depth: int, asked: int, bound: dict[str, Number]) -> Gained:
        """Instances with the first `depth` parameters bound, of which the first `asked` guards hold.

        Emits all of it and leaves `self.n` as the number after it; returns the bits of coverage that it adds.
        """
        e, guards = self.e, self.action.guards
        for guard in guards[asked:]:  # here they dominate all that follows, so that they are computed once
            if e.depends(guard.condition) <= bound.keys():
                e.truth(guard.condition, bound)
        held = [0] * self.n_words
        exits: list[tuple[str, Number, Gained]] = []
        join, never = e.fresh("J"), False
        with e.scope():
            while asked < len(guards) and e.depends(guards[asked].condition) <= bound.keys():
                condition = guards[asked].condition
                if self.checked:
                    self._stop_on(e.fault(condition, bound))
                word, bit = divmod(asked, _GUARDS)
                refused = tuple(b | (2 << 2 * bit if k == word else 0) for k, b in enumerate(held))
                held[word] |= 1 << 2 * bit
                asked += 1
                test = e.truth(condition, bound)
                if test is True:
                    continue
                exits.append((e.block, self.n, refused))
                if test is False:
                    never = True
                    break
                following = e.fresh("L")
                e.line(f"br i1 {test}, label %{following}, label %{join}")
                e.label(following)
            if not never:
                inner = self._inside(depth, asked, bound)
                gained = tuple(e.or_(x, y) for x, y in zip(held, inner, strict=True))
                if not exits:
                    return gained
                exits.append((e.block, self.n, gained))
            e.line(f"br label %{join}")
        e.label(join)
        self.n = self._phi([(block, n) for block, n, _ in exits])
        return tuple(self._phi([(block, bits[k]) for block, _, bits in exits]) for k in range(self.n_words))

    def _phi(self, ways: list[tuple[str, Number]]) -> Number:
        if all(value == ways[0][1] for _, value in ways):
            return ways[0][1]
        name = f"%{self.e.fresh()}"
        self.e.line(f"{name} = phi i64 " + ", ".join(f"[{value}, %{block}]" for block, value in ways))
        return name

    def _inside(self, depth: int, asked: int, bound: dict[str, Number]) -> Gained:
        e = self.e
        if depth == len(self.action.parameters):
            self._take(bound)
            return (0,) * self.n_words
        name, type_ = list(self.action.parameters.items())[depth]
        if not self.looped[depth]:
            gained: Gained = (0,) * self.n_words
            for code in type_.codes():
                more = self._level(depth + 1, asked, {**bound, name: code})
                gained = tuple(e.or_(x, y) for x, y in zip(gained, more, strict=True))
            return gained
        before, head, after = e.block, e.fresh("H"), e.fresh("E")
        element, n = f"%{e.fresh()}", f"%{e.fresh()}"
        so_far = [f"%{e.fresh()}" for _ in range(self.n_words)]
        start = self.n
        e.line(f"br label %{head}")
        e.label(head)
        at = len(e.lines)
        self.n = n
        with e.scope():
            more = self._level(depth + 1, asked, {**bound, name: element})
            gained = tuple(e.or_(x, y) for x, y in zip(so_far, more, strict=True))
            following = e.add(element, 1)
            again = e.compare("sle", following, type_.hi)
            e.line(f"br i1 {again}, label %{head}, label %{after}")
            ways: list[tuple[str, Number, Number]]
            ways = [(element, type_.lo, following), (n, start, self.n), *((v, 0, g) for v, g in zip(so_far, gained, strict=True))]
            e.lines[at:at] = [f"  {v} = phi i64 [{first}, %{before}], [{then}, %{e.block}]" for v, first, then in ways]
        e.label(after)
        return gained

    def _take(self, bound: Bindings) -> None:
        """Write one successor."""
        e = self.e
        if self.checked:
            fault: Truth = False
            for update in self.action.updates:
                fault = e.either(fault, self._update_fault(update, bound))
            for clash in self.action.clashes:
                fault = e.either(fault, e.truth(clash, bound))
            self._stop_on(fault)
        words: list[Number] = [e.word("ref", k) for k in range(self.width)]
        late = []
        for (word, at, dynamic, test), writes in self._writes(bound).items():
            if word is None:
                late.append((at, dynamic, test, writes))
            else:
                words[word] = self._blend(words[word], dynamic, test, writes)
        base = e.mul(self.n, self.width)
        for k, value in enumerate(words):
            e.line(f"store i64 {value}, ptr {self._element('out', e.add(base, k))}, align 8")
        for at, dynamic, test, writes in late:
            pointer, old = self._element("out", e.add(base, at)), f"%{e.fresh()}"
            e.line(f"{old} = load i64, ptr {pointer}, align 8")
            e.line(f"store i64 {self._blend(old, dynamic, test, writes)}, ptr {pointer}, align 8")
        tag: Number = 0
        for name, type_ in self.action.parameters.items():
            tag = e.add(e.mul(tag, type_.size), e.sub(bound[name], type_.lo))
        e.line(f"store i64 {e.add(tag, self.first)}, ptr {self._element('tags', self.n)}, align 8")
        self.n = e.add(self.n, 1)

    def _element(self, array: str, at: Number) -> str:
        return self.e.value(f"getelementptr inbounds i64, ptr %{array}, i64 {at}")

    def _update_fault(self, update: Assignment, bound: Bindings) -> Truth:
        e, type_ = self.e, update.target.args[0].type
        found = e.either(e.fault(update.assigned, bound), e.fault(update.target, bound))
        if _may_leave(update):
            found = e.either(found, e.outside(e.number(update.assigned, bound), type_.lo, type_.hi))
        return e.either(e.fault(update.when, bound), e.both(e.truth(update.when, bound), found))

    def _writes(self, bound: Bindings) -> dict[tuple[int | None, Number, Number, Truth], list[tuple[int, int, Number]]]:
        """Updates as (shift, width, field), grouped by what they share: word, computed shift and condition."""
        e = self.e
        groups: dict[tuple[int | None, Number, Number, Truth], list[tuple[int, int, Number]]] = {}
        for update in self.action.updates:
            place, value = e.place(update.target, bound, write=True), update.assigned
            if place.width == 0:
                continue
            condition = e.truth(update.when, bound)
            if value.op == "ite" and value.args[2] is update.target:
                condition, value = e.both(condition, e.truth(value.args[0], bound)), value.args[1]
            elif value.op == "ite" and value.args[1] is update.target:
                condition, value = e.both(condition, e.negate(e.truth(value.args[0], bound))), value.args[2]
            if condition is False:
                continue
            stored = e.sub(e.number(value, bound), update.target.args[0].type.lo)
            if _may_leave(update):
                stored = e.and_(stored, (1 << place.width) - 1)
            groups.setdefault((place.word, place.at, place.dynamic, condition), []).append((place.shift, place.width, stored))
        return groups

    def _blend(self, old: Number, dynamic: Number, test: Truth, writes: Iterable[tuple[int, int, Number]]) -> Number:
        """The word with the fields replaced where the condition holds."""
        e = self.e
        clear, put = 0, 0
        moving: list[Number] = []
        for shift, width, stored in writes:
            clear |= ((1 << width) - 1) << shift
            if isinstance(stored, int):
                put |= stored << shift
            else:
                moving.append(e.shl(stored, shift))
        bits: Number = put
        for value in moving:
            bits = e.or_(bits, value)
        new = e.or_(e.and_(old, e.not_(e.shl(clear, dynamic))), e.shl(bits, dynamic))
        return e.choose(test, new, old)


def _may_leave(update: Assignment) -> bool:
    """Whether interval analysis cannot show that the assigned value is one of its variable's type."""
    type_, value = update.target.args[0].type, update.assigned.type
    return bool(value.lo < type_.lo or value.hi > type_.hi)


def _truth(value: Truth) -> str:
    return str(value).lower() if isinstance(value, bool) else value
