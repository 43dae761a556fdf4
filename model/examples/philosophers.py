"""Dining philosophers, who take one fork after the other: if all take the left one first they may starve together."""

from rocketproof_model import Body, Enum, Expr, Maybe, Model, ite

SCOPES = {"five": {"seats": 5}, "seven": {"seats": 7}, "alike": {"seats": 5, "alike": True}}


def model(seats: int = 5, alike: bool = False) -> Model:
    m = Model("philosophers")
    Seat = m.index("Seat", seats)
    state = m.var("state", Enum("thinking", "waiting", "eating"), over=Seat, init="thinking")
    holder = m.var("holder", Maybe(Seat), over=Seat, init=None, sentence="who has the fork at the left of a seat")

    def forks(p: Expr) -> tuple[Expr, Expr]:
        right = ite(p == seats - 1, 0, p + 1)
        return (p, right) if alike else (ite(p == 0, right, p), ite(p == 0, 0, right))

    @m.action(p=Seat)
    def begin(a: Body, p: Expr) -> None:
        """A philosopher takes a first fork; the one at seat 0 the right one, unless all are alike."""
        fork, _ = forks(p)
        a.guard("thinking", state[p] == "thinking", "the philosopher has no fork")
        a.guard("free", holder[fork].is_none, "the first fork is free")
        a.set(holder[fork], p)
        a.set(state[p], "waiting")

    @m.action(p=Seat, fair="strong")
    def eat(a: Body, p: Expr) -> None:
        """A philosopher takes the second fork, and eats."""
        _, fork = forks(p)
        a.guard("waiting", state[p] == "waiting", "the philosopher has the first fork")
        a.guard("free", holder[fork].is_none, "the second fork is free")
        a.set(holder[fork], p)
        a.set(state[p], "eating")

    @m.action(p=Seat, fair="weak")
    def think(a: Body, p: Expr) -> None:
        """A philosopher puts both forks down."""
        a.guard("eating", state[p] == "eating", "the philosopher eats")
        for fork in forks(p):
            a.set(holder[fork], None)
        a.set(state[p], "thinking")

    m.deadlock_free("no deadlock", "somebody can always do something")
    m.leads_to("fed", state[0] == "waiting", state[0] == "eating", "who has a fork eats in the end")
    return m
