"""Claims that every step preserves, for all constants: their weakest precondition, and the claims that are dropped."""

from rocketproof_model import Bool, Expr, Int, Model, all_of
from rocketproof_model.language import Body
from rocketproof_model.proofs.weakest import before, holds, preserved
from rocketproof_model.result import Limits


def counter() -> Model:
    """A counter goes up to a cap, two others follow it, and a flag records whether it ever moved."""
    m = Model("counter")
    cap = m.constant("cap", Int(0, 2), 2)
    i = m.index("I", 2)
    x, y = m.var("x", Int(0, 3), init=0), m.var("y", Int(0, 3), over=i, init=0)
    moved = m.var("moved", Bool, init=False)

    @m.action()
    def up(a: Body) -> None:
        """The first goes up."""
        a.guard("below the cap", x < cap, "the cap is not reached")
        a.set(x, x + 1)
        a.set(moved, True)

    @m.action(i=i)
    def follow(a: Body, i: Expr) -> None:
        """Another counter follows it."""
        a.guard("behind", y[i] < x, "it is less")
        a.set(y[i], x)

    return m


def test_precondition_substitutes_the_assigned_terms() -> None:
    m = counter()
    x, y = m.variable("x")[()], m.variable("y")
    assert str(before(m.named("up"), x <= 2)) == "((x + 1) <= 2)"
    assert str(before(m.named("follow"), y[1] <= x)) == "((x if (i == 1) else y[1]) <= x)"
    untouched = x <= 2
    assert before(m.named("follow"), untouched) is untouched


def test_broken_claims_and_their_dependents_are_dropped() -> None:
    m = counter()
    x, y, moved = m.variable("x")[()], m.variable("y"), m.variable("moved")[()]
    cap = Expr("given", ("cap",), m.constants["cap"][0])
    sound = [x <= cap, all_of(y[i] <= x for i in range(2)), (x == 0) | moved]
    breaks, needs, starts = x <= 1, all_of(y[i] <= 1 for i in range(2)), x == 1
    assert preserved(m, [*sound, breaks, needs, starts]) == tuple(sound)


def test_unsatisfiable_premise_implies_everything() -> None:
    m = counter()
    x = m.variable("x")[()]
    assert holds(m, x < 0, x == 1, Limits())
    assert not holds(m, x < 1, x == 1, Limits())
