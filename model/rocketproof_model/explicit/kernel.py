"""Kernels: a model's actions and formulas as machine code over packed states.

Functions of a kernel (all integers have 64 bits, all arrays are passed by address):

    succ(state, consts, out, tags, counts, cover) -> n
        writes the successors of the n enabled instances, W words each, to `out`, and their instance numbers to `tags`, in the
        order of the model; adds how often each action was taken to `counts`, and ORs the answers of guards into `cover`
    check(state, consts, masks) -> any        bit i of masks[i // 62]: state formula i holds
    ends(state, consts, masks) -> any         the same for formulas about states without successors
    steps(before, consts, masks, after) -> any  the same for formulas over a step
    canon(states, n)                          replaces each of n states by its canonical form
    orbits(states, n) -> sum                  returns how many states the n canonical states represent

`any` is the OR of all masks. In the checking form each function returns -1 where the interpreter raises EvaluationError. Instance numbers
count through `model.actions` and `action.instances`; `Kernel.move` is the inverse.

The module writes LLVM text because compilers of Python are slower. It compiles the specification's scope `small` in 0.57 CPU-seconds; Numba
takes 21, for code that runs at half to a seventh of the speed. Computing a state's successors takes 53 us with Python functions, 610 us
with the interpreter and 0.8 us with a kernel (properties/docs/results/benchmarks.md).

The model's constants are read at run time from `consts`, so one kernel serves all instances of a model, mutants included. Parameters of
actions with few instances are unrolled, others become loops. Guards are evaluated in order. Each exit of an action records a constant with
the answers of its guards, which makes coverage cheap.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from ..language import Expr, Instance, Model
from ..result import Coverage, Move
from ..routines import native
from .emit import Number, Truth
from .layout import WORD_BITS, Layout, layout
from .packed import PackedEmitter
from .successors import FAULT, SuccessorWriter, cover_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNROLL = 24
BITS = 62  # formulas in one mask

_actions: WeakKeyDictionary[Model, dict[Hashable, int]] = WeakKeyDictionary()
_formulas: WeakKeyDictionary[Model, dict[Hashable, tuple[Sequence[Sequence[Expr]], dict[str, int]]]] = WeakKeyDictionary()
_HEAD = "declare i64 @llvm.umin.i64(i64, i64)\n!0 = !{}\n"


@dataclass(frozen=True, eq=False)
class Kernel:
    """A compiled model. Addresses are 0 for functions without formulas, and for `canon` and `orbits` without symmetry."""

    model: Model
    layout: Layout
    checked: bool
    max_successors: int  # maximum of successors of a state: the length of tags; out has W words for each
    cover_words: int
    succ: int
    check: int
    ends: int
    steps: int
    canon: int = 0
    orbits: int = 0

    def consts(self, instance: Instance) -> NDArray[np.int64]:
        """Return the constants of an instance as the kernel reads them; the array is never empty."""
        return np.array([instance.constants[name] for name in self.model.constants] or [0], dtype=np.int64)

    @cached_property
    def _firsts(self) -> list[int]:
        return [0, *itertools.accumulate(action.count for action in self.model.actions)]

    def move(self, tag: int) -> Move:
        """Return the action instance with this number."""
        at = next(k for k in range(len(self.model.actions)) if tag < self._firsts[k + 1])
        action, rest, args = self.model.actions[at], tag - self._firsts[at], []
        for type_ in reversed(action.parameters.values()):
            rest, k = divmod(rest, type_.size)
            args.append(type_.lo + k)
        return Move(action.name, tuple(reversed(args)))

    def action_of(self, tags: NDArray[np.int32] | NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the positions in the model of the actions of these instance numbers."""
        positions: NDArray[np.int64] = np.searchsorted(np.array(self._firsts[1:]), tags, side="right").astype(np.int64)
        return positions

    def coverage(self, counts: NDArray[np.int64], cover: NDArray[np.int64]) -> Coverage:
        """Return the coverage recorded in the arrays that `succ` filled."""
        taken = {action.name: int(counts[k]) for k, action in enumerate(self.model.actions)}
        guards = {}
        for (action, guard), (word, bit) in cover_places(self.model).items():
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
    """Compile the model's actions and the given formulas, or load them from the cache.

    Actions with at most `unroll` instances are unrolled; of larger actions, the inner parameters are. Raises ModelError for a model that
    does not fit packed words.
    """
    places = layout(model, word_bits)
    succ = _compiled_actions(places, checked, unroll, word_bits)
    groups = {"check": check, "ends": ends, "steps": steps}
    at = _compiled_formulas(places, groups, checked, word_bits)
    max_successors = sum(action.count for action in model.actions)
    words = 1 + max((word for word, _ in cover_places(model).values()), default=0)
    return Kernel(model, places, checked, max_successors, words, succ, at.get("check", 0), at.get("ends", 0), at.get("steps", 0))


def _compiled_actions(places: Layout, checked: bool, unroll: int, word_bits: int) -> int:
    """Return the address of `succ`. It is compiled apart from the formulas, so a model's actions are compiled once."""
    model = places.model
    known = _actions.setdefault(model, {})
    key = (word_bits, checked, unroll, model.declared)
    if key not in known:
        text = _HEAD + SuccessorWriter(model, places, checked, unroll).text()
        known[key] = native.compile_text(text, ("succ",)).addresses["succ"]
    return known[key]


def _compiled_formulas(places: Layout, groups: Mapping[str, Sequence[Expr]], checked: bool, word_bits: int) -> dict[str, int]:
    """Return the addresses of the functions that evaluate these formulas. All instances of a model share them."""
    known = _formulas.setdefault(places.model, {})
    key = (word_bits, checked, places.model.declared, *(tuple(map(id, formulas)) for formulas in groups.values()))
    if key not in known:
        texts = {name: _masks(name, places.model, places, formulas, checked) for name, formulas in groups.items() if formulas}
        at = native.compile_text(_HEAD + "\n".join(texts.values()), tuple(texts)).addresses if texts else {}
        known[key] = ([tuple(formulas) for formulas in groups.values()], at)  # holds the formulas: ids of freed objects are reused
    return known[key][1]


def compile_masks(name: str, places: Layout, formulas: Sequence[Expr], *, checked: bool = True) -> int:
    """Return the address of `check`, `ends` or `steps` for these formulas, compiled apart from the actions; 0 without formulas."""
    if not formulas:
        return 0
    text = _masks(name, places.model, places, formulas, checked)
    return native.compile_text(_HEAD + text, (name,)).addresses[name]


def mask_words(formulas: Sequence[Expr]) -> int:
    """Return the length of the array of masks, at least 1."""
    return max(1, -(-len(formulas) // BITS))


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
