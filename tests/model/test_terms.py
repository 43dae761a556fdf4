"""z3 terms have the interpreter's meaning: on random terms, with known values and with z3 constants."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import z3

from rocketproof_model import (
    Bool,
    Enum,
    EvaluationError,
    Expr,
    Int,
    Maybe,
    Model,
    ModelError,
    SetOf,
    after,
    free,
    ite,
    java_abs,
    maximum,
    minimum,
    rem,
    single,
    without_bits,
    wrap32,
)
from rocketproof_model.formulas.relation import code_of
from rocketproof_model.formulas.terms import Translation, Unknowns
from rocketproof_model.formulas.values import bits, formula, number, within
from rocketproof_model.interpreter import Environment, evaluate
from rocketproof_model.language import Type, Variable, show

JAVA = Int(-(2**31), 2**31 - 1)
LONG = Int(-(2**62), 2**62)
CORNERS = (-(2**62), -(2**31), -(2**31) + 1, -1, 0, 1, 2**31 - 1, 2**31, 2**62)


def language() -> Model:
    """Build a model with a variable of every sort, some with extreme ranges."""
    m = Model("terms")
    left, right = m.index("Left", 3), m.index("Right", 2)
    m.constant("limit", Int(-4, 9), 7)
    m.var("small", Int(-5, 9), init=0)
    m.var("narrow", Int(3, 3), init=3)
    m.var("java", JAVA, init=0)
    m.var("long", LONG, init=0)
    m.var("flag", Bool, over=left, init=False)
    m.var("grid", Int(-2, 5), over=(left, right), init=0)
    m.var("colour", Enum("red", "green", "blue"), over=right, init="red")
    m.var("subset", SetOf(left), over=right, init=())
    m.var("perhaps", Maybe(left), over=right, init=None)
    m.var("element", left, init=0)
    return m


class Maker:
    """Generates random terms over that model; an index or a divisor can be out of range, so some terms have no value."""

    def __init__(self, model: Model, rng: random.Random) -> None:
        self.rng = rng
        self.model = model
        self.v: dict[str, Variable] = {v.name: v for v in model.variables}
        self.left, self.right = self.v["grid"].over
        self.parameters = {"p": self.left, "x": Int(-3, 40)}

    def at(self, name: str, *at: Any) -> Expr:
        term = self.v[name][at]
        return after(term) if self.rng.random() < 0.2 else term

    def pick(self, *makers: Callable[[], Any]) -> Any:
        return self.rng.choice(makers)()

    def number(self, depth: int) -> Expr:
        if depth <= 0:
            return self.pick(
                lambda: self.at("small"),
                lambda: self.at("narrow"),
                lambda: self.at("java"),
                lambda: self.at("long"),
                lambda: Expr("par", ("x",), self.parameters["x"]),
                lambda: Expr("given", ("limit",), Int(-4, 9)),
                lambda: free("u", JAVA),
                lambda: self.at("small") * 0 + self.rng.choice(CORNERS),
                lambda: self.element(0) * 1,
            )
        x, y = self.number(depth - 1), self.number(depth - 1)
        return self.pick(
            lambda: x + y,
            lambda: x - y,
            lambda: x * self.rng.randint(-3, 3),
            lambda: self.number(0) * self.number(0),
            lambda: rem(x, y),
            lambda: rem(x, self.rng.choice((1, 2, 7, -7, -1, 99999999))),
            lambda: wrap32(x + y),
            lambda: wrap32(self.number(0) * 65537),
            lambda: java_abs(wrap32(x)),
            lambda: x & y,
            lambda: x | y,
            lambda: without_bits(x, y),
            lambda: minimum(x, y),
            lambda: maximum(x, y),
            lambda: ite(self.truth(depth - 1), x, y),
            lambda: self.at("grid", self.subscript(depth - 1), self.subscript(0)),
        )

    def subscript(self, depth: int) -> Expr:
        return self.pick(lambda: self.element(depth), lambda: self.element(depth), lambda: self.at("small"), lambda: self.at("grid", 0, 1))

    def element(self, depth: int) -> Expr:
        if depth <= 0:
            return self.pick(lambda: self.at("element"), lambda: Expr("par", ("p",), self.left), lambda: self.rng.choice(list(self.left)))
        return self.pick(
            lambda: self.maybe(depth - 1).get,
            lambda: ite(self.truth(depth - 1), self.element(depth - 1), self.element(depth - 1)),
            lambda: self.element(0),
        )

    def maybe(self, depth: int) -> Expr:
        if depth <= 0:
            return self.at("perhaps", self.rng.choice(list(self.right)))
        return self.pick(
            lambda: ite(self.truth(depth - 1), self.maybe(depth - 1), self.maybe(depth - 1)),
            lambda: ite(self.truth(depth - 1), self.maybe(depth - 1), None),
            lambda: ite(self.truth(depth - 1), self.maybe(0), Expr("some", (self.element(depth - 1),), Maybe(self.left))),
            lambda: self.maybe(0),
        )

    def subset(self, depth: int) -> Expr:
        if depth <= 0:
            return self.pick(lambda: self.at("subset", self.rng.choice(list(self.right))), lambda: single(self.element(0)))
        x, y = self.subset(depth - 1), self.subset(depth - 1)
        return self.pick(
            lambda: x | y,
            lambda: x & y,
            lambda: x - y,
            lambda: single(self.element(depth - 1)),
            lambda: ite(self.truth(depth - 1), x, y),
        )

    def colour(self, depth: int) -> Expr:
        here = self.at("colour", self.rng.choice(list(self.right)))
        return ite(self.truth(depth - 1), here, self.rng.choice(("red", "blue"))) if depth > 0 else here

    def truth(self, depth: int) -> Expr:
        if depth <= 0:
            return self.pick(
                lambda: self.at("flag", self.element(0)),
                lambda: self.number(0) < self.number(0),
                lambda: self.at("colour", 0) == "green",
                lambda: self.maybe(0).is_some,
            )
        return self.pick(
            lambda: self.truth(depth - 1) & self.truth(depth - 1),
            lambda: self.truth(depth - 1) | self.truth(depth - 1),
            lambda: ~self.truth(depth - 1),
            lambda: self.truth(depth - 1) == self.truth(depth - 1),
            lambda: self.number(depth - 1) <= self.number(depth - 1),
            lambda: self.number(depth - 1) == self.number(depth - 1),
            lambda: self.subset(depth - 1) == self.subset(depth - 1),
            lambda: self.subset(depth - 1).has(self.element(depth - 1)),
            lambda: self.maybe(depth - 1) == self.maybe(depth - 1),
            lambda: self.maybe(depth - 1) == self.element(depth - 1),
            lambda: self.colour(depth - 1) == self.colour(depth - 1),
            lambda: ite(self.truth(depth - 1), self.truth(depth - 1), self.truth(depth - 1)),
            lambda: self.maybe(0).is_some & (self.maybe(0).get == self.element(0)),
            lambda: self.at("flag", self.subscript(depth - 1)),
        )

    def term(self) -> Expr:
        while True:
            maker = self.rng.choice((self.number, self.truth, self.truth, self.subset, self.maybe, self.colour, self.element))
            try:
                return maker(self.rng.randint(1, 4))
            except ModelError:  # an interval beyond 63 bits, or an index never in range: draw again
                continue

    def code(self, type_: Type) -> int:
        corners = [c for c in (type_.lo, type_.hi, *CORNERS) if type_.lo <= c <= type_.hi]
        return self.rng.choice(corners) if self.rng.random() < 0.5 else self.rng.randint(type_.lo, type_.hi)

    def scope(self) -> Environment:
        states = [[self.code(v.type) for v in self.model.variables for _ in v.elements()] for _ in range(2)]
        args = {name: self.code(type_) for name, type_ in self.parameters.items()}
        return Environment(tuple(states[0]), args, {"limit": self.code(Int(-4, 9))}, tuple(states[1]), {"u": self.code(JAVA)})


def as_value(code: int, type_: Type) -> Any:
    return bool(code) if type_.sort == "bool" else code


def folded(e: Expr, scope: Environment, types: list[Type]) -> int | None:
    """Translate the term with all values known; None if it has no value."""
    unknowns = Unknowns()
    unknowns.constants["free", "u"] = (JAVA, scope.free["u"] if scope.free else 0)
    states = [[as_value(c, t) for c, t in zip(s, types, strict=True)] for s in (scope.state, scope.after or ())]
    meaning = Translation(*states, constants=scope.constants, unknowns=unknowns).under(scope.args)(e)
    return int(meaning.value) if meaning.defined else None


class Symbolic:
    """One translation over z3 constants, which get values afterwards; the solver's assumptions must hold for these values."""

    def __init__(self, types: list[Type]) -> None:
        self.unknowns = Unknowns()
        states = [[self.unknowns.value(kind, str(k), t) for k, t in enumerate(types)] for kind in ("ref", "after")]
        self.translation = Translation(*states, unknowns=self.unknowns)

    def value(self, e: Expr, scope: Environment) -> int | None:
        known = len(self.translation.facts)
        meaning = self.translation(e)
        codes = {("ref", str(k)): c for k, c in enumerate(scope.state)} | {("after", str(k)): c for k, c in enumerate(scope.after or ())}
        codes |= {("par", k): c for k, c in scope.args.items()} | {("given", k): c for k, c in scope.constants.items()}
        codes |= {("free", k): c for k, c in (scope.free or {}).items()}
        pairs = [(x, number(codes[key], type_)) for key, (type_, x) in self.unknowns.constants.items() if key in codes]

        def put(term: Any) -> Any:
            return z3.simplify(z3.substitute(formula(term) if isinstance(term, bool) else term, *pairs))

        for fact in self.translation.facts[known:]:
            assert z3.is_true(put(fact)), f"{fact} does not hold for {codes}"
        if not z3.is_true(put(meaning.defined)):
            return None
        value = put(number(meaning.value, e.type))
        return int(z3.is_true(value)) if z3.is_bool(value) else int(value.as_signed_long())


def meant(e: Expr, scope: Environment) -> int | None:
    try:
        return int(evaluate(e, scope))
    except EvaluationError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_random_terms_agree_with_the_interpreter(seed: int) -> None:
    maker = Maker(language(), random.Random(seed))
    types = [v.type for v in maker.model.variables for _ in v.elements()]
    symbolic = Symbolic(types)
    without_value = 0
    for _ in range(400):
        e, scope = maker.term(), maker.scope()
        expected = meant(e, scope)
        without_value += expected is None
        assert folded(e, scope, types) == expected, f"known values: {show(e)} in {scope}"
        assert symbolic.value(e, scope) == expected, f"z3 constants: {show(e)} in {scope}"
        if expected is not None:
            assert e.type.lo <= expected <= e.type.hi, f"{show(e)} leaves its interval"
    assert 10 < without_value < 350, "the terms no longer exercise both defined and undefined values"


def corner_cases() -> list[tuple[str, Expr, dict[str, int]]]:
    x, y = free("x", JAVA), free("y", JAVA)
    cases = [("abs of the smallest int", java_abs(x), {"x": -(2**31)}), ("wrap upwards", wrap32(x + 1), {"x": 2**31 - 1})]
    cases += [("wrap downwards", wrap32(x - 1), {"x": -(2**31)}), ("smallest by -1", rem(x, y), {"x": -(2**31), "y": -1})]
    cases += [("widest product", x * y, {"x": -(2**31), "y": -(2**31)}), ("carry", x + y, {"x": 2**31 - 1, "y": 2**31 - 1})]
    cases += [(f"rem {a} {b}", rem(x, y), {"x": a, "y": b}) for a in (7, -7, 2**31 - 1, -(2**31)) for b in (3, -3, 2**31 - 1, -(2**31))]
    cases += [("remainder by zero", rem(x, y), {"x": 5, "y": 0}), ("clear in a negative", without_bits(x, y), {"x": -1, "y": 6})]
    return cases


@pytest.mark.parametrize(("name", "term", "values"), corner_cases(), ids=[c[0] for c in corner_cases()])
def test_java_arithmetic_at_its_corners(name: str, term: Expr, values: dict[str, int]) -> None:
    scope = Environment((), {}, {}, (), values)
    assert Symbolic([]).value(term, scope) == meant(term, scope)


@pytest.mark.parametrize(("lo", "hi"), [(0, 0), (-1, 0), (0, 1), (-2, 1), (0, 7), (0, 8), (-8, 7), (-9, 7), (-(2**62), 2**62)])
def test_a_constant_holds_exactly_the_codes_of_its_type(lo: int, hi: int) -> None:
    type_ = Type(lo, hi)
    unknowns = Unknowns()
    x = unknowns.value("free", "x", type_)
    for code, fits in ((lo, True), (hi, True), (lo - 1, False), (hi + 1, False)):
        solver = z3.Solver()
        solver.add(formula(unknowns.limits()), z3.SignExt(2, x) == z3.BitVecVal(code, bits(type_) + 2))
        assert (solver.check() == z3.sat) == fits, f"{code} in {type_}"


def test_a_value_is_compared_with_a_type_at_any_width() -> None:
    x = z3.BitVec("x", 5)
    solver = z3.Solver()
    solver.add(formula(within(x, Type(-3, 9))))
    found = set()
    while solver.check() == z3.sat:
        found.add(code_of(solver.model(), x))
        solver.add(x != solver.model()[x])
    assert found == set(range(-3, 10))
    assert within(x, Type(-16, 15)) is True
    assert within(x, Type(16, 20)) is False


def test_an_undefined_arm_does_not_constrain() -> None:
    m = language()
    perhaps, grid = m.variable("perhaps"), m.variable("grid")
    safe = ite(perhaps[0].is_some, grid[perhaps[0].get, 0], 4) == 4
    lowest = tuple(v.type.lo for v in m.variables for _ in v.elements())
    scope = Environment(lowest, {}, {}, lowest)
    types = [v.type for v in m.variables for _ in v.elements()]
    assert scope.state[perhaps.slot((0,))] == 0
    assert Symbolic(types).value(safe, scope) == folded(safe, scope, types) == 1
    unsafe = grid[perhaps[0].get, 0] == 4
    assert Symbolic(types).value(unsafe, scope) is None
    assert folded(unsafe, scope, types) is None


def test_an_unknown_has_one_type() -> None:
    with pytest.raises(ModelError, match=r"free term x has the types Int\(0, 3\) and Int\(0, 4\); give each"):
        Translation(unknowns=Unknowns())(free("x", Int(0, 3)) + free("x", Int(0, 4)))
