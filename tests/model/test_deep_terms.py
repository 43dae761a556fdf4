"""Terms of any depth: no form of a term limits its depth."""

from __future__ import annotations

import pickle
from functools import reduce
from itertools import islice
from typing import Any

import numpy as np
import pytest

from rocketproof_model import Instance, Int, Model, implies, ite, lemmas, symbolic, tla
from rocketproof_model.columns import compile_columns
from rocketproof_model.functions import term_function
from rocketproof_model.interpreter import Environment, evaluate
from rocketproof_model.language import Expr, Property, rem, rewrite, show
from rocketproof_model.language.symmetry import asymmetry
from rocketproof_model.partial import View, decided
from rocketproof_model.proofs.obligations import Obligations
from rocketproof_model.search import explore
from rocketproof_model.transforms.mutators import _guard_variants
from rocketproof_properties.catalogue.premises import premise

# Python's own stack ended z3's translation at 340 conjuncts, and most other walks at 500 levels.
USUAL, LARGE = 600, {"conjunction": 5_000, "disjunction": 5_000, "choices": 2_000, "without_value": 2_000, "total": 2_000}


def conjunction(x: Expr, size: int) -> Expr:
    """Nest on the left side."""
    return reduce(lambda whole, k: whole & (x + (k % 7 + 1) != k + 60), range(size), x < 30)


def disjunction(x: Expr, size: int) -> Expr:
    """Nest on the right side."""
    return reduce(lambda whole, k: (x + (k % 7 + 1) == k + 60) | whole, range(size), x < 30)


def choices(x: Expr, size: int) -> Expr:
    return reduce(lambda whole, k: ite(x + 1 == k, k % 5, whole), range(size), x) < 40


def without_value(x: Expr, size: int) -> Expr:
    """Remainders can have no value, so no part of the chain may be computed before it is needed."""
    return reduce(lambda whole, k: ite(x + 1 == k + 60, rem(k, x), whole), range(size), x) < 40


def total(x: Expr, size: int) -> Expr:
    return reduce(lambda whole, k: whole + ite(x + 1 == k, 1, 0), range(size), x) < 40


SHAPES = {shape.__name__: shape for shape in (conjunction, disjunction, choices, without_value, total)}
CASES = [pytest.param((name, 150 if name == "without_value" else USUAL), id=name) for name in SHAPES]
CASES += [pytest.param((name, size), id=f"large {name}", marks=pytest.mark.nightly) for name, size in LARGE.items()]


@pytest.fixture(params=CASES, scope="module")
def deep(request: pytest.FixtureRequest) -> tuple[Instance, Expr]:
    """Return an instance with a deep guard, and this guard."""
    name, size = request.param
    model = Model("deep")
    x = model.var("x", Int(0, 31), init=0)
    term = SHAPES[name](model.variable("x")[()], size)

    @model.action()
    def grow(a: Any) -> None:
        """It grows while the deep term holds."""
        a.guard("deep", term, "the deep term holds")
        a.guard("below", x < 31, "there is room")
        a.set(x, x + 1)

    model.always("DEEP", term | (x > 29), "the deep term holds below 30")
    return Instance(model, {}), term


def test_every_form_gives_the_interpreter_value(deep: tuple[Instance, Expr]) -> None:
    instance, term = deep
    expected = [evaluate(term, Environment((code,), {}, {})) for code in range(32)]
    function = term_function(instance, term)
    assert [function((code,)) for code in range(32)] == expected
    assert [decided(term, View((code,), {}, {})) for code in range(32)] == expected
    program = compile_columns(instance, {"term": term})
    assert program.run({"x": np.arange(32)})["term"].tolist() == list(map(bool, expected))


def test_search_decides_a_deep_guard_and_claim(deep: tuple[Instance, Expr]) -> None:
    instance, _ = deep
    assert explore(instance).outcome("DEEP").verdict == "holds"


def test_a_deep_term_is_pickled_and_rebuilt_as_itself(deep: tuple[Instance, Expr]) -> None:
    _, term = deep
    assert show(pickle.loads(pickle.dumps(term))) == show(term)
    assert rewrite(term, lambda e: None) is term
    assert show(term).count("(") == show(term).count(")")
    assert asymmetry(term) is None


def test_z3_decides_a_deep_guard_and_claim(deep: tuple[Instance, Expr]) -> None:
    instance, term = deep
    claim = instance.model.properties[0]
    (outcome,) = symbolic.bounded(instance, depth=1)
    assert (outcome.verdict, outcome.reason) == ("unknown", "bound reached")
    lemma = Property("L", "the deep term holds where it holds", "lemma", implies(term, term))
    assert lemmas.prove(instance, lemma).verdict == "holds"
    assert len(Obligations(instance, claim, [claim.formula]).all()) == 3


def test_module_in_tla_names_parts_of_a_deep_term(deep: tuple[Instance, Expr]) -> None:
    instance, _ = deep
    nesting, deepest = 0, 0
    for letter in tla.module(instance).text:
        nesting += (letter == "(") - (letter == ")")
        deepest = max(deepest, nesting)
    assert nesting == 0 and deepest < 200


def test_a_deep_guard_has_mutations(deep: tuple[Instance, Expr]) -> None:
    instance, term = deep
    found = [condition for _, condition in islice(_guard_variants(instance.model.actions[0].guards[0]), 5)]
    assert len({term, *found}) == 6


def test_implications_of_any_depth_have_a_premise() -> None:
    model = Model("deep")
    x = model.var("x", Int(0, 31), init=0)
    claim = reduce(lambda goal, k: implies(x == k % 31, goal), range(USUAL), x >= 0)
    found = premise(Property("DEEP", "a deep implication", "always", claim))
    assert found is not None and show(found).count("==") == USUAL
