"""Generated models with arbitrary terms about elements of symmetric indices; declarations that the language refuses are omitted.

The accepted model must treat all elements equally. The language refuses most terms that name an element. Many terms are therefore a single
term under all permutations of an index, and some of these lack a permutation.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from generated_models import Case, Maker
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from rocketproof_model import Bool, Expr, Index, Model, ModelError, Type, all_of, any_of, ite, maximum
from rocketproof_model.language import Body, Property, Variable, coerce, const, rewrite
from rocketproof_model.language.symmetry import REMEDY

_TRIES = 5  # for an accepted action


class _Sifted(Model):
    """A model that skips declarations which are refused because they distinguish single elements."""

    def constant(self, name: str, type_: Type, default: Any, sentence: str = "") -> Expr:
        """Return the constant, or its value if it is refused."""
        declared = _unless_refused(lambda: super(_Sifted, self).constant(name, type_, default, sentence))
        return coerce(default, type_) if declared is None else declared

    def var(self, *words: Any, **more: Any) -> Any:
        return _unless_refused(lambda: super(_Sifted, self).var(*words, **more))

    def action(self, *words: Any, **more: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
        declare = super().action(*words, **more)
        return lambda function: _unless_refused(lambda: declare(function)) or function

    def _claim(self, *words: Any, **more: Any) -> Property:
        claim: Property = _unless_refused(lambda: super(_Sifted, self)._claim(*words, **more))
        return claim


def _unless_refused(declare: Callable[[], Any]) -> Any:
    try:
        return declare()
    except ModelError as refusal:
        if refusal.remedy != REMEDY:
            raise
        return None


class _Sifter(Maker):
    """The base over symmetric indices."""

    def index(self, model: Model, name: str, size: int, of: Index | None = None) -> Index:
        first = name == "A"
        return model.index(name, max(size, 2) if first else size, symmetric=first or self.often(1, 2), of=of)

    def declare(self, model: Model) -> None:
        super().declare(model)
        for name, over in (("w", (self.indices[0],)), ("x", ())):
            if self.often(2, 3) or not self.variables:
                self.variable(model, name, {"": Bool}, over)

    def contain(self, model: Model) -> int:
        values = super().contain(model)
        self.containers = [of for of in self.containers if of is not None]
        return values

    def variable(self, model: Model, name: str, fields: dict[str, Type], axes: tuple[Index, ...]) -> None:
        super().variable(model, name, fields, axes)
        self.tables = [(table, over) for table, over in self.tables if table is not None]

    def boolean(self, depth: int) -> Expr:
        term = super().boolean(depth)
        return self.of_all(term) if depth > 0 and self.often(1, 2) else term

    def of_all(self, term: Expr) -> Expr:
        """Combine the term under all permutations of an index, sometimes without one permutation, in some order."""
        parts = list(dict.fromkeys(_permuted(term, self.pick(self.indices))))
        if len(parts) > 1 and self.often(1, 5):
            del parts[self.draw(st.integers(0, len(parts) - 1))]
        together: Callable[[Sequence[Expr]], Expr] = self.pick((all_of, any_of, _at_most_one, _largest))
        return together(self.draw(st.permutations(parts)))

    def update(self, a: Body, variable: Variable) -> None:
        if len(variable.over) != 1 or variable.over[0] not in self.indices or self.often(1, 2):
            super().update(a, variable)
            return
        (axis,) = variable.over
        value = self.assigned(variable[axis.lo])
        for k in axis.codes():
            order = list(axis.codes())
            order[0], order[k] = k, 0
            a.set(variable[k], _renamed(value, axis, order))


def _permuted(term: Expr, index: Index) -> Iterator[Expr]:
    return (_renamed(term, index, order) for order in itertools.permutations(index.codes()))


def _renamed(term: Expr, index: Index, order: Sequence[int]) -> Expr:
    return rewrite(term, lambda e: const(order[e.args[0]], index) if e.op == "const" and e.type == index else None)


def _at_most_one(parts: Sequence[Expr]) -> Expr:
    count: Expr = sum((ite(part, 1, 0) for part in parts[1:]), start=ite(parts[0], 1, 0))
    return count <= 1


def _largest(parts: Sequence[Expr]) -> Expr:
    found: Expr = ite(parts[0], 1, 0)
    for part in parts[1:]:
        found = maximum(found, ite(part, 2, 0))
    return found == 2


@st.composite
def sifted_models(draw: DrawFn) -> Case:
    """Generate models with one or two symmetric indices from the accepted declarations."""
    maker = _Sifter(draw, faulty=False)
    model = _Sifted("sifted")
    maker.declare(model)
    for k in range(draw(st.integers(1, 3))):
        for _ in range(_TRIES):
            maker.action(model, f"a{k}")
            if any(action.name == f"a{k}" for action in model.actions):
                break
    maker.turn(model, "t", maker.pick(maker.variables))
    maker.claims(model)
    return Case(model.given())
