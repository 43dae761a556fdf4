"""Generated models with symmetric indices whose terms name no element, so that the language accepts them.

All constructs of the usual models are drawn here too, but elements of a symmetric index only come from parameters, the state and
quantifiers. Where no element is in scope, the formula is quantified over some or all elements.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from generated_models import Case, Maker
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from rocketproof_model import (
    ANY,
    BagOf,
    Bool,
    Enum,
    Expr,
    Index,
    Instance,
    Int,
    Maybe,
    Model,
    Record,
    SeqOf,
    Type,
    exists,
    forall,
    ite,
    owner,
    total,
)
from rocketproof_model.interpreter import State
from rocketproof_model.language import Body, IndexType, MaybeShape, MaybeType, MaybeValue, Seq, Variable, const
from rocketproof_model.language.sets import ManyType
from rocketproof_model.language.types import held, named, set_of

MOST = 700  # states


class _NoElementError(Exception):
    """No element of this symmetric index is in scope."""


class _Symmetric(Maker):
    """The base without terms that distinguish elements of a symmetric index."""

    def held(self) -> Type:
        return self.pick((*self.indices, *self.indices, Bool, Int(-1, 1)))  # type: ignore[no-any-return]

    def element(self, of: Type, depth: int) -> Expr:
        if not isinstance(of, Index) or named(of) is None:
            return super().element(of, depth)
        seen: list[Any] = [p for p in self.parameters if p.type == of]
        seen += [owner(p) for p in self.parameters if isinstance(p.type, Index) and p.type.owner == of]
        seen += [v for v in self.variables if v.type == of and all(any(p.type == axis for p in self.parameters) for axis in v.over)]
        if not seen:
            raise _NoElementError(of)
        chosen = self.pick(seen)
        if isinstance(chosen, Variable):
            chosen = self.reference(chosen, 0)
        if depth > 0 and self.often(1, 4):
            m = self.maybe(Maybe(of), depth - 1)
            return ite(m.is_some, m.get, chosen) if m.op not in ("const", "some") else chosen
        return chosen

    def leaf(self, type_: Type, depth: int) -> Expr:
        if named(type_) is None:
            return super().leaf(type_, depth)
        if isinstance(type_, Index):
            return self.element(type_, depth)
        options: list[Any] = [e for e in self.parameters if e.type == type_]
        options += 2 * [v for v in self.variables if v.type == type_ and (depth >= 0 or not v.over)]
        if options and self.often(3, 4):
            chosen = self.pick(options)
            return self.reference(chosen, depth) if isinstance(chosen, Variable) else chosen
        return const(self.pick((0, type_.hi)) if type_.sort == "set" else 0, type_)

    def fits(self, type_: Type, wanted: Type) -> bool:
        return super().fits(type_, wanted) and (type_ == wanted or named(type_) is None)

    def reference(self, variable: Variable, depth: int) -> Expr:
        if not any(map(named, variable.over)):
            return super().reference(variable, depth)
        return variable[tuple(self.element(axis, min(depth, 1) - 1) for axis in variable.over)]

    def atom(self) -> Expr:
        return self.quantified(super().atom)

    def compared(self, v: Variable) -> Expr:
        if named(v.type) is None:
            return super().compared(v)
        x, y = self.reference(v, 0), self.leaf(v.type, 0)
        return self.pick((x == y, x != y))

    def boolean(self, depth: int) -> Expr:
        return self.quantified(lambda: super(_Symmetric, self).boolean(depth))

    def quantified(self, make: Callable[[], Expr]) -> Expr:
        """Return the formula, quantified over some or all elements if no element is in scope."""
        try:
            return make()
        except _NoElementError as missing:
            of = missing.args[0]
            return self.pick((forall, exists))(of, self.body(of, lambda: self.quantified(make)))

    def number(self, depth: int) -> Expr:
        try:
            return super().number(depth)
        except _NoElementError as missing:
            of = missing.args[0]
            return total(of, self.body(of, lambda: self.small(depth)))

    def choice(self, type_: Type, depth: int) -> Expr:
        try:
            return super().choice(type_, depth)
        except _NoElementError:
            return const(self.draw(st.integers(type_.lo, type_.hi)), type_)

    def maybe(self, type_: Any, depth: int) -> Expr:
        try:
            return super().maybe(type_, depth)
        except _NoElementError:
            return const(0, type_)

    def set_(self, type_: Any, depth: int) -> Expr:
        try:
            return super().set_(type_, depth)
        except _NoElementError:
            return const(0, type_)

    def declare(self, model: Model) -> None:
        a = model.index("A", self.pick((2, 3, 2, 3, 4)), symmetric=True)
        size = self.pick((2, 2, 1, 3))
        owned = a.size * size <= 6 and self.often(1, 2)
        b = model.index("B", size, symmetric=self.often(2, 3), of=a if owned else None)
        self.indices = [a, b]
        if self.often(1, 3):
            self.given.append(model.constant("c", Int(0, 2), self.draw(st.integers(0, 2))))
        plain: list[Type] = [Bool, Int(0, 2), Enum("idle", "busy", "done")]
        # Arrays with columns to sort, relations between elements, and variables about no element.
        kinds: list[tuple[Type, tuple[Index, ...]]] = [(type_, (a,)) for type_ in 2 * [*plain, Maybe(b), set_of(b)]]
        kinds += [(type_, axes) for type_ in (Maybe(a), set_of(a)) for axes in ((), (), (a,), (b,))]
        kinds += [(a, (a,)), (Bool, (a, b)), (Bool, (a, a)), (Bool, (b, a)), *((type_, ()) for type_ in plain)]
        kinds += [(Bool, (Maybe(a),)), (set_of(Maybe(a)), ()), (Maybe(set_of(a)), ())]
        if b.owner:
            kinds += 3 * [(type_, (b,)) for type_ in (Bool, Int(0, 2), Maybe(a))]
            kinds += 2 * [(type_, axes) for type_ in (Maybe(b), set_of(b)) for axes in ((), (a,))] + 4 * [(b, (b,))]
        room = MOST
        if self.often(1, 3):
            type_, values = self.pick(
                (
                    (ManyType(Record(w=a, x=Bool)), 4**a.size),
                    (ManyType(a), 2**a.size),
                    (BagOf(a, 2), 3**a.size),
                    (SeqOf(a, 2), 1 + a.size + a.size**2),
                    (SeqOf(Record(w=a, x=Bool), 2), 1 + 2 * a.size + 4 * a.size**2),
                    (SeqOf(Maybe(a), 2), 1 + (a.size + 1) + (a.size + 1) ** 2),
                    (Maybe(Record(w=a, x=Maybe(a))), 1 + a.size * (a.size + 1)),
                )
            )
            self.containers.append(model.var("k", type_, init=None if isinstance(type_, MaybeShape) else ()))
            room //= values
        for k in range(self.pick((3, 2, 3, 4))):
            type_, axes = self.pick(kinds)
            size = type_.size ** math.prod(axis.size for axis in axes)
            if size <= room:
                room //= size
                self.variable(model, f"v{k}", {"": type_}, axes)
        if not self.variables:
            self.variable(model, "v", {"": Bool}, (a,))

    def start(self, type_: Type, axes: tuple[Index, ...] | None) -> Any:
        of, inside, axes = named(type_), axes is None, axes or ()
        if type_.size ** math.prod(axis.size for axis in axes) <= 8 and self.often(1, 4):
            return ANY
        if of is None:
            return self.code(type_) if any(map(named, axes)) else super().start(type_, None if inside else axes)
        own = [axis == of for axis in axes].index(True) if of in axes and held(type_) == of else -1
        if isinstance(type_, IndexType):
            return lambda *at: at[own]
        if own >= 0 and self.often(1, 2):
            return (lambda *at: (at[own],)) if type_.sort == "set" else (lambda *at: at[own])
        return type_.decode(self.pick((0, type_.hi)) if type_.sort == "set" else 0)

    def risky(self, axis: Type) -> tuple[Expr, list[Expr]]:
        if named(axis) is None:
            return super().risky(axis)
        m = self.maybe(Maybe(axis), 0) if axis.sort != "maybe" and self.often(1, 3) else const(0, Bool)
        return (m.get, [m.is_some]) if m.op in ("ref", "par") else (self.element(axis, 1), [])

    def update(self, a: Body, variable: Variable) -> None:
        if self.often(1, 5):
            self.tried(lambda: self.guarded(a, variable))
        elif not any(map(named, variable.over)):
            self.tried(lambda: super(_Symmetric, self).update(a, variable))
        elif len(variable.over) == 1 and isinstance(variable.over[0], Index) and self.often(1, 2):
            (axis,) = variable.over
            value = self.body(axis, lambda: self.assigned(variable[self.parameters[-1]]))
            for i in axis:
                a.set(variable[i], value(i))
        else:

            def one() -> None:
                target = variable[tuple(self.element(i, 1) for i in variable.over)]
                a.set(target, self.assigned(target), **({"when": self.boolean(1)} if self.often(1, 4) else {}))

            self.tried(one)

    def refill(self, a: Body, of: Any, given: Any = None) -> None:
        if isinstance(of, Seq | MaybeValue) or of.type.most:
            self.tried(lambda: super(_Symmetric, self).refill(a, of, given))
        else:
            self.tried(lambda: (a.add if self.often(2, 3) else a.remove)(of, self.value_of(of.shape, 1)))

    def tried(self, make: Callable[[], None]) -> None:
        """Omit terms that need an element where none is in scope."""
        try:
            make()
        except _NoElementError:
            return

    def turn(self, model: Model, name: str, variable: Variable) -> None:
        of = named(variable.type)
        axes = {f"i{k}": axis for k, axis in enumerate(variable.over)}

        def fill(a: Body, **at: Expr) -> None:
            """One variable turns."""
            self.parameters = list(at.values())
            if self.often(1, 4):
                a.guard("g", self.atom(), "the condition holds")
            target = variable[tuple(at[k] for k in axes)]
            a.set(target, self.lively(target))

        fair = self.pick((None, "weak", "strong"))
        more: dict[str, Any] = {} if of is None or isinstance(variable.type, IndexType) else {"e": of}
        model.action(name=name, fair=fair, **axes, **more)(fill)
        self.parameters = []

    def lively(self, target: Expr) -> Expr:
        try:
            return super().lively(target)
        except _NoElementError:
            type_ = target.args[0].type
            return ite(self.atom(), const(0, type_), const(type_.hi, type_)) if type_.sort == "set" else self.other(type_, target)

    def other(self, type_: Type, target: Expr) -> Expr:
        """Draw a value that needs no element in scope."""
        return const(0, type_) if type_.sort == "maybe" else target


@st.composite
def _cases(draw: DrawFn, faulty: bool) -> Case:
    maker = _Symmetric(draw, faulty=faulty)
    model = Model("symmetric")
    maker.declare(model)
    maker.begin(model)
    for k in range(draw(st.integers(1, 3))):
        maker.action(model, f"a{k}")
    for k, variable in enumerate(maker.variables):
        if maker.often(2, 3):
            maker.turn(model, f"t{k}", variable)
    maker.faulty = False
    maker.claims(model)
    return Case(model.given())


def symmetric_models(*, faulty: bool = False) -> st.SearchStrategy[Case]:
    """Generate models of at most `MOST` states with one or two symmetric indices and properties of every kind;

    `faulty` ones leave their types.
    """
    return _cases(faulty)


def orbits(instance: Instance, states: Sequence[State]) -> list[frozenset[State]]:
    """Return the orbits of states under all permutations of symmetric indices, by brute force."""
    indices = sorted(
        {i for v in instance.model.variables for t in (*v.over, v.type) for i in _of(t)}, key=lambda i: (i.owner is not None, i.name)
    )
    found: dict[State, frozenset[State]] = {}
    for state in states:
        if state not in found:
            orbit = frozenset(_images(instance, state, indices))
            found |= dict.fromkeys(orbit, orbit)
    return list(dict.fromkeys(found.values()))


def _of(type_: Any) -> tuple[IndexType, ...]:
    """Return the index whose elements the values of a type are or contain, with its owner."""
    if not isinstance(type_, IndexType):
        return _of(type_.of) if hasattr(type_, "of") else ()
    return (type_, *_of(type_.owner)) if type_.owner else (type_,)


def _permutations(index: IndexType) -> Iterator[tuple[int, ...]]:
    """Yield the permutations of an index that map each element to one with the same owner."""
    if not index.symmetric:
        return iter([tuple(index.codes())])
    blocks = [range(start, start + index.block) for start in range(0, index.size, index.block)]
    return (tuple(itertools.chain(*each)) for each in itertools.product(*map(itertools.permutations, blocks)))


def _images(instance: Instance, state: State, indices: Sequence[IndexType]) -> Iterator[State]:
    for chosen in itertools.product(*map(_permutations, indices)):
        places: dict[IndexType, tuple[int, ...]] = {}
        for index, order in zip(indices, chosen, strict=True):
            if index.owner:
                order = tuple(places[index.owner][k // index.block] * index.block + k % index.block for k in order)
            places[index] = order
        image = list(state)
        for v in instance.model.variables:
            for at in v.elements():
                to = tuple(_renamed(i, k, places) for i, k in zip(v.over, at, strict=True))
                image[v.slot(to)] = _renamed(v.type, state[v.slot(at)], places)
        yield tuple(image)


def _renamed(type_: Any, code: int, places: dict[IndexType, tuple[int, ...]]) -> int:
    def renamed(of: Any, value: Any) -> Any:
        if of in places:
            return places[of][value]
        if value is None or not hasattr(of, "of"):
            return value
        if isinstance(value, frozenset):
            return frozenset(renamed(of.of, k) for k in value)
        return (renamed(of.of, value[0]),) if isinstance(of.of, MaybeType) else renamed(of.of, value)

    return type_.encode(renamed(type_, type_.decode(code)))  # type: ignore[no-any-return]
