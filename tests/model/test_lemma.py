"""Lemmas over Java's 32-bit arithmetic: each is proven for all values, and a mutated version has a counterexample."""

from __future__ import annotations

import pytest

from rocketproof_model import Expr, Int, Model, all_of, free, generalise, implies, java_abs, maximum, minimum, rem, without_bits, wrap32
from rocketproof_model.formulas import solver
from rocketproof_model.lemmas import prove
from rocketproof_model.result import Limits, Outcome

JAVA = Int(-(2**31), 2**31 - 1)
POSITIVE = Int(1, 2**31 - 1)
r, n, u = free("r", JAVA), free("n", POSITIVE), free("u", Int(0, 2**31 - 1))
x, y, lo, hi = (free(name, JAVA) for name in ("x", "y", "lo", "hi"))
perm = free("perm", JAVA)
divisor = free("divisor", Int(0, 2**31 - 1))


def lemma(formula: Expr) -> Outcome:
    m = Model("lemmas")
    return prove(m, m.claim("lemma", "a claim for all values", "lemma", formula))


def inside(value: Expr, size: Expr) -> Expr:
    return (value >= 0) & (value < size)


def clamp(value: Expr, low: Expr, high: Expr) -> Expr:
    return maximum(low, minimum(value, high))


PAIRS: dict[str, tuple[Expr, Expr]] = {
    "remainder of a natural number": (inside(rem(u, n), n), inside(rem(u, n), n - 1)),
    "remainder of any number": ((rem(r, n) < n) & (rem(r, n) > -n), inside(rem(r, n), n)),
    "queue by random 99999999": (inside(rem(java_abs(rem(r, 99999999)), n), n), inside(rem(java_abs(rem(r, 99999999)), n), n - 1)),
    "queue by abs of the remainder": (inside(java_abs(rem(r, n)), n), inside(rem(java_abs(r), n), n)),
    "abs but for one number": (implies(r != -(2**31), java_abs(r) >= 0), java_abs(r) >= 0),
    "inherit bit stripped": ((without_bits(perm, 1) & 1) == 0, (without_bits(perm, 2) & 1) == 0),
    "other bits kept": (without_bits(perm, 1) | (perm & 1) == perm, without_bits(perm, 3) | (perm & 1) == perm),
    "minimum": (all_of((minimum(x, y) <= x, minimum(x, y) <= y)), all_of((minimum(x, y) <= x, minimum(x, y) < y))),
    "clamp": (
        implies(lo <= hi, all_of((clamp(x, lo, hi) >= lo, clamp(x, lo, hi) <= hi))),
        all_of((clamp(x, lo, hi) >= lo, clamp(x, lo, hi) <= hi)),
    ),
    "next position": (implies(u < 2**31 - 1, wrap32(u + 1) > u), wrap32(u + 1) > u),
    "file end": (implies(u + n <= 2**30, wrap32(u + n) == u + n), wrap32(u + n) == u + n),
    "division identity": (implies(r >= 0, rem(r, n) <= r), rem(r, n) <= r - 1),
}


@pytest.mark.parametrize("name", PAIRS)
def test_a_lemma_is_proven_and_its_mutant_refuted(name: str) -> None:
    true, mutated = PAIRS[name]
    proof = lemma(true)
    assert (proof.verdict, proof.reason) == ("holds", "proof")
    refuted = lemma(mutated)
    assert refuted.verdict == "violated"
    assert refuted.details["values"]


@pytest.mark.slow
def test_the_abs_trap_is_found_with_its_value() -> None:
    outcome = lemma(inside(rem(java_abs(r), n), n))
    assert outcome.verdict == "violated"
    assert outcome.details["values"]["r"] == -(2**31)
    assert outcome.details["values"].keys() == {"r", "n"}


def test_a_formula_without_value_is_no_lemma() -> None:
    outcome = lemma(rem(u, divisor) >= 0)
    assert outcome.verdict == "violated"
    assert outcome.details["values"]["divisor"] == 0
    assert "remainder by zero" in outcome.reason
    assert lemma(implies(divisor > 0, inside(rem(u, divisor), divisor))).verdict == "holds"


def test_unsatisfiable_premise_proves_nothing() -> None:
    for vacuous in (
        implies(n < 1, x == y),
        implies((x > y) & (x < y), x == y),
        implies(x > y, implies(x < y, x == y)),
        implies(n < 1, x == y) & implies(n < 0, x == 0),
    ):
        outcome = lemma(vacuous)
        assert (outcome.verdict, outcome.reason) == ("unknown", "vacuous premise"), str(vacuous)
    assert lemma(implies(n < 1, x == y) & implies(x == 0, x < 1)).verdict == "holds"


def test_lemma_uses_the_models_own_terms() -> None:
    m = Model("queue")
    Queue = m.index("Queue", 4)
    most = m.constant("most", Int(0, 8), 3)
    count = m.var("count", Int(0, 8), init=4)
    cell = m.var("cell", Int(-9, 9), over=Queue, init=0)

    @m.action(seed=Int(-5, 5))
    def choose(a, seed):
        """A queue is chosen."""
        a.guard("some", count > 0, "there is a queue")
        a.set(count, java_abs(rem(seed, count)))

    action = m.named("choose")
    guard, chosen = action.guards[0].condition, action.updates[0].value
    bounded_choice = m.claim("choice", "the chosen queue exists", "lemma", implies(guard, inside(chosen, count)))
    assert prove(m, bounded_choice).verdict == "holds"
    wide = m.claim("wide", "for all 32-bit seeds", "lemma", generalise(bounded_choice.formula, lambda e: JAVA if e.op == "par" else None))
    assert prove(m, wide).verdict == "holds"
    mutant = m.claim("mutant", "without the guard", "lemma", inside(chosen, count))
    outcome = prove(m, mutant)
    assert outcome.verdict == "violated"
    assert outcome.details["values"]["count"] == 0
    assert outcome.details["values"].keys() == {"seed", "count"}

    few = m.claim("few", "a cell is below a constant", "lemma", implies((count < 4) & (cell[count] < 9), cell[count] <= most + 5))
    assert prove(m.given(most=3), few).verdict == "holds"
    assert prove(m.given(most=2), few).details["values"].keys() >= {"count", "cell[0]"}
    anything = prove(m, few)
    assert anything.verdict == "violated"
    assert anything.details["values"]["most"] < 3


def test_a_lemma_under_a_limit_of_time() -> None:
    m = Model("late")
    claim = m.claim("lemma", "a claim for all values", "lemma", inside(rem(u, n), n))
    outcome = prove(m, claim, limits=Limits(seconds=0))
    assert (outcome.verdict, outcome.reason) == ("unknown", "time")


@pytest.mark.parametrize("tries", [(), ((False, 1e-9),), ((True, 60.0),), ((False, 1e-9), (True, 1e-9))])
def test_every_solver_gives_the_same_answer(tries: tuple[tuple[bool, float], ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "_TRIES", tries)
    model = Model("order")
    x, y, z = (free(name, Int(-(2**31), 2**31 - 1)) for name in "xyz")
    ordered = model.claim("ordered", "order is transitive", "lemma", implies((x < y) & (y < z), x < z))
    wrong = model.claim("wrong", "differences keep order", "lemma", implies(x < y, x - z < z - y))
    assert prove(model.given(), ordered).verdict == "holds"
    assert prove(model.given(), wrong).verdict == "violated"
