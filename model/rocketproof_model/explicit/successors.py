"""LLVM text of `succ`: writes all successors of a state, with the coverage of guards (see `kernel`)."""

from __future__ import annotations

from collections.abc import Iterable

from ..language import Action, Assignment, Guard, Model
from .emit import Bindings, Number, Truth
from .layout import Layout
from .packed import PackedEmitter

FAULT = -1
_GUARDS = 31  # guards in one word of coverage, two bits each


def cover_places(model: Model) -> dict[tuple[Action, Guard], tuple[int, int]]:
    """Return the word and the first bit (true; the next bit is false) of each guard. No word holds guards of two actions."""
    places, word = {}, 0
    for action in model.actions:
        for k, guard in enumerate(action.guards):
            places[action, guard] = (word + k // _GUARDS, 2 * (k % _GUARDS))
        word += -(-len(action.guards) // _GUARDS)
    return places


Gained = tuple[Number, ...]


class SuccessorWriter:
    """Writes `succ`. The number of successors so far is an LLVM value that the blocks pass on."""

    def __init__(self, model: Model, places: Layout, checked: bool, unroll: int) -> None:
        self.model, self.checked, self.unroll = model, checked, unroll
        self.width = places.words
        self.e = PackedEmitter(model, places, {"ref": "%state"}, checked)
        self.n: Number = 0

    def text(self) -> str:
        e, first = self.e, 0
        cover = cover_places(self.model)
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
        """Emit array[at] = array[at] `how` by."""
        pointer, old, new = (f"%{self.e.fresh()}" for _ in range(3))
        self.e.line(f"{pointer} = getelementptr inbounds i64, ptr %{array}, i64 {at}")
        self.e.line(f"{old} = load i64, ptr {pointer}, align 8")
        self.e.line(f"{new} = {how} i64 {old}, {by}")
        self.e.line(f"store i64 {new}, ptr {pointer}, align 8")

    def _loops(self, action: Action) -> list[bool]:
        """Return which parameters become loops: the outer ones, once unrolling the inner ones would exceed the limit."""
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
        """Emit the instances with the first `depth` parameters bound whose first `asked` guards hold.

        Sets `self.n` to the number of successors after them, and returns the bits of coverage that they add.
        """
        e, guards = self.e, self.action.guards
        for guard in guards[asked:]:  # computed once: the values dominate all later code
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
        """Emit one successor."""
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
        fault = e.either(e.fault(update.assigned, bound), e.fault(update.target, bound))
        if _may_leave(update):
            fault = e.either(fault, e.outside(e.number(update.assigned, bound), type_.lo, type_.hi))
        return e.either(e.fault(update.when, bound), e.both(e.truth(update.when, bound), fault))

    def _writes(self, bound: Bindings) -> dict[tuple[int | None, Number, Number, Truth], list[tuple[int, int, Number]]]:
        """Return updates as (shift, width, field), grouped by word, computed shift and condition."""
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
        """Return the word with the fields replaced where the condition holds."""
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
    """Return whether interval analysis fails to show that the assigned value is within its variable's type."""
    type_, value = update.target.args[0].type, update.assigned.type
    return bool(value.lo < type_.lo or value.hi > type_.hi)


def _truth(value: Truth) -> str:
    return str(value).lower() if isinstance(value, bool) else value
